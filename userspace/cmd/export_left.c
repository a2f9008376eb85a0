/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_left.c - see export_left.h.
 *
 * Each part of a profile is one line of a table that says which formats have no place for it.
 */
#include "userspace/cmd/export_left.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

enum lacks {
	AGGREGATE = 1 << SP_EXPORT_H5_AGGREGATE,
	SPT_1 = 1 << SP_EXPORT_SPT_1,
	SPT = 1 << SP_EXPORT_SPT | SPT_1,
	SPS = 1 << SP_EXPORT_SPS,
	JSON = 1 << SP_EXPORT_JSON,
};

#define TRACE_COLUMNS \
	(SP_CALLS_flags | SP_CALLS_depth | SP_CALLS_child_ns | SP_CALLS_skipped | SP_CALLS_site)

/* How much there is of each part. */
struct parts {
	uint64_t calls, samples, threads, tasks, lines, texts, tags, annotations;
	uint64_t ids, lanes, waiting, gpu, trace; /* columns */
	uint64_t perf_events, line_profiles, likwid, environments;
	uint64_t losses, tables, kernel_symbols, facts, meta;
};

static const struct {
	size_t offset;
	unsigned int lacks;	/* formats */
	const char *one, *many; /* NULL: it is not counted */
} lines[] = {
#define PART(name) offsetof(struct parts, name)
	{PART(calls), SPS, "call", "calls"},
	{PART(calls), AGGREGATE, "time of one call", "times of calls"},
	{PART(samples), SPT | JSON, "sample", "samples"},
	{PART(samples), SPS, "times, threads and stacks of samples", NULL},
	{PART(threads), SPT | SPS, "thread", "threads"},
	{PART(tasks), SPT | SPS, "task", "tasks"},
	{PART(lines), SPT_1 | SPS, "source lines", NULL},
	{PART(texts), SPT | SPS, "source texts", NULL},
	{PART(tags), SPT | SPS, "tags", NULL},
	{PART(annotations), SPT | SPS | AGGREGATE, "what calls were annotated with", NULL},
	{PART(ids), SPT | AGGREGATE, "call ids", NULL},
	{PART(lanes), SPT | AGGREGATE, "which thread or task a call is of", NULL},
	{PART(waiting), SPT | AGGREGATE, "waiting times", NULL},
	{PART(gpu), SPT | AGGREGATE, "GPU times", NULL},
	{PART(trace), SPT | AGGREGATE | JSON, "flags, depths and places of calls", NULL},
	{PART(perf_events), SPT | SPS, "perf events", NULL},
	{PART(line_profiles), SPT | SPS, "line profile", "line profiles"},
	{PART(likwid), SPT | SPS, "LIKWID counters", NULL},
	{PART(environments), SPT | SPS, "LIKWID's environment", NULL},
	{PART(losses), SPT | SPS | JSON, "the account of what was lost", NULL},
	{PART(tables), SPT | JSON, "modules, processes and clocks", NULL},
	{PART(kernel_symbols), SPT | SPS | JSON, "names of kernel functions", NULL},
	{PART(facts), SPT | SPS, "metadata", NULL},
	{PART(meta), SPT | SPS, "facts about the recording", NULL},
#undef PART
};

static void count_rows(struct sp_profile *profile, struct parts *parts)
{
	const struct sp_profile_info *info = sp_profile_info(profile);

	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);

		parts->lines += row->source_line >= 0 || row->source_file[0];
		parts->texts += row->source_text[0] != 0;
		parts->tags += strcmp(row->tags, "[]") != 0;
	}
	parts->calls = info->aggregate ? 0 : info->n_calls;
	parts->samples = info->n_samples;
	parts->annotations = info->has_event_metadata;
	parts->ids = info->columns & (SP_CALLS_id | SP_CALLS_parent);
	parts->lanes = info->columns & (SP_CALLS_thread | SP_CALLS_task);
	parts->waiting = info->columns & SP_CALLS_await_ns;
	parts->gpu = info->columns & SP_CALLS_gpu_ns;
	parts->trace = info->columns & TRACE_COLUMNS;
}

static int count_tables(struct sp_profile *profile, struct parts *parts)
{
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	const struct sp_site_row *sites;
	const struct sp_module_row *modules;
	const struct sp_process_row *processes;
	const struct sp_clock_row *clocks;
	const struct sp_loss_row *losses;
	const struct sp_kernel_symbol_row *symbols;
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n_threads, n_tasks, n_sites, n_modules, n_processes, n_clocks, n_losses;
	size_t n_symbols, n, m;

	if (sp_profile_threads(profile, &threads, &n_threads, NULL) < 0 ||
	    sp_profile_tasks(profile, &tasks, &n_tasks, NULL) < 0 ||
	    sp_profile_sites(profile, &sites, &n_sites, NULL) < 0 ||
	    sp_profile_modules(profile, &modules, &n_modules, NULL) < 0 ||
	    sp_profile_processes(profile, &processes, &n_processes, NULL) < 0 ||
	    sp_profile_clocks(profile, &clocks, &n_clocks, NULL) < 0 ||
	    sp_profile_losses(profile, &losses, &n_losses, NULL) < 0 ||
	    sp_profile_kernel_symbols(profile, &symbols, &n_symbols, NULL) < 0 ||
	    sp_profile_extras(profile, &extras, NULL) < 0 ||
	    sp_profile_metadata(profile, &facts, &n, NULL) < 0 ||
	    sp_profile_meta(profile, &facts, &m, NULL) < 0)
		return -1;
	parts->threads = n_threads;
	parts->tasks = n_tasks;
	parts->losses = n_losses;
	parts->tables = n_sites + n_modules + n_processes + n_clocks;
	parts->kernel_symbols = n_symbols;
	parts->perf_events = extras->n_perf_events;
	parts->line_profiles = extras->n_line_profiles;
	parts->likwid = extras->n_likwid;
	parts->environments = extras->n_likwid_environments;
	parts->facts = n;
	parts->meta = m;
	return 0;
}

char *sp_export_left(struct sp_profile *profile, enum sp_export_format format)
{
	struct parts parts = {0};
	sp_cleanup(sp_freep) char *text = NULL;
	size_t size = 0;
	FILE *out;

	count_rows(profile, &parts);
	/* What cannot be read will be told by the export itself. */
	if (count_tables(profile, &parts) < 0)
		return strdup("");
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (size_t i = 0; i < sp_array_size(lines); i++) {
		uint64_t n = *(const uint64_t *)((const char *)&parts + lines[i].offset);

		if (!n || !(lines[i].lacks & (1u << format)))
			continue;
		if (ftell(out) > 0)
			fputs(", ", out);
		if (lines[i].many)
			fprintf(out, "%s ", sp_show_count(n).text);
		fputs(lines[i].many && n != 1 ? lines[i].many : lines[i].one, out);
	}
	return fclose(out) == 0 ? sp_take(text) : NULL;
}
