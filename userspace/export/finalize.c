/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize.c - from journal to files: the two passes, and the order of things.
 *
 * Invariant: the journal is removed only after every file was committed, and only if it is whole
 * and ended in good order; files of a run that fails are removed again.
 */
#include "userspace/export/finalize.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/directory.h"
#include "formats/journal.h"
#include "formats/output.h"
#include "userspace/analysis/open_calls.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/reach.h"
#include "userspace/export/finalize_internal.h"

#define PROGRESS_EVERY_NS 200000000

SP_DEFINE_CLEANUP(struct sp_journal *, sp_journal_free);

static const struct sp_sink_ops *const all_sinks[SP_MAX_SINKS] = {&sp_sink_h5, &sp_sink_sps,
								  &sp_sink_spt};

bool sp_finalize_known(const char *formats)
{
	while (*formats) {
		size_t n = strcspn(formats, ",");
		bool known = false;

		for (size_t i = 0; i < sp_array_size(all_sinks); i++)
			known |= strlen(all_sinks[i]->name) == n &&
				 !strncmp(all_sinks[i]->name, formats, n);
		if (!known || (formats[n] && !formats[n + 1]))
			return false;
		formats += n + (formats[n] == ',');
		if (!*formats)
			return true;
	}
	return false;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int sp_finalizer_progress(struct sp_finalizer *fin, const char *what, double done,
			  struct sp_error *error)
{
	uint64_t now;

	if (fin->options->cancelled && fin->options->cancelled())
		return sp_error_set(error, -EINTR, 0, "interrupted");
	if (!fin->options->progress)
		return 0;
	now = now_ns();
	if (now - fin->last_progress_ns < PROGRESS_EVERY_NS)
		return 0;
	fin->last_progress_ns = now;
	fin->options->progress(what, done > 1 ? 1 : done);
	return 0;
}

int sp_finalizer_blame(struct sp_finalizer *fin, const char *path, int error)
{
	snprintf(fin->subject, sizeof(fin->subject), "%s", path);
	return error;
}

static int temporary_failed(struct sp_finalizer *fin, int r, struct sp_error *error)
{
	sp_finalizer_blame(fin, fin->options->directory, r);
	return sp_error_set(error, r, 0, "a temporary file in it cannot be used: %s", strerror(-r));
}

static int journal_failed(struct sp_finalizer *fin, int r, struct sp_error *error)
{
	sp_finalizer_blame(fin, fin->options->journal, r);
	return sp_error_set(error, r, 0, "cannot be read: %s", strerror(-r));
}

int sp_finalizer_next_call(struct sp_finalizer *fin, struct sp_error *error)
{
	int r = sp_extsort_next(fin->calls, &fin->call);

	if (r == 0)
		fin->call = NULL;
	return r < 0 ? temporary_failed(fin, r, error) : 0;
}

int sp_finalizer_next_sample(struct sp_finalizer *fin, struct sp_error *error)
{
	int r = sp_extsort_next(fin->samples, &fin->sample);

	if (r == 0)
		fin->sample = NULL;
	return r < 0 ? temporary_failed(fin, r, error) : 0;
}

/* ---- pass 1: tables ---- */

static void make_id(struct sp_finalizer *fin, const struct sp_recording *rec)
{
	static const char *const keys[] = {"boot_id",	     "hostname", "start_ns",
					   "start_realtime", "pid",	 "recorder_pid"};
	char text[1024];
	size_t n = 0;

	for (size_t i = 0; i < sp_array_size(keys); i++) {
		const char *value = sp_recording_meta(rec, keys[i]);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%.120s\n", value ? value : "");
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, "%llu",
			      (unsigned long long)rec->first_time);
	snprintf(fin->result->facts.id, sizeof(fin->result->facts.id), "%016llx%016llx",
		 (unsigned long long)sp_name_hash(text, n),
		 (unsigned long long)sp_name_hash(text, n / 2));
}

static void note_facts(struct sp_finalizer *fin, const struct sp_recording *rec,
		       const struct sp_journal *journal)
{
	struct sp_journal_facts *facts = &fin->result->facts;
	int64_t hz = sp_recording_meta_number(rec, "sample_hz", 0);
	uint64_t end = rec->ended ? rec->end_time : rec->last_time;
	struct sp_journal_state state;

	sp_journal_intact(journal, &facts->good_bytes, &facts->file_bytes, &facts->damage);
	sp_journal_state(journal, &state);
	facts->blocks = state.block + 1;
	facts->start_ns =
		(uint64_t)sp_recording_meta_number(rec, "start_ns", (int64_t)rec->first_time);
	facts->end_ns = (uint64_t)sp_recording_meta_number(rec, "stop_ns", (int64_t)end);
	facts->hz = hz > INT32_MAX ? 0 : (int32_t)hz;
	make_id(fin, rec);
}

static int read_tables(struct sp_finalizer *fin, struct sp_journal *journal, struct sp_error *error)
{
	struct sp_recording *rec = sp_recording_new();
	const struct sp_event *event;
	uint64_t n = 0, good = 0, bytes = 1;
	const char *reason;
	int r;

	if (!rec)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	fin->result->recording = rec;
	fin->recording = rec;
	while ((r = sp_journal_next(journal, &event)) == 1) {
		r = sp_recording_add(rec, event);
		if (r < 0)
			return sp_error_set(error, r, 0, "out of memory");
		if (!(++n & 0xffff)) {
			sp_journal_intact(journal, &good, &bytes, &reason);
			r = sp_finalizer_progress(fin, "reading", (double)good / (double)bytes,
						  error);
			if (r < 0)
				return r;
		}
	}
	if (r < 0)
		return journal_failed(fin, r, error);
	note_facts(fin, rec, journal);
	r = sp_open_calls_find(rec, journal);
	if (r < 0)
		return journal_failed(fin, r, error);
	r = sp_recording_resolve(rec);
	sp_recording_user(rec, &fin->user);
	if (r == -E2BIG)
		return sp_error_set(error, r, 0,
				    "it has more than %u regions; no file can hold them",
				    SP_PROFILE_MAX_REGIONS);
	return r < 0 ? sp_error_set(error, r, 0, "out of memory") : 0;
}

/* ---- pass 2: calls and samples ---- */

/* The site that a sample is shown with: of a call that is known by its end, the region's. */
static uint32_t begin_of(const struct sp_recording *rec, uint32_t site)
{
	return site != SP_NONE && rec->sites[site].is_end
		       ? rec->regions[rec->sites[site].region].site
		       : site;
}

static int sort_call(struct sp_finalizer *fin, const struct sp_ev_call *call)
{
	const struct sp_recording *rec = fin->recording;
	uint32_t lane = sp_recording_lane(rec, call->head.lane);
	uint32_t site = sp_recording_site(rec, call->site);
	uint64_t start = call->start & INT64_MAX, end = call->end & INT64_MAX;
	uint32_t depth = SP_CALL_DEPTH(call->head.flags), flags = SP_CALL_FLAGS(call->head.flags);
	const struct sp_before *around;
	struct sp_record record;
	uint64_t unit, parent = call->parent;
	uint32_t more;

	if (lane == SP_NONE || site == SP_NONE)
		return -EIO; /* the journal changed since the first pass */
	around =
		sp_recording_before(rec, lane, call->end + !!(flags & SP_CALL_BEGAN_BEFORE), &more);
	if (around && !parent)
		parent = around->number;
	depth = depth + more < UINT16_MAX ? depth + more : UINT16_MAX;
	unit = rec->processes[rec->lanes[lane].process].unit;
	fin->result->reversed += end < start;
	record = (struct sp_record){{
		[SP_CW_ROW] = unit << 32 | rec->sites[site].region,
		[SP_CW_START] = start,
		[SP_CW_LANE] = (uint64_t)rec->lanes[lane].thread << 32 | depth << 16 | flags,
		[SP_CW_NUMBER] = call->number << 1 | !!(call->head.flags & SP_CALL_OPEN_AT_END),
		[SP_CW_LENGTH] = end < start ? 0 : end - start,
		[SP_CW_CHILD] = call->child,
		[SP_CW_PARENT] = parent,
		[SP_CW_SITE] = (uint64_t)site << 32 | call->skipped,
	}};
	return sp_extsort_add(fin->calls, &record);
}

int sp_finalizer_sort_sample(struct sp_finalizer *fin, const struct sp_ev_sample *sample,
			     const struct sp_event *event)
{
	const struct sp_recording *rec = fin->recording;
	uint32_t lane = sample->head.lane ? sp_recording_lane(rec, sample->head.lane) : SP_NONE;
	uint32_t site = sample->site ? sp_recording_site(rec, sample->site) : SP_NONE, depth;
	uint32_t process = lane != SP_NONE ? rec->lanes[lane].process
					   : sp_idmap_get(&rec->process_by_number, sample->process);
	uint64_t frames =
		event->tail_bytes / 8 < SP_STACK_ROOM ? event->tail_bytes / 8 : SP_STACK_ROOM;
	uint64_t kernel = sample->kernel_frames < frames ? sample->kernel_frames : frames;
	uint64_t end = sample->stack_end <= UINT8_MAX ? sample->stack_end : SP_STACK_UNKNOWN;
	uint64_t thread = lane == SP_NONE ? SP_NONE : rec->lanes[lane].thread;
	const struct sp_before *around = NULL;
	uint64_t number = sample->number;
	struct sp_record record;
	int r;

	if (process == SP_NONE)
		return -EIO;
	if (!number && lane != SP_NONE)
		around = sp_recording_before(rec, lane, sample->time, &depth);
	if (around) {
		number = around->number;
		site = around->site;
	}
	site = begin_of(rec, site);
	record = (struct sp_record){{
		[SP_SW_UNIT] = (uint64_t)rec->processes[process].unit << 32,
		[SP_SW_TIME] = sample->time,
		[SP_SW_LANE] = thread << 32 | end << 16 | sample->head.flags,
		[SP_SW_NUMBER] = number,
		[SP_SW_IP] = sample->ip,
		[SP_SW_STACK] = sp_scratch_bytes(fin->stacks),
		[SP_SW_FRAMES] = (uint64_t)process << 32 | kernel << 16 | frames,
		[SP_SW_SITE] = (uint64_t)site << 32 | sample->signal_frames,
	}};
	r = sp_finalizer_see_line(fin, process, sample->ip, sample->time);
	if (r == 0)
		r = sp_scratch_append(fin->stacks, event->tail, frames * 8);
	return r < 0 ? r : sp_extsort_add(fin->samples, &record);
}

static int sort_records(struct sp_finalizer *fin, struct sp_journal *journal,
			struct sp_error *error)
{
	const char *directory = fin->options->directory;
	double all = (double)(fin->recording->calls + fin->recording->samples) + 1;
	const struct sp_event *event;
	uint64_t n = 0;
	int r = sp_extsort_new(directory, 0, 0, &fin->calls);

	/* Samples are far fewer: half the memory. */
	if (r == 0)
		r = sp_extsort_new(directory, SP_EXTSORT_RECORDS / 2, SP_EXTSORT_FAN_IN / 2,
				   &fin->samples);
	if (r == 0)
		r = sp_scratch_new(directory, 1 << 18, &fin->stacks);
	if (r == 0)
		r = sp_finalizer_open_stacks(fin);
	if (r == 0)
		r = sp_finalizer_open_lines(fin);
	if (r < 0)
		return temporary_failed(fin, r, error);
	sp_journal_rewind(journal);
	while ((r = sp_journal_next(journal, &event)) == 1) {
		if (event->head->type == SP_EV_call)
			r = sort_call(fin, (const struct sp_ev_call *)event->head);
		else if (event->head->type == SP_EV_sample || event->head->type == SP_EV_stack_copy)
			r = sp_finalizer_add_sample(fin, sp_journal_stream(journal), event);
		if (r < 0)
			return temporary_failed(fin, r, error);
		if (++n & 0xffff)
			continue;
		r = sp_finalizer_progress(fin, "sorting", (double)n / all, error);
		if (r < 0)
			return r;
	}
	if (r < 0)
		return journal_failed(fin, r, error);
	r = sp_finalizer_end_stacks(fin);
	if (r == 0)
		r = sp_extsort_finish(fin->calls);
	if (r == 0)
		r = sp_extsort_finish(fin->samples);
	if (r < 0)
		return temporary_failed(fin, r, error);
	if (sp_finalizer_find_lines(fin) < 0)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	r = sp_finalizer_next_call(fin, error);
	return r < 0 ? r : sp_finalizer_next_sample(fin, error);
}

static int convert(struct sp_finalizer *fin, struct sp_error *error)
{
	sp_cleanup(sp_journal_freep) struct sp_journal *journal = NULL;
	int r;

	sp_finalizer_blame(fin, fin->options->journal, 0);
	r = sp_journal_open(fin->options->journal, &journal, error);
	if (r == 0)
		r = read_tables(fin, journal, error);
	if (r < 0)
		return r;
	fin->program = fin->options->program;
	if (!fin->program)
		fin->program = sp_recording_meta(fin->recording, "program");
	if (!fin->program || !fin->program[0])
		fin->program = "program";
	if (sp_recording_is_of_this_boot(fin->recording))
		sp_vdso_build_id(fin->vdso);
	r = sp_finalizer_prepare_paths(fin, error);
	if (r == 0)
		r = sort_records(fin, journal, error);
	for (uint32_t i = 0; r == 0 && i < fin->recording->n_units; i++)
		r = sp_finalizer_write_unit(fin, i, error);
	return r;
}

int sp_finalize(const struct sp_finalize_options *options, struct sp_finalize_result *ret_result,
		struct sp_finalize_failure *ret_failure)
{
	struct sp_finalize_result result = {0};
	struct sp_finalizer fin = {
		.options = options, .result = &result, .last_progress_ns = now_ns()};
	int r;

	r = sp_reach_new(&fin.reach);
	if (r < 0)
		return sp_error_set(&ret_failure->error, r, 0, "out of memory");
	for (size_t i = 0; i < sp_array_size(all_sinks); i++)
		if (sp_cli_list_has(options->formats, all_sinks[i]->name))
			fin.sinks[fin.n_sinks++] = all_sinks[i];
	r = convert(&fin, &ret_failure->error);
	sp_extsort_free(fin.calls);
	sp_extsort_free(fin.samples);
	sp_scratch_free(fin.stacks);
	sp_finalizer_free_stacks(&fin);
	sp_finalizer_free_lines(&fin);
	sp_finalizer_free_ids(&fin);
	sp_reach_free(fin.reach);
	if (r < 0) {
		memcpy(ret_failure->path, fin.subject, sizeof(fin.subject));
		sp_finalizer_remove_files(&fin);
		sp_finalize_result_free(&result);
		return r;
	}
	result.incomplete = !result.recording->ended || result.facts.damage[0];
	if (!options->keep_journal && !result.incomplete)
		result.journal_removed = sp_directory_unlink(options->journal) == 0;
	*ret_result = result;
	return 0;
}

void sp_finalize_result_free(struct sp_finalize_result *result)
{
	for (size_t i = 0; i < result->n_files; i++)
		free(result->files[i]);
	free(result->files);
	sp_recording_free(result->recording);
	sp_cuts_free(&result->cuts);
	free(result->stacks.unusable);
	*result = (struct sp_finalize_result){0};
}
