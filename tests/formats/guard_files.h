/* SPDX-License-Identifier: BSD-2-Clause
 *
 * guard_files.h - a profile with something in every part, and all of a profile as one text.
 */
#ifndef SP_TESTS_FORMATS_GUARD_FILES_H
#define SP_TESTS_FORMATS_GUARD_FILES_H

#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "tests/formats/check.h"

static struct sp_error error;

/* When the call with this id starts; no two differences are alike, so that they do not compress
 * away. */
static int64_t start_of(uint32_t row, uint64_t id)
{
	return (int64_t)(1000 + row + 20 * id + ((uint32_t)id * 2654435761u >> 28));
}

/* @n_rows rows of up to @n_calls calls each, on two ranks; two samples a call of the first row. */
static void write_everything(const char *path, uint32_t n_rows, size_t n_calls, unsigned int gzip)
{
	struct sp_h5_options options = {
		.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
		.columns = SP_CALLS_id | SP_CALLS_thread | SP_CALLS_flags | SP_CALLS_site,
		.gzip = gzip,
		.start_time_ns = 77,
	};
	static const char *const names[] = {"cycles", "instructions"};
	static const char *const counters[] = {"PMC0", "PMC1"};
	static const uint64_t values[] = {12, UINT64_MAX};
	static const int64_t numbers[] = {3, 4, 5};
	static const double reals[] = {0.25, -1e300, 3, 4, 5, 6};
	static const struct sp_fact environment[] = {
		{.key = "CPU", .text = "some", .kind = SP_FACT_TEXT}};
	struct sp_h5_writer *writer;
	struct sp_calls calls;
	uint64_t id = 0;

	MUST(sp_calls_alloc(&calls, n_calls + 1, options.columns));
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (uint32_t row = 0; row < n_rows; row++) {
		size_t n = row == 1 ? 0 : n_calls - n_calls * row / (2 * n_rows);
		char name[40];
		uint32_t region;

		snprintf(name, sizeof(name), "region/%u \303\251", row / 2);
		MUST(sp_h5_writer_add_region(writer, name, &region, &error));
		MUST(sp_h5_writer_begin_row(
			writer,
			&(struct sp_h5_row){.region = region,
					    .rank = row % 2 * 3,
					    .source_file = "solver.c",
					    .source_line = row,
					    .source_text = row % 3 ? NULL : "for (;;) {}\n",
					    .tags = "[\"x\", \"y\"]",
					    .self_ns = -1,
					    .event_metadata = n == 1 ? "[{\"step\": 1}]" : NULL},
			&error));
		for (size_t i = 0; i < n; i++) {
			calls.start[i] = start_of(row, id);
			calls.end[i] = calls.start[i] + (int64_t)(id % 13);
			calls.id[i] = (int64_t)id++;
			calls.thread[i] = (int64_t)(i % 2);
			calls.flags[i] = (uint16_t)i;
			calls.site[i] = (uint32_t)(i % 5);
		}
		MUST(sp_h5_writer_add_calls(writer, &calls, n, &error));
	}
	sp_calls_free(&calls);
	for (uint64_t i = 0; i < 2 * n_calls; i++) {
		const uint64_t frames[] = {i, i + 1, i + 2, i + 3};

		MUST(sp_h5_writer_add_sample(writer,
					     &(struct sp_sample_row){.time_ns = 1000 + i,
								     .thread = 1,
								     .region = i % 3 ? 0 : -1,
								     .call_id = (int64_t)i,
								     .module = -1,
								     .rank = 3 * (i % 2)},
					     frames, i % 5, &error));
	}
	MUST(sp_h5_writer_add_threads(
		writer, &(struct sp_thread_row){.name = "main", .start_ns = 1000, .end_ns = -1}, 1,
		&error));
	MUST(sp_h5_writer_add_threads(
		writer, &(struct sp_thread_row){.index = 1, .name = "", .start_ns = 1001}, 1,
		&error));
	MUST(sp_h5_writer_add_modules(
		writer, &(struct sp_module_row){.path = "/lib/\303\244", .build_id = "ab"}, 1,
		&error));
	MUST(sp_h5_writer_add_rank_facts(
		writer, &(struct sp_rank_fact_row){.part = "meta", .key = "k", .text = "t"}, 1,
		&error));
	MUST(sp_h5_writer_set_metadata(writer, "hostname", "here", &error));
	MUST(sp_h5_writer_set_meta_number(writer, "sample_hz", 99, &error));
	MUST(sp_h5_writer_add_perf_events(writer,
					  &(struct sp_perf_events){.rank = 3,
								   .region = "region/0",
								   .calls = 2,
								   .n = 2,
								   .names = names,
								   .values = values},
					  &error));
	MUST(sp_h5_writer_add_line_profile(writer,
					   &(struct sp_line_profile){.region = "r",
								     .filename = "f.py",
								     .function = "f",
								     .unit = 1e-9,
								     .n = 3,
								     .lines = numbers,
								     .hits = numbers,
								     .times = reals},
					   &error));
	MUST(sp_h5_writer_add_likwid(writer,
				     &(struct sp_likwid){.tag = "t",
							 .group_id = 1,
							 .group_name = "MEM",
							 .source = "marker",
							 .n_threads = 3,
							 .cpus = numbers,
							 .times = reals,
							 .call_counts = numbers,
							 .n_events = 2,
							 .event_names = names,
							 .n_counters = 2,
							 .counter_names = counters,
							 .events = reals,
							 .n_metrics = 1,
							 .metric_names = names,
							 .metrics = reals},
				     &error));
	MUST(sp_h5_writer_add_likwid_environment(
		writer, &(struct sp_likwid_environment){.n = 1, .facts = environment}, &error));
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}

/* ---- as text ---- */

static int print_calls(FILE *out, struct sp_profile *profile, size_t step)
{
	struct sp_calls calls;
	int r = 0;

	MUST(sp_calls_alloc(&calls, step, UINT16_MAX >> (16 - SP_CALLS_N_COLUMNS)));
	for (uint32_t row = 0; !r && row < sp_profile_info(profile)->n_rows; row++) {
		uint64_t n = sp_profile_row(profile, row)->stats.calls;

		for (uint64_t at = 0; !r && at < n; at += step) {
			size_t some = n - at < step ? (size_t)(n - at) : step;

			r = sp_profile_read_calls(profile, row, at, some, &calls, &error);
			for (size_t i = 0; !r && i < some; i++)
				fprintf(out, "call %" PRId64 " %" PRId64 " %" PRId64 " %u %u\n",
					calls.start[i], calls.end[i], calls.id[i], calls.flags[i],
					calls.site[i]);
		}
	}
	sp_calls_free(&calls);
	return r;
}

static int print_samples(FILE *out, struct sp_profile *profile)
{
	uint64_t n = sp_profile_info(profile)->n_samples, offsets[8], frames[64];
	struct sp_sample_row samples[7];
	int r = 0;

	for (uint64_t at = 0; !r && at < n; at += 7) {
		size_t some = n - at < 7 ? (size_t)(n - at) : 7;

		r = sp_profile_read_samples(profile, at, some, samples, &error);
		if (!r)
			r = sp_profile_read_stack_offsets(profile, at, some, offsets, &error);
		if (!r && offsets[some] - offsets[0] <= 64)
			r = sp_profile_read_frames(profile, offsets[0],
						   (size_t)(offsets[some] - offsets[0]), frames,
						   &error);
		for (size_t i = 0; !r && i < some; i++)
			fprintf(out, "sample %" PRIu64 " %" PRId64 " %u %" PRIu64 " %" PRIu64 "\n",
				samples[i].time_ns, samples[i].region, samples[i].rank, offsets[i],
				offsets[i + 1] > offsets[i] && offsets[some] - offsets[0] <= 64
					? frames[offsets[i] - offsets[0]]
					: 0);
	}
	return r;
}

static void print_facts(FILE *out, const struct sp_fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "fact %s = %s %d %" PRId64 " %g", facts[i].key, facts[i].text,
			facts[i].kind, facts[i].number, facts[i].real);
		for (size_t k = 0; k < facts[i].n_items; k++)
			fprintf(out, " [%s]", facts[i].items[k]);
		fputc('\n', out);
	}
}

static void print_extras(FILE *out, const struct sp_extras *extras)
{
	for (size_t i = 0; i < extras->n_perf_events; i++)
		for (size_t k = 0; k < extras->perf_events[i].n; k++)
			fprintf(out, "perf %s %s %" PRIu64 "\n", extras->perf_events[i].region,
				extras->perf_events[i].names[k], extras->perf_events[i].values[k]);
	for (size_t i = 0; i < extras->n_line_profiles; i++)
		for (size_t k = 0; k < extras->line_profiles[i].n; k++)
			fprintf(out, "line %s %s %" PRId64 " %g\n",
				extras->line_profiles[i].function,
				extras->line_profiles[i].source ? extras->line_profiles[i].source
								: "(none)",
				extras->line_profiles[i].lines[k],
				extras->line_profiles[i].times[k]);
	for (size_t i = 0; i < extras->n_likwid; i++) {
		const struct sp_likwid *likwid = &extras->likwid[i];

		for (size_t k = 0; k < likwid->n_events * likwid->n_threads; k++)
			fprintf(out, "likwid %s %s %g\n", likwid->tag,
				likwid->event_names[k / likwid->n_threads], likwid->events[k]);
	}
	for (size_t i = 0; i < extras->n_likwid_environments; i++)
		print_facts(out, extras->likwid_environments[i].facts,
			    extras->likwid_environments[i].n);
}

static int print_tables(FILE *out, struct sp_profile *profile)
{
	const struct sp_rank_fact_row *rank_facts;
	const struct sp_thread_row *threads;
	const struct sp_module_row *modules;
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n;
	int r;

	r = sp_profile_threads(profile, &threads, &n, &error);
	for (size_t i = 0; !r && i < n; i++)
		fprintf(out, "thread %" PRId64 " %s %" PRId64 "\n", threads[i].index,
			threads[i].name, threads[i].start_ns);
	if (!r)
		r = sp_profile_modules(profile, &modules, &n, &error);
	for (size_t i = 0; !r && i < n; i++)
		fprintf(out, "module %s %s\n", modules[i].path, modules[i].build_id);
	if (!r)
		r = sp_profile_rank_facts(profile, &rank_facts, &n, &error);
	for (size_t i = 0; !r && i < n; i++)
		fprintf(out, "rank fact %s %s\n", rank_facts[i].key, rank_facts[i].text);
	if (!r)
		r = sp_profile_metadata(profile, &facts, &n, &error);
	if (!r)
		print_facts(out, facts, n);
	if (!r)
		r = sp_profile_meta(profile, &facts, &n, &error);
	if (!r)
		print_facts(out, facts, n);
	if (!r)
		r = sp_profile_extras(profile, &extras, &error);
	if (!r)
		print_extras(out, extras);
	return r;
}

/* All of it; calls are read @step at a time. */
static int print_profile(FILE *out, struct sp_profile *profile, size_t step)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int r = sp_profile_complete(profile, 1 << 20, &error);

	fprintf(out,
		"schema %d trace %d aggregate %d columns %x rows %u calls %" PRIu64
		" origin %" PRId64 " gzip %d\n",
		info->version, info->trace_version, info->aggregate, info->columns, info->n_rows,
		info->n_calls, info->start_time_ns, info->compressed);
	for (uint32_t i = 0; !r && i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		char *json = NULL;

		r = sp_profile_event_metadata(profile, i, &json, &error);
		fprintf(out, "row %s %u %s:%" PRId64 " %s %s %" PRIu64 " %" PRId64 " %g %s\n",
			sp_profile_region(profile, row->region), row->rank, row->source_file,
			row->source_line, row->source_text, row->tags, row->stats.calls,
			row->stats.self, row->stats.m2, json ? json : "(none)");
		free(json);
	}
	if (!r && !info->aggregate)
		r = print_calls(out, profile, step);
	if (!r)
		r = print_samples(out, profile);
	return r ? r : print_tables(out, profile);
}

#endif
