// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_v1.c - HDF5 profiles of schema 1: a group for each region of each rank.
 *
 * Invariant: row i is the group groups[i]; the columns of at most one row are open at a time.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_h5.h"
#include "formats/util.h"

/* Columns that this schema knows, by the last part of their path in the later ones. */
static const char *column_name(size_t i)
{
	static const unsigned int known = SP_CALLS_id | SP_CALLS_parent | SP_CALLS_gpu_ns;

	return known & (1u << i) ? strrchr(sp_h5_call_columns[i].path, '/') + 1 : NULL;
}

static int open_column(struct sp_h5_profile *h5, const char *group, const char *name, bool required,
		       uint64_t length, hid_t *ret_dataset, uint64_t *ret_length,
		       struct sp_error *error)
{
	sp_cleanup_free char *path = NULL;

	if (asprintf(&path, "%s/%s", group, name) < 0) {
		path = NULL;
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	return sp_h5_open_numbers(h5->file, path, required, length, ret_dataset, ret_length, error);
}

/* Opens the columns of one row. */
static int open_row(struct sp_h5_profile *h5, uint32_t row, uint64_t *ret_n, struct sp_error *error)
{
	struct sp_h5_events *events = &h5->events;
	uint64_t n;
	int r;

	sp_h5_events_close(events);
	h5->opened = UINT32_MAX;
	r = open_column(h5, h5->groups[row], "start_times", true, SP_H5_ANY_LENGTH, &events->starts,
			&n, error);
	if (!r)
		r = open_column(h5, h5->groups[row], "end_times", true, n, &events->ends, NULL,
				error);
	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++)
		if (column_name(i))
			r = open_column(h5, h5->groups[row], column_name(i), false, n,
					&events->columns[i], NULL, error);
	if (r)
		return r;
	h5->opened = row;
	*ret_n = n;
	return 0;
}

static int read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
		      const struct sp_calls *calls, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;
	uint64_t length;
	int r = 0;

	if (h5->opened != row)
		r = open_row(h5, row, &length, error);
	if (!r && calls->start)
		r = sp_h5_read_slab(h5->events.starts, "start_times", H5T_NATIVE_INT64, first, n,
				    calls->start, error);
	if (!r && calls->end)
		r = sp_h5_read_slab(h5->events.ends, "end_times", H5T_NATIVE_INT64, first, n,
				    calls->end, error);
	return r ? r : sp_h5_events_read_columns(&h5->events, first, n, calls, error);
}

static const struct sp_profile_ops v1_ops = {
	.read_calls = read_calls,
	.read_facts = sp_h5_profile_read_facts,
	.check = sp_h5_profile_check,
	.close = sp_h5_profile_close,
};

/* ---- finding the groups ---- */

struct names {
	char **names;
	size_t n, capacity;
	int failure;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
	struct names *names = data;
	char *copy;

	(void)group;
	if (info->type != H5L_TYPE_HARD)
		return 0;
	if (names->n == SP_PROFILE_MAX_REGIONS) {
		names->failure = -SP_E_COUNT;
		return -1;
	}
	copy = strdup(name);
	if (!copy ||
	    sp_array_reserve((void **)&names->names, &names->capacity, names->n, sizeof(char *))) {
		free(copy);
		names->failure = -ENOMEM;
		return -1;
	}
	names->names[names->n++] = copy;
	return 0;
}

static int list_group(hid_t file, const char *path, struct names *names, struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = H5Oopen(file, path, H5P_DEFAULT);
	hsize_t at = 0;

	if (group < 0)
		return sp_h5_read_failed(error, path);
	if (H5Iget_type(group) != H5I_GROUP)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not a group", path);
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, add_name, names) >= 0)
		return 0;
	if (names->failure)
		return sp_error_set(error, names->failure, 0, "%s has too many members", path);
	return sp_h5_read_failed(error, path);
}

static void free_names(struct names *names)
{
	sp_h5_free_texts(names->names, names->n);
}
#define cleanup_names __attribute__((cleanup(free_names)))

/* The number in "rank<N>", or -1. */
static int64_t rank_number(const char *name)
{
	uint64_t rank = 0;

	if (strncmp(name, "rank", 4) != 0 || !name[4])
		return -1;
	for (const char *digit = name + 4; *digit; digit++) {
		if (!isdigit((unsigned char)*digit))
			return -1;
		rank = rank * 10 + (uint64_t)(*digit - '0');
		if (rank >= UINT32_MAX)
			return -1;
	}
	return (int64_t)rank;
}

static int find_region(struct sp_profile *profile, const char *name, uint32_t *ret_region,
		       struct sp_error *error)
{
	uint32_t i = 0;
	int r;

	/* Old files are small: regions are few. */
	while (i < profile->info.n_regions && strcmp(profile->regions[i], name) != 0)
		i++;
	r = i == profile->info.n_regions ? sp_profile_add_region(profile, name, error) : 0;
	if (!r)
		*ret_region = i;
	return r;
}

/* The JSON form of the tags, which stand in an attribute as strings. */
static int read_tags(hid_t group, char **ret_tags, struct sp_error *error)
{
	sp_cleanup_free char *joined = NULL;
	char *json, *to;
	int r = sp_h5_read_text_attribute(group, "tags", &joined, error);

	if (r)
		return r;
	json = malloc(joined ? strlen(joined) * 6 + 5 : 3);
	if (!json)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	to = json;
	*to++ = '[';
	if (joined && *joined)
		*to++ = '"';
	for (const char *from = joined ? joined : ""; *from; from++) {
		if (from[0] == ',' && from[1] == ' ') {
			memcpy(to, "\", \"", 4);
			to += 4;
			from++;
		} else if ((unsigned char)*from < 0x20 || *from == '"' || *from == '\\') {
			to += sprintf(to, "\\u%04x", (unsigned char)*from);
		} else {
			*to++ = *from;
		}
	}
	if (joined && *joined)
		*to++ = '"';
	*to++ = ']';
	*to = '\0';
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

static int add_row(struct sp_profile *profile, struct sp_h5_profile *h5, int64_t rank,
		   const char *path, const char *name, struct sp_error *error)
{
	sp_cleanup_free char *file = NULL;
	sp_cleanup_free char *text = NULL;
	sp_cleanup_free char *tags = NULL;
	sp_cleanup_h5 hid_t group = -1;
	struct sp_row row = {.rank = (uint32_t)rank};
	char *full = NULL;
	uint64_t n;
	int r;

	if (asprintf(&full, "%s/%s", path, name) < 0)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (sp_array_reserve((void **)&h5->groups, &h5->groups_capacity, h5->n_groups,
			     sizeof(char *))) {
		free(full);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	h5->groups[h5->n_groups++] = full;
	group = H5Oopen(h5->file, full, H5P_DEFAULT);
	if (group < 0)
		return sp_h5_read_failed(error, full);
	r = open_row(h5, (uint32_t)h5->n_groups - 1, &n, error);
	if (!r)
		r = find_region(profile, name, &row.region, error);
	if (!r)
		r = read_attributes(group, &row, &file, &text, &tags, error);
	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++)
		if (h5->events.columns[i] >= 0)
			profile->info.columns |= 1u << i;
	row.stats = sp_profile_unknown_stats(r ? 0 : n);
	return r ? r : sp_profile_add_row(profile, &row, error);
}

int sp_profile_open_h5_v1(struct sp_profile *profile, struct sp_h5_profile *h5,
			  struct sp_error *error)
{
	cleanup_names struct names ranks = {0};
	bool any = false;
	int r = list_group(h5->file, "/", &ranks, error);

	profile->ops = &v1_ops;
	for (size_t i = 0; !r && i < ranks.n; i++) {
		cleanup_names struct names regions = {0};
		int64_t rank = rank_number(ranks.names[i]);
		char path[64];

		any |= rank >= 0 || strcmp(ranks.names[i], "metadata") == 0;
		if (rank < 0 || strlen(ranks.names[i]) > 32)
			continue;
		snprintf(path, sizeof(path), "/%s/regions", ranks.names[i]);
		r = sp_h5_exists(h5->file, path, error);
		if (r <= 0)
			continue;
		r = list_group(h5->file, path, &regions, error);
		for (size_t k = 0; !r && k < regions.n; k++)
			r = add_row(profile, h5, rank, path, regions.names[k], error);
	}
	if (!r && !any)
		r = sp_error_set(error, -SP_E_FORMAT, 0, "is an HDF5 file, but not a profile");
	return r;
}
