/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * repair.bpf.h - what becomes of calls whose end does not come, and of ends that have no call.
 *
 * The evidence: a call is known by its region, by the program's stack pointer at its begin, and by
 * whether it is a scope, whose end its function cannot return without, or free. Invariants: a free
 * call is closed by nothing but its end, the end of a call around it, or the end of the thread, the
 * program or the recording; only on a full stack by where the stack pointer is. A scope is also
 * closed at the first edge from which its function is seen to have returned: above it on the same
 * stack. "Same" is proven, not assumed, since a signal's stack or a fiber may lie anywhere: the
 * range of the thread's own stack is known from the kernel (stack_range.bpf.h), that of the signal
 * stack, too, and nothing else counts. Where it is in doubt the call stays open: closing late is
 * better than closing what runs.
 */
#ifndef SP_BPF_REPAIR_H
#define SP_BPF_REPAIR_H

#include "bpf/probes/region.bpf.h"
#include "bpf/probes/stack_range.bpf.h"

/* The edge that a program is at. */
struct edge {
	struct stack *st;
	__u64 now;
	__u64 id;
	__u64 place;		/* as in a frame */
	__u64 low;		/* on the same stack is what lies from here to `place`, … */
	__u64 hole, hole_bytes; /* … but for the signal stack */
	__u32 site;
	__u32 base;  /* of its image */
	__u32 keep;  /* calls that stay open */
	__u32 exact; /* what is searched for began here, not just in this region */
	__u32 found; /* its depth, 0 none */
};

#define PLACE_SP(place) ((place) & ((1ull << 48) - 8))

sp_inline bool on_own_stack(const struct stack *st, __u64 sp)
{
	return st->own.low && sp >= st->own.low && sp < st->own.high;
}

/* Sets the range of addresses that are surely on the stack that the edge is on; empty where
 * unknown. */
sp_inline void find_stack(struct edge *e)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack *st = e->st;
	struct frame *outer = outer_frame(st);
	__u64 sp = PLACE_SP(e->place);

	e->hole = task->sas_ss_sp;
	e->hole_bytes = task->sas_ss_size;
	e->low = sp;
	if (sp - e->hole < e->hole_bytes) {
		e->low = e->hole;
		e->hole_bytes = 0;
		return;
	}
	if (!on_own_stack(st, sp) || (outer && PLACE_SP(outer[1].place) < st->own.low))
		learn_stack(&st->own, sp);
	if (on_own_stack(st, sp))
		e->low = st->own.low;
}

/* Whether the function of a call has returned. */
sp_inline bool is_dead(const struct edge *e, const struct frame *f)
{
	__u64 sp = PLACE_SP(f->place);

	return f->place & SP_SCOPE && sp >= e->low && sp < PLACE_SP(e->place) &&
	       sp - e->hole >= e->hole_bytes;
}

/* The open call of a depth; NULL if there is none. */
sp_inline struct frame *open_call(struct stack *st, __u32 depth)
{
	__u32 outer = depth - 1;

	if (outer >= st->depth || outer >= SP_MAX_DEPTH)
		return NULL;
	barrier_var(outer); /* as in outer_frame() */
	return &st->frames[outer] + 1;
}

/* Closes the innermost call without its end. */
sp_inline void close_without_end(struct edge *e, struct frame *outer, __u16 flag)
{
	struct stack *st = e->st;

	st->late[st->n_late++ & (SP_LATE_ENDS - 1)] = outer[1].id;
	st->overflow = 0; /* what was deeper is gone as well */
	sp_put_call_at(st, st->depth--, e->now, flag);
}

static long close_broken(__u32 index, struct edge *e)
{
	struct frame *outer = outer_frame(e->st);

	if (!outer || e->st->depth <= e->keep)
		return 1;
	close_without_end(e, outer,
			  is_dead(e, outer + 1) ? SP_CALL_CLOSED_BY_UNWINDING
						: SP_CALL_CLOSED_BY_OUTER);
	return 0;
}

/* Closes all but @keep, as the end of a call around them does. */
sp_inline void close_inner(struct edge *e, __u32 keep)
{
	e->keep = keep;
	bpf_loop(SP_MAX_DEPTH, close_broken, e, 0);
}

static long search_dead(__u32 index, struct edge *e)
{
	struct frame *f = open_call(e->st, index + 1);

	if (f && !is_dead(e, f))
		return 0;
	e->found = f ? index + 1 : 0;
	return 1;
}

/* Closes the outermost scope whose function has returned, and what was open in it. */
sp_inline void close_dead(struct edge *e)
{
	bpf_loop(SP_MAX_DEPTH, search_dead, e, 0);
	if (e->found)
		close_inner(e, e->found - 1);
	e->found = 0;
}

static long search_again(__u32 index, struct edge *e)
{
	__u32 depth = e->st->depth - index;
	struct frame *f = open_call(e->st, depth);

	if (!f || PLACE_SP(f->place) > PLACE_SP(e->place))
		return 1;
	if (f->site != e->site || f->place != e->place)
		return 0;
	e->found = depth;
	return 1;
}

/* A begin that is higher on the stack than the innermost call, or that of a scope and as high.
 * Where the same scope begins again in the same frame, its last call was left: its end has no other
 * way to be missing. */
static __noinline int repair_begin(struct stack *st, __u64 place, __u32 site)
{
	struct edge e = {.st = st, .place = place, .site = site};

	if (!st)
		return 0;
	e.now = bpf_ktime_get_ns();
	if (!control.since) /* see sp_bpf_stop() */
		return 0;
	find_stack(&e);
	close_dead(&e);
	if (!(place & SP_SCOPE))
		return 0;
	bpf_loop(SP_MAX_DEPTH, search_again, &e, 0);
	if (!e.found)
		return 0;
	e.place += 8; /* what began here is gone, too */
	close_inner(&e, e.found - 1);
	return 0;
}

/* Whether two sites are known to stand in different functions. */
sp_inline bool in_other_functions(__u32 one, __u32 other)
{
	struct sp_site_known *a = bpf_map_lookup_elem(&sites, &one);
	struct sp_site_known *b = bpf_map_lookup_elem(&sites, &other);

	return a && b && a->function && b->function && a->function != b->function;
}

/* Whether a call and an end are of run-time names that both tell their callers. */
sp_inline bool have_callers(const struct frame *f, __u64 place)
{
	return f->place & place & SP_CALLER;
}

/* Whether a call began where the edge is. A helper's begin can have the stack pointer of another
 * helper's end, further in: then the functions differ. */
sp_inline bool began_here(const struct edge *e, const struct frame *f)
{
	__u64 differs = f->place ^ e->place;

	if (e->site) /* a static end has no caller */
		differs &= ~SP_CALLER_BITS;
	if (differs)
		return false;
	return f->place & SP_SCOPE ? f->site == e->site : !in_other_functions(f->site, e->site);
}

static long search_call(__u32 index, struct edge *e)
{
	__u32 depth = e->st->depth - index;
	struct frame *f = open_call(e->st, depth);

	if (!f)
		return 1;
	if (f->id != e->id || (f->place ^ e->place) & SP_SCOPE)
		return 0;
	if (e->exact && !began_here(e, f))
		return 0;
	e->found = depth;
	return 1;
}

/* Searches the innermost call of the edge's region and kind; @exact: that began where the edge is. */
sp_inline void find_call(struct edge *e, __u32 exact)
{
	e->exact = exact;
	bpf_loop(SP_MAX_DEPTH, search_call, e, 0);
}

sp_inline __u64 *seen_word(struct stack *st, __u64 id)
{
	return &st->seen[(id >> 9) & (SP_SEEN_WORDS - 1)];
}

sp_inline __u64 seen_bit(__u64 id)
{
	return 1ull << ((id >> 3) & 63);
}

/* The lane of a thread that may have been in the edge's call when its recording began; else NULL.
 * Not if the image was armed later: its calls begin unseen until then, and nobody knows when. */
sp_inline struct lane *lane_with_before(const struct edge *e)
{
	struct lane *lane;

	if (!e->st->before)
		return NULL;
	lane = bpf_task_storage_get(&lanes, bpf_get_current_task_btf(), 0, 0);
	if (!lane || (e->base >= lane->next_base && e->base >= control.since_base))
		return NULL;
	return lane;
}

/* The end of a call that was open when the thread's recording began: all that it has recorded was
 * inside of it. */
static __noinline int end_before(struct stack *st, struct lane *lane, __u32 site, __u64 now)
{
	__u64 begin = control.since, word;
	struct queue_slot *slot;

	if (!st || !lane || !begin) /* stopped meanwhile */
		return 0;
	if (begin < lane->born)
		begin = lane->born;
	slot = next_slot(&word);
	if (!slot) {
		lose_at(SP_LOSS_CALL_RING_FULL, st->lane, site, 1);
	} else {
		slot->call.head.type = SP_EV_call;
		slot->call.head.flags = SP_CALL_WITH_DEPTH(SP_CALL_BEGAN_BEFORE, 0);
		slot->call.head.lane = st->lane;
		slot->call.start = begin;
		slot->call.end = now;
		slot->call.child = st->frames[0].child;
		slot->call.number = st->before;
		slot->call.parent = 0;
		slot->call.site = site;
		slot->call.skipped = 0;
		__sync_lock_test_and_set(&slot->word, word);
	}
	st->frames[0].child = now - begin;
	st->before--;
	return 0;
}

/* Takes one away of the calls of the region that were closed before their ends came. */
sp_inline bool take_late(struct stack *st, __u64 id)
{
	for (int i = 0; i < SP_LATE_ENDS; i++)
		if (st->late[i] == id) {
			st->late[i] = 0;
			return true;
		}
	return false;
}

/* An end that has nothing to end. It can be that of a call from before the recording where nothing
 * else is open, if it is a scope's, which never comes without its begin, or if the thread has not
 * begun that region since; else it is a mistake. */
sp_inline void end_nothing(struct edge *e)
{
	struct stack *st = e->st;
	struct lane *lane;

	if (take_late(st, e->id)) {
		lose_at(SP_LOSS_LATE_END, st->lane, e->site, 1);
		return;
	}
	lane = lane_with_before(e);
	if (lane && e->place & SP_SCOPE && e->low < PLACE_SP(e->place))
		close_inner(e, 0);
	if (lane && !st->depth &&
	    (e->place & SP_SCOPE || !(*seen_word(st, e->id) & seen_bit(e->id))))
		end_before(st, lane, e->site, e->now);
	else
		lose_at(SP_LOSS_UNMATCHED_END, st->lane, e->site, 1);
}

/* True if the end is one of the calls beyond the limit. It is that of a recorded one if this began
 * in its place: as a scope, or above all that is beyond the limit. Else the innermost ends first,
 * unless the function around them has returned. */
sp_inline bool end_overflow(struct edge *e)
{
	struct stack *st = e->st;
	struct frame *outer = outer_frame(st);

	if (!st->overflow || !outer)
		return false;
	if (e->place & SP_SCOPE || PLACE_SP(e->place) > TOO_DEEP_PLACE(st))
		find_call(e, 1);
	if (!e->found && !is_dead(e, outer + 1)) {
		st->overflow--;
		return true;
	}
	st->overflow = 0;
	return false;
}

/* Whether the innermost call is a free one of the edge's region. */
sp_inline bool innermost_is_same(const struct edge *e)
{
	struct frame *outer = outer_frame(e->st);

	return outer && outer[1].id == e->id && !((outer[1].place | e->place) & SP_SCOPE);
}

/* Whether the place of an end says more than the order of the calls. Not of a run-time name without
 * callers: it begins and ends in helpers, and one that is called last (a jump) has the stack pointer
 * of its caller's caller, where that may have begun the same region. */
sp_inline bool may_end_outer(const struct edge *e)
{
	struct frame *outer = outer_frame(e->st);

	return e->site || !innermost_is_same(e) || (outer && have_callers(&outer[1], e->place));
}

/* Ends what an end can end; 1 if there is nothing. */
static __noinline int repair_end(struct edge *e)
{
	struct stack *st;

	if (!e)
		return 0;
	st = e->st;
	if (!st)
		return 0;
	find_stack(e);
	if (end_overflow(e))
		return 0;
	if (!e->found && may_end_outer(e))
		find_call(e, 1);
	if (!e->found && innermost_is_same(e))
		e->found = st->depth;
	if (!e->found) {
		close_dead(e);
		find_call(e, 0);
	}
	if (!e->found)
		return 1;
	close_inner(e, e->found);
	if (st->depth)
		sp_put_call_at(st, st->depth--, e->now, 0);
	return 0;
}

#endif
