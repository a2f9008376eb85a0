/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify.h - the parts of sp-report verify: what was found in a file, and who looks for it.
 *
 * A finding is an error if FORMAT.md says that a reader refuses it, or that it cannot be (a table's
 * row that is not there, statistics that are not those of the calls); the first one ends the check.
 * Everything else that is odd is a warning, counted, with the place of the first.
 */
#ifndef SP_CMD_VERIFY_H
#define SP_CMD_VERIFY_H

#include "formats/profile_read.h"
#include "userspace/analysis/stack_compare.h"
#include "userspace/base/json.h"
#include "userspace/base/log.h"

enum sp_finding {
	SP_FIND_NONE,
	/* warnings */
	SP_FIND_REVERSED,
	SP_FIND_UNORDERED,
	SP_FIND_PARENT_LATER,
	SP_FIND_CALL_THREAD,
	SP_FIND_CALL_TASK,
	SP_FIND_CHILD_LONGER,
	SP_FIND_FLAGS,
	SP_FIND_CROSSING,
	SP_FIND_SELF_LARGER,
	SP_FIND_THREAD_TWICE,
	SP_FIND_TASK_TWICE,
	SP_FIND_TABLE_TIMES,
	SP_FIND_MODULE_RANGE,
	SP_FIND_SAMPLE_RANK,
	SP_FIND_METADATA,
	SP_FIND_TICKS,
	SP_FIND_UNKNOWN_EVENTS,
	SP_FIND_UNKNOWN_BLOCKS,
	SP_FIND_LANES,
	SP_FIND_SITES,
	SP_FIND_STACK_END,
	SP_FIND_KERNEL_FRAMES,
	SP_FIND_LOSS_CAUSE,
	SP_FIND_N,
};

struct sp_verdict {
	struct sp_error error; /* code 0: it is good */
	struct sp_tally {
		uint64_t count;
		char first[192]; /* its place */
	} findings[SP_FIND_N];
	/* What was read. */
	enum sp_format format;
	int version;
	uint64_t regions, rows, calls, samples, frames, objects, attributes, events, blocks, bytes;
	uint64_t lost;			 /* events that are not in it, by its own account */
	uint64_t dangling;		 /* calls whose parent was not recorded, which is fine */
	uint64_t done, all;		 /* progress, in whatever unit */
	struct sp_stack_compare *stacks; /* NULL: not compared */
	bool too_different; /* the error is that fewer of them are identical than wanted */
	const char *path;
};

/* Counts a warning; the place is a sentence's end: "call 3 of row 1 (\"solve\" on rank 0)". */
void sp_verdict_warn(struct sp_verdict *verdict, enum sp_finding finding, const char *format, ...)
	SP_PRINTF(3, 4);
/* The error of a row of a table that names one of another table (or a region) which is not there.
 */
int sp_verdict_bad_reference(struct sp_verdict *verdict, const char *table, size_t row,
			     const char *what, int64_t value, size_t n);
/* The error of losses that cannot be: of no event, for no cause, or that end before they begin.
 * @where: what has the number. 0 if they can. */
int sp_verdict_loss(struct sp_verdict *verdict, const char *where, uint64_t number, bool has_cause,
		    uint64_t count, uint64_t first, uint64_t last);
/* The text of a warning: what, how often, where first. To free(), NULL without memory. */
char *sp_verdict_tell(const struct sp_verdict *verdict, enum sp_finding finding);
/* Shows how far it is, on terminals, a few times a second. */
void sp_verdict_progress(struct sp_verdict *verdict, uint64_t more);

/* Each looks at everything and fills in the verdict; 0, or the code of the error. */
int sp_verify_profile(struct sp_verdict *verdict, struct sp_profile *profile);
int sp_verify_journal(struct sp_verdict *verdict, const char *path);

/* With --stacks: compares the stacks of a journal with those that libdw finds, into a new
 * verdict->stacks; the wanted share is @least, 0 to 1. */
int sp_verify_stacks(struct sp_verdict *verdict, const char *path, double least);
void sp_verify_show_stacks(const struct sp_stack_compare *compare);
void sp_verify_stacks_json(struct sp_json *json, const struct sp_stack_compare *compare);

/* Shares of sp_verify_profile(). */
int sp_verify_calls(struct sp_verdict *verdict, struct sp_profile *profile);
int sp_verify_ids(struct sp_verdict *verdict, struct sp_profile *profile);
int sp_verify_samples(struct sp_verdict *verdict, struct sp_profile *profile);

#endif
