/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info.c - sp-report info: what was recorded, by what, and what is missing.
 *
 * Inputs of one recording are shown together, with what is missing in it first; several recordings,
 * and foreign files, which do not say what belongs together, one after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "userspace/analysis/inputs.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/report.h"

enum key {
	KEY_JSON = 256,
};

static const struct sp_option options[] = {
	{"json", KEY_JSON, NULL, "print JSON"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report info",
	.usage = "[OPTION]… FILE|DIR…",
	.about = "Shows what was recorded and by what, and first of all what is missing.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* What stands in the files of one recording. */
struct recording {
	const struct sp_given *first; /* has the facts */
	size_t files;
	uint32_t ranks, regions;
	uint64_t calls, samples, threads, processes;
	int64_t start, end; /* ns; end <= start: unknown */
};

static int add_input(struct recording *rec, const struct sp_given *input, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	const struct sp_thread_row *threads;
	const struct sp_process_row *processes;
	size_t n_threads, n_processes;
	int64_t start = sp_given_number(input, "start_time_ns", 0);
	int64_t end = sp_given_number(input, "finalize_time_ns", 0);
	int r = sp_profile_threads(input->profile, &threads, &n_threads, error);

	if (r == 0)
		r = sp_profile_processes(input->profile, &processes, &n_processes, error);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_stats *stats = &sp_profile_row(input->profile, i)->stats;

		if (!stats->calls || stats->end_maximum < 0)
			continue;
		start = !start || stats->start_minimum < start ? stats->start_minimum : start;
		end = stats->end_maximum > end ? stats->end_maximum : end;
	}
	rec->files++;
	rec->ranks += info->format == SP_FORMAT_SPS && rec->ranks ? 0 : info->n_ranks;
	rec->regions = info->n_regions > rec->regions ? info->n_regions : rec->regions;
	rec->calls += info->n_calls;
	rec->samples += info->n_samples;
	rec->threads += n_threads;
	rec->processes += n_processes;
	if (start && (!rec->start || start < rec->start))
		rec->start = start;
	if (end > rec->end)
		rec->end = end;
	return 0;
}

/* Groups the inputs. The array is to free(); NULL with the error set. */
static struct recording *group(struct sp_inputs *inputs, size_t *ret_n, struct sp_error *error)
{
	struct recording *all = calloc(inputs->n + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		sp_error_set(error, -ENOMEM, 0, "out of memory");
	for (size_t i = 0; all && i < inputs->n; i++) {
		struct sp_given *input = &inputs->items[i];
		size_t at = 0;

		while (at < n && all[at].first->group != input->group)
			at++;
		if (at == n)
			all[n++].first = input;
		if (add_input(&all[at], input, error) < 0) {
			snprintf(inputs->failed, sizeof(inputs->failed), "%s", input->path);
			free(all);
			return NULL;
		}
	}
	*ret_n = n;
	return all;
}

/* ---- for people ---- */

static void line(const char *key, const char *format, ...) SP_PRINTF(2, 3);
static void line(const char *key, const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	printf("%-12s ", key);
	sp_text_print(stdout, text ? text : "(out of memory)");
	printf("\n");
}

static void fact_line(const struct sp_given *input, const char *title, const char *key)
{
	const char *text = sp_given_text(input, key);

	if (text)
		line(title, "%s", text);
}

static void print_format(const struct sp_given *input)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	const char *version = sp_given_text(input, "version");
	const char *upstream = sp_given_text(input, "scope_profiler_version");
	const char *language = sp_given_text(input, "source_language");

	line("format", "%s, version %d%s%s", sp_format_name(info->format), info->version,
	     info->aggregate ? ", totals only" : "", info->big_endian ? ", big-endian" : "");
	if (info->trace_version)
		line("written by", "sp-trace %s", version ? version : "(of unknown version)");
	else if (upstream)
		line("written by", "scope-profiler %s", upstream);
	else if (language)
		line("written by", "scope-profiler's API for %s", language);
}

static void print_samples(const struct sp_given *input, const struct recording *rec)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	int64_t hz = info->hz >= 0 ? info->hz : sp_given_number(input, "sample_hz", -1);
	const char *event = sp_given_text(input, "sample_event");

	if (!rec->samples && hz <= 0)
		line("samples", "none");
	else if (hz > 0)
		line("samples", "%s at %" PRId64 " Hz%s%s", sp_show_count(rec->samples).text, hz,
		     event ? ", by " : "", event ? event : "");
	else
		line("samples", "%s", sp_show_count(rec->samples).text);
	if (info->ticks > (int64_t)info->n_samples)
		line("", "%s more outside of regions, counted only",
		     sp_show_count((uint64_t)info->ticks - info->n_samples).text);
}

static void print_probe_cost(const struct sp_given *input)
{
	const char *cost = sp_given_text(input, "probe_ns"),
		   *place = sp_given_text(input, "probe_place");

	if (cost)
		line("probe cost", "%s a call%s%s", sp_show_duration(strtod(cost, NULL)).text,
		     place ? ", on the " : "", place ? place : "");
}

static void print_recording(const struct recording *rec)
{
	const struct sp_given *input = rec->first;
	const char *program = sp_given_text(input, "program");
	const char *label = sp_given_text(input, "label");

	if (rec->files == 1)
		line("file", "%s", input->path);
	else
		line("files", "%zu: %s, …", rec->files, input->path);
	print_format(input);
	fact_line(input, "program", "program");
	if (!program || !label || strcmp(program, label) != 0)
		fact_line(input, "label", "label");
	fact_line(input, "command", "command");
	fact_line(input, "directory", "working_directory");
	fact_line(input, "host", "hostname");
	fact_line(input, "kernel", "kernel");
	fact_line(input, "user", "user");
	fact_line(input, "job", "job");
	fact_line(input, "started", "timestamp");
	if (rec->end > rec->start)
		line("length", "%s", sp_show_duration((double)rec->end - (double)rec->start).text);
	fact_line(input, "ended", "stop_reason");
	line("ranks", "%" PRIu32 "%s", rec->ranks,
	     sp_given_number(input, "without_rank", 0) ? " (processes without a rank)" : "");
	if (rec->processes)
		line("processes", "%" PRIu64, rec->processes);
	if (rec->threads)
		line("threads", "%" PRIu64, rec->threads);
	line("regions", "%s", sp_show_count(rec->regions).text);
	line("calls", "%s", sp_show_count(rec->calls).text);
	print_samples(input, rec);
	print_probe_cost(input);
}

/* ---- for programs ---- */

static void json_facts(struct sp_json *json, const char *key, const struct sp_given *input,
		       int (*read)(struct sp_profile *, const struct sp_fact **, size_t *,
				   struct sp_error *))
{
	const struct sp_fact *facts;
	size_t n;

	sp_json_open_object(json, key);
	if (read(input->profile, &facts, &n, NULL) == 0) {
		for (size_t i = 0; i < n; i++) {
			if (facts[i].is_number)
				sp_json_signed(json, facts[i].key, facts[i].number);
			else
				sp_json_text(json, facts[i].key, facts[i].text);
		}
	}
	sp_json_close_object(json);
}

static void json_files(struct sp_json *json, const struct recording *rec,
		       const struct sp_inputs *inputs)
{
	sp_json_open_array(json, "files");
	for (size_t i = 0; i < inputs->n; i++) {
		const struct sp_given *input = &inputs->items[i];
		const struct sp_profile_info *info = sp_profile_info(input->profile);

		if (input->group != rec->first->group)
			continue;
		sp_json_open_object(json, NULL);
		sp_json_text(json, "path", input->path);
		sp_json_text(json, "format", sp_format_name(info->format));
		sp_json_signed(json, "version", info->version);
		sp_json_signed(json, "trace_version", info->trace_version);
		sp_json_bool(json, "big_endian", info->big_endian);
		sp_json_bool(json, "aggregate", info->aggregate);
		sp_json_unsigned(json, "ranks", info->n_ranks);
		sp_json_unsigned(json, "regions", info->n_regions);
		sp_json_unsigned(json, "calls", info->n_calls);
		sp_json_unsigned(json, "samples", info->n_samples);
		if (info->ticks >= 0)
			sp_json_signed(json, "ticks", info->ticks);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

static void write_json(const struct recording *all, size_t n, const struct sp_inputs *inputs)
{
	struct sp_json json = {.out = stdout};

	sp_json_open_object(&json, NULL);
	sp_report_json_notes(inputs, SP_REPORT_ALL, &json);
	sp_json_open_array(&json, "recordings");
	for (size_t i = 0; i < n; i++) {
		const struct recording *rec = &all[i];

		sp_json_open_object(&json, NULL);
		sp_json_text(&json, "id", rec->first->recording);
		sp_report_json_notes(inputs, rec->first->group, &json);
		json_files(&json, rec, inputs);
		sp_json_unsigned(&json, "ranks", rec->ranks);
		sp_json_unsigned(&json, "processes", rec->processes);
		sp_json_unsigned(&json, "threads", rec->threads);
		sp_json_unsigned(&json, "calls", rec->calls);
		sp_json_unsigned(&json, "samples", rec->samples);
		sp_json_signed(&json, "start_ns", rec->start);
		sp_json_signed(&json, "end_ns", rec->end);
		json_facts(&json, "metadata", rec->first, sp_profile_metadata);
		json_facts(&json, "meta", rec->first, sp_profile_meta);
		sp_json_close_object(&json);
	}
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	sp_json_end(&json);
}

static int show(struct sp_inputs *inputs, bool as_json)
{
	struct sp_error error = {0};
	size_t n = 0;
	sp_cleanup(sp_freep) struct recording *all = group(inputs, &n, &error);

	if (!all) {
		sp_log_error("%s: %s", inputs->failed, error.text);
		return 1;
	}
	if (as_json) {
		write_json(all, n, inputs);
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (i)
			printf("\n");
		sp_report_print_notes(inputs, all[i].first->group, stdout);
		print_recording(&all[i]);
	}
	return 0;
}

int sp_cmd_info(int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	struct sp_inputs inputs = {.apart = true};
	sp_cleanup(sp_freep) char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	const char *arg;
	bool as_json = false;
	size_t n = 0;
	int key, r;

	if (!paths) {
		sp_log_error("out of memory");
		return 1;
	}
	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		if (key == KEY_JSON)
			as_json = true;
		else
			paths[n++] = (char *)arg;
	}
	if (key < 0)
		return sp_cli_status(key);
	if (!n)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	r = sp_report_open(&inputs, paths, n) < 0 ? 1 : show(&inputs, as_json);
	sp_inputs_free(&inputs);
	return r;
}
