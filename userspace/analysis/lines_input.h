/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_input.h - which files have the samples, and what stands in them.
 *
 * HDF5 files of ours know samples outside of regions, build-ids and losses, .sps files do not;
 * where both were written for one rank, the HDF5 file is taken.
 */
#ifndef SP_ANALYSIS_LINES_INPUT_H
#define SP_ANALYSIS_LINES_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "userspace/analysis/lines.h"

struct sp_lines_loss {
	const char *cause; /* as in the file; lives as long as the input */
	uint64_t count;
};

struct sp_lines_input {
	struct sp_lines *lines;
	struct sp_symbols *symbols;
	const uint32_t *ranks; /* wanted ones, in any order; none: all */
	size_t n_ranks;

	/* What was read so far. */
	char **files; /* that samples were looked for in */
	size_t n_files, files_room;
	uint64_t samples;	  /* of wanted ranks */
	uint64_t in_kernel;	  /* of these */
	uint64_t outside;	  /* samples outside of regions that .sps files only count */
	bool has_outside;	  /* an HDF5 file was read: samples outside of regions are there */
	bool foreign;		  /* a file was read that is no recording of ours */
	uint64_t line_profiles;	  /* in files without samples, as line_profiler makes them */
	char *with_line_profiles; /* the first of these files, NULL none */
	int64_t hz;		  /* -1 unknown, or not the same everywhere */
	struct timespec
		written; /* when the oldest file was written: what changed later is suspect */
	struct sp_lines_loss *losses;
	size_t n_losses, losses_room;
	char *failed; /* path of the file or directory that an error is about; NULL none */
};

void sp_lines_input_init(struct sp_lines_input *input, struct sp_lines *lines,
			 struct sp_symbols *symbols);
void sp_lines_input_done(struct sp_lines_input *input);

/* Adds a file, or those of a directory that have samples (not those of its subdirectories). A file
 * that was added already is left out. -ENOENT with a sentence for a directory without such files.
 */
int sp_lines_input_add(struct sp_lines_input *input, const char *path, struct sp_error *error);
/* Reads the samples of all files that were added. */
int sp_lines_input_read(struct sp_lines_input *input, struct sp_error *error);

#endif
