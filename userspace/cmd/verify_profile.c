/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_profile.c - verifies a profile of any format: its tables, and what it says of itself;
 * calls and their ids are in verify_calls.c and verify_ids.c, samples in verify_samples.c.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec.h"
#include "formats/profile_nest.h"
#include "formats/util.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/verify.h"

/* ---- tables ---- */

int sp_verdict_bad_reference(struct sp_verdict *verdict, const char *table, size_t row,
			     const char *what, int64_t value, size_t n)
{
	return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
			    "row %zu of the %s names %s %" PRIi64 ", but there are %zu", row, table,
			    what, value, n);
}

static bool is_row(uint32_t row, size_t n)
{
	return row == UINT32_MAX || row < n;
}

static int verify_processes(struct sp_verdict *verdict, struct sp_profile *profile, size_t *ret_n)
{
	const struct sp_process_row *processes;
	int r = sp_profile_processes(profile, &processes, ret_n, &verdict->error);

	for (size_t i = 0; r == 0 && i < *ret_n; i++)
		if (processes[i].last_seen_ns >= 0 &&
		    processes[i].last_seen_ns < processes[i].first_seen_ns)
			sp_verdict_warn(verdict, SP_FIND_TABLE_TIMES, "row %zu of the processes",
					i);
	return r;
}

static int verify_threads(struct sp_verdict *verdict, struct sp_profile *profile,
			  size_t n_processes, size_t *ret_n)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	size_t n_tasks;
	int r = sp_profile_threads(profile, &threads, ret_n, &verdict->error);

	if (r == 0)
		r = sp_profile_tasks(profile, &tasks, &n_tasks, &verdict->error);
	for (size_t i = 0; r == 0 && i < *ret_n; i++) {
		if (!is_row(threads[i].process, n_processes))
			r = sp_verdict_bad_reference(verdict, "threads", i, "process",
						     threads[i].process, n_processes);
		if (threads[i].end_ns != -1 && threads[i].end_ns < threads[i].start_ns)
			sp_verdict_warn(verdict, SP_FIND_TABLE_TIMES, "row %zu of the threads", i);
	}
	for (size_t i = 0; r == 0 && i < n_tasks; i++)
		if (tasks[i].done_ns != -1 && tasks[i].done_ns < tasks[i].created_ns)
			sp_verdict_warn(verdict, SP_FIND_TABLE_TIMES, "row %zu of the tasks", i);
	return r;
}

static int verify_modules(struct sp_verdict *verdict, struct sp_profile *profile,
			  size_t n_processes)
{
	bool sps = sp_profile_info(profile)->format == SP_FORMAT_SPS; /* has neither end */
	const struct sp_module_row *modules;
	size_t n;
	int r = sp_profile_modules(profile, &modules, &n, &verdict->error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (!sps && modules[i].end < modules[i].start)
			sp_verdict_warn(verdict, SP_FIND_MODULE_RANGE, "row %zu of the modules", i);
		if (!is_row(modules[i].process, n_processes))
			r = sp_verdict_bad_reference(verdict, "modules", i, "process",
						     modules[i].process, n_processes);
	}
	return r;
}

static int verify_losses(struct sp_verdict *verdict, struct sp_profile *profile, size_t n_threads)
{
	const struct sp_loss_row *losses;
	size_t n;
	int r = sp_profile_losses(profile, &losses, &n, &verdict->error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct sp_loss_row *loss = &losses[i];
		unsigned cause = sp_loss_find(loss->cause);

		if (loss->cause[0] && cause == SP_LOSS_NONE)
			sp_verdict_warn(verdict, SP_FIND_LOSS_CAUSE,
					"row %zu of the losses, \"%.100s\"", i, loss->cause);
		if (sp_loss_is_gap(cause))
			sp_add_capped(&verdict->lost, loss->count);
		if (loss->thread < -1 || loss->thread >= (int64_t)n_threads)
			r = sp_verdict_bad_reference(verdict, "losses", i, "thread", loss->thread,
						     n_threads);
		else
			r = sp_verdict_loss(verdict, "losses row", i, loss->cause[0], loss->count,
					    loss->first_ns, loss->last_ns);
	}
	return r;
}

static int verify_rest(struct sp_verdict *verdict, struct sp_profile *profile, size_t n_threads)
{
	uint32_t n_regions = sp_profile_info(profile)->n_regions;
	const struct sp_site_row *sites;
	const struct sp_cut_row *cuts;
	const struct sp_clock_row *clocks;
	const struct sp_rank_fact_row *facts;
	const struct sp_kernel_symbol_row *symbols;
	const struct sp_extras *extras;
	struct sp_error *error = &verdict->error;
	size_t n;
	int r = sp_profile_sites(profile, &sites, &n, error);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (sites[i].region >= n_regions)
			r = sp_verdict_bad_reference(verdict, "sites", i, "region", sites[i].region,
						     n_regions);
	if (r == 0)
		r = verify_losses(verdict, profile, n_threads);
	if (r == 0)
		r = sp_profile_cuts(profile, &cuts, &n, error);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (cuts[i].region >= n_regions)
			r = sp_verdict_bad_reference(verdict, "cut_calls", i, "region",
						     cuts[i].region, n_regions);
	if (r == 0)
		r = sp_profile_clocks(profile, &clocks, &n, error);
	if (r == 0)
		r = sp_profile_rank_facts(profile, &facts, &n, error);
	if (r == 0)
		r = sp_profile_kernel_symbols(profile, &symbols, &n, error);
	for (size_t i = 0; r == 0 && i < n; i++)
		if (symbols[i].end && symbols[i].end <= symbols[i].address)
			r = sp_error_set(
				error, -SP_E_DAMAGED, 0,
				"row %zu of the kernel_symbols (\"%.100s\") ends at 0x%" PRIx64
				", before it begins",
				i, symbols[i].name, symbols[i].end);
	return r == 0 ? sp_profile_extras(profile, &extras, error) : r;
}

static int verify_tables(struct sp_verdict *verdict, struct sp_profile *profile)
{
	size_t n_processes = 0, n_threads = 0;
	int r = verify_processes(verdict, profile, &n_processes);

	if (r == 0)
		r = verify_threads(verdict, profile, n_processes, &n_threads);
	if (r == 0)
		r = verify_modules(verdict, profile, n_processes);
	return r == 0 ? verify_rest(verdict, profile, n_threads) : r;
}

/* ---- the file as a whole ---- */

/* Each region needs a row: scope-profiler fails on one without. */
static int verify_regions(struct sp_verdict *verdict, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	sp_cleanup(sp_freep) bool *has_row = calloc(info->n_regions + 1, sizeof(*has_row));

	if (!has_row)
		return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	for (uint32_t i = 0; i < info->n_rows; i++)
		has_row[sp_profile_row(profile, i)->region] = true;
	for (uint32_t i = 0; i < info->n_regions; i++)
		if (!has_row[i])
			return sp_error_set(&verdict->error, -SP_E_MISSING, 0,
					    "region %" PRIu32 " (\"%.100s\") has no row in the "
					    "index",
					    i, sp_profile_region(profile, i));
	return 0;
}

static int verify_aggregate(struct sp_verdict *verdict, struct sp_profile *profile)
{
	uint32_t n = sp_profile_info(profile)->n_rows;

	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		const struct sp_stats *stats = &row->stats;
		double calls = (double)stats->calls;

		if (stats->calls &&
		    (stats->minimum > stats->maximum ||
		     (double)stats->total < calls * (double)stats->minimum - calls ||
		     (double)stats->total > calls * (double)stats->maximum + calls))
			return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
					    "row %" PRIu32 " (\"%.60s\" on rank %" PRIu32
					    "): %" PRIu64 " calls of %" PRIi64 " to %" PRIi64
					    " ns cannot take %" PRIi64 " ns",
					    i, sp_profile_region(profile, row->region), row->rank,
					    stats->calls, stats->minimum, stats->maximum,
					    stats->total);
		if (stats->self > stats->total)
			sp_verdict_warn(verdict, SP_FIND_SELF_LARGER,
					"row %" PRIu32 " (\"%.100s\" on rank %" PRIu32 ")", i,
					sp_profile_region(profile, row->region), row->rank);
	}
	return 0;
}

static int verify_facts(struct sp_verdict *verdict, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	const struct sp_fact *facts, *start, *end;
	size_t n;
	int r = sp_profile_meta(profile, &facts, &n, &verdict->error);

	if (r == 0)
		r = sp_profile_metadata(profile, &facts, &n, &verdict->error);
	if (r < 0)
		return r;
	start = sp_fact_find(facts, n, "start_time_ns");
	end = sp_fact_find(facts, n, "finalize_time_ns");
	if (start && end && start->is_number && end->is_number && end->number < start->number)
		sp_verdict_warn(verdict, SP_FIND_METADATA, "by finalize_time_ns");
	if (info->ticks >= 0 && (uint64_t)info->ticks < info->n_samples)
		sp_verdict_warn(verdict, SP_FIND_TICKS, "%" PRIi64 " ticks, %" PRIu64 " samples",
				info->ticks, info->n_samples);
	return 0;
}

static int verify_event_metadata(struct sp_verdict *verdict, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int r = 0;

	for (uint32_t i = 0; r == 0 && info->has_event_metadata && i < info->n_rows; i++) {
		sp_cleanup(sp_freep) char *json = NULL;

		r = sp_profile_event_metadata(profile, i, &json, &verdict->error);
	}
	return r;
}

static int note_crossing(void *data, const struct sp_nest_call *call)
{
	struct sp_verdict *verdict = data;

	if (call->overlaps)
		sp_verdict_warn(verdict, SP_FIND_CROSSING,
				"call %" PRIu64 " of row %" PRIu32 ", at %" PRIi64 " ns",
				call->index, call->row, call->start);
	return 0;
}

/* Ids, and whether calls nest in their lanes. A trace has no lanes, so nothing can be said of its
 * calls. */
static int verify_ranks(struct sp_verdict *verdict, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	const struct sp_nest_visitor visitor = {.enter = note_crossing, .data = verdict};
	int r = info->columns & SP_CALLS_id ? sp_verify_ids(verdict, profile) : 0;

	if (info->format == SP_FORMAT_SPT)
		return r;
	for (uint32_t i = 0; r == 0 && i < info->n_ranks && info->n_rows; i++)
		r = sp_profile_nest(profile, sp_profile_rank(profile, i), &visitor, NULL,
				    &verdict->error);
	return r;
}

static int verify_objects(struct sp_verdict *verdict, struct sp_profile *profile)
{
	struct sp_profile_check check = {0};
	int r = 0;

	while (r == 0 && !check.done) {
		r = sp_profile_check(profile, &check, &verdict->error);
		sp_verdict_progress(verdict, 0);
	}
	verdict->objects = check.objects;
	verdict->attributes = check.attributes;
	if (r == 0 && check.beyond)
		r = sp_error_set(&verdict->error, -SP_E_TRAILING, 0,
				 "has %" PRIu64 " bytes behind the end of its HDF5 data",
				 check.beyond);
	return r;
}

int sp_verify_profile(struct sp_verdict *verdict, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	bool regions = info->format == SP_FORMAT_HDF5 && info->version > 1;
	int r;

	verdict->version = info->version;
	verdict->regions = info->n_regions;
	verdict->rows = info->n_rows;
	verdict->calls = info->n_calls;
	verdict->samples = info->n_samples;
	verdict->all = (info->aggregate ? 0 : info->n_calls) + info->n_samples;
	r = verify_objects(verdict, profile);
	if (r == 0 && regions)
		r = verify_regions(verdict, profile);
	if (r == 0)
		r = verify_facts(verdict, profile);
	if (r == 0)
		r = verify_tables(verdict, profile);
	if (r == 0)
		r = verify_event_metadata(verdict, profile);
	if (r == 0)
		r = info->aggregate ? verify_aggregate(verdict, profile)
				    : sp_verify_calls(verdict, profile);
	if (r == 0 && !info->aggregate)
		r = verify_ranks(verdict, profile);
	return r == 0 ? sp_verify_samples(verdict, profile) : r;
}
