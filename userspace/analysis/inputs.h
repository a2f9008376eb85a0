/* SPDX-License-Identifier: BSD-2-Clause
 *
 * inputs.h - the profiles that a command was given, as files and directories.
 *
 * A directory stands for its .h5 files; where it has none, for its .spt files, or those of its
 * folder spt/, together with its .sps files. Folders below are not entered (other/, job_X/ are
 * recordings of their own). Two files that hold rows of one rank are refused, as scope-profiler
 * does; where recordings are kept apart, two files of one recording.
 */
#ifndef SP_ANALYSIS_INPUTS_H
#define SP_ANALYSIS_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/profile_read.h"
#include "userspace/analysis/gaps.h"
#include "userspace/base/log.h"

struct sp_given {
	char *path;
	struct sp_profile *profile;
	const char *recording; /* its recording_id, NULL: not of ours */
	size_t group;	       /* first input of the same recording; foreign files are alone */
};

/* Something that the reader of a report must know. */
struct sp_given_note {
	size_t input; /* that it is about */
	char *text;
	bool loss; /* data is missing */
};

struct sp_given_loss {
	size_t input; /* of its recording, if these are kept apart */
	const char *cause;
	const char *help; /* what it means */
	uint64_t count;
	uint64_t first, last; /* ns, 0 unknown */
};

/* Calls without a begin or an end of their own (cuts.h). */
struct sp_given_cut {
	size_t input;	    /* of its recording, if these are kept apart */
	const char *region; /* belongs to the input */
	uint32_t rank;	    /* UINT32_MAX unknown */
	unsigned kind;
	uint64_t count;
	const char *file; /* where they began, "" unknown; belongs to the input */
	int64_t line;
};

struct sp_inputs {
	/* Set before the rest. */
	bool apart;   /* recordings are shown one by one, not added up */
	bool no_self; /* self times are not needed, which cost a pass over the calls */
	struct sp_given *items;
	size_t n, room;
	struct sp_given_note *notes;
	size_t n_notes, notes_room;
	struct sp_given_loss *losses; /* each recording's counted once, largest first */
	size_t n_losses, losses_room;
	struct sp_gaps gaps; /* the same, one by one */
	struct sp_given_cut *cuts;
	size_t n_cuts, cuts_room;
	int64_t start;	  /* ns: of the journal that they are of; 0: they are of the items */
	char failed[512]; /* path that an error is about */
};

/* Opens what @path stands for. */
int sp_inputs_add(struct sp_inputs *inputs, const char *path, struct sp_error *error);
/* After the last one: refuses ranks that are there twice, fills in statistics that files do not
 * have, gathers losses and notes. */
int sp_inputs_finish(struct sp_inputs *inputs, struct sp_error *error);
void sp_inputs_free(struct sp_inputs *inputs);

/* Notes on the calls without an end that are known of: all, or those of one recording. -ENOMEM. */
int sp_inputs_note_cuts(struct sp_inputs *inputs, size_t input);
int sp_inputs_note(struct sp_inputs *inputs, size_t input, bool loss, const char *format, ...)
	SP_PRINTF(4, 5);

/* A fact of /sp_trace/meta, of /metadata if it is not there; NULL, or @otherwise, if in neither. */
const char *sp_given_text(const struct sp_given *input, const char *key);
int64_t sp_given_number(const struct sp_given *input, const char *key, int64_t otherwise);
/* The lowest and the highest rate of sampling, Hz: merged recordings can have several. -1 unknown.
 */
void sp_given_rates(const struct sp_given *input, int64_t *ret_lowest, int64_t *ret_highest);

#endif
