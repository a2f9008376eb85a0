/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks.h - how complete the recorded stacks are, counted while they pass.
 */
#ifndef SP_LOADER_STACKS_H
#define SP_LOADER_STACKS_H

#include <stdint.h>

#include "formats/wire.h"
#include "loader/unwind.h"

struct sp_stacks {
	uint64_t ends[SP_STACK_END_MAX];
	uint64_t copied; /* cut short, but libdw will have them */
	unsigned last;	 /* end of the sample that came last */
};

/* Counts a sample, and for a stack that is cut short the file in which it ended. @unwind may be
 * NULL. */
void sp_stacks_add(struct sp_stacks *stacks, struct sp_unwind *unwind,
		   const struct sp_ev_sample *sample);
/* The sample that came last was cut short, and brought a copy of its stack. */
void sp_stacks_add_copy(struct sp_stacks *stacks);
/* One line, and a hint where callers are missing in more than one stack of a hundred. Nothing where
 * no stack was asked for, or none came. */
void sp_stacks_say(const struct sp_stacks *stacks, const struct sp_unwind *unwind);

#endif
