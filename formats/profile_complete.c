// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_complete.c - statistics that a file lacks, from its calls.
 *
 * Invariant: a rank's self times are computed for all of its rows or for none. Where all calls
 * nest, the direct children of a call are disjoint, so the self times of a lane add up to what its
 * outermost calls took.
 */
#include <stdlib.h>

#include "formats/profile_internal.h"
#include "formats/profile_nest.h"
#include "formats/util.h"

/* One pass over a row's calls. */
static int complete_row(struct sp_profile *profile, uint32_t index, struct sp_error *error)
{
	enum { BLOCK = 1 << 15 };
	struct sp_row *row = &profile->rows[index];
	unsigned int columns = profile->info.columns & (SP_CALLS_child_ns | SP_CALLS_gpu_ns);
	struct sp_stats stats = {0};
	struct sp_calls calls;
	uint64_t n = row->stats.calls;
	int r;

	if (sp_calls_alloc(&calls, n < BLOCK ? n + 1 : BLOCK, columns))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = 0;
	for (uint64_t at = 0; !r && at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

		r = sp_profile_read_calls(profile, index, at, some, &calls, error);
		if (!r)
			sp_stats_add(&stats, calls.start, calls.end, calls.child_ns, calls.gpu_ns,
				     some);
	}
	sp_calls_free(&calls);
	if (r)
		return r;
	if (row->stats.self >= 0)
		stats.self = row->stats.self;
	row->stats = stats;
	return 0;
}

static int add_self(void *data, const struct sp_nest_call *call)
{
	int64_t *self = data;

	self[call->row] = sp_wrap_add(
		self[call->row], sp_wrap_sub(sp_wrap_sub(call->end, call->start), call->child_ns));
	return 0;
}

/* Self times of a rank, into its rows; @self has an element for each row. */
static int complete_rank(struct sp_profile *profile, uint32_t rank, uint64_t max_calls,
			 int64_t *self, struct sp_error *error)
{
	struct sp_nest_visitor visitor = {.leave = add_self, .data = self};
	const uint32_t *rows;
	uint64_t calls = 0, overlaps;
	bool needed = false;
	uint32_t n;
	int r = sp_profile_rows_of_rank(profile, rank, &rows, &n, error);

	if (r)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_stats *stats = &profile->rows[rows[i]].stats;

		needed |= stats->calls && stats->self < 0;
		calls += stats->calls;
	}
	if (!needed || calls > max_calls)
		return 0;
	r = sp_profile_nest(profile, rank, &visitor, &overlaps, error);
	for (uint32_t i = 0; !r && !overlaps && i < n; i++)
		if (profile->rows[rows[i]].stats.calls)
			profile->rows[rows[i]].stats.self = self[rows[i]];
	return r;
}

int sp_profile_complete(struct sp_profile *profile, uint64_t max_calls, struct sp_error *error)
{
	int64_t *self sp_cleanup_free = NULL;
	int r = 0;

	if (profile->info.aggregate)
		return 0;
	for (uint32_t i = 0; !r && i < profile->info.n_rows; i++) {
		const struct sp_stats *stats = &profile->rows[i].stats;
		bool children = profile->info.columns & SP_CALLS_child_ns;

		if (stats->calls && (stats->m2 < 0 || (stats->self < 0 && children)))
			r = complete_row(profile, i, error);
	}
	if (r)
		return r;
	self = calloc((size_t)profile->info.n_rows + 1, sizeof(*self));
	if (!self)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint32_t i = 0; !r && i < profile->info.n_ranks; i++)
		r = complete_rank(profile, profile->ranks[i], max_calls, self, error);
	if (!r)
		sp_profile_find_origin(profile);
	return r;
}
