// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge.c - several profiles behind one struct sp_profile.
 *
 * Invariant: every number that refers to something else (region, row of a table, rank, frame) has
 * been moved to what it means in the merged profile, or says that it is unknown. Nothing of an
 * input is changed.
 */
#include "formats/profile_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/intern.h"
#include "formats/profile_merge_internal.h"
#include "formats/util.h"

/* ---- references ---- */

uint32_t sp_merge_rank(const struct sp_merge_part *part, uint32_t rank)
{
	const struct sp_profile *profile = part->profile;
	uint32_t at = part->ranks ? sp_profile_rank_index(profile, rank) : profile->info.n_ranks;

	return at < profile->info.n_ranks && profile->ranks[at] == rank ? part->ranks[at] : rank;
}

uint32_t sp_merge_region(const struct sp_merge_part *part, uint32_t region)
{
	return region < part->profile->info.n_regions ? part->regions[region] : UINT32_MAX;
}

uint32_t sp_merge_row(const struct sp_merge_part *part, enum sp_h5_table which, uint64_t row)
{
	return row < part->rows[which] ? (uint32_t)(part->first[which] + row) : UINT32_MAX;
}

int sp_merge_blame(const struct sp_merge *merge, const struct sp_merge_part *part, int code,
		   struct sp_error *error)
{
	struct sp_error inner;

	(void)merge;
	if (!error)
		return code;
	inner = *error;
	sp_error_set(error, code, 0, "%s: %s", part->profile->path, inner.text);
	error->offset = inner.offset;
	return code;
}

/* ---- calls ---- */

static int read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
		      const struct sp_calls *calls, struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;
	const struct sp_merge_part *part = &merge->parts[merge->row_part[row]];
	uint32_t index = merge->row_index[row];
	int r = sp_profile_read_calls(part->profile, index, first, n, calls, error);

	if (r)
		return sp_merge_blame(merge, part, r, error);
	for (size_t i = 0; calls->site && i < n; i++)
		calls->site[i] = sp_merge_row(part, SP_H5_TABLE_site, calls->site[i]);
	return part->nested ? sp_merge_fill_nested(merge, part, row, first, n, calls, error) : 0;
}

static int read_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			       struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;
	const struct sp_merge_part *part = &merge->parts[merge->row_part[row]];
	int r = sp_profile_event_metadata(part->profile, merge->row_index[row], ret_json, error);

	return r ? sp_merge_blame(merge, part, r, error) : 0;
}

/* ---- freeing ---- */

void sp_merge_free_part(struct sp_merge_part *part)
{
	free(part->ranks);
	free(part->regions);
	free(part->sample_ranks);
}

/* Takes back what the profile must not free: the strings are the inputs'. */
static void close_merge(void *implementation)
{
	struct sp_merge *merge = implementation;
	struct sp_profile *profile;

	if (!merge)
		return;
	profile = merge->profile;
	for (size_t i = 0; i < SP_H5_N_TABLES; i++) {
		free(profile->tables[i].rows);
		profile->tables[i] = (struct sp_profile_table){0};
	}
	free(profile->metadata.facts);
	free(profile->meta.facts);
	free(profile->extras.perf_events);
	free(profile->extras.line_profiles);
	free(profile->extras.likwid);
	free(profile->extras.likwid_environments);
	profile->metadata = profile->meta = (struct sp_profile_facts){0};
	profile->extras = (struct sp_extras){0};
	sp_merge_free_nested(merge->nested);
	for (size_t i = 0; i < merge->n_parts; i++)
		sp_merge_free_part(&merge->parts[i]);
	free(merge->parts);
	free(merge->claims);
	free(merge->row_part);
	free(merge->row_index);
	free(merge->differing);
	sp_intern_free(&merge->texts);
	free(merge);
}

static const struct sp_profile_ops merge_ops = {
	.read_calls = read_calls,
	.read_samples = sp_merge_read_samples,
	.read_stack_offsets = sp_merge_read_stack_offsets,
	.read_frames = sp_merge_read_frames,
	.read_table = sp_merge_read_table,
	.read_extras = sp_merge_read_extras,
	.read_event_metadata = read_event_metadata,
	.close = close_merge,
};

/* ---- making ---- */

/* A region is one wherever its name occurs, numbered in the order of the inputs. */
static int join_regions(struct sp_merge *merge, struct sp_error *error)
{
	struct sp_intern names = {0};
	int r = 0;

	for (size_t i = 0; !r && i < merge->n_parts; i++) {
		struct sp_merge_part *part = &merge->parts[i];
		uint32_t n = part->profile->info.n_regions;

		part->regions = calloc((size_t)n + 1, sizeof(*part->regions));
		if (!part->regions)
			r = -ENOMEM;
		for (uint32_t k = 0; !r && k < n; k++) {
			const char *name = part->profile->regions[k];
			bool new;

			r = sp_intern_add(&names, name, &part->regions[k], &new);
			if (!r && new)
				r = sp_profile_add_region(merge->profile, name, NULL);
		}
	}
	sp_intern_free(&names);
	if (r)
		return sp_error_set(error, r, 0, "no memory");
	if (merge->profile->info.n_regions > SP_PROFILE_MAX_REGIONS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "together they have %u regions; at most %u are allowed",
				    merge->profile->info.n_regions, SP_PROFILE_MAX_REGIONS);
	return 0;
}

/* What holds for the merged profile if it does for one of its parts, or for all. */
static void join_info(struct sp_merge *merge)
{
	struct sp_profile_info *info = &merge->profile->info;
	const struct sp_profile_info *first = &merge->parts[0].profile->info;
	bool with_rows = false;

	info->format = first->format;
	info->version = first->version;
	info->big_endian = first->big_endian;
	info->hz = first->hz;
	info->ticks = 0;
	for (size_t i = 0; i < merge->n_parts; i++) {
		const struct sp_profile_info *part = &merge->parts[i].profile->info;

		info->format = part->format == info->format ? info->format : SP_FORMAT_NONE;
		info->version = part->version == info->version ? info->version : 0;
		info->big_endian &= part->big_endian;
		info->hz = part->hz == info->hz ? info->hz : -1;
		info->ticks = part->ticks < 0 || info->ticks < 0
				      ? -1
				      : sp_wrap_add(info->ticks, part->ticks);
		if (part->trace_version > info->trace_version)
			info->trace_version = part->trace_version;
		info->has_source_lines |= part->has_source_lines;
		info->has_event_metadata |= part->has_event_metadata;
		info->compressed |= part->compressed;
		info->n_calls += part->n_calls;
		if (part->n_rows) {
			info->aggregate = part->aggregate;
			info->columns |= part->columns;
			with_rows = true;
		}
	}
	if (!with_rows)
		info->aggregate = first->aggregate;
	if (info->columns & (SP_CALLS_id | SP_CALLS_parent))
		info->columns |= SP_CALLS_id | SP_CALLS_parent;
}

/* Which columns are to be computed: ids and parents together, so that they fit. */
static void plan_nested(struct sp_merge *merge)
{
	for (size_t i = 0; i < merge->n_parts; i++) {
		struct sp_merge_part *part = &merge->parts[i];
		const struct sp_profile_info *info = &part->profile->info;
		unsigned int ids = SP_CALLS_id | SP_CALLS_parent;

		if (!info->n_calls || info->aggregate)
			continue;
		part->nested = merge->profile->info.columns & ~info->columns & SP_MERGE_NESTED;
		if (part->nested & ids)
			part->nested |= ids;
	}
}

static int refuse_mixture(const struct sp_merge *merge, struct sp_error *error)
{
	const struct sp_merge_part *first = NULL;

	for (size_t i = 0; i < merge->n_parts; i++) {
		const struct sp_merge_part *part = &merge->parts[i];

		if (!part->profile->info.n_rows)
			continue;
		if (!first)
			first = part;
		if (part->profile->info.aggregate != first->profile->info.aggregate)
			return sp_error_set(
				error, -EINVAL, 0,
				"%.80s has statistics only, and %.80s the calls: one profile "
				"cannot "
				"hold both; give one kind",
				(part->profile->info.aggregate ? part : first)->profile->path,
				(part->profile->info.aggregate ? first : part)->profile->path);
	}
	return 0;
}

/* Copies the inputs' descriptions: their profiles and new ranks. */
static int take_inputs(struct sp_merge *merge, const struct sp_merge_input *inputs, size_t n)
{
	merge->parts = calloc(n, sizeof(*merge->parts));
	if (!merge->parts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct sp_merge_part *part = &merge->parts[merge->n_parts++];
		size_t n_ranks = inputs[i].profile->info.n_ranks;

		part->profile = inputs[i].profile;
		part->lowest = UINT32_MAX;
		if (!inputs[i].ranks)
			continue;
		part->ranks = calloc(n_ranks + 1, sizeof(*part->ranks));
		if (!part->ranks)
			return -ENOMEM;
		memcpy(part->ranks, inputs[i].ranks, n_ranks * sizeof(*part->ranks));
	}
	return 0;
}

static int name_profile(struct sp_profile *profile, const struct sp_merge_input *inputs, size_t n)
{
	const char *first = inputs[0].profile->path;

	if (n == 1)
		profile->path = strdup(first);
	else if (asprintf(&profile->path, "%s and %zu more", first, n - 1) < 0)
		profile->path = NULL;
	return profile->path ? 0 : -ENOMEM;
}

/* A profile has at most INT64_MAX calls; statistics alone can claim any number. */
static int refuse_overflow(const struct sp_merge *merge, struct sp_error *error)
{
	uint64_t n = 0;

	for (size_t i = 0; i < merge->n_parts; i++) {
		uint64_t more = merge->parts[i].profile->info.n_calls;

		if (more > INT64_MAX - n)
			return sp_error_set(error, -SP_E_COUNT, 0,
					    "more than %" PRId64 " calls cannot be in one profile",
					    INT64_MAX);
		n += more;
	}
	return 0;
}

static int join(struct sp_merge *merge, struct sp_error *error)
{
	int r = sp_merge_load_tables(merge, error);

	if (!r)
		r = sp_merge_sort_ranks(merge, error);
	if (!r)
		r = refuse_mixture(merge, error);
	if (!r)
		r = refuse_overflow(merge, error);
	if (!r)
		r = sp_merge_place_tables(merge, error);
	if (!r)
		r = join_regions(merge, error);
	if (r)
		return r;
	join_info(merge);
	plan_nested(merge);
	return 0;
}

int sp_profile_merge(const struct sp_merge_input *inputs, size_t n, struct sp_profile **ret_profile,
		     struct sp_error *error)
{
	struct sp_profile *profile;
	struct sp_merge *merge;
	int r;

	if (!n)
		return sp_error_set(error, -EINVAL, 0, "there is nothing to merge");
	profile = calloc(1, sizeof(*profile));
	merge = calloc(1, sizeof(*merge));
	if (!profile || !merge) {
		free(profile);
		free(merge);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	merge->profile = profile;
	profile->ops = &merge_ops;
	profile->implementation = merge;
	r = take_inputs(merge, inputs, n);
	if (!r)
		r = name_profile(profile, inputs, n);
	r = r ? sp_error_set(error, r, 0, "no memory") : join(merge, error);
	if (!r)
		r = sp_merge_list_rows(merge, error);
	if (!r)
		r = sp_merge_count_samples(merge, error);
	if (!r)
		r = sp_merge_join_facts(merge, error);
	if (r) {
		sp_profile_free(profile);
		return r;
	}
	*ret_profile = profile;
	return 0;
}
