/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_annotate.h - sp-report lines --annotate: source files with samples in the margin.
 */
#ifndef SP_CMD_LINES_ANNOTATE_H
#define SP_CMD_LINES_ANNOTATE_H

#include "userspace/cmd/lines_view.h"

#define SP_ANNOTATE_ALL SIZE_MAX

struct sp_annotate {
	const struct sp_lines_view *view;
	char *const *files; /* each stands for all source files whose paths end with it */
	size_t n_files;
	size_t context;	  /* lines to show around those with samples; SP_ANNOTATE_ALL: all */
	bool each_region; /* one listing for each region of the view, else one for all */
	bool json, csv;
	const char *other; /* what to try where a file has no samples: "--innermost", NULL none */
};

/* Prints the listings; -ENOENT, after saying so, if samples are in none of the files. */
int sp_annotate_show(const struct sp_annotate *annotate);

#endif
