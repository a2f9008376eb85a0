// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_self.c - self times by nesting, for files whose writer did not compute them.
 *
 * Invariant: a rank's self times are set for all of its rows or for none. A call's direct children
 * are disjoint once nesting is proper, so the self times of a lane add up to what its outermost
 * calls took.
 */
#include <stdlib.h>

#include "formats/profile_internal.h"
#include "formats/util.h"

struct interval {
	int64_t start;
	int64_t end;
	int64_t lane;
	uint32_t row;
};

/* By lane, then by start; of two with one start the longer encloses the other. */
static int compare_intervals(const void *a, const void *b)
{
	const struct interval *left = a, *right = b;

	if (left->lane != right->lane)
		return left->lane < right->lane ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (right->end > left->end) - (right->end < left->end);
}

/* A task is a lane; else a thread is; calls without either share one. As scope-profiler has it. */
static int64_t lane_of(const struct sp_calls *calls, size_t i)
{
	if (calls->task && calls->task[i] >= 0)
		return calls->task[i];
	if (calls->thread && calls->thread[i] >= 0)
		return sp_wrap_sub(-2, calls->thread[i]);
	return -1;
}

static int load_row(struct sp_profile *profile, uint32_t row, struct interval *intervals,
		    struct sp_error *error)
{
	enum { BLOCK = 1 << 13 };
	uint64_t n = profile->rows[row].stats.calls;
	struct sp_calls calls;
	int r = 0;

	if (sp_calls_alloc(&calls, BLOCK,
			   profile->info.columns & (SP_CALLS_thread | SP_CALLS_task)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint64_t at = 0; !r && at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

		r = sp_profile_read_calls(profile, row, at, some, &calls, error);
		for (size_t i = 0; !r && i < some; i++)
			intervals[at + i] = (struct interval){calls.start[i], calls.end[i],
							      lane_of(&calls, i), row};
	}
	sp_calls_free(&calls);
	return r;
}

/* Subtracts each call's time from the call around it. False if calls overlap without nesting. */
static bool subtract_children(const struct interval *intervals, size_t n, uint32_t *stack,
			      int64_t *self)
{
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		const struct interval *call = &intervals[i];
		int64_t duration;

		if (call->end < call->start)
			return false;
		while (depth && (intervals[stack[depth - 1]].lane != call->lane ||
				 intervals[stack[depth - 1]].end <= call->start))
			depth--;
		duration = sp_wrap_sub(call->end, call->start);
		self[call->row] = sp_wrap_add(self[call->row], duration);
		if (depth) {
			const struct interval *outer = &intervals[stack[depth - 1]];

			if (call->end > outer->end)
				return false;
			self[outer->row] = sp_wrap_sub(self[outer->row], duration);
		}
		stack[depth++] = (uint32_t)i;
	}
	return true;
}

int sp_profile_compute_self(struct sp_profile *profile, uint32_t rank, uint64_t max_calls,
			    struct sp_error *error)
{
	sp_cleanup_free struct interval *intervals = NULL;
	sp_cleanup_free uint32_t *stack = NULL;
	sp_cleanup_free int64_t *self = NULL;
	bool needed = false;
	uint64_t n = 0;
	int r = 0;

	for (uint32_t i = 0; i < profile->info.n_rows; i++) {
		const struct sp_row *row = &profile->rows[i];

		if (row->rank != rank)
			continue;
		needed |= row->stats.calls && row->stats.self < 0;
		n += row->stats.calls;
	}
	if (!needed || n > max_calls || n > UINT32_MAX)
		return 0;
	intervals = calloc(n, sizeof(*intervals));
	stack = calloc(n, sizeof(*stack));
	self = calloc(profile->info.n_rows, sizeof(*self));
	if (!intervals || !stack || !self)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	n = 0;
	for (uint32_t i = 0; !r && i < profile->info.n_rows; i++) {
		if (profile->rows[i].rank != rank)
			continue;
		r = load_row(profile, i, intervals + n, error);
		n += profile->rows[i].stats.calls;
	}
	if (r)
		return r;
	qsort(intervals, n, sizeof(*intervals), compare_intervals);
	if (!subtract_children(intervals, n, stack, self))
		return 0;
	for (uint32_t i = 0; i < profile->info.n_rows; i++)
		if (profile->rows[i].rank == rank && profile->rows[i].stats.calls)
			profile->rows[i].stats.self = self[i];
	return 0;
}
