/* SPDX-License-Identifier: BSD-2-Clause
 *
 * folded.h - a call tree as folded stacks: one line for each, "outermost;…;innermost samples", as
 * flamegraph.pl, speedscope and others read them.
 *
 * Functions of the kernel end with "_[k]", as those tools have it. A ";" in a name becomes ":", and
 * what is no printable text an escape, so that a line is what it seems to be.
 */
#ifndef SP_EXPORT_FOLDED_H
#define SP_EXPORT_FOLDED_H

#include <stdio.h>

#include "userspace/analysis/calltree.h"

/* -ENOMEM, or -errno of the stream. */
int sp_write_folded(const struct sp_calltree *tree, FILE *out);

#endif
