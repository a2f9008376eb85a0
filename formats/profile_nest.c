// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_nest.c - finds the enclosing call of each call, with a stack of open calls for each lane.
 *
 * Invariant: from the top of a lane's stack down, each call starts no later than the one above it;
 * what a new call's start has passed is taken off before the new one is looked at.
 */
#include "formats/profile_nest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "formats/profile_order.h"
#include "formats/util.h"

/* Calls open at once in a rank. One more is taken as an overlap: only a file made for the purpose
 * has as many. */
#define MAX_OPEN (1u << 20)
#define NONE UINT32_MAX

struct open_call {
	struct sp_nest_call call;
	uint32_t outer; /* below it in the stack; in the list of free ones the next */
};

struct lane {
	int64_t key;
	uint32_t top; /* NONE: no call is open */
	bool used;
};

struct nest {
	const struct sp_nest_visitor *visitor;
	struct open_call *open;
	size_t capacity;
	uint32_t n_open, n_made, free;
	struct lane *lanes; /* a hash table; its size is a power of two, at most half of it used */
	size_t n_lanes, room, sweep_at;
	uint64_t seed;
	uint64_t number, overlaps;
};

/* ---- lanes ---- */

static inline struct lane *find_lane(const struct nest *nest, int64_t key)
{
	__uint128_t product = (__uint128_t)((uint64_t)key ^ nest->seed) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & (nest->room - 1);

	while (nest->lanes[at].used && nest->lanes[at].key != key)
		at = (at + 1) & (nest->room - 1);
	return &nest->lanes[at];
}

static int compare_lanes(const void *a, const void *b)
{
	const struct lane *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

/* Takes the innermost call off. */
static int leave_top(struct nest *nest, struct lane *lane)
{
	struct open_call *top = &nest->open[lane->top];
	uint32_t index = lane->top;
	int r = nest->visitor->leave ? nest->visitor->leave(nest->visitor->data, &top->call) : 0;

	lane->top = top->outer;
	top->outer = nest->free;
	nest->free = index;
	nest->n_open--;
	return r;
}

/* Takes off what has ended before @start. A call without length is still open at its own time: so
 * scope-profiler nests calls that coincide. */
static inline int leave_ended(struct nest *nest, struct lane *lane, int64_t start)
{
	int r = 0;

	while (!r && lane->top != NONE) {
		const struct sp_nest_call *top = &nest->open[lane->top].call;

		if (top->end > start || (top->end == start && top->start == start))
			break;
		r = leave_top(nest, lane);
	}
	return r;
}

/* Leaves in all lanes what has ended before @start, or everything if @all, and forgets lanes where
 * nothing is open. In the order of the lanes' numbers, so that one file gives one order of events.
 */
static int sweep(struct nest *nest, int64_t start, bool all)
{
	struct lane *old sp_cleanup_free = nest->lanes;
	size_t n = 0, room = 64;
	int r = 0;

	for (size_t i = 0; i < nest->room; i++)
		if (old[i].used)
			old[n++] = old[i];
	nest->lanes = NULL;
	nest->n_lanes = nest->room = 0;
	if (n)
		qsort(old, n, sizeof(*old), compare_lanes);
	for (size_t i = 0; i < n; i++) {
		while (!r && all && old[i].top != NONE)
			r = leave_top(nest, &old[i]);
		if (!r && !all)
			r = leave_ended(nest, &old[i], start);
		nest->n_lanes += old[i].top != NONE;
	}
	while (room < 4 * nest->n_lanes)
		room *= 2;
	nest->lanes = calloc(room, sizeof(*nest->lanes));
	if (r || !nest->lanes)
		return r ? r : -ENOMEM;
	nest->room = room;
	nest->sweep_at = room / 2;
	for (size_t i = 0; i < n; i++)
		if (old[i].top != NONE)
			*find_lane(nest, old[i].key) = old[i];
	return 0;
}

/* ---- calls ---- */

/* Puts a call on the lane's stack; -ENOBUFS if too many are open. */
static int push(struct nest *nest, struct lane *lane, const struct sp_nest_call *call)
{
	uint32_t index = nest->free;

	if (nest->n_open == MAX_OPEN)
		return -ENOBUFS;
	if (index == NONE) {
		if (sp_array_reserve((void **)&nest->open, &nest->capacity, nest->n_made,
				     sizeof(*nest->open)))
			return -ENOMEM;
		index = nest->n_made++;
	} else {
		nest->free = nest->open[index].outer;
	}
	nest->open[index] = (struct open_call){*call, lane->top};
	lane->top = index;
	nest->n_open++;
	return 0;
}

static int enter_call(struct nest *nest, const struct sp_ordered_call *from, uint32_t row)
{
	struct sp_nest_call call = {.row = row,
				    .index = from->index,
				    .start = from->start,
				    .end = from->end,
				    .lane = from->lane,
				    .number = nest->number++,
				    .parent = -1};
	struct sp_nest_call *outer = NULL;
	struct lane *lane = find_lane(nest, from->lane);
	int r = 0, pushed;

	if (!lane->used) {
		if (nest->n_lanes >= nest->sweep_at) {
			r = sweep(nest, from->start, false);
			if (r)
				return r;
			lane = find_lane(nest, from->lane);
		}
		*lane = (struct lane){from->lane, NONE, true};
		nest->n_lanes++;
	}
	r = leave_ended(nest, lane, from->start);
	if (r)
		return r;
	call.overlaps = call.end < call.start;
	if (lane->top != NONE && !call.overlaps) {
		outer = &nest->open[lane->top].call;
		call.overlaps = call.end > outer->end;
	}
	if (outer && !call.overlaps) {
		call.parent = (int64_t)outer->number;
		call.depth = outer->depth + 1;
	}
	pushed = call.end < call.start ? -ENOBUFS : push(nest, lane, &call);
	if (pushed == -ENOMEM)
		return pushed;
	if (pushed) { /* it can be nobody's parent, and nobody's child */
		call.parent = -1;
		call.depth = 0;
		call.overlaps = true;
	} else if (call.parent >= 0) {
		outer = &nest->open[nest->open[lane->top].outer].call;
		outer->child_ns = sp_wrap_add(outer->child_ns, sp_wrap_sub(call.end, call.start));
	}
	nest->overlaps += call.overlaps;
	if (nest->visitor->enter)
		r = nest->visitor->enter(nest->visitor->data, &call);
	if (!r && pushed && nest->visitor->leave)
		r = nest->visitor->leave(nest->visitor->data, &call);
	return r;
}

int sp_profile_nest(struct sp_profile *profile, uint32_t rank,
		    const struct sp_nest_visitor *visitor, uint64_t *ret_overlaps,
		    struct sp_error *error)
{
	struct nest nest = {.visitor = visitor, .free = NONE};
	const struct sp_ordered_call *call;
	struct sp_call_order *order;
	uint32_t row;
	int r = sp_call_order_open(profile, rank, &order, error), more = 0;

	if (r)
		return r;
	if (getrandom(&nest.seed, sizeof(nest.seed), GRND_NONBLOCK) < 0)
		nest.seed = (uintptr_t)order;
	r = sweep(&nest, 0, false);
	while (!r) {
		more = sp_call_order_next(order, &call, &row, error);
		if (more <= 0)
			break;
		r = enter_call(&nest, call, row);
	}
	if (!r && !more)
		r = sweep(&nest, 0, true);
	if (r == -ENOMEM)
		sp_error_set(error, r, 0, "no memory");
	sp_call_order_free(order);
	free(nest.open);
	free(nest.lanes);
	if (r || more < 0)
		return r ? r : more;
	if (ret_overlaps)
		*ret_overlaps = nest.overlaps;
	return 0;
}
