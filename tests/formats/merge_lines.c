// SPDX-License-Identifier: BSD-2-Clause
/*
 * merge_lines.c - see merge_lines.h.
 */
#include "tests/formats/merge_lines.h"

#include <stdbool.h>

#include "formats/profile_nest.h"
#include "tests/formats/check.h"

static struct sp_error error;

void lines_add(struct lines *lines, const char *format, ...)
{
	va_list args;

	if (lines->n == lines->capacity) {
		lines->capacity = lines->capacity * 2 + 64;
		lines->text = realloc(lines->text, lines->capacity * sizeof(char *));
	}
	va_start(args, format);
	if (vasprintf(&lines->text[lines->n++], format, args) < 0)
		exit(1);
	va_end(args);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void lines_sort(struct lines *lines)
{
	if (lines->n)
		qsort(lines->text, lines->n, sizeof(char *), compare);
}

void lines_free(struct lines *lines)
{
	for (size_t i = 0; i < lines->n; i++)
		free(lines->text[i]);
	free(lines->text);
	*lines = (struct lines){0};
}

void lines_compare(const struct lines *is, const struct lines *should, const char *what)
{
	size_t n = is->n < should->n ? is->n : should->n;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(is->text[i], should->text[i]) == 0)
			continue;
		fprintf(stderr, "%s: line %zu\n\tis     %s\n\tshould %s\n", what, i, is->text[i],
			should->text[i]);
		exit(1);
	}
	if (is->n != should->n) {
		fprintf(stderr, "%s: %zu lines, not %zu: %s\n", what, is->n, should->n,
			is->n > n ? is->text[n] : should->text[n]);
		exit(1);
	}
}

/* ---- references ---- */

static struct sp_profile *profile;
static const uint32_t *new_ranks;

static uint32_t rank_of(uint32_t rank)
{
	for (uint32_t i = 0; new_ranks && i < sp_profile_info(profile)->n_ranks; i++)
		if (sp_profile_rank(profile, i) == rank)
			return new_ranks[i];
	return rank;
}

static const char *region_of(int64_t region)
{
	if (region < 0)
		return "(none)";
	if (region >= sp_profile_info(profile)->n_regions)
		return "(wrong)";
	return sp_profile_region(profile, (uint32_t)region);
}

/* A few texts may be in use at once. */
static char *text_room(void)
{
	static char texts[8][512];
	static unsigned int next;

	return texts[next++ % 8];
}

static const char *process_of(uint32_t row)
{
	const struct sp_process_row *rows;
	char *text = text_room();
	size_t n;

	MUST(sp_profile_processes(profile, &rows, &n, &error));
	if (row == UINT32_MAX)
		return "(none)";
	if (row >= n)
		return "(wrong)";
	snprintf(text, 512, "%u %" PRId64 " %s", rank_of(rows[row].rank), rows[row].pid,
		 rows[row].exe);
	return text;
}

static const char *thread_of(int64_t row)
{
	const struct sp_thread_row *rows;
	char *text = text_room();
	size_t n;

	MUST(sp_profile_threads(profile, &rows, &n, &error));
	if (row == -1)
		return "(none)";
	if (row < 0 || (size_t)row >= n)
		return "(wrong)";
	snprintf(text, 512, "%u/%" PRId64 "/%s", rank_of(rows[row].rank), rows[row].index,
		 rows[row].name);
	return text;
}

static const char *module_of(int64_t row)
{
	const struct sp_module_row *rows;
	char *text = text_room();
	size_t n;

	MUST(sp_profile_modules(profile, &rows, &n, &error));
	if (row == -1)
		return "(none)";
	if (row < 0 || (size_t)row >= n)
		return "(wrong)";
	snprintf(text, 512, "%s %" PRIu64 " %s", rows[row].path, rows[row].bias,
		 process_of(rows[row].process));
	return text;
}

static const char *site_of(uint32_t row)
{
	const struct sp_site_row *rows;
	char *text = text_room();
	size_t n;

	MUST(sp_profile_sites(profile, &rows, &n, &error));
	if (row == UINT32_MAX)
		return "(none)";
	if (row >= n)
		return "(wrong)";
	snprintf(text, 512, "%s %" PRId64 " %s", rows[row].file, rows[row].line,
		 region_of(rows[row].region));
	return text;
}

/* ---- calls ---- */

struct nested {
	int64_t number, parent, child;
	uint32_t depth;
};

static struct nested **nested; /* by row */

static int note_call(void *data, const struct sp_nest_call *call)
{
	(void)data;
	nested[call->row][call->index] =
		(struct nested){(int64_t)call->number, call->parent, call->child_ns, call->depth};
	return 0;
}

static void nest_all(void)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_nest_visitor visitor = {.leave = note_call};

	nested = calloc(info->n_rows + 1, sizeof(*nested));
	for (uint32_t i = 0; i < info->n_rows; i++)
		nested[i] = calloc(sp_profile_row(profile, i)->stats.calls + 1, sizeof(**nested));
	for (uint32_t i = 0; i < info->n_ranks; i++) {
		uint32_t rank = sp_profile_rank(profile, i);
		uint64_t overlaps;

		MUST(sp_profile_nest(profile, rank, &visitor, &overlaps, &error));
		for (uint32_t k = 0; overlaps && k < info->n_rows; k++)
			for (uint64_t c = 0; sp_profile_row(profile, k)->rank == rank &&
					     c < sp_profile_row(profile, k)->stats.calls;
			     c++)
				nested[k][c].child = -1;
	}
}

static void add_calls(struct lines *lines, uint32_t index, unsigned int columns)
{
	const struct sp_row *row = sp_profile_row(profile, index);
	unsigned int missing = columns & ~sp_profile_info(profile)->columns;
	size_t n = (size_t)row->stats.calls;
	struct sp_calls calls;

	if (missing & (SP_CALLS_id | SP_CALLS_parent))
		missing |= SP_CALLS_id | SP_CALLS_parent;
	MUST(sp_calls_alloc(&calls, n + 1, ~0u));
	MUST(sp_profile_read_calls(profile, index, 0, n, &calls, &error));
	for (size_t i = 0; i < n; i++) {
		const struct nested *call = &nested[index][i];

		if (columns & missing & SP_CALLS_id)
			calls.id[i] = call->number;
		if (columns & missing & SP_CALLS_parent)
			calls.parent[i] = call->parent;
		if (columns & missing & SP_CALLS_depth)
			calls.depth[i] = (uint16_t)call->depth;
		if (columns & missing & SP_CALLS_child_ns)
			calls.child_ns[i] = call->child;
		lines_add(lines,
			  "call %u %s %zu: %" PRId64 " %" PRId64 " id %" PRId64 " %" PRId64
			  " lane %" PRId64 " %" PRId64 " ns %" PRId64 " %" PRId64 " %" PRId64
			  " flags %u depth %u skipped %u site %s",
			  rank_of(row->rank), region_of(row->region), i, calls.start[i],
			  calls.end[i], calls.id[i], calls.parent[i], calls.thread[i],
			  calls.task[i], calls.await_ns[i], calls.gpu_ns[i], calls.child_ns[i],
			  calls.flags[i], calls.depth[i], calls.skipped[i], site_of(calls.site[i]));
	}
	sp_calls_free(&calls);
}

static void add_rows(struct lines *lines, unsigned int columns)
{
	const struct sp_profile_info *info = sp_profile_info(profile);

	if (!info->aggregate)
		nest_all();
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		char *metadata;

		MUST(sp_profile_event_metadata(profile, i, &metadata, &error));
		lines_add(lines,
			  "row %u %s: %s %" PRId64 " %s %s calls %" PRIu64 " total %" PRId64
			  " self %" PRId64 " mean %.17g metadata %s",
			  rank_of(row->rank), region_of(row->region), row->source_file,
			  row->source_line, row->source_text, row->tags, row->stats.calls,
			  row->stats.total, row->stats.self, row->stats.mean,
			  metadata ? metadata : "");
		free(metadata);
		if (!info->aggregate)
			add_calls(lines, i, columns);
	}
	for (uint32_t i = 0; !info->aggregate && i < info->n_rows; i++)
		free(nested[i]);
	if (!info->aggregate)
		free(nested);
}

/* ---- the rest ---- */

#define ROWS(plural, singular) \
	const struct sp_##singular##_row *rows; \
	size_t n; \
\
	MUST(sp_profile_##plural(profile, &rows, &n, &error)); \
	for (size_t i = 0; i < n; i++)

static void add_lanes(struct lines *lines)
{
	{
		ROWS(threads, thread)
		lines_add(lines, "thread %s %" PRId64 " %" PRId64 " %" PRId64 " of %s",
			  thread_of((int64_t)i), rows[i].native_id, rows[i].start_ns,
			  rows[i].end_ns, process_of(rows[i].process));
	}
	{
		ROWS(tasks, task)
		lines_add(lines, "task %u %" PRId64 " %s %" PRId64 " %" PRId64,
			  rank_of(rows[i].rank), rows[i].index, rows[i].name, rows[i].thread_index,
			  rows[i].created_ns);
	}
	ROWS(processes, process)
	lines_add(lines, "process %s %" PRId64, process_of((uint32_t)i), rows[i].ppid);
}

static void add_tables(struct lines *lines)
{
	{
		ROWS(sites, site) lines_add(lines, "site %s", site_of((uint32_t)i));
	}
	{
		ROWS(modules, module) lines_add(lines, "module %s", module_of((int64_t)i));
	}
	{
		ROWS(kernel_symbols, kernel_symbol)
		lines_add(lines, "kernel symbol %" PRIx64 " %" PRIx64 " %s %s %u", rows[i].address,
			  rows[i].end, rows[i].name, rows[i].module, rank_of(rows[i].rank));
	}
	ROWS(cuts, cut)
	lines_add(lines, "cut %u %s %u %" PRIu64, rank_of(rows[i].rank), region_of(rows[i].region),
		  rows[i].flag, rows[i].count);
}

static void add_samples(struct lines *lines, unsigned int columns)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	/* Ids that calls get only now are not those that samples speak of. */
	bool strange = info->n_calls && columns & SP_CALLS_id &&
		       ~info->columns & (SP_CALLS_id | SP_CALLS_parent);
	uint64_t n = info->n_samples;
	struct sp_sample_row sample;
	uint64_t offsets[2];

	for (uint64_t i = 0; i < n; i++) {
		uint64_t frames[64];
		char stack[1024] = "";
		size_t at = 0;

		MUST(sp_profile_read_samples(profile, i, 1, &sample, &error));
		MUST(sp_profile_read_stack_offsets(profile, i, 1, offsets, &error));
		CHECK_INT(sample.stack, offsets[0]);
		MUST(sp_profile_read_frames(profile, offsets[0], (size_t)(offsets[1] - offsets[0]),
					    frames, &error));
		for (uint64_t k = 0; k < offsets[1] - offsets[0]; k++)
			at += (size_t)snprintf(stack + at, sizeof(stack) - at, " %" PRIx64,
					       frames[k]);
		lines_add(lines,
			  "sample %u %" PRIu64 " thread %s in %s call %" PRId64 " ip %" PRIx64
			  " module %s kernel %u of %u end %u signal %u stack%s",
			  rank_of(sample.rank), sample.time_ns, thread_of(sample.thread),
			  region_of(sample.region), strange ? -1 : sample.call_id, sample.ip,
			  module_of(sample.module), sample.kernel, sample.kernel_frames,
			  sample.stack_end, sample.signal_frames, stack);
	}
}

/* All at once must be what one by one is. */
static void check_blocks(void)
{
	uint64_t n = sp_profile_info(profile)->n_samples;
	struct sp_sample_row *all = calloc(n + 1, sizeof(*all)), one;
	uint64_t *offsets = calloc(n + 1, sizeof(*offsets)), offset, frame;
	uint64_t *frames;

	MUST(sp_profile_read_samples(profile, 0, n, all, &error));
	MUST(sp_profile_read_stack_offsets(profile, 0, n, offsets, &error));
	frames = calloc(offsets[n] - offsets[0] + 1, sizeof(*frames));
	MUST(sp_profile_read_frames(profile, offsets[0], offsets[n] - offsets[0], frames, &error));
	for (uint64_t i = 0; i < n; i++) {
		MUST(sp_profile_read_samples(profile, i, 1, &one, &error));
		CHECK(one.time_ns == all[i].time_ns && one.ip == all[i].ip &&
		      one.stack == all[i].stack && one.region == all[i].region &&
		      one.thread == all[i].thread && one.module == all[i].module);
	}
	for (uint64_t i = 0; i <= n; i++) {
		MUST(sp_profile_read_stack_offsets(profile, i, 0, &offset, &error));
		CHECK_INT(offset, offsets[i]);
	}
	for (uint64_t i = offsets[0]; i < offsets[n]; i++) {
		MUST(sp_profile_read_frames(profile, i, 1, &frame, &error));
		CHECK(frame == frames[i - offsets[0]]);
	}
	free(all);
	free(offsets);
	free(frames);
}

static void add_extras(struct lines *lines)
{
	const struct sp_extras *extras;

	MUST(sp_profile_extras(profile, &extras, &error));
	for (size_t i = 0; i < extras->n_perf_events; i++)
		for (size_t k = 0; k < extras->perf_events[i].n; k++)
			lines_add(lines, "perf %u %s %" PRId64 " %s %" PRIu64,
				  rank_of(extras->perf_events[i].rank),
				  extras->perf_events[i].region, extras->perf_events[i].calls,
				  extras->perf_events[i].names[k],
				  extras->perf_events[i].values[k]);
	for (size_t i = 0; i < extras->n_line_profiles; i++)
		for (size_t k = 0; k < extras->line_profiles[i].n; k++)
			lines_add(
				lines, "line %u %s %s %" PRId64 " %" PRId64 " %g",
				rank_of(extras->line_profiles[i].rank),
				extras->line_profiles[i].region, extras->line_profiles[i].function,
				extras->line_profiles[i].lines[k], extras->line_profiles[i].hits[k],
				extras->line_profiles[i].times[k]);
	for (size_t i = 0; i < extras->n_likwid; i++)
		lines_add(lines, "likwid %u %s %g", rank_of(extras->likwid[i].rank),
			  extras->likwid[i].tag, extras->likwid[i].times[0]);
	for (size_t i = 0; i < extras->n_likwid_environments; i++)
		lines_add(lines, "likwid of %u %s", rank_of(extras->likwid_environments[i].rank),
			  extras->likwid_environments[i].facts[0].text);
	for (size_t i = 1; i < extras->n_perf_events; i++)
		CHECK(extras->perf_events[i - 1].rank <= extras->perf_events[i].rank);
}

static void add_facts(struct lines *lines)
{
	const struct sp_fact *facts;
	size_t n_facts;

	for (int meta = 0; meta < 2; meta++) {
		MUST(meta ? sp_profile_meta(profile, &facts, &n_facts, &error)
			  : sp_profile_metadata(profile, &facts, &n_facts, &error));
		for (size_t i = 0; i < n_facts; i++) {
			lines_add(lines, "fact %d %s %d %s", meta, facts[i].key, facts[i].kind,
				  facts[i].text);
			CHECK(!i || strcmp(facts[i - 1].key, facts[i].key) < 0);
		}
	}
	{
		ROWS(rank_facts, rank_fact)
		lines_add(lines, "fact of %u %s %s %u %s", rank_of(rows[i].rank), rows[i].part,
			  rows[i].key, rows[i].kind, rows[i].text);
	}
	{
		ROWS(losses, loss)
		lines_add(lines, "loss %s %" PRId64 " %s %" PRIu64 " %" PRIu64 " %u", rows[i].cause,
			  rows[i].cpu, thread_of(rows[i].thread), rows[i].count, rows[i].first_ns,
			  rank_of(rows[i].rank));
	}
	ROWS(clocks, clock)
	lines_add(lines, "clock %" PRId64 " %" PRId64 " %u", rows[i].monotonic_ns, rows[i].error_ns,
		  rank_of(rows[i].rank));
}

void lines_of(struct lines *lines, struct sp_profile *shown, const uint32_t *ranks,
	      unsigned int columns, bool all)
{
	profile = shown;
	new_ranks = ranks;
	add_rows(lines, columns);
	add_lanes(lines);
	add_tables(lines);
	add_samples(lines, columns);
	check_blocks();
	add_extras(lines);
	if (all)
		add_facts(lines);
}

unsigned int lines_failures(void)
{
	return check_failed;
}
