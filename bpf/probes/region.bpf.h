/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * region.bpf.h - emitting calls: used where regions end, and where threads, images and recordings do.
 */
#ifndef SP_BPF_REGION_H
#define SP_BPF_REGION_H

#include "bpf/core.bpf.h"

/* Ends the innermost open call, the one inside @outer, at @now. */
sp_inline void close_innermost(struct stack *st, struct frame *outer, __u64 now, __u16 flags)
{
	struct frame *f = outer + 1;
	void *ring = ring_of_cpu(&call_rings);
	struct sp_ev_call *ev = NULL;

	st->depth--;
	outer->child += now - f->start;
	if (ring)
		ev = bpf_ringbuf_reserve(ring, sizeof(*ev), 0);
	if (!ev) {
		lose(SP_LOSS_CALL_RING_FULL, 1);
		return;
	}
	ev->head.type = SP_EV_call;
	ev->head.flags = SP_CALL_WITH_DEPTH(flags, st->depth);
	ev->head.lane = st->lane;
	ev->start = f->start;
	ev->end = now;
	ev->child = f->child;
	ev->number = f->number;
	ev->parent = outer->number;
	ev->site = f->site;
	ev->skipped = f->skipped;
	bpf_ringbuf_submit(ev, BPF_RB_NO_WAKEUP);
}

struct close {
	struct stack *st;
	__u64 now;
	__u32 keep, flags;
};

static long close_one(__u32 index, struct close *c)
{
	struct frame *outer = outer_frame(c->st);

	if (!outer || c->st->depth <= c->keep)
		return 1;
	close_innermost(c->st, outer, c->now, c->flags);
	return 0;
}

/* Ends the open calls of a thread until @keep are left, innermost first. */
sp_inline void close_calls(struct stack *st, __u32 keep, __u64 now, __u32 flags)
{
	struct close c = {.st = st, .now = now, .keep = keep, .flags = flags};

	bpf_loop(SP_MAX_DEPTH, close_one, &c, 0);
}

#endif
