/* SPDX-License-Identifier: BSD-2-Clause
 *
 * folded.h - a call tree as folded stacks: one line for each, "outermost;…;innermost samples", as
 * flamegraph.pl, speedscope and others read them.
 *
 * Names of C++ are in short, as in sp-report's other views, but for functions of one caller that
 * would then look alike. Functions of the kernel end with "_[k]", as those tools have it. A ";" in
 * a name becomes ":", and what is no printable text an escape, so that a line is what it seems to
 * be.
 */
#ifndef SP_EXPORT_FOLDED_H
#define SP_EXPORT_FOLDED_H

#include <stdbool.h>
#include <stdio.h>

#include "userspace/analysis/calltree.h"

/* @wide: names are whole. -ENOMEM, or -errno of the stream. */
int sp_write_folded(const struct sp_calltree *tree, bool wide, FILE *out);

#endif
