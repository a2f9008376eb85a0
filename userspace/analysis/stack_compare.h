/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stack_compare.h - the stacks that the kernel side found by its tables, held against those that
 * libdw finds in the copies of the same moments.
 *
 * Life cycle: run; look at what it counted; free. A sample is compared to the end where the copy
 * has all that libdw needed. Where the copy ended first, or libdw found no way on while the tables' stack
 * goes on to the start of its thread, the frames found until then are compared, and the sample is counted apart: it proves
 * less.
 */
#ifndef SP_ANALYSIS_STACK_COMPARE_H
#define SP_ANALYSIS_STACK_COMPARE_H

#include "formats/journal.h"
#include "userspace/analysis/unwind_dwarf.h"

enum sp_stack_difference {
	SP_DIFF_SHORTER,   /* the tables' stack ends where libdw's goes on */
	SP_DIFF_LONGER,	   /* libdw's ends where the tables' goes on */
	SP_DIFF_CALLER,	   /* they name different callers */
	SP_DIFF_INNERMOST, /* the sample's own address */
	SP_DIFF_SIGNAL,	   /* they disagree on which frame was interrupted */
	SP_DIFF_REFERENCE, /* none: libdw's ended early or begins with a guess, the tables' reaches
			    * the thread's start */
	SP_DIFFS,
};

/* Equal differences, counted. */
struct sp_stack_diff {
	enum sp_stack_difference kind;
	uint32_t map; /* index of the recording's maps of the frame whose caller differs, SP_NONE */
	uint64_t address; /* link-time there, run-time without a map; of the call */
	uint32_t end;	  /* enum sp_stack_end of the shorter stack; of the tables' where none is */
	uint64_t count;
	/* The first of them. */
	uint64_t time;
	uint32_t pid, tid;
	uint32_t frame;		/* that differs, from 0 */
	uint64_t tables, dwarf; /* what each has there, 0 nothing */
};

struct sp_stack_compare {
	uint64_t samples;      /* with a copy */
	uint64_t without_copy; /* of a recording that has copies: lost, or no user stack */
	uint64_t identical;    /* frame by frame, to the end */
	uint64_t different;
	uint64_t as_far;		    /* identical as far as the copy goes */
	uint64_t reference_ended;	    /* identical until libdw found no way on */
	uint64_t not_tried;		    /* by libdw: it died of a file */
	uint64_t frames;		    /* identical ones */
	uint64_t tables_whole, dwarf_whole; /* stacks that reach the start of their thread */
	struct sp_stack_diff *diffs;	    /* most frequent first */
	size_t n_diffs, diffs_room;
	struct sp_idmap by_place;
	struct sp_recording *recording;
	struct sp_unwind_dwarf *unwind;
};

/* Reads the journal twice. -errno with a sentence; a journal that was not recorded with
 * --stacks dwarf, or has no copies, is -ENODATA. @progress (may be NULL) is told how many samples
 * are done of how many; it may end it with -EINTR. */
int sp_stack_compare(struct sp_stack_compare *compare, const char *path, const char *directory,
		     int (*progress)(void *context, uint64_t done, uint64_t all), void *context,
		     struct sp_error *error);
/* Of the samples compared to the end, those that are identical: 0 to 1; 1 if there is none. */
double sp_stack_compare_share(const struct sp_stack_compare *compare);
/* "the tables end there (no rule), libdw goes on" */
void sp_stack_diff_text(const struct sp_stack_diff *diff, char *out, size_t room);
void sp_stack_compare_free(struct sp_stack_compare *compare);

#endif
