/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_json.c - a profile as scope-profiler's JSON, keys and their order as it writes them.
 *
 * Rows stand by region, then by rank; the columns of a row one after the other, each read in
 * blocks, so that memory does not depend on the calls. What scope-profiler's JSON has no place for
 * but a profile keeps in memory (perf events, facts of ours, LIKWID's environment) stands under
 * "sp_trace", which its reader passes over. Left out is what only HDF5 has room for: samples with
 * their stacks, columns and tables of /sp_trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/export/json_file.h"
#include "userspace/export/write_json.h"

enum { CALLS = 1 << 14, GZIP_LEVEL = 6 };

struct document {
	struct sp_profile *profile;
	const struct sp_profile_info *info;
	const struct sp_write_options *options;
	struct sp_json_file *file;
	struct sp_json json;
	bool aggregate;
	int64_t origin; /* that times in tables count from */
	int64_t *block; /* of CALLS */
	uint64_t done;	/* calls of the rows that are complete */
};

/* ---- columns ---- */

/* The columns of a row. *field is that of a struct sp_calls. */
static const struct {
	const char *key;
	size_t field;
	unsigned int bit; /* 0: always there */
} columns[] = {
	{"start_times_ns", offsetof(struct sp_calls, start), 0},
	{"end_times_ns", offsetof(struct sp_calls, end), 0},
	{"gpu_durations_ns", offsetof(struct sp_calls, gpu_ns), SP_CALLS_gpu_ns},
	{"call_ids", offsetof(struct sp_calls, id), SP_CALLS_id},
	{"parent_ids", offsetof(struct sp_calls, parent), SP_CALLS_parent},
	{"thread_ids", offsetof(struct sp_calls, thread), SP_CALLS_thread},
	{"task_ids", offsetof(struct sp_calls, task), SP_CALLS_task},
	{"await_ns", offsetof(struct sp_calls, await_ns), SP_CALLS_await_ns},
};
enum { METADATA_AFTER = 1 }; /* metadata of the calls stands behind the ends */

/* Reads calls @first … of one column into the block; *ret_n is how many. */
static int read_block(struct document *document, uint32_t row, size_t column, uint64_t first,
		      size_t *ret_n, struct sp_error *error)
{
	uint64_t left = sp_profile_row(document->profile, row)->stats.calls - first;
	struct sp_calls calls = {0};

	*(int64_t **)(void *)((char *)&calls + columns[column].field) = document->block;
	*ret_n = left < CALLS ? (size_t)left : CALLS;
	return sp_profile_read_calls(document->profile, row, first, *ret_n, &calls, error);
}

/* scope-profiler has no GPU times in a row where they are all unknown. */
static int has_gpu_times(struct document *document, uint32_t row, size_t column, bool *ret_has,
			 struct sp_error *error)
{
	uint64_t n = sp_profile_row(document->profile, row)->stats.calls;

	*ret_has = false;
	for (uint64_t at = 0; at < n && !*ret_has; at += CALLS) {
		size_t some;
		int r = read_block(document, row, column, at, &some, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < some && !*ret_has; i++)
			*ret_has = document->block[i] >= 0;
	}
	return 0;
}

static int progress(struct document *document, uint64_t more)
{
	const struct sp_write_options *options = document->options;

	return options->progress ? options->progress(options->progress_data, document->done + more,
						     document->info->n_calls)
				 : 0;
}

static int put_column(struct document *document, uint32_t row, size_t column,
		      struct sp_error *error)
{
	uint64_t n = sp_profile_row(document->profile, row)->stats.calls;
	struct sp_json *json = &document->json;
	int r = 0;

	sp_json_open_array(json, columns[column].key);
	for (uint64_t at = 0; r == 0 && at < n; at += CALLS) {
		size_t some;

		r = read_block(document, row, column, at, &some, error);
		for (size_t i = 0; r == 0 && i < some; i++)
			sp_json_signed(json, NULL, document->block[i]);
		if (r == 0)
			r = sp_json_file_check(document->file, error);
		if (r == 0) /* the first two columns are there always: each is half of it */
			r = progress(document, column < 2 ? (column * n + at) / 2 : n);
	}
	sp_json_close_array(json);
	return r;
}

/* ---- metadata of calls ---- */

static int put_metadata(struct document *document, uint32_t row, struct sp_error *error)
{
	sp_cleanup(sp_freep) char *text = NULL;
	int r = 0;

	if (document->info->has_event_metadata)
		r = sp_profile_event_metadata(document->profile, row, &text, error);
	if (r == 0 && text)
		sp_write_json_raw(&document->json, "event_metadata", text);
	return r;
}

/* ---- rows ---- */

static void put_statistics(struct sp_json *json, const struct sp_stats *stats)
{
	sp_json_open_object(json, "aggregate");
	sp_json_unsigned(json, "count", stats->calls);
	sp_json_signed(json, "total", stats->total);
	sp_json_signed(json, "minimum", stats->minimum);
	sp_json_signed(json, "maximum", stats->maximum);
	if (stats->m2 >= 0 && stats->calls) { /* the aggregate layout has none of these */
		sp_json_signed(json, "first", stats->first);
		sp_json_signed(json, "last", stats->last);
		sp_json_signed(json, "start_minimum", stats->start_minimum);
		sp_json_signed(json, "end_maximum", stats->end_maximum);
		sp_json_unsigned(json, "gpu_count", stats->gpu_calls);
		sp_json_signed(json, "gpu_total", stats->gpu_total);
		sp_write_json_real(json, "mean", stats->mean);
		sp_write_json_real(json, "m2", stats->m2);
	}
	sp_json_signed(json, "exclusive", stats->self);
	sp_json_close_object(json);
}

static int put_calls(struct document *document, uint32_t number, struct sp_error *error)
{
	const struct sp_row *row = sp_profile_row(document->profile, number);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sp_array_size(columns); i++) {
		bool there = !columns[i].bit || document->info->columns & columns[i].bit;

		if (there && columns[i].bit == SP_CALLS_gpu_ns)
			r = has_gpu_times(document, number, i, &there, error);
		if (r == 0 && there)
			r = put_column(document, number, i, error);
		if (r == 0 && i == METADATA_AFTER)
			r = put_metadata(document, number, error);
	}
	document->done += row->stats.calls;
	if (r == 0 && row->stats.calls && row->stats.self >= 0)
		sp_json_signed(&document->json, "exclusive_total_ns", row->stats.self);
	return r ? r : progress(document, 0);
}

static int put_row(struct document *document, uint32_t number, struct sp_error *error)
{
	const struct sp_row *row = sp_profile_row(document->profile, number);
	struct sp_json *json = &document->json;
	int r = 0;

	sp_json_open_object(json, NULL);
	sp_json_text(json, "name", sp_profile_region(document->profile, row->region));
	sp_json_signed(json, "rank", row->rank);
	if (*row->source_file)
		sp_json_text(json, "source_file", row->source_file);
	if (row->source_line >= 0)
		sp_json_signed(json, "source_lineno", row->source_line);
	if (*row->source_text)
		sp_json_text(json, "source_text", row->source_text);
	if (strcmp(row->tags, "[]") != 0)
		sp_write_json_raw(json, "tags", row->tags);
	if (document->aggregate)
		put_statistics(json, &row->stats);
	else
		r = put_calls(document, number, error);
	sp_json_close_object(json);
	return r ? r : sp_json_file_check(document->file, error);
}

struct order {
	uint32_t region, rank, row;
};

static int compare_order(const void *a, const void *b)
{
	const struct order *one = a, *two = b;

	if (one->region != two->region)
		return one->region < two->region ? -1 : 1;
	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	return one->row < two->row ? -1 : one->row > two->row;
}

static int put_rows(struct document *document, struct sp_error *error)
{
	uint32_t n = document->info->n_rows;
	sp_cleanup(sp_freep) struct order *order = calloc((size_t)n + 1, sizeof(*order));
	int r = 0;

	if (!order)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(document->profile, i);

		order[i] = (struct order){row->region, row->rank, i};
	}
	qsort(order, n, sizeof(*order), compare_order);
	sp_json_open_array(&document->json, "regions");
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = put_row(document, order[i].row, error);
	sp_json_close_array(&document->json);
	return r;
}

/* ---- the document ---- */

/* What times in tables count from: start_time_ns of the metadata. If there are such times and no
 * such fact, it is *ret_new. */
static int find_origin(struct document *document, const struct sp_fact *facts, size_t n,
		       bool *ret_new, struct sp_error *error)
{
	const struct sp_write_options *options = document->options;
	const struct sp_fact *start = sp_fact_find(facts, n, "start_time_ns");
	const struct sp_thread_row *threads;
	const struct sp_task_row *tasks;
	size_t n_threads, n_tasks;
	int r = sp_profile_threads(document->profile, &threads, &n_threads, error);

	if (r == 0)
		r = sp_profile_tasks(document->profile, &tasks, &n_tasks, error);
	if (r < 0)
		return r;
	if (!start)
		start = sp_fact_find(options->defaults, options->n_defaults, "start_time_ns");
	document->origin =
		start && start->is_number ? start->number : document->info->start_time_ns;
	*ret_new = !start && (n_threads || n_tasks);
	return 0;
}

static int put_facts(struct document *document, struct sp_error *error)
{
	const struct sp_write_options *options = document->options;
	struct sp_json *json = &document->json;
	const struct sp_fact *facts;
	bool new_origin;
	size_t n;
	int r = sp_profile_metadata(document->profile, &facts, &n, error);

	if (r < 0)
		return r;
	r = find_origin(document, facts, n, &new_origin, error);
	if (r < 0)
		return r;
	sp_json_open_object(json, "metadata");
	if (new_origin)
		sp_json_signed(json, "start_time_ns", document->origin);
	for (size_t i = 0; i < options->n_defaults; i++)
		if (!sp_fact_find(facts, n, options->defaults[i].key) &&
		    (!options->label || strcmp(options->defaults[i].key, "label") != 0))
			sp_write_json_fact(json, &options->defaults[i]);
	for (size_t i = 0; i < n; i++)
		if (!options->label || strcmp(facts[i].key, "label") != 0)
			sp_write_json_fact(json, &facts[i]);
	if (options->label)
		sp_json_text(json, "label", options->label);
	sp_json_close_object(json);
	return 0;
}

/* As scope-profiler counts them: those that the run says it had, if there are rows at all. */
static int put_number_of_ranks(struct document *document, struct sp_error *error)
{
	const struct sp_profile_info *info = document->info;
	const struct sp_fact *facts, *size;
	int64_t ranks = 0;
	size_t n;
	int r = sp_profile_metadata(document->profile, &facts, &n, error);

	if (r < 0)
		return r;
	if (info->n_rows) {
		ranks = (int64_t)sp_profile_rank(document->profile, info->n_ranks - 1) + 1;
		size = sp_fact_find(facts, n, "mpi_size");
		if (size && size->is_number && size->number > ranks)
			ranks = size->number;
	}
	sp_json_signed(&document->json, "num_ranks", ranks);
	return 0;
}

static int put_document(struct document *document, struct sp_error *error)
{
	static int (*const parts[])(struct sp_profile *, struct sp_json *, struct sp_error *) = {
		sp_write_json_likwid,
		sp_write_json_line_profiles,
		sp_write_json_own,
	};
	struct sp_json *json = &document->json;
	int r;

	sp_json_open_object(json, NULL);
	sp_json_text(json, "format", "scope-profiler-profile");
	sp_json_signed(json, "format_version", 1);
	sp_json_text(json, "exporter", "sp-trace@" SP_VERSION);
	sp_json_text(json, "time_unit", "nanoseconds");
	r = put_number_of_ranks(document, error);
	sp_json_bool(json, "event_data_available", true);
	if (r == 0)
		r = put_facts(document, error);
	if (r == 0)
		r = put_rows(document, error);
	if (r == 0)
		r = sp_write_json_threads(document->profile, document->origin, json, error);
	if (r == 0)
		r = sp_write_json_tasks(document->profile, document->origin, json, error);
	for (size_t i = 0; r == 0 && i < sp_array_size(parts); i++)
		r = parts[i](document->profile, json, error);
	sp_json_close_object(json);
	return r ? r : sp_json_file_commit(document->file, error);
}

int sp_write_json(struct sp_profile *profile, const char *path,
		  const struct sp_write_options *options, struct sp_error *error)
{
	size_t length = strlen(path);
	bool gzip = length > 3 && strcasecmp(path + length - 3, ".gz") == 0;
	sp_cleanup(sp_freep) int64_t *block = calloc(CALLS, sizeof(*block));
	struct document document = {
		.profile = profile,
		.info = sp_profile_info(profile),
		.options = options,
		.aggregate = options->aggregate || sp_profile_info(profile)->aggregate,
		.block = block,
	};
	int level = options->gzip >= 1 && options->gzip <= 9 ? (int)options->gzip : GZIP_LEVEL;
	int r = block ? 0 : sp_error_set(error, -ENOMEM, 0, "out of memory");

	/* Aggregates are all that remains of the calls. */
	if (r == 0 && options->aggregate)
		r = sp_profile_complete(profile, UINT64_MAX, error);
	if (r == 0)
		r = sp_json_file_open(path, options->output_flags, gzip ? level : 0, &document.file,
				      error);
	if (r < 0)
		return r;
	document.json =
		(struct sp_json){.out = sp_json_file_stream(document.file), .compact = true};
	r = put_document(&document, error);
	sp_json_file_free(document.file);
	return r;
}
