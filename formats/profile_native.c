// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_native.c - .spt and .sps files as profiles.
 *
 * Invariant: every name is one region of the profile, and in a trace one row; its calls are those
 * of all records of that name. Regions are numbered in the order in which their names appear.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/intern.h"
#include "formats/profile_internal.h"
#include "formats/sps.h"
#include "formats/spt.h"
#include "formats/spt_pool.h"
#include "formats/util.h"

/* ---- .spt ---- */

struct trace {
	struct sp_spt_reader *reader;
	uint32_t *records;	    /* of the file, by row, ascending in each */
	uint32_t *first;	    /* of each row in @records; one more than rows */
	struct sp_spt_pool **pools; /* of rows with several records, made when first read */
};

static int read_spt_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			  const struct sp_calls *calls, struct sp_error *error)
{
	struct trace *trace = profile->implementation;
	uint32_t at = trace->first[row], records = trace->first[row + 1] - at;
	int r = 0;

	sp_calls_fill_defaults(calls, n);
	if (records == 1)
		return sp_spt_reader_calls(trace->reader, trace->records[at], first, n,
					   calls->start, calls->end, error);
	if (!trace->pools[row])
		r = sp_spt_pool_new(trace->reader, trace->records + at, records, &trace->pools[row],
				    error);
	return r ? r
		 : sp_spt_pool_calls(trace->pools[row], first, n, calls->start, calls->end, error);
}

static void close_spt(void *implementation)
{
	struct trace *trace = implementation;

	if (!trace)
		return;
	for (size_t i = 0; trace->pools && i < sp_spt_reader_n_regions(trace->reader); i++)
		sp_spt_pool_free(trace->pools[i]);
	sp_spt_reader_free(trace->reader);
	free(trace->records);
	free(trace->first);
	free(trace->pools);
	free(trace);
}

static const struct sp_profile_ops spt_ops = {
	.read_calls = read_spt_calls,
	.close = close_spt,
};

/* Deals the records out to the rows of their names: @rows has the row of each, and trace->first
 * how many each row has, from its element 2 on. */
static void deal_records(struct trace *trace, const uint32_t *rows, size_t n, size_t n_rows)
{
	for (size_t i = 1; i < n_rows + 2; i++)
		trace->first[i] += trace->first[i - 1];
	for (size_t i = 0; i < n; i++)
		trace->records[trace->first[rows[i] + 1]++] = (uint32_t)i;
}

/* One record: a row of its own, or calls for the row that its name has. */
static int add_record(struct sp_profile *profile, size_t index, uint32_t row, bool new,
		      struct sp_error *error)
{
	struct trace *trace = profile->implementation;
	const struct sp_spt_region *region = sp_spt_reader_region(trace->reader, index);
	struct sp_row added = {
		.region = row,
		.rank = (uint32_t)sp_spt_reader_rank(trace->reader),
		.source_file = region->source_file,
		.source_line = region->source_line,
		.stats = sp_profile_unknown_stats(region->calls),
	};
	struct sp_row *known;
	uint64_t calls;
	int r;

	trace->first[row + 2]++;
	if (new) {
		r = sp_profile_add_region(profile, region->name, error);
		return r ? r : sp_profile_add_row(profile, &added, error);
	}
	/* The source is that of the first record that has one. */
	known = &profile->rows[row];
	if (!*known->source_file && known->source_line < 0 &&
	    (region->source_line >= 0 || (region->source_file && *region->source_file))) {
		uint32_t number;

		r = sp_intern_add(&profile->texts, region->source_file ? region->source_file : "",
				  &number, NULL);
		if (r)
			return sp_error_set(error, r, 0, "no memory");
		known->source_file = sp_intern_text(&profile->texts, number);
		known->source_line = region->source_line;
		profile->info.has_source_lines |= known->source_line >= 0;
	}
	calls = known->stats.calls + region->calls;
	known->stats = sp_profile_unknown_stats(calls);
	profile->info.n_calls += region->calls;
	return 0;
}

static int add_records(struct sp_profile *profile, struct sp_error *error)
{
	struct trace *trace = profile->implementation;
	size_t n = sp_spt_reader_n_regions(trace->reader);
	uint32_t *rows sp_cleanup_free = calloc(n + 1, sizeof(*rows));
	struct sp_intern names = {0};
	int r = 0;

	trace->records = calloc(n + 1, sizeof(*trace->records));
	trace->first = calloc(n + 2, sizeof(*trace->first));
	trace->pools = calloc(n + 1, sizeof(*trace->pools));
	if (!rows || !trace->records || !trace->first || !trace->pools)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; !r && i < n; i++) {
		bool new;

		if (sp_intern_add(&names, sp_spt_reader_region(trace->reader, i)->name, &rows[i],
				  &new))
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
		else
			r = add_record(profile, i, rows[i], new, error);
	}
	sp_intern_free(&names);
	if (!r)
		deal_records(trace, rows, n, profile->info.n_rows);
	return r;
}

int sp_profile_open_spt(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_spt_reader *reader;
	struct trace *trace;
	int r = sp_spt_reader_open(profile->path, &reader, error);

	if (r)
		return r;
	trace = calloc(1, sizeof(*trace));
	if (!trace) {
		sp_spt_reader_free(reader);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	trace->reader = reader;
	profile->ops = &spt_ops;
	profile->implementation = trace;
	profile->info.version = sp_spt_reader_version(reader);
	profile->info.big_endian = sp_spt_reader_big_endian(reader);
	profile->ranks = calloc(1, sizeof(*profile->ranks));
	if (!profile->ranks)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	profile->ranks[0] = (uint32_t)sp_spt_reader_rank(reader);
	profile->info.n_ranks = 1;
	return add_records(profile, error);
}

/* ---- .sps ---- */

struct samples {
	struct sp_sps_reader *reader;
	uint32_t *regions; /* of the profile, for each of the file */
};

static int read_sps_samples(struct sp_profile *profile, uint64_t first, size_t n,
			    struct sp_sample_row *ret_samples, struct sp_error *error)
{
	enum { BLOCK = 1024 };
	struct samples *samples = profile->implementation;
	struct sp_sps_sample raw[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		int r = sp_sps_reader_samples(samples->reader, first + at, some, raw, error);

		if (r)
			return r;
		for (size_t i = 0; i < some; i++)
			ret_samples[at + i] = (struct sp_sample_row){
				.thread = -1,
				.region = raw[i].region < 0
						  ? -1
						  : (int64_t)samples->regions[raw[i].region],
				.call_id = -1,
				.ip = raw[i].ip,
				.module = raw[i].module,
				.rank = profile->ranks[0],
			};
	}
	return 0;
}

/* Modules come with what the file knows: path and load bias. */
static int read_sps_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			  size_t *ret_n, struct sp_error *error)
{
	struct sp_sps_reader *reader = ((struct samples *)profile->implementation)->reader;
	size_t n = which == SP_H5_TABLE_module ? sp_sps_reader_n_modules(reader) : 0;
	struct sp_module_row *rows = calloc(n + 1, sizeof(*rows));
	bool complete = rows != NULL;

	for (size_t i = 0; complete && i < n; i++) {
		const struct sp_sps_module *module = sp_sps_reader_module(reader, i);

		rows[i] = (struct sp_module_row){
			.path = strdup(module->path),
			.build_id = strdup(""),
			.archived = strdup(""),
			.bias = module->bias,
			.process = UINT32_MAX,
		};
		complete = rows[i].path && rows[i].build_id && rows[i].archived;
	}
	if (!complete) {
		sp_h5_free_table(which, rows, rows ? n : 0);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static void close_sps(void *implementation)
{
	struct samples *samples = implementation;

	if (!samples)
		return;
	sp_sps_reader_free(samples->reader);
	free(samples->regions);
	free(samples);
}

static const struct sp_profile_ops sps_ops = {
	.read_samples = read_sps_samples,
	.read_table = read_sps_table,
	.close = close_sps,
};

static int add_regions(struct sp_profile *profile, struct samples *samples, struct sp_error *error)
{
	size_t n = sp_sps_reader_n_regions(samples->reader);
	struct sp_intern names = {0};
	int r = 0;

	samples->regions = calloc(n + 1, sizeof(*samples->regions));
	if (!samples->regions)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; !r && i < n; i++) {
		const char *name = sp_sps_reader_region(samples->reader, i);
		bool new;

		if (sp_intern_add(&names, name, &samples->regions[i], &new))
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
		else if (new)
			r = sp_profile_add_region(profile, name, error);
	}
	sp_intern_free(&names);
	return r;
}

int sp_profile_open_sps(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_sps_reader *reader;
	struct samples *samples;
	int r = sp_sps_reader_open(profile->path, &reader, error);

	if (r)
		return r;
	samples = calloc(1, sizeof(*samples));
	profile->ranks = calloc(1, sizeof(*profile->ranks));
	if (!samples || !profile->ranks) {
		sp_sps_reader_free(reader);
		free(samples);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	samples->reader = reader;
	profile->ops = &sps_ops;
	profile->implementation = samples;
	profile->info.version = sp_sps_reader_version(reader);
	profile->info.big_endian = sp_sps_reader_big_endian(reader);
	profile->info.hz = sp_sps_reader_hz(reader);
	profile->info.ticks = sp_sps_reader_ticks(reader);
	profile->info.n_samples = sp_sps_reader_n_samples(reader);
	profile->ranks[0] = (uint32_t)sp_sps_reader_rank(reader);
	profile->info.n_ranks = 1;
	return add_regions(profile, samples, error);
}
