// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5.c - HDF5 files as profiles: which schema, and the calls of schemas 2 and 3.
 *
 * Invariant: all event columns have one length, every row's range lies inside it, and no two rows
 * share a call. The number of the schema says how a file is organised; whether its times are deltas
 * is told by the names of its columns, as scope-profiler does.
 */
#include "formats/profile_h5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"

void sp_h5_events_init(struct sp_h5_events *events)
{
	sp_h5_window_init(&events->starts);
	sp_h5_window_init(&events->ends);
	events->deltas = false;
	for (size_t i = 0; i < SP_CALLS_N_COLUMNS; i++)
		sp_h5_window_init(&events->columns[i]);
}

void sp_h5_events_close(struct sp_h5_events *events)
{
	sp_h5_window_close(&events->starts);
	sp_h5_window_close(&events->ends);
	for (size_t i = 0; i < SP_CALLS_N_COLUMNS; i++)
		sp_h5_window_close(&events->columns[i]);
}

bool sp_h5_events_filtered(const struct sp_h5_events *events)
{
	bool filtered = sp_h5_is_filtered(events->starts.dataset) ||
			sp_h5_is_filtered(events->ends.dataset);

	for (size_t i = 0; !filtered && i < SP_CALLS_N_COLUMNS; i++)
		filtered = events->columns[i].dataset >= 0 &&
			   sp_h5_is_filtered(events->columns[i].dataset);
	return filtered;
}

/* The default in each of @n elements of a column. */
static void fill(void *values, const struct sp_h5_column_def *def, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (sp_h5_type_size(def->type)) {
		case 2:
			((uint16_t *)values)[i] = (uint16_t)def->number;
			break;
		case 4:
			((uint32_t *)values)[i] = (uint32_t)def->number;
			break;
		default:
			((int64_t *)values)[i] = def->number;
		}
	}
}

int sp_h5_events_read_columns(struct sp_h5_events *events, uint64_t at, size_t n,
			      const struct sp_calls *calls, struct sp_error *error)
{
	int r = 0;

	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++) {
		const struct sp_h5_column_def *def = &sp_h5_call_columns[i];
		void *values = *(void *const *)((const char *)calls + def->offset);

		if (!values)
			continue;
		if (events->columns[i].dataset < 0)
			fill(values, def, n);
		else
			r = sp_h5_window_read(&events->columns[i], at, n, values, error);
	}
	return r;
}

/* Moves the row's cursor to call @first: sums up the deltas that lie between. */
static int seek_start(struct sp_h5_profile *h5, uint32_t row, uint64_t first,
		      struct sp_error *error)
{
	struct sp_h5_cursors *cursors = &h5->cursors[row];
	struct sp_h5_cursor *cursor = &cursors->now, *earlier = cursors->earlier;

	while (cursor->next > first) {
		*cursor = earlier[0];
		earlier[0] = earlier[1];
		earlier[1] = (struct sp_h5_cursor){0};
	}
	while (cursor->next < first) {
		uint64_t left = first - cursor->next;
		size_t some = left < SP_H5_READ_BLOCK ? (size_t)left : SP_H5_READ_BLOCK;
		int r = sp_h5_window_read(&h5->events.starts, h5->offsets[row] + cursor->next, some,
					  h5->block, error);

		if (r)
			return r;
		for (size_t i = 0; i < some; i++)
			cursor->start = sp_wrap_add(cursor->start, h5->block[i]);
		cursor->next += some;
	}
	if (earlier[0].next != first) {
		earlier[1] = earlier[0];
		earlier[0] = *cursor;
	}
	return 0;
}

/* Starts of some calls, into @starts. */
static int read_starts(struct sp_h5_profile *h5, uint32_t row, uint64_t first, size_t n,
		       int64_t *starts, struct sp_error *error)
{
	int r = h5->events.deltas ? seek_start(h5, row, first, error) : 0;
	struct sp_h5_cursor *cursor;

	if (!r)
		r = sp_h5_window_read(&h5->events.starts, h5->offsets[row] + first, n, starts,
				      error);
	if (r || !h5->events.deltas)
		return r;
	cursor = &h5->cursors[row].now;
	for (size_t i = 0; i < n; i++) {
		cursor->start = sp_wrap_add(cursor->start, starts[i]);
		starts[i] = cursor->start;
	}
	cursor->next = first + n;
	return 0;
}

static int read_times(struct sp_h5_profile *h5, uint32_t row, uint64_t first, size_t n,
		      int64_t *ret_starts, int64_t *ret_ends, struct sp_error *error)
{
	bool deltas = h5->events.deltas;
	int64_t *starts = ret_starts ? ret_starts : h5->block;
	int r = 0;

	if (ret_starts || deltas)
		r = read_starts(h5, row, first, n, starts, error);
	if (r || !ret_ends)
		return r;
	r = sp_h5_window_read(&h5->events.ends, h5->offsets[row] + first, n, ret_ends, error);
	for (size_t i = 0; !r && deltas && i < n; i++)
		ret_ends[i] = sp_wrap_add(starts[i], ret_ends[i]);
	return r;
}

static int read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
		      const struct sp_calls *calls, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;
	int r = 0;

	if (!h5->cursors && h5->events.deltas) {
		h5->cursors = calloc(profile->info.n_rows, sizeof(*h5->cursors));
		if (!h5->cursors)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	if (calls->start || calls->end) {
		/* Ends of deltas need the starts, too, for which there may be room for a block
		 * alone. */
		size_t block = calls->start ? n : SP_H5_READ_BLOCK;

		for (size_t at = 0; !r && at < n; at += block) {
			size_t some = n - at < block ? n - at : block;

			r = read_times(h5, row, first + at, some,
				       calls->start ? calls->start + at : NULL,
				       calls->end ? calls->end + at : NULL, error);
		}
	}
	return r ? r
		 : sp_h5_events_read_columns(&h5->events, h5->offsets[row] + first, n, calls,
					     error);
}

/* Rows of tables name regions by the file's ids. */
static int map_region(const struct sp_h5_profile *h5, const char *table, size_t row,
		      uint32_t *io_region, struct sp_error *error)
{
	if (*io_region >= h5->n_ids)
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "row %zu of the %ss names region %" PRIu32 " of %" PRIu32, row,
				    table, *io_region, h5->n_ids);
	*io_region = sp_h5_profile_region(h5, *io_region);
	return 0;
}

int sp_h5_profile_read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			     size_t *ret_n, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;
	void *rows;
	size_t n;
	int r = sp_h5_read_table(h5->file, which, profile->info.start_time_ns, &rows, &n, error);

	if (r)
		return r;
	for (size_t i = 0; !r && i < n; i++) {
		if (which == SP_H5_TABLE_site)
			r = map_region(h5, "site", i, &((struct sp_site_row *)rows)[i].region,
				       error);
		else if (which == SP_H5_TABLE_cut)
			r = map_region(h5, "cut call", i, &((struct sp_cut_row *)rows)[i].region,
				       error);
	}
	if (r) {
		sp_h5_free_table(which, rows, n);
		return r;
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

int sp_h5_profile_read_facts(struct sp_profile *profile, const char *group,
			     struct sp_fact **ret_facts, size_t *ret_n, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;

	return sp_h5_read_facts(h5->file, group, ret_facts, ret_n, error);
}

int sp_h5_profile_read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
			      struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;

	return sp_h5_read_extras(h5->file, ret_extras, error);
}

static int read_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			       struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;

	if (h5->event_metadata < 0) {
		*ret_json = NULL;
		return 0;
	}
	return sp_h5_read_text(h5->event_metadata, sp_h5_event_metadata_path, row, ret_json, error);
}

void sp_h5_profile_close(void *implementation)
{
	struct sp_h5_profile *h5 = implementation;

	if (!h5)
		return;
	sp_h5_events_close(&h5->events);
	for (size_t i = 0; i < sizeof(h5->samples) / sizeof(h5->samples[0]); i++)
		sp_h5_close(&h5->samples[i]);
	sp_h5_close(&h5->frames);
	sp_h5_close(&h5->event_metadata);
	sp_h5_close(&h5->file);
	sp_h5_free_texts(h5->groups, h5->n_groups);
	free(h5->offsets);
	free(h5->cursors);
	free(h5->region_of_id);
	free(h5->block);
	free(h5);
}

static const struct sp_profile_ops columnar_ops = {
	.read_calls = read_calls,
	.read_samples = sp_h5_profile_read_samples,
	.read_stack_offsets = sp_h5_profile_read_stack_offsets,
	.read_frames = sp_h5_profile_read_frames,
	.read_table = sp_h5_profile_read_table,
	.read_facts = sp_h5_profile_read_facts,
	.read_extras = sp_h5_profile_read_extras,
	.read_event_metadata = read_event_metadata,
	.check = sp_h5_profile_check,
	.close = sp_h5_profile_close,
};

/* ---- opening ---- */

static int open_events(struct sp_profile *profile, struct sp_h5_profile *h5, uint64_t *ret_n,
		       struct sp_error *error)
{
	struct sp_h5_events *events = &h5->events;
	uint64_t n = SP_H5_ANY_LENGTH;
	int r = sp_h5_exists(h5->file, "/events/start_deltas", error);

	if (r < 0)
		return r;
	events->deltas = r;
	r = sp_h5_window_open(&events->starts, h5->file,
			      events->deltas ? "/events/start_deltas" : "/events/start_times",
			      SP_H5_s64, true, n, error);
	if (r)
		return r;
	n = events->starts.length;
	r = sp_h5_window_open(&events->ends, h5->file,
			      events->deltas ? "/events/durations" : "/events/end_times", SP_H5_s64,
			      true, n, error);
	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++) {
		r = sp_h5_window_open(&events->columns[i], h5->file, sp_h5_call_columns[i].path,
				      sp_h5_call_columns[i].type, false, n, error);
		if (!r && events->columns[i].dataset >= 0)
			profile->info.columns |= 1u << i;
	}
	if (r)
		return r;
	profile->info.compressed = sp_h5_events_filtered(events);
	*ret_n = n;
	return 0;
}

/* Finds the schema, and whether it is a profile at all. */
static int read_schema(struct sp_profile *profile, struct sp_h5_profile *h5, struct sp_error *error)
{
	sp_cleanup_free char *layout = NULL;
	int64_t schema;
	bool found;
	int r;

	r = sp_h5_read_number_attribute(h5->file, "scope_profiler_schema", &found, &schema, error);
	if (r == -SP_E_COUNT) { /* beyond all numbers, so newer */
		schema = INT64_MAX;
		found = true;
		r = 0;
	}
	if (!r)
		r = sp_h5_read_text_attribute(h5->file, "storage_layout", &layout, error);
	if (r)
		return r;
	if (!found) {
		schema = 1;
		r = sp_h5_exists(h5->file, "/rank_region_index", error);
		if (r < 0)
			return r;
		if (r)
			return sp_error_set(
				error, -SP_E_MISSING, 0,
				"has no attribute scope_profiler_schema, which its layout needs");
	}
	if (schema < 1 || schema > 3)
		return sp_error_set(error, -SP_E_VERSION, 0,
				    "has schema %" PRId64 "; schemas 1 to 3 are known%s", schema,
				    schema > 3 ? ", a newer sp-report is needed" : "");
	if (layout && strcmp(layout, "columnar") != 0 && strcmp(layout, "aggregate") != 0)
		return sp_error_set(error, -SP_E_VERSION, 0, "has the unknown layout \"%.64s\"",
				    layout);
	h5->schema = (int)schema;
	profile->info.version = (int)schema;
	profile->info.aggregate = schema >= 2 && layout && strcmp(layout, "aggregate") == 0;
	return 0;
}

static int read_trace_version(struct sp_profile *profile, struct sp_h5_profile *h5,
			      struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	int64_t version = 0;
	bool found;
	int r = sp_h5_exists(h5->file, "/sp_trace", error);

	if (r <= 0)
		return r;
	group = H5Oopen(h5->file, "/sp_trace", H5P_DEFAULT);
	if (group < 0)
		return sp_h5_read_failed(error, "/sp_trace");
	r = sp_h5_read_number_attribute(group, "version", &found, &version, error);
	if (r)
		return r;
	if (!found || version < 1)
		return sp_error_set(error, -SP_E_MISSING, 0, "/sp_trace has no valid version");
	if (version > 1)
		return sp_error_set(error, -SP_E_VERSION, 0,
				    "/sp_trace has version %" PRId64 "; version 1 is known",
				    version);
	profile->info.trace_version = (int)version;
	return 0;
}

static int read_origin(struct sp_profile *profile, struct sp_error *error)
{
	const struct sp_fact *facts, *start;
	size_t n;
	int r = sp_profile_metadata(profile, &facts, &n, error);

	if (r)
		return r;
	start = sp_fact_find(facts, n, "start_time_ns");
	if (start && start->is_number) {
		profile->info.start_time_ns = start->number;
		profile->origin_known = true;
	}
	return 0;
}

static int read_content(struct sp_profile *profile, struct sp_h5_profile *h5,
			struct sp_error *error)
{
	uint64_t n_calls = 0;
	int r = read_schema(profile, h5, error);

	if (!r)
		r = read_trace_version(profile, h5, error);
	if (!r)
		r = read_origin(profile, error);
	if (r)
		return r;
	if (h5->schema == 1)
		return sp_profile_open_h5_v1(profile, h5, error);
	if (profile->info.aggregate)
		r = sp_h5_profile_read_aggregate(profile, h5, error);
	else
		r = open_events(profile, h5, &n_calls, error);
	if (!r && !profile->info.aggregate)
		r = sp_h5_profile_read_index(profile, h5, n_calls, error);
	return r ? r : sp_h5_profile_open_samples(profile, h5, error);
}

int sp_profile_open_h5(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_h5_profile *h5 = calloc(1, sizeof(*h5));

	if (!h5)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	h5->file = h5->frames = h5->event_metadata = -1;
	h5->opened = UINT32_MAX;
	sp_h5_events_init(&h5->events);
	for (size_t i = 0; i < sizeof(h5->samples) / sizeof(h5->samples[0]); i++)
		h5->samples[i] = -1;
	profile->ops = &columnar_ops;
	profile->implementation = h5;
	h5->block = calloc(SP_H5_READ_BLOCK, sizeof(*h5->block));
	if (!h5->block)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	/* sp_profile_free() closes it all, also after a failure. */
	int r = sp_h5_open(profile->path, &h5->file, error);

	return r ? r : read_content(profile, h5, error);
}
