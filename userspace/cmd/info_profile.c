/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_profile.c - what info says of the profiles of one recording, to people.
 *
 * Numbers that no file of a recording has are unknown, never 0: scope-profiler's files say nothing
 * of samples and losses, a trace nothing of threads, samples alone nothing of calls.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/rank_count.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/info.h"

/* Adds a number that one of several files may know. */
static void add_known(int64_t *sum, uint64_t more)
{
	*sum = (*sum < 0 ? 0 : *sum) + (int64_t)more;
}

/* A recording of ours says in its facts which one it is. The group /sp_trace alone says nothing:
 * every file that import and export write has it. JSON keeps the facts, but has no place for
 * samples, losses and most tables: there, that none are found says nothing. */
static bool is_ours(const struct sp_given *input)
{
	return input->recording && sp_profile_info(input->profile)->format == SP_FORMAT_HDF5;
}

bool sp_info_knows_samples(const struct sp_given *input)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);

	if (info->n_samples || info->format == SP_FORMAT_SPS)
		return true;
	return info->format == SP_FORMAT_HDF5 &&
	       (input->recording || sp_given_number(input, "sample_hz", -1) >= 0);
}

static void widen(struct sp_info *rec, int64_t start, int64_t end)
{
	if (start && (!rec->start || start < rec->start))
		rec->start = start;
	if (end > rec->end)
		rec->end = end;
}

int sp_info_add(struct sp_info *rec, const struct sp_given *input, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	bool sps = info->format == SP_FORMAT_SPS;
	const struct sp_thread_row *threads;
	const struct sp_process_row *processes;
	size_t n_threads, n_processes;
	uint32_t ranks;
	int r = sp_profile_threads(input->profile, &threads, &n_threads, error);

	if (r == 0)
		r = sp_profile_processes(input->profile, &processes, &n_processes, error);
	if (r < 0)
		return r;
	if (!rec->files++)
		rec->calls = rec->samples = rec->threads = rec->processes = -1;
	widen(rec, sp_given_number(input, "start_time_ns", 0),
	      sp_given_number(input, "finalize_time_ns", 0));
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_stats *stats = &sp_profile_row(input->profile, i)->stats;

		if (stats->calls && stats->end_maximum >= 0)
			widen(rec, stats->start_minimum, stats->end_maximum);
	}
	r = sp_rank_count(input->profile, NULL, 0, &ranks);
	if (r < 0)
		return sp_error_set(error, r, 0, "no memory");
	rec->ranks += sps && rec->ranks ? 0 : ranks;
	rec->regions = info->n_regions > rec->regions ? info->n_regions : rec->regions;
	if (!sps)
		add_known(&rec->calls, info->n_calls);
	if (sp_info_knows_samples(input))
		add_known(&rec->samples, info->n_samples);
	if (is_ours(input) || n_threads)
		add_known(&rec->threads, n_threads);
	if (is_ours(input) || n_processes)
		add_known(&rec->processes, n_processes);
	rec->losses_known |= is_ours(input) && !sp_given_number(input, "recorder_died", 0);
	return sps ? 0 : sp_stack_counts_read(&rec->stacks, input->profile, error);
}

void sp_info_line(const char *title, const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	printf("%-12s ", title);
	sp_text_print(stdout, text ? text : "(out of memory)");
	printf("\n");
}

void sp_info_count(const char *title, int64_t count)
{
	if (count < 0)
		sp_info_line(title, "unknown");
	else
		sp_info_line(title, "%s", sp_show_count((uint64_t)count).text);
}

void sp_info_span(int64_t start, int64_t end)
{
	if (end <= start || !start)
		sp_info_line("time span", "unknown");
	else
		sp_info_line("time span",
			     "%s (%" PRId64 ".%09" PRId64 " to %" PRId64 ".%09" PRId64
			     " s of CLOCK_MONOTONIC)",
			     sp_show_duration((double)end - (double)start).text, start / 1000000000,
			     start % 1000000000, end / 1000000000, end % 1000000000);
}

static void fact_line(const struct sp_given *input, const char *title, const char *key)
{
	const char *text = sp_given_text(input, key);

	if (text)
		sp_info_line(title, "%s", text);
}

static const char *layout_of(const struct sp_profile_info *info)
{
	return info->aggregate			? "aggregate: totals, no calls"
	       : info->format != SP_FORMAT_HDF5 ? NULL
	       : info->version == 1		? "a group for each region"
						: "columnar";
}

/* The program whose data it is; to free(), NULL unknown. */
static char *who_recorded(const struct sp_given *input)
{
	const char *version = sp_given_text(input, "version");
	const char *upstream = sp_given_text(input, "scope_profiler_version");
	const char *language = sp_given_text(input, "source_language");
	char *text = NULL;
	int n = 0;

	if (input->recording)
		n = asprintf(&text, "sp-trace %s", version ? version : "(of unknown version)");
	else if (upstream)
		n = asprintf(&text, "scope-profiler %s", upstream);
	else if (language)
		n = asprintf(&text, "scope-profiler's API for %s", language);
	return n < 0 ? NULL : text;
}

static void print_format(const struct sp_given *input)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	bool native = info->format == SP_FORMAT_SPT || info->format == SP_FORMAT_SPS;
	const char *layout = layout_of(info), *writer = sp_given_text(input, "written_by");
	sp_cleanup(sp_freep) char *source = who_recorded(input);

	sp_info_line("format", "%s, %s %d%s%s%s%s", sp_format_name(info->format),
		     info->format == SP_FORMAT_HDF5 ? "schema" : "version", info->version,
		     layout ? ", " : "", layout ? layout : "",
		     native ? (info->big_endian ? ", big-endian" : ", little-endian") : "",
		     native		? ""
		     : info->compressed ? ", compressed"
					: ", not compressed");
	sp_info_line("written by", "%s%s%s%s",
		     writer   ? writer
		     : source ? source
			      : "unknown",
		     writer && source ? " (data of " : "", writer && source ? source : "",
		     writer && source ? ")" : "");
}

static void print_parts(struct sp_profile *profile)
{
	const char *parts[SP_PARTS];
	struct sp_error error = {0};
	sp_cleanup(sp_freep) char *list = calloc(1, SP_PARTS * 32);
	int n = sp_parts_of(profile, parts, &error);

	if (n < 0) {
		sp_info_line("also has", "(%s)", error.text);
		return;
	}
	for (int i = 0; list && i < n; i++) {
		strcat(list, i ? ", " : "");
		strcat(list, parts[i]);
	}
	if (list)
		sp_info_line("also has", "%s", n ? list : "nothing else");
}

static void print_samples(const struct sp_given *input, const struct sp_info *rec)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	const char *event = sp_given_text(input, "sample_event");
	int64_t hz, highest;

	sp_given_rates(input, &hz, &highest);
	if (rec->samples < 0)
		sp_info_line("samples", "unknown");
	else if (!rec->samples && hz <= 0)
		sp_info_line("samples", "none");
	else if (hz > 0 && hz != highest)
		sp_info_line("samples", "%s at %" PRId64 " to %" PRId64 " Hz",
			     sp_show_count((uint64_t)rec->samples).text, hz, highest);
	else if (hz > 0)
		sp_info_line("samples", "%s at %" PRId64 " Hz%s%s",
			     sp_show_count((uint64_t)rec->samples).text, hz, event ? ", by " : "",
			     event ? event : "");
	else
		sp_info_line("samples", "%s", sp_show_count((uint64_t)rec->samples).text);
	if (info->ticks > (int64_t)info->n_samples)
		sp_info_line("", "%s more outside of regions, counted only",
			     sp_show_count((uint64_t)info->ticks - info->n_samples).text);
}

static void print_losses(const struct sp_info *rec)
{
	if (rec->lost)
		sp_info_line("losses", "%s event%s, as told above", sp_show_count(rec->lost).text,
			     sp_plural(rec->lost));
	else
		sp_info_line("losses", rec->losses_known ? "none" : "unknown");
}

void sp_info_probe_cost(const char *ns, const char *place, const char *why)
{
	if (ns)
		sp_info_line("probe cost", "%s a call%s%s%s%s",
			     sp_show_duration(strtod(ns, NULL)).text, place ? ", on the " : "",
			     place ? place : "", place && why ? ": " : "", place && why ? why : "");
}

static void print_head(const struct sp_info *rec)
{
	const struct sp_given *input = rec->first;
	const char *program = sp_given_text(input, "program");
	const char *label = sp_given_text(input, "label");
	const char *host = sp_given_text(input, "hostname");

	if (rec->files == 1)
		sp_info_line("file", "%s", input->path);
	else
		sp_info_line("files", "%zu: %s, …", rec->files, input->path);
	print_format(input);
	fact_line(input, "program", "program");
	if (!program || !label || strcmp(program, label) != 0)
		fact_line(input, "label", "label");
	fact_line(input, "command", "command");
	fact_line(input, "directory", "working_directory");
	sp_info_line("host", "%s", host ? host : "unknown");
	fact_line(input, "kernel",
		  sp_given_text(input, "kernel")  ? "kernel"
		  : sp_given_text(input, "uname") ? "uname"
						  : "platform");
	fact_line(input, "user", "user");
	fact_line(input, "job", "job");
	fact_line(input, "started", "timestamp");
	sp_info_span(rec->start, rec->end);
	if (sp_given_number(input, "recorder_died", 0))
		sp_info_line("ended", "unknown");
	else
		fact_line(input, "ended", "stop_reason");
}

void sp_info_print(const struct sp_info *rec, const struct sp_inputs *inputs)
{
	const struct sp_given *input = rec->first;

	(void)inputs;
	print_head(rec);
	sp_info_line("ranks", "%" PRIu32 "%s", rec->ranks,
		     sp_given_number(input, "without_rank", 0) ? " (processes without a rank)"
							       : "");
	sp_info_count("processes", rec->processes);
	sp_info_count("threads", rec->threads);
	sp_info_count("regions", rec->regions);
	sp_info_count("calls", rec->calls);
	print_samples(input, rec);
	sp_info_stacks(sp_given_text(input, "stacks"), sp_given_number(input, "kernel_stacks", 0),
		       &rec->stacks);
	print_losses(rec);
	print_parts(input->profile);
	sp_info_rank_facts(input->profile);
	sp_info_probe_cost(sp_given_text(input, "probe_ns"), sp_given_text(input, "probe_place"),
			   sp_given_text(input, "probe_place_reason"));
}
