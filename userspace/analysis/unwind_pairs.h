/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_pairs.h - samples with the copies of their stacks, from the events of a journal.
 *
 * A stack_copy follows its sample in the sample's stream, with the same lane and time; blocks of
 * other streams may come in between. A sample whose copy was lost comes out alone. Memory: a sample
 * a stream.
 *
 * Life cycle: zero it and set found and context; add every event in order; finish; free.
 */
#ifndef SP_ANALYSIS_UNWIND_PAIRS_H
#define SP_ANALYSIS_UNWIND_PAIRS_H

#include <stdint.h>

#include "formats/codec.h"
#include "userspace/base/idmap.h"

struct sp_pair_slot;

struct sp_unwind_pairs {
	/* Called with each sample, once. @copy: NULL if there is none. Both live until it returns.
	 * Negative stops. */
	int (*found)(void *context, const struct sp_event *sample, const struct sp_event *copy);
	void *context;
	struct sp_pair_slot *slots;
	size_t n, room;
	struct sp_idmap by_stream;
	uint64_t alone; /* copies without a sample */
};

/* Events of other types are passed over. 0, -ENOMEM, or what found() returned. */
int sp_unwind_pairs_add(struct sp_unwind_pairs *pairs, unsigned stream,
			const struct sp_event *event);
/* Hands out the samples that still wait for a copy. */
int sp_unwind_pairs_finish(struct sp_unwind_pairs *pairs);
void sp_unwind_pairs_free(struct sp_unwind_pairs *pairs);

#endif
