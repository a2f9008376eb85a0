// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_rows.c - "regions" of a JSON profile: one element is one region on one rank.
 *
 * Invariant: all columns of a row have one length, which is the number of its calls; a region has
 * one row a rank; a profile has calls or statistics, never both.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

/* ---- a row as it is read ---- */

/* A list that was put aside: @n elements in @size bytes. */
struct column {
	uint64_t offset, size, n;
	bool there;
};

struct row {
	char *name, *source_file, *source_text;
	struct sp_json_raw tags;
	int64_t rank, source_line, exclusive;
	bool event_data;
	struct sp_json_aggregate aggregate;
	struct column columns[SP_JSON_N_COLUMNS];
	struct column metadata;
};

static void free_row(struct row *row)
{
	free(row->name);
	free(row->source_file);
	free(row->source_text);
	free(row->tags.text);
}
#define cleanup_row __attribute__((cleanup(free_row)))

static int read_column(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	enum { BLOCK = 1024 };
	struct column *column = target;
	int64_t values[BLOCK];
	size_t got;

	if (token->kind != SP_JSON_ARRAY)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "must be a list of whole numbers");
	column->there = true;
	column->offset = sp_json_spill_size(&json->spill);
	do {
		int r = sp_json_pull_integers(json->json, values, BLOCK, &got, error);

		if (!r)
			r = sp_json_spill_append(&json->spill, (const char *)values,
						 got * sizeof(*values), error);
		if (r)
			return r;
		column->n += got;
	} while (got == BLOCK);
	return 0;
}

/* Counts the objects of a list, which is copied to wherever the reader copies. */
static int count_objects(struct sp_json_profile *json, uint64_t *n, struct sp_error *error)
{
	for (*n = 0;; ++*n) {
		struct sp_json_token value;
		int r = sp_json_pull_next(json->json, &value, error);

		if (r || value.kind == SP_JSON_ARRAY_END)
			return r;
		if (value.kind != SP_JSON_OBJECT)
			return sp_json_refuse(json, -SP_E_DAMAGED, value.offset, error,
					      "must be a list of objects");
		r = sp_json_pull_skip(json->json, &value, error);
		if (r)
			return r;
	}
}

static int read_metadata(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error)
{
	struct column *metadata = target;
	int r;

	if (token->kind != SP_JSON_ARRAY)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "must be a list of objects");
	metadata->there = true;
	metadata->offset = sp_json_spill_size(&json->spill);
	r = sp_json_spill_append(&json->spill, "[", 1, error);
	if (r)
		return r;
	sp_json_pull_copy(json->json, sp_json_spill_append, &json->spill);
	r = count_objects(json, &metadata->n, error);
	sp_json_pull_copy(json->json, NULL, NULL);
	metadata->size = sp_json_spill_size(&json->spill) - metadata->offset;
	return r;
}

/* Tags are kept as a text that is the same for the same tags, with blanks as Python has them. */
struct tags {
	struct sp_json_raw *raw;
	bool between; /* the next byte is the comma or the end */
};

static int append_tags(void *data, const char *bytes, size_t size, struct sp_error *error)
{
	struct tags *tags = data;
	bool comma = tags->between && *bytes == ',';

	tags->between = false;
	return comma ? sp_json_raw_append(tags->raw, ", ", 2, error)
		     : sp_json_raw_append(tags->raw, bytes, size, error);
}

static int check_tag(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	((struct tags *)target)->between = true;
	return token->kind == SP_JSON_TEXT ? 0
					   : sp_json_refuse(json, -SP_E_DAMAGED, token->offset,
							    error, "must be a list of texts");
}

static int read_tags(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	struct tags tags = {.raw = target};
	int r = sp_json_raw_append(target, "[", 1, error);

	if (r)
		return r;
	sp_json_pull_copy(json->json, append_tags, &tags);
	r = sp_json_read_list(json, token, check_tag, &tags, error);
	sp_json_pull_copy(json->json, NULL, NULL);
	return r;
}

static struct sp_stats row_stats(const struct row *row)
{
	struct sp_stats stats = sp_profile_unknown_stats(row->columns[SP_JSON_START].n);

	if (row->aggregate.there)
		return row->aggregate.stats;
	if (stats.calls && row->exclusive >= 0)
		stats.self = row->exclusive;
	return stats;
}

/* ---- a row that was read ---- */

static int check_row(struct sp_json_profile *json, const struct row *row, uint64_t offset,
		     struct sp_error *error)
{
	uint64_t n = row->columns[SP_JSON_START].n;
	bool calls = row->metadata.there;

	for (size_t i = 0; i < SP_JSON_N_COLUMNS; i++) {
		const struct column *column = &row->columns[i];

		calls |= column->there;
		if ((column->there || i < SP_JSON_OPTIONAL) && column->n != n)
			return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
					      "region \"%.40s\" has columns of different lengths: "
					      "%" PRIu64 " and %" PRIu64,
					      row->name, n, column->n);
	}
	if (row->metadata.there && row->metadata.n != n)
		return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
				      "region \"%.40s\" has metadata of %" PRIu64
				      " calls, and %" PRIu64 " calls",
				      row->name, row->metadata.n, n);
	if (row->rank < 0 || row->rank > UINT32_MAX)
		return sp_json_refuse(json, -SP_E_COUNT, offset, error,
				      "region \"%.40s\" has rank %" PRId64, row->name, row->rank);
	if (row->aggregate.there && calls)
		return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
				      "region \"%.40s\" has statistics and calls", row->name);
	json->some_statistics |= row->aggregate.there;
	json->some_calls |= !row->aggregate.there;
	if (json->some_calls && json->some_statistics)
		return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
				      "region \"%.40s\" has %s, and those before it %s", row->name,
				      calls ? "calls" : "statistics only",
				      calls ? "statistics only" : "calls");
	return 0;
}

/* The region's id; a new one if its name is new. */
static int find_region(struct sp_json_profile *json, const char *name, uint32_t *ret_region,
		       struct sp_error *error)
{
	bool new;

	if (sp_intern_add(&json->names, name, ret_region, &new))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (!new)
		return 0;
	if (json->profile->info.n_regions == SP_PROFILE_MAX_REGIONS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "has more than %u regions; so many are not allowed",
				    SP_PROFILE_MAX_REGIONS);
	return sp_profile_add_region(json->profile, name, error);
}

static int keep_row(struct sp_json_profile *json, const struct row *row, struct sp_error *error)
{
	struct sp_profile *profile = json->profile;
	struct sp_json_row kept = {
		.metadata_offset = row->metadata.offset,
		.metadata_size = row->metadata.n ? row->metadata.size : 0,
	};
	uint32_t region = 0;
	int r = find_region(json, row->name, &region, error);

	if (r)
		return r;
	if (profile->info.n_rows == SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "has more than %u rows; so many are not allowed",
				    SP_PROFILE_MAX_ROWS);
	if (sp_array_reserve((void **)&json->rows, &json->rows_capacity, profile->info.n_rows,
			     sizeof(*json->rows)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (unsigned int i = 0; i < SP_JSON_N_COLUMNS; i++) {
		kept.columns |= (unsigned int)row->columns[i].there << i;
		kept.offsets[i] = row->columns[i].offset;
	}
	profile->info.columns |= kept.columns >> SP_JSON_OPTIONAL;
	profile->info.has_event_metadata |= row->metadata.there;
	json->rows[profile->info.n_rows] = kept;
	return sp_profile_add_row(
		profile,
		&(struct sp_row){
			.region = region,
			.rank = (uint32_t)row->rank,
			.source_file = row->source_file,
			.source_text = row->source_text,
			.tags = row->tags.text,
			.source_line = row->source_line < 0 ? -1 : row->source_line,
			.stats = row_stats(row),
		},
		error);
}

static int read_row(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		    struct sp_error *error)
{
#define FIELD(key, read, member, required) \
	{ \
		key, read, offsetof(struct row, member), required \
	}
#define COLUMN(key, which) FIELD(key, read_column, columns[which], false)
#define CALLS(field) (SP_JSON_OPTIONAL + SP_CALLS_BIT_##field)
	_Static_assert(CALLS(gpu_ns) == SP_JSON_N_COLUMNS - 1, "the first of the call columns");
	static const struct sp_json_field fields[] = {
		FIELD("name", sp_json_read_text, name, true),
		FIELD("rank", sp_json_read_integer, rank, true),
		FIELD("source_file", sp_json_read_text, source_file, false),
		FIELD("source_lineno", sp_json_read_integer, source_line, false),
		FIELD("source_text", sp_json_read_text, source_text, false),
		FIELD("tags", read_tags, tags, false),
		FIELD("aggregate", sp_json_read_aggregate, aggregate, false),
		FIELD("event_data_available", sp_json_read_bool, event_data, false),
		COLUMN("start_times_ns", SP_JSON_START),
		COLUMN("end_times_ns", SP_JSON_END_TIME),
		FIELD("event_metadata", read_metadata, metadata, false),
		COLUMN("gpu_durations_ns", CALLS(gpu_ns)),
		COLUMN("call_ids", CALLS(id)),
		COLUMN("parent_ids", CALLS(parent)),
		COLUMN("thread_ids", CALLS(thread)),
		COLUMN("task_ids", CALLS(task)),
		COLUMN("await_ns", CALLS(await_ns)),
		FIELD("exclusive_total_ns", sp_json_read_integer, exclusive, false),
	};
#undef FIELD
#undef COLUMN
#undef CALLS
	cleanup_row struct row row = {.source_line = -1, .exclusive = -1};
	int r;

	(void)target;
	r = sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), &row, NULL,
				error);
	if (!r)
		r = check_row(json, &row, token->offset, error);
	return r ? r : keep_row(json, &row, error);
}

int sp_json_read_rows(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	const char *key = json->key;
	int r;

	json->part = key;
	json->key = NULL;
	r = sp_json_read_list(json, token, read_row, target, error);
	json->part = NULL;
	json->key = key;
	return r;
}

/* Ids of calls say nothing unless all calls have them: an unknown id is no id. (scope-profiler,
 * too, then goes by the times alone.) */
static void settle_ids(struct sp_json_profile *json)
{
	struct sp_profile *profile = json->profile;
	unsigned int hidden = 0;

	for (uint32_t i = 0; i < profile->info.n_rows; i++)
		if (profile->rows[i].stats.calls)
			hidden |= ~json->rows[i].columns >> SP_JSON_OPTIONAL &
				  (SP_CALLS_id | SP_CALLS_parent);
	profile->info.columns &= ~hidden;
	for (uint32_t i = 0; i < profile->info.n_rows; i++)
		json->rows[i].columns &= ~(hidden << SP_JSON_OPTIONAL);
}

int sp_json_finish_rows(struct sp_json_profile *json, struct sp_error *error)
{
	const struct sp_profile *profile = json->profile;
	uint32_t n = profile->info.n_rows;
	sp_cleanup_free uint64_t *keys = calloc((size_t)n + 1, sizeof(*keys));

	if (!keys)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint32_t i = 0; i < n; i++)
		keys[i] = (uint64_t)profile->rows[i].region << 32 | profile->rows[i].rank;
	qsort(keys, n, sizeof(*keys), sp_compare_u64);
	for (uint32_t i = 1; i < n; i++)
		if (keys[i] == keys[i - 1])
			return sp_error_set(error, -SP_E_DAMAGED, 0,
					    "has region \"%.100s\" twice on rank %" PRIu32,
					    profile->regions[keys[i] >> 32], (uint32_t)keys[i]);
	settle_ids(json);
	return 0;
}
