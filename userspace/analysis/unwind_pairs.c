/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_pairs.c - see unwind_pairs.h. Each stream has at most one sample that waits.
 */
#include "userspace/analysis/unwind_pairs.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"

#define MOST_BYTES ((SP_MAX_KERNEL_FRAMES + SP_MAX_FRAMES) * sizeof(uint64_t))

struct sp_pair_slot {
	struct sp_ev_sample sample;
	bool waits;
	size_t tail_bytes;
	uint8_t tail[MOST_BYTES];
};

static int give(struct sp_unwind_pairs *pairs, struct sp_pair_slot *slot,
		const struct sp_event *copy)
{
	struct sp_event sample = {.head = &slot->sample.head,
				  .id = SP_EV_sample,
				  .tail = slot->tail,
				  .tail_bytes = slot->tail_bytes};

	if (!slot->waits)
		return 0;
	slot->waits = false;
	return pairs->found(pairs->context, &sample, copy);
}

static struct sp_pair_slot *find_slot(struct sp_unwind_pairs *pairs, unsigned stream)
{
	uint32_t index = sp_idmap_get(&pairs->by_stream, stream);
	struct sp_pair_slot *slot;

	if (index != SP_IDMAP_NONE)
		return &pairs->slots[index];
	slot = sp_array_add(&pairs->slots, &pairs->n, &pairs->room);
	if (!slot || sp_idmap_set(&pairs->by_stream, stream, (uint32_t)(pairs->n - 1)) < 0)
		return NULL;
	return slot;
}

static int take_sample(struct sp_unwind_pairs *pairs, struct sp_pair_slot *slot,
		       const struct sp_event *event)
{
	int r = give(pairs, slot, NULL);

	slot->waits = true;
	memcpy(&slot->sample, event->head, sizeof(slot->sample));
	slot->tail_bytes = event->tail_bytes < MOST_BYTES ? event->tail_bytes : MOST_BYTES;
	memcpy(slot->tail, event->tail, slot->tail_bytes);
	return r;
}

static int take_copy(struct sp_unwind_pairs *pairs, struct sp_pair_slot *slot,
		     const struct sp_event *event)
{
	const struct sp_ev_stack_copy *copy = (const struct sp_ev_stack_copy *)event->head;

	if (!slot->waits || slot->sample.head.lane != copy->head.lane ||
	    slot->sample.time != copy->time) {
		pairs->alone++;
		return 0;
	}
	return give(pairs, slot, event);
}

int sp_unwind_pairs_add(struct sp_unwind_pairs *pairs, unsigned stream,
			const struct sp_event *event)
{
	unsigned type = event->head->type;
	struct sp_pair_slot *slot;

	if (type != SP_EV_sample && type != SP_EV_stack_copy)
		return 0;
	slot = find_slot(pairs, stream);
	if (!slot)
		return -ENOMEM;
	return type == SP_EV_sample ? take_sample(pairs, slot, event)
				    : take_copy(pairs, slot, event);
}

int sp_unwind_pairs_finish(struct sp_unwind_pairs *pairs)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < pairs->n; i++)
		r = give(pairs, &pairs->slots[i], NULL);
	return r < 0 ? r : 0;
}

void sp_unwind_pairs_free(struct sp_unwind_pairs *pairs)
{
	free(pairs->slots);
	sp_idmap_free(&pairs->by_stream);
}
