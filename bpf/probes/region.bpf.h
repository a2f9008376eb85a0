/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * region.bpf.h - emitting calls: used where regions end, and where threads, images and recordings do.
 */
#ifndef SP_BPF_REGION_H
#define SP_BPF_REGION_H

#include "bpf/core.bpf.h"

#define QUEUE_TRIES 8 /* a writer that came in between on this CPU makes one try fail */

/* Takes the next slot of this CPU's queue, NULL if it is full. Sets the word to publish it with. */
sp_inline struct queue_slot *next_slot(__u64 *ret_word)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct sp_queue_ends *ends = bpf_map_lookup_elem(&call_ends, &cpu);
	__u32 order = config.queue_order;

	if (!ends)
		return NULL;
	for (int i = 0; i < QUEUE_TRIES; i++) {
		__u64 n = *(volatile __u64 *)&ends->head;
		__u32 key = (cpu << order) + (n & ((1ull << order) - 1));
		__u64 word = 2 * (n >> order);
		struct queue_slot *slot = bpf_map_lookup_elem(&calls, &key);

		if (!slot || *(volatile __u64 *)&slot->word != word) {
			if (n == *(volatile __u64 *)&ends->head)
				return NULL;
			continue;
		}
		if (__sync_val_compare_and_swap(&ends->head, n, n + 1) == n) {
			*ret_word = word + 1;
			return slot;
		}
	}
	return NULL;
}

/* Records call @f, which was open inside @outer at @depth, and forgets it. */
sp_inline void put_call(struct stack *st, struct frame *outer, struct frame *f, __u32 depth,
			__u64 end, __u16 flags)
{
	struct queue_slot *slot;
	__u64 word;

	outer->child += end - f->start;
	slot = next_slot(&word);
	if (!slot) {
		lose_at(SP_LOSS_CALL_RING_FULL, st->lane, f->site, 1);
		return;
	}
	slot->call.head.type = SP_EV_call;
	slot->call.head.flags = SP_CALL_WITH_DEPTH(flags, depth);
	slot->call.head.lane = st->lane;
	slot->call.start = f->start;
	slot->call.end = end;
	slot->call.child = f->child;
	slot->call.number = f->number;
	slot->call.parent = outer->number;
	slot->call.site = f->site;
	slot->call.skipped = f->skipped;
	__sync_lock_test_and_set(&slot->word, word); /* after all of it, on every machine */
}

/* The same for the call at a depth, from 1, out of line; not static, so that the verifier looks at it
 * once, and not at each call in a loop. */
__noinline int sp_put_call_at(struct stack *st, __u32 depth, __u64 end, __u32 flags)
{
	__u32 outer = depth - 1;

	if (!st || outer >= SP_MAX_DEPTH)
		return 0;
	barrier_var(outer); /* as in outer_frame() */
	put_call(st, &st->frames[outer], &st->frames[outer + 1], outer, end, flags);
	return 0;
}

/* Ends the innermost open call, the one inside @outer, at @now. */
sp_inline void close_innermost(struct stack *st, struct frame *outer, __u64 now, __u16 flags)
{
	st->depth--;
	put_call(st, outer, outer + 1, st->depth, now, flags);
}

struct close {
	struct stack *st;
	__u64 now;
	__u32 keep, flags;
};

static long close_one(__u32 index, struct close *c)
{
	struct frame *outer = outer_frame(c->st);
	struct stack *st = c->st;

	if (!outer || st->depth <= c->keep)
		return 1;
	if (outer[1].start > c->now) /* began after the end of the recording */
		st->depth--;
	else
		sp_put_call_at(st, st->depth--, c->now, c->flags);
	return 0;
}

/* Ends the open calls of a thread until @keep are left, innermost first. */
sp_inline void close_calls(struct stack *st, __u32 keep, __u64 now, __u32 flags)
{
	struct close c = {.st = st, .now = now, .keep = keep, .flags = flags};

	bpf_loop(SP_MAX_DEPTH, close_one, &c, 0);
}

#endif
