// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_index.c - regions, rows and statistics of HDF5 profiles of schemas 2 and 3.
 *
 * Invariant: after it every row names a region that exists, a region has one row a rank, and the
 * rows' ranges lie inside the calls without sharing one.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_h5.h"
#include "formats/util.h"

enum { MAX_TEXT = 1 << 30 }; /* bytes of different texts of the index */

struct index {
	uint64_t n;
	uint32_t *region_ids; /* of the profile, once read_keys() is done */
	uint32_t *ranks;
	uint64_t *counts;
	int64_t *lines;
	/* Each text of a column once, and which one a row has. */
	struct sp_intern kept;
	uint64_t bytes; /* of them */
	uint32_t *files, *texts, *tags;
	int64_t *selfs;
	struct sp_h5_summary *summary; /* NULL: not there */
};

static void free_index(struct index *index)
{
	free(index->region_ids);
	free(index->ranks);
	free(index->counts);
	free(index->lines);
	sp_intern_free(&index->kept);
	free(index->files);
	free(index->texts);
	free(index->tags);
	free(index->selfs);
	free(index->summary);
}
#define cleanup_index __attribute__((cleanup(free_index)))

/* Two ids of one name are one region. */
static int read_regions(struct sp_profile *profile, struct sp_h5_profile *h5,
			struct sp_error *error)
{
	struct sp_intern names = {0};
	char **texts;
	uint64_t n;
	int r = sp_h5_read_texts(h5->file, "/region_table/names", true, SP_H5_ANY_LENGTH, &texts,
				 &n, error);

	if (r)
		return r;
	if (n > SP_PROFILE_MAX_REGIONS)
		r = sp_error_set(error, -SP_E_COUNT, 0,
				 "has %" PRIu64 " regions; at most %u are allowed", n,
				 SP_PROFILE_MAX_REGIONS);
	h5->region_of_id = r ? NULL : calloc(n + 1, sizeof(*h5->region_of_id));
	if (!r && !h5->region_of_id)
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint64_t i = 0; !r && i < n; i++) {
		bool is_new;

		if (sp_intern_add(&names, texts[i], &h5->region_of_id[i], &is_new))
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
		else if (is_new)
			r = sp_profile_add_region(profile, texts[i], error);
	}
	h5->n_ids = r ? 0 : (uint32_t)n;
	sp_intern_free(&names);
	sp_h5_free_texts(texts, n);
	return r;
}

/* Columns that both layouts have. */
static int read_keys(struct sp_h5_profile *h5, struct index *index, struct sp_error *error)
{
	uint64_t n;
	int r;

	r = sp_h5_read_numbers(h5->file, "/rank_region_index/region_ids", SP_H5_u32, true,
			       SP_H5_ANY_LENGTH, (void **)&index->region_ids, &n, error);
	if (r)
		return r;
	index->n = n;
	r = sp_h5_read_numbers(h5->file, "/rank_region_index/ranks", SP_H5_u32, true, n,
			       (void **)&index->ranks, NULL, error);
	for (uint64_t i = 0; !r && i < n; i++) {
		if (index->region_ids[i] >= h5->n_ids)
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "row %" PRIu64 " of the index names region %" PRIu32
					    ", and there are %" PRIu32,
					    i, index->region_ids[i], h5->n_ids);
		index->region_ids[i] = sp_h5_profile_region(h5, index->region_ids[i]);
	}
	return r;
}

static int check_unique(const struct sp_profile *profile, const struct index *index,
			struct sp_error *error)
{
	sp_cleanup_free uint64_t *keys = calloc(index->n + 1, sizeof(*keys));

	if (!keys)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint64_t i = 0; i < index->n; i++)
		keys[i] = (uint64_t)index->region_ids[i] << 32 | index->ranks[i];
	qsort(keys, index->n, sizeof(*keys), sp_compare_u64);
	for (uint64_t i = 1; i < index->n; i++)
		if (keys[i] == keys[i - 1])
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "the index has two rows for region \"%.64s\" on rank "
					    "%" PRIu32,
					    profile->regions[keys[i] >> 32], (uint32_t)keys[i]);
	return 0;
}

struct range {
	uint64_t first;
	uint64_t count;
};

static int compare_ranges(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	if (left->first != right->first)
		return left->first < right->first ? -1 : 1;
	return (left->count > right->count) - (left->count < right->count);
}

static int check_ranges(const struct index *index, const uint64_t *offsets, uint64_t n_calls,
			struct sp_error *error)
{
	sp_cleanup_free struct range *ranges = calloc(index->n + 1, sizeof(*ranges));

	if (!ranges)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint64_t i = 0; i < index->n; i++) {
		ranges[i] = (struct range){offsets[i], index->counts[i]};
		if (offsets[i] > n_calls || index->counts[i] > n_calls - offsets[i])
			return sp_error_set(error, -SP_E_TRUNCATED, 0,
					    "row %" PRIu64 " of the index has %" PRIu64
					    " calls from %" PRIu64 " on, and the file has %" PRIu64
					    " in all: it is truncated or damaged",
					    i, index->counts[i], offsets[i], n_calls);
	}
	qsort(ranges, index->n, sizeof(*ranges), compare_ranges);
	for (uint64_t i = 1; i < index->n; i++)
		if (ranges[i].first - ranges[i - 1].first < ranges[i - 1].count)
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "two rows of the index share call %" PRIu64,
					    ranges[i].first);
	return 0;
}

struct keeping {
	struct sp_intern *kept;
	uint32_t *numbers;
	uint64_t *bytes;
};

static int keep_text(void *data, uint64_t row, const char *text, struct sp_error *error)
{
	struct keeping *keeping = data;
	bool is_new;

	if (sp_intern_add(keeping->kept, text, &keeping->numbers[row], &is_new))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	*keeping->bytes += is_new ? strlen(text) : 0;
	if (*keeping->bytes > MAX_TEXT)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "the texts of the index have more than %u bytes", MAX_TEXT);
	return 0;
}

static int read_texts(struct sp_h5_profile *h5, struct index *index, const char *path,
		      uint32_t **ret_numbers, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	int r = sp_h5_open_texts(h5->file, path, true, index->n, &dataset, NULL, error);

	if (r)
		return r;
	*ret_numbers = calloc(index->n + 1, sizeof(**ret_numbers));
	if (!*ret_numbers)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return sp_h5_each_text(dataset, path, 0, index->n, keep_text,
			       &(struct keeping){&index->kept, *ret_numbers, &index->bytes}, error);
}

static struct sp_stats row_stats(const struct index *index, uint64_t i)
{
	struct sp_stats stats = sp_profile_unknown_stats(index->counts[i]);

	if (!index->counts[i])
		return stats;
	if (index->selfs && index->selfs[i] >= 0)
		stats.self = index->selfs[i];
	if (index->summary) {
		const struct sp_h5_summary *summary = &index->summary[i];

		stats.total = summary->total;
		stats.minimum = summary->minimum;
		stats.maximum = summary->maximum;
		stats.first = summary->first;
		stats.last = summary->last;
		stats.start_minimum = summary->start_minimum;
		stats.end_maximum = summary->end_maximum;
		stats.mean = summary->mean;
		stats.m2 = summary->m2;
		stats.gpu_calls = summary->gpu_count;
		stats.gpu_total = summary->gpu_total;
	}
	return stats;
}

static int read_columns(struct sp_h5_profile *h5, struct index *index, struct sp_error *error)
{
	uint64_t n = index->n;
	int r;

	r = sp_h5_read_numbers(h5->file, "/rank_region_index/event_offsets", SP_H5_u64, true, n,
			       (void **)&h5->offsets, NULL, error);
	if (!r)
		r = sp_h5_read_numbers(h5->file, "/rank_region_index/event_counts", SP_H5_u64, true,
				       n, (void **)&index->counts, NULL, error);
	if (!r)
		r = sp_h5_read_numbers(h5->file, "/rank_region_index/source_lines", SP_H5_s64, true,
				       n, (void **)&index->lines, NULL, error);
	if (!r)
		r = sp_h5_read_numbers(h5->file, "/rank_region_index/exclusive_totals", SP_H5_s64,
				       false, n, (void **)&index->selfs, NULL, error);
	if (!r)
		r = read_texts(h5, index, "/rank_region_index/source_files", &index->files, error);
	if (!r)
		r = read_texts(h5, index, "/rank_region_index/source_texts", &index->texts, error);
	if (!r)
		r = read_texts(h5, index, "/rank_region_index/tags", &index->tags, error);
	if (!r)
		r = sp_h5_open_texts(h5->file, sp_h5_event_metadata_path, false, n,
				     &h5->event_metadata, NULL, error);
	return r ? r : sp_h5_read_summary(h5->file, n, &index->summary, error);
}

int sp_h5_profile_read_index(struct sp_profile *profile, struct sp_h5_profile *h5, uint64_t n_calls,
			     struct sp_error *error)
{
	cleanup_index struct index index = {0};
	int r = read_regions(profile, h5, error);

	if (!r)
		r = read_keys(h5, &index, error);
	if (!r)
		r = read_columns(h5, &index, error);
	if (!r)
		r = check_unique(profile, &index, error);
	if (!r)
		r = check_ranges(&index, h5->offsets, n_calls, error);
	profile->info.has_event_metadata = h5->event_metadata >= 0;
	for (uint64_t i = 0; !r && i < index.n; i++)
		r = sp_profile_add_row(
			profile,
			&(struct sp_row){
				.region = index.region_ids[i],
				.rank = index.ranks[i],
				.source_file = sp_intern_text(&index.kept, index.files[i]),
				.source_text = sp_intern_text(&index.kept, index.texts[i]),
				.tags = sp_intern_text(&index.kept, index.tags[i]),
				.source_line = index.lines[i] < 0 ? -1 : index.lines[i],
				.stats = row_stats(&index, i),
			},
			error);
	return r;
}

/* ---- aggregate layout ---- */

/* Whether a column that this layout need not have tells something of each row: scope-profiler
 * leaves those without data empty. */
static int is_filled(struct sp_h5_profile *h5, const struct index *index, const char *path,
		     bool *ret_filled, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	uint64_t n = 0;
	int r = sp_h5_open_dataset(h5->file, path, false, &dataset, &n, error);

	*ret_filled = !r && dataset >= 0 && n && n == index->n;
	return r;
}

/* Where regions begin, and their tags: our writer keeps them, scope-profiler's does not. */
static int read_descriptions(struct sp_h5_profile *h5, struct index *index, struct sp_error *error)
{
	static const char lines[] = "/rank_region_index/source_lines";
	const struct {
		const char *path;
		uint32_t **numbers;
	} texts[] = {
		{"/rank_region_index/source_files", &index->files},
		{"/rank_region_index/source_texts", &index->texts},
		{"/rank_region_index/tags", &index->tags},
	};
	bool filled;
	int r = is_filled(h5, index, lines, &filled, error);

	if (!r && filled)
		r = sp_h5_read_numbers(h5->file, lines, SP_H5_s64, true, index->n,
				       (void **)&index->lines, NULL, error);
	for (size_t i = 0; !r && i < sizeof(texts) / sizeof(texts[0]); i++) {
		r = is_filled(h5, index, texts[i].path, &filled, error);
		if (!r && filled)
			r = read_texts(h5, index, texts[i].path, texts[i].numbers, error);
	}
	return r;
}

/* A text of row @row, NULL if the column is not there. */
static const char *text_of(const struct index *index, const uint32_t *numbers, uint64_t row)
{
	return numbers ? sp_intern_text(&index->kept, numbers[row]) : NULL;
}

int sp_h5_profile_read_aggregate(struct sp_profile *profile, struct sp_h5_profile *h5,
				 struct sp_error *error)
{
	static const char *const paths[] = {
		"/rank_region_index/aggregate_totals",
		"/rank_region_index/aggregate_minimums",
		"/rank_region_index/aggregate_maximums",
		"/rank_region_index/aggregate_exclusives",
	};
	cleanup_index struct index index = {0};
	int64_t *columns[4] = {0};
	int r = read_regions(profile, h5, error);

	if (!r)
		r = read_keys(h5, &index, error);
	if (!r)
		r = sp_h5_read_numbers(h5->file, "/rank_region_index/aggregate_counts", SP_H5_u64,
				       true, index.n, (void **)&index.counts, NULL, error);
	for (size_t i = 0; !r && i < 4; i++)
		r = sp_h5_read_numbers(h5->file, paths[i], SP_H5_s64, true, index.n,
				       (void **)&columns[i], NULL, error);
	if (!r)
		r = read_descriptions(h5, &index, error);
	if (!r)
		r = check_unique(profile, &index, error);
	for (uint64_t i = 0; !r && i < index.n; i++) {
		struct sp_stats stats = sp_profile_unknown_stats(index.counts[i]);

		if (stats.calls) {
			stats.total = columns[0][i];
			stats.minimum = columns[1][i];
			stats.maximum = columns[2][i];
			stats.self = columns[3][i];
			stats.mean = (double)stats.total / (double)stats.calls;
		}
		r = sp_profile_add_row(
			profile,
			&(struct sp_row){.region = index.region_ids[i],
					 .rank = index.ranks[i],
					 .source_file = text_of(&index, index.files, i),
					 .source_text = text_of(&index, index.texts, i),
					 .tags = text_of(&index, index.tags, i),
					 .source_line = index.lines && index.lines[i] >= 0
								? index.lines[i]
								: -1,
					 .stats = stats},
			error);
	}
	for (size_t i = 0; i < 4; i++)
		free(columns[i]);
	return r;
}
