// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5.c - HDF5 files as profiles: which schema, and what all schemas have.
 */
#include "formats/profile_h5.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"

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

static int read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
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
	.read_calls = sp_h5_profile_read_calls,
	.read_samples = sp_h5_profile_read_samples,
	.read_stack_offsets = sp_h5_profile_read_stack_offsets,
	.read_frames = sp_h5_profile_read_frames,
	.read_table = read_table,
	.read_facts = sp_h5_profile_read_facts,
	.read_extras = sp_h5_profile_read_extras,
	.read_event_metadata = read_event_metadata,
	.check = sp_h5_profile_check,
	.close = sp_h5_profile_close,
};

/* ---- opening ---- */

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
		r = sp_h5_profile_open_calls(profile, h5, &n_calls, error);
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
