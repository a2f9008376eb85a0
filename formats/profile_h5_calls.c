// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_calls.c - the calls of HDF5 profiles of schemas 2 and 3, and their columns.
 *
 * Invariant: all event columns have one length. The number of the schema says how a file is
 * organised; whether its times are deltas is told by the names of its columns, as scope-profiler
 * does.
 */
#include <stdlib.h>

#include "formats/profile_h5.h"
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

int sp_h5_profile_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
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

int sp_h5_profile_open_calls(struct sp_profile *profile, struct sp_h5_profile *h5, uint64_t *ret_n,
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
