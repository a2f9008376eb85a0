/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_view.h - how `sp-report lines` shows what it counted: for people, as JSON, as CSV.
 */
#ifndef SP_CMD_LINES_VIEW_H
#define SP_CMD_LINES_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/analysis/lines.h"
#include "userspace/analysis/lines_input.h"
#include "userspace/analysis/source.h"

#define SP_LINES_NO_REGION_NAME "(no region)"

struct sp_lines_view {
	const struct sp_lines_input *input;
	struct sp_sources *sources;		      /* NULL: without source text */
	const struct sp_lines_region *const *regions; /* in the order shown */
	size_t n_regions;
	size_t top; /* rows of each region */
	bool wide;  /* names are whole, and lines as long as they get */
};

/* What is missing or doubtful, then a table for each region. */
void sp_lines_show(const struct sp_lines_view *view);
/* What comes before the tables: the notes, and how many samples there are. */
void sp_lines_show_notes(const struct sp_lines_view *view);
/* The notes alone: what is missing, and whose files could not be read. */
void sp_lines_note(const struct sp_lines_view *view, FILE *out);
/* Of these, the ones about files without lines. */
void sp_lines_note_modules(const struct sp_lines_view *view, FILE *out);
void sp_lines_write_json(const struct sp_lines_view *view);
/* One line for each row, region by region; a first line with the columns' names. */
void sp_lines_write_csv(const struct sp_lines_view *view);

/* The regions of these names, or all without names, into @chosen, which has room for all of them.
 * -ENOENT, after saying so, if there is none of a name. */
int sp_lines_choose_regions(const struct sp_lines_input *input, char *const *names, size_t n_names,
			    const struct sp_lines_region **chosen, size_t *ret_n);

/* Text of a row's source line; "" if it is not known. */
const char *sp_lines_source(const struct sp_lines_view *view, const struct sp_lines_row *row,
			    enum sp_source_state *ret_state);

#endif
