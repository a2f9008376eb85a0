/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * abandoned.bpf.h - room on a full stack: which free calls were left without an end (by longjmp, by
 * an early return, by a continue in a loop).
 *
 * That cannot be known, so it is asked only where a call would be lost otherwise. Invariant: real
 * recursion, which begins ever deeper on the program's stack, loses nothing here, and of calls of a
 * region that began in one place, the last one stays. It may be the one that runs.
 */
#ifndef SP_BPF_ABANDONED_H
#define SP_BPF_ABANDONED_H

#include "bpf/probes/repair.bpf.h"

/* Whether the innermost call began no deeper than the edge, on the same stack. */
sp_inline bool innermost_is_above(const struct edge *e)
{
	struct frame *outer = outer_frame(e->st);
	__u64 sp;

	if (!outer)
		return false;
	sp = PLACE_SP(outer[1].place);
	return sp <= PLACE_SP(e->place) && sp >= e->low && sp - e->hole >= e->hole_bytes;
}

/* While all open calls are gone through as if they began now, outermost first. Those up to @base
 * stay, those from there to @depth will begin again in the same place: then they end, and so do they
 * before a call that stays. */
struct sift {
	struct stack *st;
	__u64 id, place, start; /* of the next call */
	__u32 from;		/* depth at which a search begins */
	__u32 found;		/* depth, 0 none */
	__u32 base, depth, keep;
};

static long search_same(__u32 index, struct sift *s)
{
	struct frame *f = open_call(s->st, s->from + index);

	if (!f)
		return 1;
	if (f->id != s->id || f->place != s->place)
		return 0;
	s->found = s->from + index;
	return 1;
}

/* Searches the call's equal from a depth on. */
sp_inline void find_same(struct sift *s, __u32 from)
{
	s->from = from;
	s->found = 0;
	bpf_loop(SP_MAX_DEPTH, search_same, s, 0);
}

static long end_left(__u32 index, struct sift *s)
{
	struct stack *st = s->st;
	__u32 outer = s->depth - 1;

	if (s->depth <= s->keep || outer >= SP_MAX_DEPTH)
		return 1;
	barrier_var(outer); /* as in outer_frame() */
	st->late[st->n_late++ & (SP_LATE_ENDS - 1)] = st->frames[outer + 1].id;
	sp_put_call_at(st, s->depth, s->start, SP_CALL_CLOSED_BY_UNWINDING);
	s->depth = outer;
	return 0;
}

static long sift_one(__u32 index, struct sift *s)
{
	struct frame *f = open_call(s->st, index + 1);
	bool again;
	__u32 at;

	if (!f)
		return 1;
	s->id = f->id;
	s->place = f->place;
	s->start = f->start;
	find_same(s, index + 2);
	again = s->found && !(f->place & SP_SCOPE);
	s->keep = s->base;
	if (again) {
		find_same(s, s->base + 1);
		s->keep = s->found <= s->depth ? s->found - 1 : s->depth;
	}
	bpf_loop(SP_MAX_DEPTH, end_left, s, 0);
	at = s->depth;
	if (at >= SP_MAX_DEPTH)
		return 1;
	barrier_var(at);
	s->st->frames[at + 1] = *f;
	s->depth = at + 1;
	if (!again)
		s->base = at + 1;
	return 0;
}

static long drop_one(__u32 index, struct edge *e)
{
	struct frame *outer = outer_frame(e->st);

	if (!outer || PLACE_SP(outer[1].place) == PLACE_SP(e->place) || !innermost_is_above(e))
		return 1;
	close_without_end(e, outer, SP_CALL_CLOSED_BY_UNWINDING);
	return 0;
}

/* At a begin for which there is no room. Above it on the stack, calls that began twice in one place
 * were left but for the last time; if that makes no room, so were all whose functions seem to have
 * returned. */
static __noinline int drop_abandoned(struct stack *st, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct edge e = {.st = st, .place = sp};
	struct sift s = {.st = st};

	if (!st)
		return 0;
	e.now = bpf_ktime_get_ns();
	if (!control.since) /* see sp_bpf_stop() */
		return 0;
	find_stack(&e);
	/* Where it is not known (another thread may hold the lock, for long if it forks) all is taken
	 * for one stack. */
	if (!st->own.low && task->pid != task->tgid)
		e.low = 0;
	if (!innermost_is_above(&e))
		return 0;
	/* 0, which the verifier does not know: else it follows these counts through all values. */
	s.depth = s.base = s.keep = s.from = s.found = (__u32)st->frames[0].number;
	bpf_loop(SP_MAX_DEPTH, sift_one, &s, 0);
	if (s.depth < st->depth)
		st->overflow = 0;
	barrier(); /* a sample that interrupts finds the innermost call at either depth */
	st->depth = s.depth;
	if (s.depth >= SP_MAX_DEPTH)
		bpf_loop(SP_MAX_DEPTH, drop_one, &e, 0);
	return 0;
}

#endif
