// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_dump.c - prints everything that the library reads from a file, as JSON.
 *
 * The tests compare it with what other readers say. Exit status 1, and the library's sentence on
 * standard error, if the file is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_read.h"

static struct sp_error error;

static void must(int r, const char *path)
{
	if (!r)
		return;
	fprintf(stderr, "%s: %s (%s)\n", path, error.text, strerrorname_np(-r));
	exit(1);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\')
			printf("\\u%04x", (unsigned char)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

#define PRINT_u8(value) printf("%u", (unsigned int)(value))
#define PRINT_u16(value) printf("%u", (unsigned int)(value))
#define PRINT_u32(value) printf("%" PRIu32, (value))
#define PRINT_u64(value) printf("%" PRIu64, (value))
#define PRINT_s8(value) printf("%d", (int)(value))
#define PRINT_s64(value) printf("%" PRId64, (value))
#define PRINT_reltime(value) printf("%" PRId64, (value))
#define PRINT_relend(value) printf("%" PRId64, (value))
#define PRINT_str(value) print_text(value)

/* print_thread_row and so on */
#define SP_TABLE(name, doc) \
	static void print_##name##_row(const struct sp_##name##_row *row) \
	{ \
		const char *comma = ""; \
		printf("{");
#define SP_COL(table, type, field, path, need, default, doc) \
	printf("%s\"" #field "\": ", comma); \
	comma = ", "; \
	PRINT_##type(row->field);
#define SP_TABLE_END(name) \
	printf("}"); \
	}
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END

static void print_info(const struct sp_profile_info *info)
{
	printf("\"format\": \"%s\", \"version\": %d, \"trace_version\": %d, \"big_endian\": %d, "
	       "\"aggregate\": %d, \"columns\": %u, \"n_calls\": %" PRIu64
	       ", \"n_samples\": %" PRIu64 ", \"ticks\": %" PRId64 ", \"hz\": %" PRId64
	       ", \"start_time_ns\": %" PRId64,
	       sp_format_name(info->format), info->version, info->trace_version, info->big_endian,
	       info->aggregate, info->columns, info->n_calls, info->n_samples, info->ticks,
	       info->hz, info->start_time_ns);
}

/* In chunks of an odd size, so that their seams are tested. */
static void print_calls(struct sp_profile *profile, uint32_t index)
{
	enum { CHUNK = 1021 };
	uint64_t n = sp_profile_row(profile, index)->stats.calls;
	struct sp_calls calls;

	if (sp_calls_alloc(&calls, CHUNK, (1u << SP_CALLS_N_COLUMNS) - 1))
		exit(1);
	printf("\"calls\": [");
	for (uint64_t at = 0; at < n; at += CHUNK) {
		size_t some = n - at < CHUNK ? (size_t)(n - at) : CHUNK;

		must(sp_profile_read_calls(profile, index, at, some, &calls, &error),
		     sp_profile_path(profile));
		for (size_t i = 0; i < some; i++) {
			printf("%s[%" PRId64 ", %" PRId64, at + i ? ", " : "", calls.start[i],
			       calls.end[i]);
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	printf(", "); \
	PRINT_##type(calls.field[i]);
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
			printf("]");
		}
	}
	printf("]");
	sp_calls_free(&calls);
}

static void print_event_metadata(struct sp_profile *profile, uint32_t index)
{
	char *json;

	must(sp_profile_event_metadata(profile, index, &json, &error), sp_profile_path(profile));
	printf("\"event_metadata\": %s, ", json ? json : "null");
	free(json);
}

static void print_rows(struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);

	printf(",\n\"rows\": [");
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		const struct sp_stats *stats = &row->stats;

		printf("%s\n{\"region\": ", i ? "," : "");
		print_text(sp_profile_region(profile, row->region));
		printf(", \"rank\": %u, \"source_line\": %" PRId64 ", \"source_file\": ", row->rank,
		       row->source_line);
		print_text(row->source_file);
		printf(", \"source_text\": ");
		print_text(row->source_text);
		printf(", \"tags\": ");
		print_text(row->tags);
		printf(", \"n\": %" PRIu64 ", \"total\": %" PRId64 ", \"self\": %" PRId64
		       ", \"minimum\": %" PRId64 ", \"maximum\": %" PRId64 ", \"first\": %" PRId64
		       ", \"last\": %" PRId64 ", \"start_minimum\": %" PRId64
		       ", \"end_maximum\": %" PRId64 ", \"mean\": %.17g, \"m2\": %.17g"
		       ", \"gpu_calls\": %" PRIu64 ", \"gpu_total\": %" PRId64 ", ",
		       stats->calls, stats->total, stats->self, stats->minimum, stats->maximum,
		       stats->first, stats->last, stats->start_minimum, stats->end_maximum,
		       stats->mean, stats->m2, stats->gpu_calls, stats->gpu_total);
		print_event_metadata(profile, i);
		if (info->aggregate)
			printf("\"calls\": null");
		else
			print_calls(profile, i);
		printf("}");
	}
	printf("]");
}

static void print_samples(struct sp_profile *profile)
{
	uint64_t n = sp_profile_info(profile)->n_samples;

	printf(",\n\"samples\": [");
	for (uint64_t i = 0; i < n; i++) {
		struct sp_sample_row sample;
		uint64_t offsets[2], frames[256];

		must(sp_profile_read_samples(profile, i, 1, &sample, &error),
		     sp_profile_path(profile));
		must(sp_profile_read_stack_offsets(profile, i, 1, offsets, &error),
		     sp_profile_path(profile));
		printf("%s\n[", i ? "," : "");
		print_sample_row(&sample);
		for (uint64_t at = offsets[0]; at < offsets[1]; at += 256) {
			size_t some = offsets[1] - at < 256 ? (size_t)(offsets[1] - at) : 256;

			must(sp_profile_read_frames(profile, at, some, frames, &error),
			     sp_profile_path(profile));
			for (size_t k = 0; k < some; k++)
				printf(", %" PRIu64, frames[k]);
		}
		printf("]");
	}
	printf("]");
}

#define PRINT_TABLE(plural, singular) \
	do { \
		const struct sp_##singular##_row *rows; \
		size_t n_rows; \
\
		must(sp_profile_##plural(profile, &rows, &n_rows, &error), \
		     sp_profile_path(profile)); \
		printf(",\n\"" #plural "\": ["); \
		for (size_t i = 0; i < n_rows; i++) { \
			printf("%s\n", i ? "," : ""); \
			print_##singular##_row(&rows[i]); \
		} \
		printf("]"); \
	} while (0)

/* JSON has neither NaN nor infinities, but Python reads these words. */
static void print_real(double value)
{
	if (isfinite(value))
		printf("%.17g", value);
	else
		printf("%s", isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
}

static void print_texts(const char *const *texts, size_t n)
{
	printf("[");
	for (size_t i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		print_text(texts[i]);
	}
	printf("]");
}

static void print_reals(const double *reals, size_t n)
{
	printf("[");
	for (size_t i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		print_real(reals[i]);
	}
	printf("]");
}

static void print_integers(const int64_t *numbers, size_t n)
{
	printf("[");
	for (size_t i = 0; i < n; i++)
		printf("%s%" PRId64, i ? ", " : "", numbers[i]);
	printf("]");
}

static void print_fact(const struct sp_fact *fact)
{
	switch (fact->kind) {
	case SP_FACT_NUMBER:
		printf("%" PRId64, fact->number);
		break;
	case SP_FACT_REAL:
		print_real(fact->real);
		break;
	case SP_FACT_BOOL:
		printf("%s", fact->number ? "true" : "false");
		break;
	case SP_FACT_TEXT:
		print_text(fact->text);
		break;
	default:
		print_texts(fact->items, fact->n_items);
	}
}

static void print_facts(const struct sp_fact *facts, size_t n)
{
	printf("{");
	for (size_t i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		print_text(facts[i].key);
		printf(": ");
		print_fact(&facts[i]);
	}
	printf("}");
}

static void print_perf_events(const struct sp_extras *extras)
{
	printf(",\n\"perf_events\": [");
	for (size_t i = 0; i < extras->n_perf_events; i++) {
		const struct sp_perf_events *one = &extras->perf_events[i];

		printf("%s\n{\"rank\": %u, \"region\": ", i ? "," : "", one->rank);
		print_text(one->region);
		printf(", \"calls\": %" PRId64 ", \"names\": ", one->calls);
		print_texts(one->names, one->n);
		printf(", \"values\": [");
		for (size_t k = 0; k < one->n; k++)
			printf("%s%" PRIu64, k ? ", " : "", one->values[k]);
		printf("]}");
	}
	printf("]");
}

static void print_line_profiles(const struct sp_extras *extras)
{
	printf(",\n\"line_profiles\": [");
	for (size_t i = 0; i < extras->n_line_profiles; i++) {
		const struct sp_line_profile *one = &extras->line_profiles[i];

		printf("%s\n{\"rank\": %u, \"region\": ", i ? "," : "", one->rank);
		print_text(one->region);
		printf(", \"filename\": ");
		print_text(one->filename);
		printf(", \"function\": ");
		print_text(one->function);
		printf(", \"first_line\": %" PRId64 ", \"unit\": %.17g, \"source\": ",
		       one->first_line, one->unit);
		if (one->source)
			print_text(one->source);
		else
			printf("null");
		printf(", \"source_first_line\": %" PRId64 ", \"lines\": ",
		       one->source ? one->source_first_line : 0);
		print_integers(one->lines, one->n);
		printf(", \"hits\": ");
		print_integers(one->hits, one->n);
		printf(", \"times\": ");
		print_reals(one->times, one->n);
		printf("}");
	}
	printf("]");
}

static void print_matrix(const char *name, const double *values, size_t rows, size_t columns)
{
	printf(", \"%s\": [", name);
	for (size_t i = 0; i < rows; i++) {
		printf("%s", i ? ", " : "");
		print_reals(values + i * columns, columns);
	}
	printf("]");
}

static void print_likwid(const struct sp_extras *extras)
{
	printf(",\n\"likwid\": [");
	for (size_t i = 0; i < extras->n_likwid; i++) {
		const struct sp_likwid *one = &extras->likwid[i];

		printf("%s\n{\"rank\": %u, \"tag\": ", i ? "," : "", one->rank);
		print_text(one->tag);
		printf(", \"group_id\": %" PRId64 ", \"group_name\": ", one->group_id);
		print_text(one->group_name);
		printf(", \"source\": ");
		print_text(one->source);
		printf(", \"cpus\": ");
		print_integers(one->cpus, one->cpus ? one->n_threads : 0);
		printf(", \"times\": ");
		print_reals(one->times, one->n_threads);
		printf(", \"call_counts\": ");
		print_integers(one->call_counts, one->n_threads);
		printf(", \"event_names\": ");
		print_texts(one->event_names, one->n_events);
		printf(", \"counter_names\": ");
		print_texts(one->counter_names, one->n_counters);
		print_matrix("events", one->events, one->n_events, one->n_threads);
		printf(", \"metric_names\": ");
		print_texts(one->metric_names, one->n_metrics);
		print_matrix("metrics", one->metrics, one->n_metrics, one->n_threads);
		printf("}");
	}
	printf("],\n\"likwid_environments\": [");
	for (size_t i = 0; i < extras->n_likwid_environments; i++) {
		const struct sp_likwid_environment *one = &extras->likwid_environments[i];

		printf("%s\n{\"rank\": %u, \"facts\": ", i ? "," : "", one->rank);
		print_facts(one->facts, one->n);
		printf("}");
	}
	printf("]");
}

int main(int argc, char **argv)
{
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	struct sp_profile *profile;
	size_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		return 2;
	}
	must(sp_profile_open(argv[1], &profile, &error), argv[1]);
	must(sp_profile_complete(profile, 1 << 22, &error), argv[1]);
	printf("{");
	print_info(sp_profile_info(profile));
	printf(",\n\"regions\": [");
	for (uint32_t i = 0; i < sp_profile_info(profile)->n_regions; i++) {
		printf("%s", i ? ", " : "");
		print_text(sp_profile_region(profile, i));
	}
	printf("],\n\"ranks\": [");
	for (uint32_t i = 0; i < sp_profile_info(profile)->n_ranks; i++)
		printf("%s%u", i ? ", " : "", sp_profile_rank(profile, i));
	printf("]");
	print_rows(profile);
	print_samples(profile);
	PRINT_TABLE(threads, thread);
	PRINT_TABLE(tasks, task);
	PRINT_TABLE(sites, site);
	PRINT_TABLE(modules, module);
	PRINT_TABLE(processes, process);
	PRINT_TABLE(losses, loss);
	PRINT_TABLE(cuts, cut);
	PRINT_TABLE(clocks, clock);
	PRINT_TABLE(rank_facts, rank_fact);
	PRINT_TABLE(kernel_symbols, kernel_symbol);
	must(sp_profile_extras(profile, &extras, &error), argv[1]);
	print_perf_events(extras);
	print_line_profiles(extras);
	print_likwid(extras);
	must(sp_profile_metadata(profile, &facts, &n, &error), argv[1]);
	printf(",\n\"metadata\": ");
	print_facts(facts, n);
	must(sp_profile_meta(profile, &facts, &n, &error), argv[1]);
	printf(",\n\"meta\": ");
	print_facts(facts, n);
	printf("}\n");
	sp_profile_free(profile);
	return 0;
}
