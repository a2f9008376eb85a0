/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_calls.c - verifies the calls of a profile: every value of every column, and the statistics
 * that stand beside them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "formats/wire.h"
#include "userspace/analysis/cuts.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/verify.h"

enum { BLOCK = 1 << 15 };

/* A thread or task of a rank, by the index that calls name. */
struct lane {
	uint32_t rank;
	int64_t index;
};

struct scan {
	struct sp_verdict *verdict;
	struct sp_profile *profile;
	struct sp_calls calls;
	struct lane *threads, *tasks; /* sorted */
	size_t n_threads, n_tasks, n_sites;
	struct sp_cut_row *cuts; /* sorted; the count of those that were found true becomes 0 */
	size_t n_cuts;
	/* Of the row that is read. */
	uint32_t row;
	const struct sp_row *is;
	struct sp_stats stats;
	uint64_t cut[SP_CUT_KINDS];
	int64_t before;	      /* start of the call before */
	int64_t before_on;    /* its thread */
	int64_t thread, task; /* seen in the table last */
};

static int out_of_memory(struct sp_verdict *verdict)
{
	return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
}

static void warn(struct scan *scan, enum sp_finding finding, uint64_t index)
{
	if (scan->verdict->findings[finding].count++)
		return;
	snprintf(scan->verdict->findings[finding].first, sizeof(scan->verdict->findings[0].first),
		 "call %" PRIu64 " of row %" PRIu32 " (\"%.100s\" on rank %" PRIu32 ")", index,
		 scan->row, sp_profile_region(scan->profile, scan->is->region), scan->is->rank);
}

/* ---- tables that calls refer to ---- */

static int compare_lanes(const void *a, const void *b)
{
	const struct lane *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static int compare_cuts(const void *a, const void *b)
{
	const struct sp_cut_row *x = a, *y = b;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->flag > y->flag) - (x->flag < y->flag);
}

static void sort_lanes(struct sp_verdict *verdict, struct lane *lanes, size_t n,
		       enum sp_finding twice)
{
	qsort(lanes, n, sizeof(*lanes), compare_lanes);
	for (size_t i = 1; i < n; i++)
		if (!compare_lanes(&lanes[i - 1], &lanes[i]))
			sp_verdict_warn(verdict, twice, "%" PRIi64 " of rank %" PRIu32,
					lanes[i].index, lanes[i].rank);
}

static int load_lanes(struct scan *scan)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	struct sp_error *error = &scan->verdict->error;
	int r = sp_profile_threads(scan->profile, &threads, &scan->n_threads, error);

	if (r == 0)
		r = sp_profile_tasks(scan->profile, &tasks, &scan->n_tasks, error);
	if (r < 0)
		return r;
	scan->threads = calloc(scan->n_threads + 1, sizeof(*scan->threads));
	scan->tasks = calloc(scan->n_tasks + 1, sizeof(*scan->tasks));
	if (!scan->threads || !scan->tasks)
		return out_of_memory(scan->verdict);
	for (size_t i = 0; i < scan->n_threads; i++)
		scan->threads[i] = (struct lane){threads[i].rank, threads[i].index};
	for (size_t i = 0; i < scan->n_tasks; i++)
		scan->tasks[i] = (struct lane){tasks[i].rank, tasks[i].index};
	sort_lanes(scan->verdict, scan->threads, scan->n_threads, SP_FIND_THREAD_TWICE);
	sort_lanes(scan->verdict, scan->tasks, scan->n_tasks, SP_FIND_TASK_TWICE);
	return 0;
}

/* By region, rank and flag: those of several places are added up. */
static void unite_cuts(struct scan *scan)
{
	size_t n = 0;

	qsort(scan->cuts, scan->n_cuts, sizeof(*scan->cuts), compare_cuts);
	for (size_t i = 0; i < scan->n_cuts; i++)
		if (n && !compare_cuts(&scan->cuts[n - 1], &scan->cuts[i]))
			sp_add_capped(&scan->cuts[n - 1].count, scan->cuts[i].count);
		else
			scan->cuts[n++] = scan->cuts[i];
	scan->n_cuts = n;
}

static int load(struct scan *scan)
{
	const struct sp_site_row *sites;
	const struct sp_cut_row *cuts;
	struct sp_error *error = &scan->verdict->error;
	int r = load_lanes(scan);

	if (r == 0)
		r = sp_profile_sites(scan->profile, &sites, &scan->n_sites, error);
	if (r == 0)
		r = sp_profile_cuts(scan->profile, &cuts, &scan->n_cuts, error);
	if (r < 0)
		return r;
	scan->cuts = calloc(scan->n_cuts + 1, sizeof(*scan->cuts));
	if (!scan->cuts ||
	    sp_calls_alloc(&scan->calls, BLOCK, sp_profile_info(scan->profile)->columns) < 0)
		return out_of_memory(scan->verdict);
	if (scan->n_cuts)
		memcpy(scan->cuts, cuts, scan->n_cuts * sizeof(*cuts));
	unite_cuts(scan);
	return 0;
}

static bool has_lane(const struct lane *lanes, size_t n, uint32_t rank, int64_t index)
{
	struct lane wanted = {rank, index};

	/* A file without the table says nothing about its lanes. */
	return !n || bsearch(&wanted, lanes, n, sizeof(*lanes), compare_lanes);
}

/* ---- calls ---- */

static void check_lanes(struct scan *scan, size_t i, uint64_t index)
{
	const struct sp_calls *calls = &scan->calls;

	if (calls->thread && calls->thread[i] >= 0 && calls->thread[i] != scan->thread) {
		if (has_lane(scan->threads, scan->n_threads, scan->is->rank, calls->thread[i]))
			scan->thread = calls->thread[i];
		else
			warn(scan, SP_FIND_CALL_THREAD, index);
	}
	if (calls->task && calls->task[i] >= 0 && calls->task[i] != scan->task) {
		if (has_lane(scan->tasks, scan->n_tasks, scan->is->rank, calls->task[i]))
			scan->task = calls->task[i];
		else
			warn(scan, SP_FIND_CALL_TASK, index);
	}
}

static int check_call(struct scan *scan, size_t i, uint64_t index)
{
	const struct sp_calls *calls = &scan->calls;
	int64_t start = calls->start[i], end = calls->end[i];
	int64_t thread = calls->thread ? calls->thread[i] : -1;

	if (end < start)
		warn(scan, SP_FIND_REVERSED, index);
	/* scope-profiler has the calls of one thread after those of another. */
	if (index && start < scan->before && thread == scan->before_on)
		warn(scan, SP_FIND_UNORDERED, index);
	scan->before = start;
	scan->before_on = thread;
	check_lanes(scan, i, index);
	if (calls->child_ns && calls->child_ns[i] >= 0 && end >= start &&
	    (uint64_t)calls->child_ns[i] > (uint64_t)end - (uint64_t)start)
		warn(scan, SP_FIND_CHILD_LONGER, index);
	if (calls->flags) {
		int kind = sp_cut_kind(calls->flags[i]);

		if (kind >= 0)
			scan->cut[kind]++;
		if (calls->flags[i] >> SP_CUT_KINDS)
			warn(scan, SP_FIND_FLAGS, index);
	}
	if (calls->id && calls->id[i] >= 0 && calls->parent && calls->parent[i] >= calls->id[i])
		warn(scan, SP_FIND_PARENT_LATER, index);
	if (calls->id && calls->id[i] < 0)
		return sp_error_set(&scan->verdict->error, -SP_E_DAMAGED, 0,
				    "call %" PRIu64 " of row %" PRIu32 " has the id %" PRIi64
				    "; where ids are unknown the column must be left out",
				    index, scan->row, calls->id[i]);
	if (calls->site && calls->site[i] != UINT32_MAX && calls->site[i] >= scan->n_sites)
		return sp_error_set(&scan->verdict->error, -SP_E_DAMAGED, 0,
				    "call %" PRIu64 " of row %" PRIu32 " names site %" PRIu32
				    ", but the table has %zu",
				    index, scan->row, calls->site[i], scan->n_sites);
	return 0;
}

/* ---- statistics ---- */

static int differs(struct scan *scan, const char *what, int64_t claimed, int64_t found)
{
	return sp_error_set(&scan->verdict->error, -SP_E_DAMAGED, 0,
			    "row %" PRIu32 " (\"%.60s\" on rank %" PRIu32 ") claims %s %" PRIi64
			    ", but its calls make %" PRIi64,
			    scan->row, sp_profile_region(scan->profile, scan->is->region),
			    scan->is->rank, what, claimed, found);
}

/* Other programs add up in another order. */
static bool is_near(double a, double b, double slack)
{
	return fabs(a - b) <= slack + 1e-6 * fmax(fabs(a), fabs(b)) || (isnan(a) && isnan(b));
}

static int check_stats(struct scan *scan)
{
	const struct sp_stats *claimed = &scan->is->stats, *found = &scan->stats;
	const struct {
		const char *what;
		int64_t claimed, found;
	} numbers[] = {
		{"total", claimed->total, found->total},
		{"minimum", claimed->minimum, found->minimum},
		{"maximum", claimed->maximum, found->maximum},
		{"first", claimed->first, found->first},
		{"last", claimed->last, found->last},
		{"start_minimum", claimed->start_minimum, found->start_minimum},
		{"end_maximum", claimed->end_maximum, found->end_maximum},
	};
	double slack = 1e-9 * (double)found->calls * found->mean * found->mean;

	/* Without statistics all but the number of calls is unknown. */
	if (!claimed->calls || claimed->m2 < 0)
		return 0;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].claimed != numbers[i].found)
			return differs(scan, numbers[i].what, numbers[i].claimed, numbers[i].found);
	if (scan->calls.gpu_ns && claimed->gpu_calls != found->gpu_calls)
		return differs(scan, "gpu_count", (int64_t)claimed->gpu_calls,
			       (int64_t)found->gpu_calls);
	if (scan->calls.gpu_ns && claimed->gpu_total != found->gpu_total)
		return differs(scan, "gpu_total", claimed->gpu_total, found->gpu_total);
	if (!is_near(claimed->mean, found->mean, 1e-3))
		return differs(scan, "mean", (int64_t)claimed->mean, (int64_t)found->mean);
	if (!is_near(claimed->m2, found->m2, slack + 1))
		return differs(scan, "m2", (int64_t)claimed->m2, (int64_t)found->m2);
	return 0;
}

static int check_self(struct scan *scan)
{
	const struct sp_stats *claimed = &scan->is->stats;

	if (claimed->calls && claimed->self >= 0 && scan->stats.self >= 0 &&
	    claimed->self != scan->stats.self)
		return differs(scan, "a self time of", claimed->self, scan->stats.self);
	if (claimed->calls && claimed->self > scan->stats.total && scan->stats.total >= 0)
		sp_verdict_warn(scan->verdict, SP_FIND_SELF_LARGER,
				"row %" PRIu32 " (\"%.100s\" on rank %" PRIu32 ")", scan->row,
				sp_profile_region(scan->profile, scan->is->region), scan->is->rank);
	return 0;
}

/* The table of calls without an end of their own must say what their flags say. */
static int check_cuts(struct scan *scan)
{
	for (unsigned kind = 0; kind < SP_CUT_KINDS; kind++) {
		struct sp_cut_row wanted = {.region = scan->is->region,
					    .rank = scan->is->rank,
					    .flag = (uint16_t)(1 << kind)};
		struct sp_cut_row *row = NULL;

		if (scan->n_cuts)
			row = bsearch(&wanted, scan->cuts, scan->n_cuts, sizeof(wanted),
				      compare_cuts);
		if ((row ? row->count : 0) != scan->cut[kind])
			return differs(scan, "in cut_calls calls with a flag,",
				       (int64_t)(row ? row->count : 0), (int64_t)scan->cut[kind]);
		if (row)
			row->count = 0;
	}
	return 0;
}

static int scan_row(struct scan *scan)
{
	struct sp_error *error = &scan->verdict->error;
	uint64_t n = scan->is->stats.calls;
	int r = 0;

	memset(&scan->stats, 0, sizeof(scan->stats));
	memset(scan->cut, 0, sizeof(scan->cut));
	scan->thread = scan->task = -1;
	for (uint64_t at = 0; r == 0 && at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

		r = sp_profile_read_calls(scan->profile, scan->row, at, some, &scan->calls, error);
		for (size_t i = 0; r == 0 && i < some; i++)
			r = check_call(scan, i, at + i);
		if (r == 0)
			sp_stats_add(&scan->stats, scan->calls.start, scan->calls.end,
				     scan->calls.child_ns, scan->calls.gpu_ns, some);
		sp_verdict_progress(scan->verdict, some);
	}
	if (r == 0)
		r = check_stats(scan);
	if (r == 0)
		r = check_self(scan);
	if (r == 0 && scan->calls.flags && scan->n_cuts)
		r = check_cuts(scan);
	return r;
}

int sp_verify_calls(struct sp_verdict *verdict, struct sp_profile *profile)
{
	struct scan scan = {.verdict = verdict, .profile = profile};
	uint32_t n = sp_profile_info(profile)->n_rows;
	int r = load(&scan);

	for (scan.row = 0; r == 0 && scan.row < n; scan.row++) {
		scan.is = sp_profile_row(profile, scan.row);
		r = scan_row(&scan);
	}
	for (size_t i = 0; r == 0 && scan.calls.flags && i < scan.n_cuts; i++)
		if (scan.cuts[i].count)
			r = sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
					 "cut_calls counts %" PRIu64 " calls of region %" PRIu32
					 " on rank %" PRIu32 " that no row has",
					 scan.cuts[i].count, scan.cuts[i].region,
					 scan.cuts[i].rank);
	sp_calls_free(&scan.calls);
	free(scan.threads);
	free(scan.tasks);
	free(scan.cuts);
	return r;
}
