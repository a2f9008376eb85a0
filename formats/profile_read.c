// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_read.c - the interface that hides a profile's format, once it is open.
 *
 * Invariant: what a caller asks for is checked here against the info before a format's code sees
 * it, and a table is read at most once.
 */
#include "formats/profile_read.h"

#include <inttypes.h>
#include <string.h>

#include "formats/json_pull.h"
#include "formats/profile_internal.h"
#include "formats/util.h"

const char *sp_profile_path(const struct sp_profile *profile)
{
	return profile->path;
}

const struct sp_profile_info *sp_profile_info(const struct sp_profile *profile)
{
	return &profile->info;
}

const char *sp_profile_region(const struct sp_profile *profile, uint32_t region)
{
	return profile->regions[region];
}

const struct sp_row *sp_profile_row(const struct sp_profile *profile, uint32_t row)
{
	return &profile->rows[row];
}

uint32_t sp_profile_rank(const struct sp_profile *profile, uint32_t index)
{
	return profile->ranks[index];
}

static int check_range(uint64_t first, uint64_t n, uint64_t total, const char *what,
		       struct sp_error *error)
{
	if (first > total || n > total - first)
		return sp_error_set(error, -EINVAL, 0, "has only %" PRIu64 " %s there", total,
				    what);
	return 0;
}

int sp_profile_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			  const struct sp_calls *calls, struct sp_error *error)
{
	int r;

	if (row >= profile->info.n_rows)
		return sp_error_set(error, -EINVAL, 0, "has no row %u", row);
	if (profile->info.aggregate)
		return sp_error_set(error, -ENOTSUP, 0, "has statistics only, not the calls");
	r = check_range(first, n, profile->rows[row].stats.calls, "calls", error);
	return r || !n ? r : profile->ops->read_calls(profile, row, first, n, calls, error);
}

int sp_profile_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			    struct sp_sample_row *ret_samples, struct sp_error *error)
{
	int r = check_range(first, n, profile->info.n_samples, "samples", error);

	return r || !n ? r : profile->ops->read_samples(profile, first, n, ret_samples, error);
}

int sp_profile_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				  uint64_t *ret_offsets, struct sp_error *error)
{
	int r = check_range(first, n, profile->info.n_samples, "samples", error);

	if (r)
		return r;
	if (!profile->ops->read_stack_offsets) {
		memset(ret_offsets, 0, (n + 1) * sizeof(*ret_offsets));
		return 0;
	}
	return profile->ops->read_stack_offsets(profile, first, n, ret_offsets, error);
}

int sp_profile_read_frames(struct sp_profile *profile, uint64_t first, size_t n,
			   uint64_t *ret_frames, struct sp_error *error)
{
	if (!n)
		return 0;
	if (!profile->ops->read_frames)
		return sp_error_set(error, -EINVAL, 0, "has no stacks");
	return profile->ops->read_frames(profile, first, n, ret_frames, error);
}

static int table(struct sp_profile *profile, enum sp_h5_table which, const void **ret_rows,
		 size_t *ret_n, struct sp_error *error)
{
	struct sp_profile_table *cached = &profile->tables[which];

	if (!cached->loaded && profile->ops->read_table) {
		int r = profile->ops->read_table(profile, which, &cached->rows, &cached->n, error);

		if (r)
			return r;
	}
	cached->loaded = true;
	*ret_rows = cached->rows;
	*ret_n = cached->n;
	return 0;
}

#define SP_PROFILE_TABLE(plural, singular) \
	int sp_profile_##plural(struct sp_profile *profile, \
				const struct sp_##singular##_row **ret_rows, size_t *ret_n, \
				struct sp_error *error) \
	{ \
		const void *rows; \
		int r = table(profile, SP_H5_TABLE_##singular, &rows, ret_n, error); \
\
		if (!r) \
			*ret_rows = rows; \
		return r; \
	}

SP_PROFILE_TABLE(threads, thread)
SP_PROFILE_TABLE(tasks, task)
SP_PROFILE_TABLE(sites, site)
SP_PROFILE_TABLE(modules, module)
SP_PROFILE_TABLE(processes, process)
SP_PROFILE_TABLE(losses, loss)
SP_PROFILE_TABLE(cuts, cut)
SP_PROFILE_TABLE(clocks, clock)
SP_PROFILE_TABLE(rank_facts, rank_fact)
SP_PROFILE_TABLE(kernel_symbols, kernel_symbol)

static int facts(struct sp_profile *profile, struct sp_profile_facts *cached, const char *group,
		 const struct sp_fact **ret_facts, size_t *ret_n, struct sp_error *error)
{
	if (!cached->loaded && profile->ops->read_facts) {
		int r = profile->ops->read_facts(profile, group, &cached->facts, &cached->n, error);

		if (r)
			return r;
	}
	cached->loaded = true;
	*ret_facts = cached->facts;
	*ret_n = cached->n;
	return 0;
}

int sp_profile_metadata(struct sp_profile *profile, const struct sp_fact **ret_facts, size_t *ret_n,
			struct sp_error *error)
{
	return facts(profile, &profile->metadata, "/metadata", ret_facts, ret_n, error);
}

int sp_profile_meta(struct sp_profile *profile, const struct sp_fact **ret_facts, size_t *ret_n,
		    struct sp_error *error)
{
	return facts(profile, &profile->meta, "/sp_trace/meta", ret_facts, ret_n, error);
}

const struct sp_fact *sp_fact_find(const struct sp_fact *facts, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(facts[i].key, key) == 0)
			return &facts[i];
	return NULL;
}

int sp_profile_extras(struct sp_profile *profile, const struct sp_extras **ret_extras,
		      struct sp_error *error)
{
	if (!profile->extras_loaded && profile->ops->read_extras) {
		int r = profile->ops->read_extras(profile, &profile->extras, error);

		if (r)
			return r;
	}
	profile->extras_loaded = true;
	*ret_extras = &profile->extras;
	return 0;
}

int sp_profile_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			      struct sp_error *error)
{
	sp_cleanup_free char *json = NULL;
	enum sp_json_list_kind kind = SP_JSON_LIST_EMPTY;
	uint64_t n = 0;
	int r = 0;

	if (row >= profile->info.n_rows)
		return sp_error_set(error, -EINVAL, 0, "has no row %u", row);
	if (profile->ops->read_event_metadata)
		r = profile->ops->read_event_metadata(profile, row, &json, error);
	if (r)
		return r;
	if (json && *json)
		r = sp_json_list_length(json, strlen(json), &n, &kind);
	if (r == -ENOMEM)
		return sp_error_set(error, r, 0, "no memory");
	if (r || (n && (n != profile->rows[row].stats.calls || kind != SP_JSON_LIST_OBJECTS)))
		return sp_error_set(
			error, -SP_E_DAMAGED, 0,
			"the event metadata of region \"%.64s\" on rank %u is no JSON list "
			"with an object for each of its %" PRIu64 " calls",
			profile->regions[profile->rows[row].region], profile->rows[row].rank,
			profile->rows[row].stats.calls);
	*ret_json = kind == SP_JSON_LIST_EMPTY ? NULL : json;
	if (*ret_json)
		json = NULL;
	return 0;
}
