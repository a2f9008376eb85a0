/* SPDX-License-Identifier: BSD-2-Clause
 *
 * find.h - the files that are to become one profile: which they are, and who has which rank.
 *
 * A file is taken whatever its name; its content says its format. A directory stands for its *.spt,
 * *_rank[0-9]*.h5 and *.sps files, hidden ones too, as scope-profiler has it (but for the samples,
 * which it leaves alone); the same path is taken once. A directory that a recorder made stands for
 * what is in its folders spt/, other/ and job_*, too: such a directory has no .spt file at its top.
 *
 * Files of one folder (and its spt/) are a set. Two files of one set that claim a rank are refused,
 * and so are two of different operands. Sets of one recording get along by themselves: a file whose
 * rank is taken gets new ones, the lowest after the highest of all. A trace whose calls are in a
 * .h5 file beside it is left out. Samples follow the trace of their name, else of their rank. Where
 * new ranks were asked for, the files of the operand that came first keep theirs.
 */
#ifndef SP_ANALYSIS_FIND_H
#define SP_ANALYSIS_FIND_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/profile_read.h"
#include "userspace/base/log.h"

struct sp_found_file {
	char *path;
	size_t set, operand; /* of the command line: its number */
	struct sp_profile *profile;
	bool in_spt_folder;
	bool left_out;	 /* another file has the same */
	bool moved;	 /* @ranks are not its own */
	uint32_t *ranks; /* new number of each rank of the profile, NULL: as they are */
};

struct sp_found_set {
	char *folder;
	char *root; /* the operand that it was found in, NULL: its files were named one by one */
};

struct sp_found_note {
	bool minor; /* for those who want to know all */
	bool sum;   /* of minor ones: for all others */
	char *text;
};

struct sp_found {
	bool renumber; /* set before the rest: new ranks for all files whose rank is taken */
	struct sp_found_file *files;
	size_t n_files, files_room, n_operands;
	struct sp_found_set *sets;
	size_t n_sets, sets_room;
	struct sp_found_note *notes;
	size_t n_notes, notes_room;
	char *reason; /* why a call failed, a sentence; NULL: out of memory */
};

/* Adds what an operand stands for. */
int sp_found_add(struct sp_found *found, const char *path);
/* After the last one: sorts, opens all files, and settles the ranks. -EEXIST: two claim one rank.
 */
int sp_found_open(struct sp_found *found);
/* The files as one profile, to be freed before @found. */
int sp_found_merge(struct sp_found *found, struct sp_profile **ret_profile);
void sp_found_free(struct sp_found *found);

/* find_ranks.c: settles the ranks of files that are open. */
int sp_found_settle(struct sp_found *found);

/* Sets the reason and returns @code; -ENOMEM if there is none for it. */
int sp_found_fail(struct sp_found *found, int code, const char *format, ...) SP_PRINTF(3, 4);
int sp_found_note(struct sp_found *found, bool minor, const char *format, ...) SP_PRINTF(3, 4);

#endif
