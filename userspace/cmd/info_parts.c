/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_parts.c - which optional parts a profile has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/cmd/info.h"

struct parts {
	const char **names;
	int n;
};

static void add(struct parts *parts, bool there, const char *name)
{
	if (there && parts->n < SP_PARTS)
		parts->names[parts->n++] = name;
}

static void add_columns(struct parts *parts, const struct sp_profile_info *info)
{
	static const struct {
		unsigned int column;
		const char *name;
	} columns[] = {
		{SP_CALLS_id, "call ids"},
		{SP_CALLS_parent, "parents"},
		{SP_CALLS_thread, "thread ids"},
		{SP_CALLS_task, "task ids"},
		{SP_CALLS_await_ns, "await times"},
		{SP_CALLS_gpu_ns, "GPU times"},
		{SP_CALLS_flags, "flags"},
		{SP_CALLS_depth, "depths"},
		{SP_CALLS_child_ns, "times of children"},
		{SP_CALLS_skipped, "skipped calls"},
		{SP_CALLS_site, "sites of calls"},
	};

	for (size_t i = 0; i < sp_array_size(columns); i++)
		add(parts, info->columns & columns[i].column, columns[i].name);
	add(parts, info->has_event_metadata, "event metadata");
	add(parts, info->has_source_lines, "source lines");
}

static void add_rows(struct parts *parts, struct sp_profile *profile)
{
	uint32_t n = sp_profile_info(profile)->n_rows;
	bool tags = false, texts = false;

	for (uint32_t i = 0; i < n && !(tags && texts); i++) {
		const struct sp_row *row = sp_profile_row(profile, i);

		tags |= strcmp(row->tags, "[]") != 0;
		texts |= row->source_text[0] != 0;
	}
	add(parts, texts, "source texts");
	add(parts, tags, "tags");
}

static int add_tables(struct parts *parts, struct sp_profile *profile, struct sp_error *error)
{
	int r = 0;

#define TABLE(name, plural, title) \
	{ \
		const struct sp_##name##_row *rows; \
		size_t n = 0; \
\
		if (r == 0) \
			r = sp_profile_##plural(profile, &rows, &n, error); \
		add(parts, r == 0 && n, title); \
	}
	TABLE(thread, threads, "threads")
	TABLE(task, tasks, "tasks")
	TABLE(process, processes, "processes")
	TABLE(module, modules, "modules")
	TABLE(site, sites, "sites")
	TABLE(clock, clocks, "clocks")
	TABLE(rank_fact, rank_facts, "facts of ranks")
	TABLE(kernel_symbol, kernel_symbols, "kernel symbols")
#undef TABLE
	return r;
}

void sp_info_stacks(const char *mode, bool kernel, const struct sp_stack_counts *counts)
{
	sp_cleanup(sp_freep) char *text = sp_stack_counts_tell(counts, SP_STACK_END_MAX);

	if (text && (mode || text[0]))
		sp_info_line("stacks", "%s%s%s%s", mode ? sp_stack_mode_text(mode) : "",
			     kernel ? ", with the kernel's" : "", mode && text[0] ? ": " : "",
			     text);
}

void sp_info_json_stacks(struct sp_json *json, const struct sp_stack_counts *counts)
{
	sp_json_open_object(json, "stacks");
	for (unsigned end = 0; end < SP_STACK_END_MAX; end++)
		if (counts->ends[end])
			sp_json_unsigned(json, sp_stack_end_name(end), counts->ends[end]);
	sp_json_close_object(json);
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void sp_info_rank_facts(struct sp_profile *profile)
{
	const struct sp_rank_fact_row *rows;
	sp_cleanup(sp_freep) const char **keys = NULL;
	sp_cleanup(sp_freep) char *text = NULL;
	size_t n, size = 0, kept = 0;
	FILE *out;

	if (sp_profile_rank_facts(profile, &rows, &n, NULL) < 0 || !n)
		return;
	keys = calloc(n, sizeof(*keys));
	out = open_memstream(&text, &size);
	for (size_t i = 0; keys && i < n; i++)
		keys[i] = rows[i].key;
	if (keys)
		qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; keys && out && i < n; i++)
		if (!i || strcmp(keys[i], keys[i - 1]) != 0)
			fprintf(out, "%s%s", kept++ ? ", " : "", keys[i]);
	if (out && fclose(out) == 0 && keys)
		sp_info_line("differ", "%s, by rank: sp-report dump --section rank_facts", text);
}

int sp_parts_of(struct sp_profile *profile, const char *ret_names[SP_PARTS], struct sp_error *error)
{
	struct parts parts = {.names = ret_names};
	const struct sp_extras *extras;
	int r;

	add_columns(&parts, sp_profile_info(profile));
	add_rows(&parts, profile);
	r = add_tables(&parts, profile, error);
	if (r == 0)
		r = sp_profile_extras(profile, &extras, error);
	if (r < 0)
		return r;
	add(&parts, extras->n_perf_events, "perf events");
	add(&parts, extras->n_likwid || extras->n_likwid_environments, "LIKWID");
	add(&parts, extras->n_line_profiles, "line profiles");
	add(&parts, sp_profile_info(profile)->trace_version, "/sp_trace");
	return parts.n;
}
