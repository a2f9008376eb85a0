/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_calls.c - in which regions a sample was: that of its call, and those around it.
 *
 * Only calls that samples name are kept, and the calls around them, so memory does not depend on
 * the number of calls. These are streamed, as ids, parents and depths alone: once for what the
 * samples name, then again only those of rows that can hold parents still missing, by their depth.
 * Outer regions have few calls, so this is little more than one pass.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define SAMPLES 8192
#define CALLS 65536
#define DEPTHS 256 /* deeper ones count as this deep; so do unknown ones */

struct call {
	int64_t parent; /* id, -1 none */
	uint32_t region;
	uint32_t chain; /* SP_STACKS_NONE: not made yet */
	uint16_t depth; /* where it is missing: the one that it must have */
	bool found;
	bool cut; /* it or one around it is not in the file */
};

struct rank {
	uint32_t number;
	struct sp_idmap by_id;
	struct call *calls;
	size_t n, room, missing;
	size_t missing_at[DEPTHS + 1]; /* of these, by depth; the last: unknown */
};

struct sp_stacks_calls {
	struct sp_stacks *stacks;
	struct rank *ranks;
	size_t n_ranks, ranks_room;
	struct sp_idmap rank_by_number;
};

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

void sp_stacks_calls_free(struct sp_stacks_calls *calls)
{
	if (!calls)
		return;
	for (size_t i = 0; i < calls->n_ranks; i++) {
		sp_idmap_free(&calls->ranks[i].by_id);
		free(calls->ranks[i].calls);
	}
	free(calls->ranks);
	sp_idmap_free(&calls->rank_by_number);
	free(calls);
}

static struct rank *find_rank(const struct sp_stacks_calls *calls, uint32_t number)
{
	uint32_t index = sp_idmap_get(&calls->rank_by_number, number);

	return index == SP_IDMAP_NONE ? NULL : &calls->ranks[index];
}

static struct rank *add_rank(struct sp_stacks_calls *calls, uint32_t number)
{
	struct rank *rank = find_rank(calls, number);

	if (rank)
		return rank;
	if (sp_idmap_set(&calls->rank_by_number, number, (uint32_t)calls->n_ranks) < 0)
		return NULL;
	rank = sp_array_add(&calls->ranks, &calls->n_ranks, &calls->ranks_room);
	if (rank)
		rank->number = number;
	return rank;
}

/* A call that is wanted, if it is not known already. */
static int want(struct rank *rank, int64_t id, uint16_t depth)
{
	struct call *call;

	if (sp_idmap_get(&rank->by_id, (uint64_t)id) != SP_IDMAP_NONE)
		return 0;
	if (rank->n >= SP_IDMAP_NONE ||
	    sp_idmap_set(&rank->by_id, (uint64_t)id, (uint32_t)rank->n) < 0)
		return -ENOMEM;
	call = sp_array_add(&rank->calls, &rank->n, &rank->room);
	if (!call)
		return -ENOMEM;
	*call = (struct call){.parent = -1, .chain = SP_STACKS_NONE, .depth = depth};
	rank->missing++;
	rank->missing_at[depth]++;
	return 0;
}

static int read_wanted(struct sp_stacks_calls *calls, const struct sp_sample_files *files,
		       struct sp_profile *profile, struct sp_error *error)
{
	uint64_t total = sp_profile_info(profile)->n_samples;
	sp_cleanup(sp_freep) struct sp_sample_row *samples = calloc(SAMPLES, sizeof(*samples));

	if (!samples)
		return out_of_memory(error);
	for (uint64_t at = 0; at < total;) {
		size_t n = total - at < SAMPLES ? (size_t)(total - at) : SAMPLES;
		int r = sp_profile_read_samples(profile, at, n, samples, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			struct rank *rank;

			if (samples[i].call_id < 0 || samples[i].region < 0 ||
			    !sp_sample_files_wants(files, samples[i].rank))
				continue;
			rank = add_rank(calls, samples[i].rank);
			if (!rank || want(rank, samples[i].call_id, DEPTHS) < 0)
				return out_of_memory(error);
		}
		at += n;
	}
	return 0;
}

/* ---- the calls ---- */

/* One row of calls, and what was seen of them. */
struct row {
	uint32_t row, region; /* number of the region */
	struct rank *rank;
	uint16_t least, most; /* depths of its calls */
	bool read;
};

static bool may_help(const struct row *row)
{
	if (!row->rank->missing)
		return false;
	if (!row->read || row->rank->missing_at[DEPTHS])
		return true;
	for (uint16_t depth = row->least; depth <= row->most; depth++)
		if (row->rank->missing_at[depth])
			return true;
	return false;
}

static int take_call(struct row *row, int64_t id, int64_t parent, uint16_t depth, bool has_depth)
{
	struct rank *rank = row->rank;
	uint32_t index = sp_idmap_get(&rank->by_id, (uint64_t)id);
	struct call *call;

	if (depth >= DEPTHS - 1)
		depth = DEPTHS - 1;
	if (depth < row->least)
		row->least = depth;
	if (depth > row->most)
		row->most = depth;
	if (id < 0 || index == SP_IDMAP_NONE || rank->calls[index].found)
		return 0;
	call = &rank->calls[index];
	rank->missing--;
	rank->missing_at[call->depth]--;
	call->found = true;
	call->region = row->region;
	/* A parent's id is smaller; anything else is damage, and could go round in a circle. */
	if (parent < 0 || parent >= id)
		return 0;
	call->parent = parent;
	return want(rank, parent,
		    has_depth && depth && depth < DEPTHS - 1 ? (uint16_t)(depth - 1) : DEPTHS);
}

static int read_row(struct sp_profile *profile, struct row *row, const struct sp_calls *columns,
		    struct sp_error *error)
{
	bool has_depth = sp_profile_info(profile)->columns & SP_CALLS_depth;
	uint64_t total = sp_profile_row(profile, row->row)->stats.calls;

	for (uint64_t at = 0; at < total && row->rank->missing;) {
		size_t n = total - at < CALLS ? (size_t)(total - at) : CALLS;
		int r = sp_profile_read_calls(profile, row->row, at, n, columns, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++)
			if (take_call(row, columns->id[i], columns->parent[i], columns->depth[i],
				      has_depth) < 0)
				return out_of_memory(error);
		at += n;
		/* The depths of all of its calls are known only if it was read to its end. */
		row->read = has_depth && at == total;
	}
	return 0;
}

static int list_rows(struct sp_stacks_calls *calls, struct sp_profile *profile,
		     const uint32_t *regions, struct row **ret_rows, size_t *ret_n)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct row *rows = calloc((size_t)info->n_rows + 1, sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *from = sp_profile_row(profile, i);
		struct rank *rank = find_rank(calls, from->rank);

		if (rank && from->stats.calls)
			rows[n++] =
				(struct row){i, regions[from->region], rank, UINT16_MAX, 0, false};
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static int read_calls(struct sp_stacks_calls *calls, struct sp_profile *profile,
		      const uint32_t *regions, struct sp_error *error)
{
	struct sp_calls columns = {0};
	struct row *rows = NULL;
	size_t n = 0;
	bool found = true;
	int r = list_rows(calls, profile, regions, &rows, &n);

	if (r == 0)
		r = sp_calls_alloc(&columns, CALLS, SP_CALLS_id | SP_CALLS_parent | SP_CALLS_depth);
	if (r < 0) {
		free(rows);
		return out_of_memory(error);
	}
	free(columns.start);
	free(columns.end);
	columns.start = columns.end = NULL;
	while (r == 0 && found) {
		found = false;
		for (size_t i = 0; r == 0 && i < n; i++) {
			size_t known = rows[i].rank->n - rows[i].rank->missing;

			if (may_help(&rows[i]))
				r = read_row(profile, &rows[i], &columns, error);
			found |= rows[i].rank->n - rows[i].rank->missing > known;
		}
	}
	sp_calls_free(&columns);
	free(rows);
	return r;
}

/* ---- the chains ---- */

/* Parents have smaller ids than their children, and so is no call its own ancestor. */
static int make_chain(struct sp_stacks_calls *calls, struct rank *rank, uint32_t index)
{
	uint32_t path[DEPTHS * 4];
	size_t n = 0;
	uint32_t chain = SP_STACKS_NONE;
	bool cut;

	while (index != SP_IDMAP_NONE && rank->calls[index].found && n < sp_array_size(path)) {
		if (rank->calls[index].chain != SP_STACKS_NONE) {
			chain = rank->calls[index].chain;
			break;
		}
		path[n++] = index;
		index = rank->calls[index].parent < 0
				? SP_IDMAP_NONE
				: sp_idmap_get(&rank->by_id, (uint64_t)rank->calls[index].parent);
	}
	cut = index != SP_IDMAP_NONE && (!rank->calls[index].found || rank->calls[index].cut);
	if (index != SP_IDMAP_NONE)
		rank->calls[index].cut = cut;
	while (n--) {
		struct call *call = &rank->calls[path[n]];
		int r = sp_stacks_add_regions(calls->stacks, chain, call->region, &chain);

		if (r < 0)
			return r;
		call->chain = chain;
		call->cut = cut;
	}
	return 0;
}

bool sp_stacks_calls_is_cut(const struct sp_stacks_calls *calls, uint32_t number, int64_t call_id)
{
	const struct rank *rank = calls && call_id >= 0 ? find_rank(calls, number) : NULL;
	uint32_t index = rank ? sp_idmap_get(&rank->by_id, (uint64_t)call_id) : SP_IDMAP_NONE;

	return index != SP_IDMAP_NONE && rank->calls[index].cut;
}

uint32_t sp_stacks_calls_find(const struct sp_stacks_calls *calls, uint32_t number, int64_t call_id)
{
	const struct rank *rank = calls && call_id >= 0 ? find_rank(calls, number) : NULL;
	uint32_t index = rank ? sp_idmap_get(&rank->by_id, (uint64_t)call_id) : SP_IDMAP_NONE;

	return index == SP_IDMAP_NONE ? SP_STACKS_NONE : rank->calls[index].chain;
}

int sp_stacks_calls_read(struct sp_stacks *stacks, const struct sp_sample_files *files,
			 struct sp_profile *profile, const uint32_t *regions,
			 struct sp_stacks_calls **ret_calls, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_stacks_calls *calls;
	int r;

	*ret_calls = NULL;
	if (info->aggregate || !info->n_calls || !(info->columns & SP_CALLS_id) ||
	    !(info->columns & SP_CALLS_parent))
		return 0;
	calls = calloc(1, sizeof(*calls));
	if (!calls)
		return out_of_memory(error);
	calls->stacks = stacks;
	r = read_wanted(calls, files, profile, error);
	if (r == 0 && calls->n_ranks)
		r = read_calls(calls, profile, regions, error);
	for (size_t i = 0; r == 0 && i < calls->n_ranks; i++)
		for (uint32_t k = 0; r == 0 && k < calls->ranks[i].n; k++)
			if (make_chain(calls, &calls->ranks[i], k) < 0)
				r = out_of_memory(error);
	if (r < 0)
		sp_stacks_calls_free(calls);
	else
		*ret_calls = calls;
	return r;
}
