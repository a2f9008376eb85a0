/* SPDX-License-Identifier: BSD-2-Clause
 *
 * flamegraph.h - a call tree as a flame graph: one SVG file that needs nothing else.
 *
 * The picture can be looked at without a script; with it (flamegraph.js, which is put into the
 * file) it fits the window, zooms, searches, and can be used with the keyboard. Names stand in the
 * file as text only, never in the script; they are escaped, and cut where they are very long.
 */
#ifndef SP_EXPORT_FLAMEGRAPH_H
#define SP_EXPORT_FLAMEGRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/analysis/calltree.h"

struct sp_flamegraph_options {
	const char *title;    /* NULL: none */
	const char *subtitle; /* NULL: none */
	double least;	      /* share of the samples that a frame needs to be drawn */
	bool inverted;	      /* callers on top */
	int64_t hz;	      /* for times, ≤ 0 unknown */
	const char *missing;  /* what is, and where, on the outermost frame; NULL or "": nothing */
	const struct sp_sample_gaps *gaps; /* what regions lack; NULL: unknown */
};

/* -ENOMEM, or -errno of the stream. *@ret_left_out (may be NULL): frames that are too narrow, and
 * in nothing else that is. */
int sp_write_flamegraph(const struct sp_calltree *tree, const struct sp_flamegraph_options *options,
			FILE *out, uint64_t *ret_left_out);

#endif
