/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_input.h - samples of files into the counts of lines.
 */
#ifndef SP_ANALYSIS_LINES_INPUT_H
#define SP_ANALYSIS_LINES_INPUT_H

#include "userspace/analysis/lines.h"
#include "userspace/analysis/sample_files.h"

struct sp_lines_input {
	struct sp_lines *lines;
	struct sp_symbols *symbols;
	struct sp_sample_files files; /* to add them to; and what stands in them */
	bool stored;		      /* the lines are those that were found while recording */
};

void sp_lines_input_init(struct sp_lines_input *input, struct sp_lines *lines,
			 struct sp_symbols *symbols);
void sp_lines_input_done(struct sp_lines_input *input);

/* Reads the samples of all files that were added. */
int sp_lines_input_read(struct sp_lines_input *input, struct sp_error *error);
/* Where files of programs are gone or were built anew, and the line profiles that stand in the
 * inputs know more lines: makes the rows of these. The rows must have been made. */
int sp_lines_input_use_stored(struct sp_lines_input *input, struct sp_error *error);

#endif
