/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lanes.c - see lanes.h.
 */
#include "userspace/analysis/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

#define CHUNK 65536

struct lane_rank {
	int64_t told_start, told_end; /* by the metadata */
	int64_t start, end;	      /* of its run; end < start: unknown */
	uint64_t calls;
	double self;
	bool has_threads;
	bool counted; /* the table says which of them have calls */
	uint64_t threads;
	double thread_ns;
};

struct lanes {
	const struct sp_given *input;
	struct sp_profile *profile;
	const struct sp_profile_info *info;
	struct lane_rank *ranks; /* as sp_profile_rank() counts them */
	const struct sp_thread_row *threads;
	size_t n_threads;
	bool *called;		/* a thread has calls */
	struct sp_idmap places; /* row of a thread */
};

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* NULL if the profile does not list it. */
static struct lane_rank *find_rank(const struct lanes *lanes, uint32_t rank)
{
	uint32_t n = lanes->info->n_ranks;
	size_t at = sp_search(n, i, sp_profile_rank(lanes->profile, (uint32_t)i) < rank);

	return at < n && sp_profile_rank(lanes->profile, (uint32_t)at) == rank ? &lanes->ranks[at]
									       : NULL;
}

/* ---- runs ---- */

static void widen(struct lane_rank *rank, int64_t start, int64_t end)
{
	if (rank->end < rank->start) {
		rank->start = start;
		rank->end = end;
		return;
	}
	rank->start = start < rank->start ? start : rank->start;
	rank->end = end > rank->end ? end : rank->end;
}

static void add_rows(struct lanes *lanes)
{
	for (uint32_t i = 0; i < lanes->info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(lanes->profile, i);
		struct lane_rank *rank = find_rank(lanes, row->rank);

		if (!rank || !row->stats.calls)
			continue;
		rank->calls += row->stats.calls;
		if (row->stats.self > 0)
			rank->self += (double)row->stats.self;
		if (row->stats.start_minimum >= 0 && row->stats.end_maximum >= 0)
			widen(rank, row->stats.start_minimum, row->stats.end_maximum);
	}
}

/* Metadata are those of the rank's own file, as far as rank_facts have them. */
static int add_runs(struct lanes *lanes, struct sp_error *error)
{
	int64_t start = sp_given_number(lanes->input, "start_time_ns", 0);
	int64_t end = sp_given_number(lanes->input, "finalize_time_ns", 0);
	const struct sp_rank_fact_row *facts;
	size_t n;
	int r = sp_profile_rank_facts(lanes->profile, &facts, &n, error);

	for (uint32_t i = 0; i < lanes->info->n_ranks; i++) {
		lanes->ranks[i].told_start = start;
		lanes->ranks[i].told_end = end;
	}
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct lane_rank *rank = find_rank(lanes, facts[i].rank);

		if (!rank || facts[i].kind != SP_FACT_NUMBER || strcmp(facts[i].part, "metadata"))
			continue;
		if (!strcmp(facts[i].key, "start_time_ns"))
			rank->told_start = strtoll(facts[i].text, NULL, 10);
		else if (!strcmp(facts[i].key, "finalize_time_ns"))
			rank->told_end = strtoll(facts[i].text, NULL, 10);
	}
	for (uint32_t i = 0; i < lanes->info->n_ranks; i++) {
		struct lane_rank *rank = &lanes->ranks[i];

		if (rank->told_start > 0 && rank->told_end > rank->told_start)
			widen(rank, rank->told_start, rank->told_end);
	}
	return r;
}

/* ---- threads ---- */

static uint64_t key_of(uint32_t rank, int64_t index)
{
	return (uint64_t)rank << 32 | (uint32_t)index;
}

static int list_threads(struct lanes *lanes, struct sp_error *error)
{
	int r = sp_profile_threads(lanes->profile, &lanes->threads, &lanes->n_threads, error);

	if (r < 0)
		return r;
	lanes->called = calloc(lanes->n_threads + 1, sizeof(*lanes->called));
	if (!lanes->called)
		return out_of_memory(error);
	for (size_t i = 0; i < lanes->n_threads; i++) {
		const struct sp_thread_row *thread = &lanes->threads[i];
		struct lane_rank *rank = find_rank(lanes, thread->rank);

		if (rank) {
			rank->has_threads = true;
			rank->counted |= thread->calls > 0;
		}
		lanes->called[i] = thread->calls > 0;
		if (thread->index >= 0 && thread->index <= UINT32_MAX &&
		    sp_idmap_set(&lanes->places, key_of(thread->rank, thread->index), (uint32_t)i) <
			    0)
			return out_of_memory(error);
	}
	return 0;
}

static int mark_threads(struct lanes *lanes, uint32_t number, int64_t *ids, struct sp_error *error)
{
	const struct sp_row *row = sp_profile_row(lanes->profile, number);
	struct sp_calls calls = {.thread = ids};
	int64_t last = -1;

	for (uint64_t at = 0; at < row->stats.calls;) {
		size_t n = row->stats.calls - at < CHUNK ? (size_t)(row->stats.calls - at) : CHUNK;
		int r = sp_profile_read_calls(lanes->profile, number, at, n, &calls, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			uint32_t place;

			if (ids[i] == last || ids[i] < 0 || ids[i] > UINT32_MAX)
				continue;
			last = ids[i];
			place = sp_idmap_get(&lanes->places, key_of(row->rank, last));
			if (place != SP_IDMAP_NONE)
				lanes->called[place] = true;
		}
		at += n;
	}
	return 0;
}

/* Tables of scope-profiler do not say which threads have calls; aggregates do not, either, and
 * there it may be any. */
static int find_called(struct lanes *lanes, struct sp_error *error)
{
	bool can_tell = !lanes->info->aggregate && lanes->info->columns & SP_CALLS_thread;
	sp_cleanup(sp_freep) int64_t *ids = can_tell ? calloc(CHUNK, sizeof(*ids)) : NULL;
	int r = 0;

	if (can_tell && !ids)
		return out_of_memory(error);
	for (uint32_t i = 0; r == 0 && can_tell && i < lanes->info->n_rows; i++) {
		const struct lane_rank *rank =
			find_rank(lanes, sp_profile_row(lanes->profile, i)->rank);

		if (rank && rank->has_threads && !rank->counted)
			r = mark_threads(lanes, i, ids, error);
	}
	for (size_t i = 0; r == 0 && lanes->info->aggregate && i < lanes->n_threads; i++) {
		const struct lane_rank *rank = find_rank(lanes, lanes->threads[i].rank);

		lanes->called[i] |= rank && rank->calls && !rank->counted;
	}
	return r;
}

static void add_threads(struct lanes *lanes)
{
	for (size_t i = 0; i < lanes->n_threads; i++) {
		const struct sp_thread_row *thread = &lanes->threads[i];
		struct lane_rank *rank = lanes->called[i] ? find_rank(lanes, thread->rank) : NULL;
		int64_t end;

		if (!rank)
			continue;
		rank->threads++;
		end = thread->end_ns >= 0 ? thread->end_ns : rank->end;
		if (end > thread->start_ns)
			rank->thread_ns += (double)end - (double)thread->start_ns;
	}
}

/* ---- all of it ---- */

static double add_up(const struct lanes *lanes, uint64_t *ret_threads)
{
	double sum = 0;

	for (uint32_t i = 0; i < lanes->info->n_ranks; i++) {
		const struct lane_rank *rank = &lanes->ranks[i];
		double ns =
			rank->threads ? rank->thread_ns : (double)rank->end - (double)rank->start;

		*ret_threads += rank->threads;
		if (!rank->calls)
			continue;
		if (!rank->threads && rank->end < rank->start)
			return NAN;
		sum += ns > rank->self ? ns : rank->self;
	}
	return sum;
}

int sp_lanes_measure(const struct sp_given *input, double *ret_ns, uint64_t *ret_threads,
		     struct sp_error *error)
{
	struct lanes lanes = {
		.input = input,
		.profile = input->profile,
		.info = sp_profile_info(input->profile),
	};
	uint64_t threads = 0;
	int r;

	lanes.ranks = calloc((size_t)lanes.info->n_ranks + 1, sizeof(*lanes.ranks));
	if (!lanes.ranks)
		return out_of_memory(error);
	for (uint32_t i = 0; i < lanes.info->n_ranks; i++)
		lanes.ranks[i].end = -1;
	add_rows(&lanes);
	r = add_runs(&lanes, error);
	if (r == 0)
		r = list_threads(&lanes, error);
	if (r == 0)
		r = find_called(&lanes, error);
	if (r == 0) {
		add_threads(&lanes);
		*ret_ns = add_up(&lanes, &threads);
		*ret_threads = threads;
	}
	sp_idmap_free(&lanes.places);
	free(lanes.called);
	free(lanes.ranks);
	return r;
}
