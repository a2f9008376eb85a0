/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_unit.c - feeds the sorted records of one unit to its sinks.
 *
 * Invariant: a region, site or module is announced to every sink, in one order, before anything
 * names its number, so all sinks number them alike.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/export/finalize_internal.h"

#define BATCH 4096
#define NO_ROW UINT64_MAX

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static void free_writer(struct sp_unit_writer *w)
{
	for (size_t i = 0; i < w->fin->n_sinks; i++) {
		if (w->sinks[i])
			w->fin->sinks[i]->free(w->sinks[i]);
		free(w->paths[i]);
	}
	free(w->regions);
	free(w->sites);
	free(w->kernel_symbols);
	free(w->cuts);
	sp_idmap_free(&w->cut_by_key);
	sp_idmap_free(&w->modules);
	sp_pool_free(w->texts);
	sp_calls_free(&w->calls);
}

static uint32_t *new_numbers(size_t n)
{
	uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));

	if (numbers)
		memset(numbers, 0xff, (n + 1) * sizeof(*numbers));
	return numbers;
}

static int open_writer(struct sp_unit_writer *w, struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	unsigned columns = SP_CALLS_id | SP_CALLS_parent | SP_CALLS_thread | SP_CALLS_flags |
			   SP_CALLS_depth | SP_CALLS_child_ns | SP_CALLS_skipped | SP_CALLS_site;

	w->regions = new_numbers(rec->n_regions);
	w->sites = new_numbers(rec->n_sites);
	w->kernel_symbols = new_numbers(rec->n_kernel_symbols);
	w->texts = sp_pool_new();
	if (!w->regions || !w->sites || !w->kernel_symbols || !w->texts ||
	    sp_calls_alloc(&w->calls, BATCH, columns) < 0)
		return out_of_memory(error);
	for (size_t i = 0; i < w->fin->n_sinks; i++) {
		sp_cleanup(sp_freep) char *path =
			sp_finalizer_path(w->fin, w->unit.unit, w->fin->sinks[i]);
		int r;

		w->paths[i] = path ? sp_finalizer_full_path(w->fin, path) : NULL;
		if (!w->paths[i])
			return out_of_memory(error);
		r = w->fin->sinks[i]->open(w->paths[i], &w->unit, &w->sinks[i], error);
		if (r < 0)
			return sp_finalizer_blame(w->fin, w->paths[i], r);
	}
	return 0;
}

static const char *keep_text(struct sp_unit_writer *w, char *text)
{
	const char *kept = text ? sp_pool_add(w->texts, text) : NULL;

	free(text);
	return kept;
}

int sp_unit_begin_row(struct sp_unit_writer *w, uint32_t region, struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	const struct sp_site *site = &rec->sites[rec->regions[region].site];
	const char *directory = sp_recording_meta(rec, "working_directory");
	struct sp_sink_region row = {
		.name = rec->regions[region].name,
		.file = site->file,
		.line = site->line,
		.text = keep_text(w, sp_source_line(w->fin->reach, &w->fin->user, directory,
						    site->file, site->line)),
		.tags = keep_text(w, sp_tags_to_json(site->tags)),
	};
	int r = 0;

	if (!row.text || !row.tags)
		return out_of_memory(error);
	w->regions[region] = w->n_regions++;
	SP_FOR_SINKS(w, r, add_region, &row, error);
	SP_FOR_SINKS(w, r, begin_row, w->regions[region], error);
	return r;
}

static int announce_site(struct sp_unit_writer *w, uint32_t index, struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	const struct sp_site *site = &rec->sites[index];
	uint32_t image = site->image ? sp_idmap_get(&rec->image_by_number, site->image) : SP_NONE;
	sp_cleanup(sp_freep) char *tags = sp_tags_to_json(site->tags);
	struct sp_site_row row = {
		.region = w->regions[site->region],
		.line = site->line,
		.file = site->file,
		.tags = tags,
		.function = site->function,
		.image = image == SP_NONE ? "" : rec->images[image].path,
	};
	int r = 0;

	if (!tags)
		return out_of_memory(error);
	w->sites[index] = w->n_sites++;
	SP_FOR_SINKS(w, r, add_site, &row, error);
	return r;
}

static int flush_calls(struct sp_unit_writer *w, struct sp_error *error)
{
	int r = 0;

	if (w->n_calls)
		SP_FOR_SINKS(w, r, add_calls, &w->calls, w->n_calls, error);
	w->n_calls = 0;
	return r;
}

static bool same_call(const struct sp_record *a, const struct sp_record *b)
{
	return a->word[SP_CW_ROW] == b->word[SP_CW_ROW] &&
	       a->word[SP_CW_START] == b->word[SP_CW_START] &&
	       a->word[SP_CW_LANE] >> 32 == b->word[SP_CW_LANE] >> 32 &&
	       a->word[SP_CW_NUMBER] >> 1 == b->word[SP_CW_NUMBER] >> 1;
}

static void put_call(struct sp_unit_writer *w, const struct sp_record *record)
{
	uint64_t thread = record->word[SP_CW_LANE] >> 32, parent = record->word[SP_CW_PARENT];
	uint32_t site =
		sp_recording_begin(w->fin->recording, (uint32_t)(record->word[SP_CW_SITE] >> 32));
	const struct sp_calls *c = &w->calls;
	size_t i = w->n_calls++;

	c->start[i] = (int64_t)record->word[SP_CW_START];
	c->end[i] = (int64_t)(record->word[SP_CW_START] + record->word[SP_CW_LENGTH]);
	c->id[i] = sp_unit_call_id(thread, record->word[SP_CW_NUMBER] >> 1);
	c->parent[i] = parent ? sp_unit_call_id(thread, parent) : -1;
	c->thread[i] = (int64_t)thread;
	c->flags[i] = (uint16_t)record->word[SP_CW_LANE];
	c->depth[i] = (uint16_t)(record->word[SP_CW_LANE] >> 16);
	c->child_ns[i] = (int64_t)record->word[SP_CW_CHILD];
	c->skipped[i] = (uint32_t)record->word[SP_CW_SITE];
	c->site[i] = site == SP_NONE ? UINT32_MAX : w->sites[site];
}

static int add_call(struct sp_unit_writer *w, const struct sp_record *record,
		    struct sp_error *error)
{
	uint32_t site = (uint32_t)(record->word[SP_CW_SITE] >> 32);
	uint32_t begin = sp_recording_begin(w->fin->recording, site);
	int r = 0, kind;

	if (w->has_last && same_call(&w->last, record)) {
		w->fin->result->duplicates++;
		return 0;
	}
	if (record->word[SP_CW_ROW] != w->row || w->n_calls == BATCH)
		r = flush_calls(w, error);
	if (r == 0 && record->word[SP_CW_ROW] != w->row) {
		r = sp_unit_end_cuts(w, error);
		if (r < 0)
			return r;
		w->row = record->word[SP_CW_ROW];
		r = sp_unit_begin_row(w, (uint32_t)w->row, error);
	}
	if (r == 0 && begin != SP_NONE && w->sites[begin] == SP_NONE)
		r = announce_site(w, begin, error);
	if (r < 0)
		return r;
	put_call(w, record);
	kind = sp_cut_kind((uint16_t)record->word[SP_CW_LANE]);
	if (kind >= 0 && sp_unit_count_cut(w, site, (unsigned)kind) < 0)
		return out_of_memory(error);
	w->last = *record;
	w->has_last = true;
	w->fin->result->calls++;
	return 0;
}

static int feed(struct sp_unit_writer *w, struct sp_error *error)
{
	struct sp_finalizer *fin = w->fin;
	uint32_t unit = w->unit.unit_index;
	double all = (double)(fin->recording->calls + fin->recording->samples) + 1;
	int r = 0;

	while (r == 0 && fin->call && fin->call->word[SP_CW_ROW] >> 32 == unit) {
		r = add_call(w, fin->call, error);
		if (r == 0)
			r = sp_finalizer_next_call(fin, error);
		if (r == 0 && !(++fin->done & 0xffff))
			r = sp_finalizer_progress(fin, "writing", (double)fin->done / all, error);
	}
	if (r == 0)
		r = flush_calls(w, error);
	if (r == 0)
		r = sp_unit_end_cuts(w, error);
	while (r == 0 && fin->sample && fin->sample->word[SP_SW_UNIT] >> 32 == unit) {
		r = sp_unit_add_sample(w, fin->sample, error);
		if (r == 0)
			r = sp_finalizer_next_sample(fin, error);
		if (r == 0 && !(++fin->done & 0xfff))
			r = sp_finalizer_progress(fin, "writing", (double)fin->done / all, error);
	}
	return r;
}

static int commit(struct sp_unit_writer *w, struct sp_error *error)
{
	struct sp_finalize_result *result = w->fin->result;

	for (size_t i = 0; i < w->fin->n_sinks; i++) {
		char **file = sp_array_add(&result->files, &result->n_files, &result->files_room);
		char *path = sp_finalizer_path(w->fin, w->unit.unit, w->fin->sinks[i]);
		int r;

		if (!file || !path) {
			result->n_files -= file != NULL;
			free(path);
			return out_of_memory(error);
		}
		*file = path;
		r = w->fin->sinks[i]->commit(w->sinks[i], error);
		if (r < 0) {
			free(path);
			result->n_files--; /* not ours to remove */
			return sp_finalizer_blame(w->fin, w->paths[i], r);
		}
	}
	return 0;
}

int sp_finalizer_write_unit(struct sp_finalizer *fin, uint32_t unit, struct sp_error *error)
{
	struct sp_unit_writer w = {
		.fin = fin,
		.unit =
			{
				.recording = fin->recording,
				.unit = &fin->recording->units[unit],
				.unit_index = unit,
				.facts = &fin->result->facts,
				.program = fin->program,
				.scratch_directory = fin->options->directory,
				.output_flags = (fin->options->force ? SP_OUTPUT_REPLACE : 0) |
						(fin->options->no_sync ? SP_OUTPUT_NO_SYNC : 0),
				.gzip = fin->options->gzip,
			},
		.row = NO_ROW,
	};
	int r = open_writer(&w, error);

	if (r == 0)
		r = feed(&w, error);
	if (r == 0)
		r = sp_unit_write_lines(&w, error);
	if (r == 0)
		r = commit(&w, error);
	free_writer(&w);
	return r;
}
