/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_files.h - which files have samples, and what stands in them, for whoever counts samples.
 *
 * HDF5 files of ours know samples outside of regions, build-ids and losses, .sps files do not;
 * where both were written for one rank, the HDF5 file is taken. One without samples is read, too,
 * if it tells of losses: these may have been all.
 *
 * Life cycle: init; set the ranks; add files and directories; read, which hands the samples out;
 * look at what was found; done.
 */
#ifndef SP_ANALYSIS_SAMPLE_FILES_H
#define SP_ANALYSIS_SAMPLE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/profile_read.h"
#include "userspace/analysis/sample_gaps.h"
#include "userspace/analysis/sample_ranks.h"
#include "userspace/analysis/symbols.h"

struct sp_sample_loss {
	const char *cause; /* as in the file; lives as long as the gaps */
	uint64_t count;
};

struct sp_sample_files {
	const uint32_t *ranks; /* wanted ones, in any order; none: all */
	size_t n_ranks;

	/* What was found so far. */
	char **paths; /* that samples were looked for in */
	size_t n, room;
	uint64_t samples;		/* of wanted ranks */
	struct sp_sample_ranks by_rank; /* what each has, also of those that are not wanted */
	bool unsampled;			/* a recording of ours without samples is among them */
	int64_t unsampled_hz;		/* its rate, 0: none were wanted */
	uint64_t in_kernel;		/* of these */
	uint64_t outside;		/* samples outside of regions that .sps files only count */
	bool has_outside;	  /* an HDF5 file was read: samples outside of regions are there */
	bool foreign;		  /* a file was read that is no recording of ours */
	uint64_t line_profiles;	  /* in files without samples, as line_profiler makes them */
	char *with_line_profiles; /* the first of these files, NULL none */
	int64_t hz;		  /* -1 unknown, or not the same everywhere */
	struct timespec
		written; /* when the oldest file was written: what changed later is suspect */
	struct sp_sample_gaps gaps;
	struct sp_sample_loss *losses; /* these by cause */
	size_t n_losses, losses_room;
	char *other;  /* directory with the processes without a rank, of one that was given; or NULL
		       */
	char *failed; /* path of the file or directory that an error is about; NULL none */
};

/* Who counts. What is not 0 ends the reading, and is returned. */
struct sp_sample_reader {
	/* A file was opened: its tables can be read. */
	int (*begin)(void *data, struct sp_profile *profile, struct sp_error *error);
	/* Samples @first … @first + @n − 1 of the file; wanted ranks are those of
	 * sp_sample_files_wants(). */
	int (*take)(void *data, struct sp_profile *profile, const struct sp_sample_row *samples,
		    uint64_t first, size_t n, struct sp_error *error);
	/* The file is about to be closed; may be NULL. Not called after a failure. */
	int (*end)(void *data, struct sp_profile *profile, struct sp_error *error);
	void *data;
};

void sp_sample_files_init(struct sp_sample_files *files);
void sp_sample_files_done(struct sp_sample_files *files);

/* Adds a file, or those of a directory that have samples or tell of losses (not those of its
 * subdirectories). A file that was added already is left out. -ENOENT with a sentence for a
 * directory without such files.
 */
int sp_sample_files_add(struct sp_sample_files *files, const char *path, struct sp_error *error);
/* Reads the samples of all files that were added. */
int sp_sample_files_read(struct sp_sample_files *files, const struct sp_sample_reader *reader,
			 struct sp_error *error);

/* How many samples have a line that stands in the files, as it was found when these were made. 0
 * where that cannot be read, or is not there for all samples. */
uint64_t sp_sample_files_stored_lines(const struct sp_sample_files *files);

bool sp_sample_files_wants(const struct sp_sample_files *files, uint32_t rank);

/* The modules of one file, as the symbols number them. */
struct sp_sample_modules {
	uint32_t *numbers; /* in the symbols */
	uint64_t *biases;  /* run-time address - link-time address */
	const struct sp_module_row *rows;
	size_t n;
};

int sp_sample_modules_read(struct sp_profile *profile, struct sp_symbols *symbols,
			   struct sp_sample_modules *ret_modules, struct sp_error *error);
void sp_sample_modules_done(struct sp_sample_modules *modules);

/* The copy of a module that the profile at @path says was archived, to free(); NULL: none is there.
 * Copies lie in the recording's directory: the profile's own, or one around those of its job and of
 * the processes without a rank. -ENOMEM. */
int sp_sample_archived(const char *path, const char *archived, char **ret_copy);

#endif
