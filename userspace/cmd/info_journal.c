/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_journal.c - what info says of a journal: of the recording in it, and how whole it is.
 *
 * One pass over all events, one more where calls were open at the end, and two of a journal without
 * an end; memory grows with threads, processes and sites, never with calls.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/util.h"
#include "userspace/analysis/open_calls.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"
#include "userspace/cmd/info_journal.h"
#include "userspace/cmd/report.h"

SP_DEFINE_CLEANUP(struct sp_info_journal *, sp_info_journal_free);

void sp_info_journal_free(struct sp_info_journal *journal)
{
	if (!journal)
		return;
	sp_recording_free(journal->recording);
	sp_inputs_free(&journal->notes);
	sp_journal_free(journal->journal);
	free(journal->cuts);
	sp_idmap_free(&journal->cut_by_key);
	free(journal->opens);
	sp_idmap_free(&journal->open_by_key);
	free(journal->path);
	free(journal);
}

const struct sp_inputs *sp_info_journal_notes(const struct sp_info_journal *journal)
{
	return &journal->notes;
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int cannot_read(int code, struct sp_error *error)
{
	return sp_error_set(error, code, 0, "cannot be read: %s", strerror(-code));
}

static int look_again(struct sp_info_journal *info)
{
	const struct sp_event *event;
	int r = 0;

	if (!info->n_opens)
		return 0;
	sp_journal_rewind(info->journal);
	while ((r = sp_journal_next(info->journal, &event)) == 1)
		sp_info_journal_see_again(info, event);
	return r;
}

static int read_all(struct sp_info_journal *info, struct sp_error *error)
{
	const struct sp_event *event;
	int r;

	while ((r = sp_journal_next_any(info->journal, &event)) == 1) {
		info->events++;
		info->by_kind[event->id]++;
		if (sp_recording_add(info->recording, event) < 0 ||
		    sp_info_journal_see(info, event) < 0)
			return out_of_memory(error);
	}
	if (r < 0)
		return cannot_read(r, error);
	info->intact =
		sp_journal_intact(info->journal, &info->good_bytes, &info->bytes, &info->reason);
	sp_journal_state(info->journal, &info->state);
	r = look_again(info);
	if (r == 0)
		r = sp_open_calls_find(info->recording, info->journal);
	if (r < 0)
		return cannot_read(r, error);
	if (sp_recording_resolve(info->recording) == -ENOMEM)
		return out_of_memory(error);
	return sp_info_journal_gather(info) < 0 ? out_of_memory(error) : 0;
}

int sp_info_journal_open(const char *path, struct sp_info_journal **ret_journal,
			 struct sp_error *error)
{
	sp_cleanup(sp_info_journal_freep) struct sp_info_journal *info = calloc(1, sizeof(*info));
	int r;

	if (info)
		info->path = strdup(path);
	if (info)
		info->recording = sp_recording_new();
	if (!info || !info->path || !info->recording)
		return out_of_memory(error);
	r = sp_journal_open(path, &info->journal, error);
	if (r == 0)
		r = read_all(info, error);
	if (r < 0)
		return r;
	*ret_journal = sp_take(info);
	return 0;
}

/* ---- numbers ---- */

static uint32_t count_ranks(const struct sp_recording *rec, bool *ret_unranked)
{
	uint32_t ranks = 0;

	*ret_unranked = false;
	for (size_t i = 0; i < rec->n_units; i++)
		ranks += !rec->units[i].other;
	for (size_t i = 0; i < rec->n_processes; i++)
		if (rec->processes[i].rank >= 0)
			return ranks;
	*ret_unranked = true;
	return ranks;
}

static uint64_t count_threads(const struct sp_recording *rec)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rec->n_units; i++)
		n += rec->units[i].threads;
	return n;
}

static uint64_t count_processes(const struct sp_recording *rec)
{
	uint64_t n = 0;

	for (size_t i = 0; i < rec->n_units; i++)
		n += rec->units[i].processes;
	return n;
}

static void find_span(const struct sp_recording *rec, int64_t *ret_start, int64_t *ret_end)
{
	*ret_start = sp_recording_meta_number(rec, "start_ns", (int64_t)rec->first_time);
	*ret_end = sp_recording_meta_number(rec, "stop_ns",
					    (int64_t)(rec->ended ? rec->end_time : rec->last_time));
}

static uint64_t count_lost(const struct sp_info_journal *info)
{
	uint64_t n = 0;

	for (size_t i = 0; i < info->notes.n_losses; i++)
		if (sp_report_is_missing(&info->notes.losses[i]))
			sp_add_capped(&n, info->notes.losses[i].count);
	return n;
}

/* ---- for people ---- */

static void meta_line(const struct sp_recording *rec, const char *title, const char *key)
{
	const char *text = sp_recording_meta(rec, key);

	if (text && text[0])
		sp_info_line(title, "%s", text);
}

static void print_started(const struct sp_recording *rec)
{
	int64_t ns = sp_recording_realtime(
		rec, sp_recording_meta_number(rec, "start_ns", (int64_t)rec->first_time));
	time_t seconds = ns / 1000000000;
	char text[64];
	struct tm tm;

	if (ns >= 0 && gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S+00:00", &tm))
		sp_info_line("started", "%s", text);
}

static void print_events(const struct sp_info_journal *info)
{
	const struct sp_schema *schema = sp_journal_schema(info->journal);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	for (unsigned id = 0; id < SP_EV_MAX; id++)
		if (info->by_kind[id])
			fprintf(out, "%s%s %s", ftell(out) ? ", " : "",
				sp_show_count(info->by_kind[id]).text, sp_schema_event(schema, id));
	if (fclose(out) == 0)
		sp_info_line("events", "%s in %s blocks%s%s", sp_show_count(info->events).text,
			     sp_show_count(info->state.block + 1).text, text[0] ? ": " : "", text);
	free(text);
}

static void print_numbers(const struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;
	int64_t hz = sp_recording_meta_number(rec, "sample_hz", 0);
	const char *event = sp_recording_meta(rec, "sample_event");
	uint64_t lost = count_lost(info);
	bool unranked;
	uint32_t ranks = count_ranks(rec, &unranked);

	sp_info_line("ranks", "%" PRIu32 "%s", ranks,
		     unranked && ranks ? " (processes without a rank)" : "");
	sp_info_count("processes", (int64_t)count_processes(rec));
	sp_info_count("threads", (int64_t)count_threads(rec));
	sp_info_count("regions", (int64_t)rec->n_regions);
	sp_info_count("calls", (int64_t)(rec->calls - info->duplicates));
	if (hz > 0)
		sp_info_line("samples", "%s at %" PRId64 " Hz%s%s",
			     sp_show_count(rec->samples).text, hz, event ? ", by " : "",
			     event ? event : "");
	else
		sp_info_count("samples", (int64_t)rec->samples);
	sp_info_stacks(sp_recording_meta(rec, "stacks"),
		       sp_recording_meta_number(rec, "kernel_stacks", 0), &rec->stacks);
	if (lost)
		sp_info_line("losses", "%s event%s, as told above", sp_show_count(lost).text,
			     sp_plural(lost));
	else
		sp_info_line("losses", rec->ended && info->intact ? "none" : "unknown");
}

void sp_info_journal_print(const struct sp_info_journal *info)
{
	const struct sp_recording *rec = info->recording;
	const char *version = sp_recording_meta(rec, "version");
	const char *host = sp_recording_meta(rec, "hostname");
	int64_t start, end;

	sp_info_line("file", "%s", info->path);
	sp_info_line("format", "journal, version 1");
	sp_info_line("written by", "sp-trace %s", version ? version : "(of unknown version)");
	meta_line(rec, "program", "program");
	meta_line(rec, "command", "command");
	meta_line(rec, "directory", "working_directory");
	sp_info_line("host", "%s", host ? host : "unknown");
	meta_line(rec, "kernel", "kernel");
	meta_line(rec, "user", "user");
	print_started(rec);
	find_span(rec, &start, &end);
	sp_info_span(start, end);
	if (!rec->ended)
		sp_info_line("ended", "unknown");
	else if (rec->end_reason[0])
		sp_info_line("ended", "%s", rec->end_reason);
	print_numbers(info);
	sp_info_probe_cost(sp_recording_meta(rec, "probe_ns"),
			   sp_recording_meta(rec, "probe_place"),
			   sp_recording_meta(rec, "probe_place_reason"));
	print_events(info);
	sp_info_line("bytes", "%s of %s are whole", sp_show_count(info->good_bytes).text,
		     sp_show_count(info->bytes).text);
	sp_info_line("its files", "are made by: sp-report recover %s", info->path);
}

/* ---- for programs ---- */

void sp_info_journal_write_json(const struct sp_info_journal *info, struct sp_json *json)
{
	const struct sp_recording *rec = info->recording;
	const struct sp_schema *schema = sp_journal_schema(info->journal);
	int64_t start, end;
	bool unranked;

	find_span(rec, &start, &end);
	sp_json_open_object(json, NULL);
	sp_json_null(json, "id");
	sp_report_json_notes(&info->notes, SP_REPORT_ALL, json);
	sp_json_bool(json, "losses_known", rec->ended && info->intact);
	sp_json_open_array(json, "files");
	sp_json_open_object(json, NULL);
	sp_json_text(json, "path", info->path);
	sp_json_text(json, "format", sp_format_name(SP_FORMAT_JOURNAL));
	sp_json_signed(json, "version", 1);
	sp_json_unsigned(json, "bytes", info->bytes);
	sp_json_unsigned(json, "good_bytes", info->good_bytes);
	sp_json_bool(json, "intact", info->intact);
	sp_json_bool(json, "ended", rec->ended);
	sp_json_text(json, "damage", info->intact ? NULL : info->reason);
	sp_json_unsigned(json, "blocks", info->state.block + 1);
	sp_json_open_object(json, "events");
	for (unsigned id = 0; id < SP_EV_MAX; id++)
		if (info->by_kind[id])
			sp_json_unsigned(json, sp_schema_event(schema, id), info->by_kind[id]);
	sp_json_close_object(json);
	sp_json_close_object(json);
	sp_json_close_array(json);
	sp_json_text(json, "host", sp_recording_meta(rec, "hostname"));
	sp_json_unsigned(json, "ranks", count_ranks(rec, &unranked));
	sp_json_unsigned(json, "processes", count_processes(rec));
	sp_json_unsigned(json, "threads", count_threads(rec));
	sp_json_unsigned(json, "regions", rec->n_regions);
	sp_json_unsigned(json, "calls", rec->calls - info->duplicates);
	sp_json_unsigned(json, "samples", rec->samples);
	sp_info_json_stacks(json, &rec->stacks);
	sp_info_json_count(json, "start_ns", end > start && start ? start : -1);
	sp_info_json_count(json, "end_ns", end > start && start ? end : -1);
	sp_json_open_object(json, "metadata");
	sp_json_close_object(json);
	sp_json_open_object(json, "meta");
	for (size_t i = 0; i < rec->n_meta; i++) {
		int64_t number = sp_recording_meta_number(rec, rec->meta[i].key, -1);

		if (number >= 0)
			sp_json_signed(json, rec->meta[i].key, number);
		else
			sp_json_text(json, rec->meta[i].key, rec->meta[i].value);
	}
	sp_json_close_object(json);
	sp_json_close_object(json);
}
