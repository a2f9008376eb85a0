/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stack_counts.h - how complete the stacks of samples are: counts by why they end, and the words.
 *
 * A share is one of the stacks that could have been whole: samples that were taken in the middle of
 * an exec or an exit have no user stack, those of --stacks leaf wanted none, and older recordings
 * do not say.
 */
#ifndef SP_ANALYSIS_STACK_COUNTS_H
#define SP_ANALYSIS_STACK_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/profile_read.h"
#include "formats/stack_end.h"

struct sp_stack_counts {
	uint64_t ends[SP_STACK_END_MAX]; /* samples */
	uint64_t kernel;		 /* of them with frames of the kernel */
};

static inline void sp_stack_counts_add(struct sp_stack_counts *counts, unsigned stack_end,
				       bool kernel_frames)
{
	counts->ends[stack_end < SP_STACK_END_MAX ? stack_end : SP_STACK_UNKNOWN]++;
	counts->kernel += kernel_frames;
}

/* Adds those of a profile. Reads all samples, some 10 million a second. */
int sp_stack_counts_read(struct sp_stack_counts *counts, struct sp_profile *profile,
			 struct sp_error *error);

/* Of the stacks that could have been whole those that are, 0 to 1, NAN where there are none. */
double sp_stack_counts_share(const struct sp_stack_counts *counts);

/* "98.2 % complete", or "by frame pointers alone, may lack callers" where all are so; then
 * "; 12 ended in code without unwind tables; …", the most frequent causes first, @causes at most. To
 * free(); "" where nothing is wanted, NULL without memory. */
char *sp_stack_counts_tell(const struct sp_stack_counts *counts, unsigned causes);

/* What a mode of --stacks means ("eh": "by unwind tables"); the word itself where it is not known.
 */
const char *sp_stack_mode_text(const char *mode);

#endif
