// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_v1.c - HDF5 profiles of schema 1: a group for each region of each rank.
 *
 * Invariant: row i is the group groups[i]; the columns of at most one row are open at a time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_h5.h"
#include "formats/utf8.h"
#include "formats/util.h"

/* Columns that this schema knows, by the last part of their path in the later ones. */
static const char *column_name(size_t i)
{
	static const unsigned int known = SP_CALLS_id | SP_CALLS_parent | SP_CALLS_gpu_ns;

	return known & (1u << i) ? strrchr(sp_h5_call_columns[i].path, '/') + 1 : NULL;
}

static int open_column(struct sp_h5_profile *h5, struct sp_h5_window *window, const char *group,
		       const char *name, bool required, uint64_t length, struct sp_error *error)
{
	sp_cleanup_free char *path = sp_h5_join(group, name);

	if (!path)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return sp_h5_window_open(window, h5->file, path, SP_H5_s64, required, length, error);
}

/* Opens the columns of one row. */
static int open_row(struct sp_h5_profile *h5, uint32_t row, struct sp_error *error)
{
	struct sp_h5_events *events = &h5->events;
	const char *group = h5->groups[row];
	int r;

	sp_h5_events_close(events);
	h5->opened = UINT32_MAX;
	r = open_column(h5, &events->starts, group, "start_times", true, SP_H5_ANY_LENGTH, error);
	if (!r)
		r = open_column(h5, &events->ends, group, "end_times", true, events->starts.length,
				error);
	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++)
		if (column_name(i))
			r = open_column(h5, &events->columns[i], group, column_name(i), false,
					events->starts.length, error);
	if (!r)
		h5->opened = row;
	return r;
}

static int read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
		      const struct sp_calls *calls, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;
	int r = 0;

	if (h5->opened != row)
		r = open_row(h5, row, error);
	if (!r && calls->start)
		r = sp_h5_window_read(&h5->events.starts, first, n, calls->start, error);
	if (!r && calls->end)
		r = sp_h5_window_read(&h5->events.ends, first, n, calls->end, error);
	return r ? r : sp_h5_events_read_columns(&h5->events, first, n, calls, error);
}

static const struct sp_profile_ops v1_ops = {
	.read_calls = read_calls,
	.read_facts = sp_h5_profile_read_facts,
	.read_extras = sp_h5_profile_read_extras,
	.check = sp_h5_profile_check,
	.close = sp_h5_profile_close,
};

/* ---- finding the groups ---- */

enum { MAX_DEPTH = 32 }; /* of groups that stand for a name with slashes */

struct finder {
	struct sp_profile *profile;
	struct sp_h5_profile *h5;
	struct sp_intern names; /* numbered as the regions are */
	uint32_t rank;
	size_t visits;
};

static int find_region(struct finder *finder, const char *name, uint32_t *ret_region,
		       struct sp_error *error)
{
	sp_cleanup_free char *repaired = sp_utf8_repair(name);
	bool is_new;

	if (!repaired || sp_intern_add(&finder->names, repaired, ret_region, &is_new))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return is_new ? sp_profile_add_region(finder->profile, repaired, error) : 0;
}

static char *write_json_text(char *to, const char *text)
{
	*to++ = '"';
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\')
			to += sprintf(to, "\\u%04x", (unsigned char)*text);
		else
			*to++ = *text;
	}
	*to++ = '"';
	return to;
}

/* The JSON form of the tags, which stand in an attribute as strings. */
static int read_tags(hid_t group, char **ret_tags, struct sp_error *error)
{
	char **tags, *json, *to;
	size_t n, size = 3;
	int r = sp_h5_read_texts_attribute(group, "tags", &tags, &n, error);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++)
		size += 6 * strlen(tags[i]) + 4;
	json = to = malloc(size);
	if (json) {
		*to++ = '[';
		for (size_t i = 0; i < n; i++) {
			if (i) {
				*to++ = ',';
				*to++ = ' ';
			}
			to = write_json_text(to, tags[i]);
		}
		memcpy(to, "]", 2);
	}
	sp_h5_free_texts(tags, n);
	if (!json)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	*ret_tags = json;
	return 0;
}

static int read_attributes(hid_t group, struct sp_row *row, char **file, char **text, char **tags,
			   struct sp_error *error)
{
	int64_t line = -1;
	bool found;
	int r = sp_h5_read_text_attribute(group, "source_file", file, error);

	if (!r)
		r = sp_h5_read_text_attribute(group, "source_text", text, error);
	if (!r)
		r = sp_h5_read_number_attribute(group, "source_lineno", &found, &line, error);
	if (!r)
		r = read_tags(group, tags, error);
	row->source_file = *file;
	row->source_text = *text;
	row->source_line = line < 0 ? -1 : line;
	row->tags = *tags;
	return r;
}

/* Adds the region whose group is at @path. */
static int add_row(struct finder *finder, const char *path, const char *name,
		   struct sp_error *error)
{
	sp_cleanup_free char *file = NULL;
	sp_cleanup_free char *text = NULL;
	sp_cleanup_free char *tags = NULL;
	sp_cleanup_h5 hid_t group = -1;
	struct sp_h5_profile *h5 = finder->h5;
	struct sp_row row = {.rank = finder->rank};
	int r;

	if (h5->n_groups == SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0, "has more than %u rows",
				    SP_PROFILE_MAX_ROWS);
	if (sp_array_reserve((void **)&h5->groups, &h5->groups_capacity, h5->n_groups,
			     sizeof(char *)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	h5->groups[h5->n_groups] = strdup(path);
	if (!h5->groups[h5->n_groups])
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	h5->n_groups++;
	group = H5Oopen(h5->file, path, H5P_DEFAULT);
	if (group < 0)
		return sp_h5_read_failed(error, path);
	r = open_row(h5, (uint32_t)h5->n_groups - 1, error);
	if (!r)
		r = find_region(finder, name, &row.region, error);
	if (!r)
		r = read_attributes(group, &row, &file, &text, &tags, error);
	if (r)
		return r;
	for (size_t i = 0; i < SP_CALLS_N_COLUMNS; i++)
		if (h5->events.columns[i].dataset >= 0)
			finder->profile->info.columns |= 1u << i;
	finder->profile->info.compressed |= sp_h5_events_filtered(&h5->events);
	row.stats = sp_profile_unknown_stats(h5->events.starts.length);
	return sp_profile_add_row(finder->profile, &row, error);
}

/* True for what a region's group has besides groups of longer names. */
static bool is_column(const char *name)
{
	static const char *const names[] = {"start_times", "end_times", "gpu_durations", "call_ids",
					    "parent_ids"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* A group is a region, or part of the name of those in it (it has a "/"), or both; at the top
 * (@name NULL) neither. */
static int find_rows(struct finder *finder, const char *path, const char *name, int depth,
		     struct sp_error *error)
{
	sp_cleanup_h5_names struct sp_h5_names members = {0};
	bool region = false, inner = false;
	int r;

	if (depth > MAX_DEPTH || finder->visits++ > 2 * SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0, "%.100s… is nested too deeply", path);
	r = sp_h5_list(finder->h5->file, path, &members, error);
	for (size_t i = 0; name && i < members.n; i++) {
		region |= is_column(members.names[i]);
		inner |= !is_column(members.names[i]);
	}
	if (!r && name && (region || !inner))
		r = add_row(finder, path, name, error);
	for (size_t i = 0; !r && i < members.n; i++) {
		sp_cleanup_free char *inner_path = NULL;
		sp_cleanup_free char *inner_name = NULL;

		if (name && is_column(members.names[i]))
			continue;
		inner_path = sp_h5_join(path, members.names[i]);
		inner_name = name ? sp_h5_join(name, members.names[i]) : strdup(members.names[i]);
		if (!inner_path || !inner_name)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		r = sp_h5_is_group(finder->h5->file, inner_path, error);
		if (r < 0 && region) /* what we do not know of a region, we pass over */
			r = 0;
		if (r > 0)
			r = find_rows(finder, inner_path, inner_name, depth + 1, error);
	}
	return r;
}

int sp_profile_open_h5_v1(struct sp_profile *profile, struct sp_h5_profile *h5,
			  struct sp_error *error)
{
	struct finder finder = {.profile = profile, .h5 = h5};
	struct sp_h5_rank *ranks;
	size_t n;
	int r = sp_h5_list_ranks(h5->file, &ranks, &n, error);

	profile->ops = &v1_ops;
	if (r)
		return r;
	for (size_t i = 0; !r && i < n; i++) {
		sp_cleanup_free char *path = sp_h5_join(ranks[i].path, "regions");

		finder.rank = ranks[i].rank;
		r = path ? sp_h5_is_group(h5->file, path, error)
			 : sp_error_set(error, -ENOMEM, 0, "no memory");
		if (r > 0)
			r = find_rows(&finder, path, NULL, 0, error);
	}
	sp_intern_free(&finder.names);
	sp_h5_free_ranks(ranks, n);
	if (r || n)
		return r;
	r = sp_h5_is_group(h5->file, "/metadata", error);
	if (r < 0)
		return r;
	return r ? 0 : sp_error_set(error, -SP_E_FORMAT, 0, "is an HDF5 file, but not a profile");
}
