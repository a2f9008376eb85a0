/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_ids.c - verifies the ids of a rank's calls: each is there once; which parents are not.
 *
 * Ids are sets of bits, found by their place in words of 31, which is small where ids are dense.
 * Memory is bounded: where a rank has more words than MAX_WORDS, its ids are split into parts by a
 * hash, and the calls are read once for each part.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"
#include "userspace/cmd/verify.h"

enum {
	BLOCK = 1 << 15,
	WORD = 31,	     /* ids in a word: a value of the map is never its NONE */
	MAX_WORDS = 2700000, /* 64 MiB */
};

struct ids {
	struct sp_verdict *verdict;
	struct sp_profile *profile;
	uint32_t rank;
	const uint32_t *rows; /* of the rank */
	size_t n_rows;
	struct sp_idmap words;
	uint64_t part, parts;
	int64_t *values; /* BLOCK of them */
};

static bool is_here(const struct ids *ids, uint64_t word)
{
	return ids->parts == 1 || (word * 0x9e3779b97f4a7c15u >> 32) % ids->parts == ids->part;
}

/* -E2BIG where there are too many words for this part. */
static int add(struct ids *ids, int64_t id, uint32_t row, uint64_t index)
{
	uint64_t word = (uint64_t)id / WORD;
	uint32_t bit = 1u << (uint64_t)id % WORD, bits;

	if (!is_here(ids, word))
		return 0;
	bits = sp_idmap_get(&ids->words, word);
	if (bits == SP_IDMAP_NONE) {
		if (ids->words.used >= MAX_WORDS)
			return -E2BIG;
		bits = 0;
	}
	if (bits & bit)
		return sp_error_set(&ids->verdict->error, -SP_E_DAMAGED, 0,
				    "call %" PRIu64 " of row %" PRIu32 " has the id %" PRIi64
				    " of another call of rank %" PRIu32,
				    index, row, id, ids->rank);
	return sp_idmap_set(&ids->words, word, bits | bit);
}

static int look_up(struct ids *ids, int64_t parent)
{
	uint64_t word = (uint64_t)parent / WORD;
	uint32_t bits;

	if (parent < 0 || !is_here(ids, word))
		return 0;
	bits = sp_idmap_get(&ids->words, word);
	if (bits == SP_IDMAP_NONE || !(bits & 1u << (uint64_t)parent % WORD))
		ids->verdict->dangling++;
	return 0;
}

/* One pass over the ids of the rank's calls, or over their parents. */
static int pass(struct ids *ids, bool parents)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < ids->n_rows; k++) {
		uint32_t row = ids->rows[k];
		struct sp_calls calls = {0};
		uint64_t n = sp_profile_row(ids->profile, row)->stats.calls;

		*(parents ? &calls.parent : &calls.id) = ids->values;
		for (uint64_t at = 0; r == 0 && at < n; at += BLOCK) {
			size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

			r = sp_profile_read_calls(ids->profile, row, at, some, &calls,
						  &ids->verdict->error);
			for (size_t i = 0; r == 0 && i < some; i++)
				r = parents ? look_up(ids, ids->values[i])
					    : add(ids, ids->values[i], row, at + i);
			sp_verdict_progress(ids->verdict, 0);
		}
	}
	return r;
}

static int check_parts(struct ids *ids)
{
	bool parents = sp_profile_info(ids->profile)->columns & SP_CALLS_parent;
	uint64_t dangling = ids->verdict->dangling;
	int r = 0;

	for (ids->part = 0; ids->part < ids->parts; ids->part++) {
		sp_idmap_clear(&ids->words);
		r = pass(ids, false);
		if (r == 0 && parents)
			r = pass(ids, true);
		if (r < 0)
			break;
	}
	if (r == -E2BIG)
		ids->verdict->dangling = dangling;
	return r;
}

static int compare_keys(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The ids of one rank. */
static int check_rank(struct ids *ids)
{
	int r = -E2BIG;

	for (ids->parts = 1; r == -E2BIG; ids->parts *= 2)
		r = check_parts(ids);
	return r;
}

/* The rows, rank by rank; to free(). */
static uint32_t *sort_rows(struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	sp_cleanup(sp_freep) uint64_t *keys = calloc((size_t)info->n_rows + 1, sizeof(*keys));
	uint32_t *rows = calloc((size_t)info->n_rows + 1, sizeof(*rows));

	if (!keys || !rows) {
		free(rows);
		return NULL;
	}
	for (uint32_t i = 0; i < info->n_rows; i++)
		keys[i] = (uint64_t)sp_profile_row(profile, i)->rank << 32 | i;
	qsort(keys, info->n_rows, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < info->n_rows; i++)
		rows[i] = (uint32_t)keys[i];
	return rows;
}

int sp_verify_ids(struct sp_verdict *verdict, struct sp_profile *profile)
{
	uint32_t n = sp_profile_info(profile)->n_rows, end;
	struct ids ids = {.verdict = verdict, .profile = profile};
	sp_cleanup(sp_freep) int64_t *values = calloc(BLOCK, sizeof(*values));
	sp_cleanup(sp_freep) uint32_t *rows = sort_rows(profile);
	int r = 0;

	if (!values || !rows)
		return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	ids.values = values;
	for (uint32_t at = 0; r == 0 && at < n; at = end) {
		ids.rank = sp_profile_row(profile, rows[at])->rank;
		for (end = at; end < n && sp_profile_row(profile, rows[end])->rank == ids.rank;)
			end++;
		ids.rows = rows + at;
		ids.n_rows = end - at;
		r = check_rank(&ids);
	}
	sp_idmap_free(&ids.words);
	if (r == -ENOMEM && !verdict->error.code)
		sp_error_set(&verdict->error, r, 0, "out of memory");
	return r;
}
