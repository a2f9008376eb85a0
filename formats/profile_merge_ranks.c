// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge_ranks.c - whose ranks are whose, and the rows in order.
 *
 * Invariant: a rank has rows of one part only. Samples of a rank come from one part, too: those of
 * a .sps file beside a profile that has samples of that rank are the same ones, and are left out.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_merge_internal.h"
#include "formats/search.h"
#include "formats/util.h"

/* The end of a long path says more than its beginning. */
static const char *shorten(const char *path)
{
	size_t size = strlen(path);

	return size > 96 ? path + size - 96 : path;
}

static int refuse(const struct sp_merge *merge, const struct sp_merge_claim *one,
		  const struct sp_merge_claim *other, const char *what, struct sp_error *error)
{
	const char *first = shorten(merge->parts[one->part].profile->path);
	const char *second = shorten(merge->parts[other->part].profile->path);

	if (one->part == other->part)
		return sp_error_set(error, -EINVAL, 0, "two ranks of %s would both become rank %u",
				    first, one->rank);
	return sp_error_set(error, -EEXIST, 0, "%s and %s both have %s %u", first, second, what,
			    one->rank);
}

static int compare_claims(const void *a, const void *b)
{
	const struct sp_merge_claim *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->part > right->part) - (left->part < right->part);
}

static int claim(struct sp_merge *merge, size_t part, uint32_t own)
{
	if (sp_array_reserve((void **)&merge->claims, &merge->claims_capacity, merge->n_claims,
			     sizeof(*merge->claims)))
		return -ENOMEM;
	merge->claims[merge->n_claims++] = (struct sp_merge_claim){
		sp_merge_rank(&merge->parts[part], own), (uint32_t)part, own};
	return 0;
}

static void sort_claims(struct sp_merge *merge, size_t first)
{
	if (merge->n_claims > first)
		qsort(merge->claims + first, merge->n_claims - first, sizeof(*merge->claims),
		      compare_claims);
}

/* A part owns the ranks that it has rows of. One without rows owns those that it lists, unless it
 * has nothing but samples. */
static int claim_part(struct sp_merge *merge, size_t index, struct sp_error *error)
{
	struct sp_profile *profile = merge->parts[index].profile;
	size_t before = merge->n_claims;

	for (uint32_t i = 0; profile->info.format != SP_FORMAT_SPS && i < profile->info.n_ranks;
	     i++) {
		const uint32_t *rows;
		uint32_t n;
		int r = sp_profile_rows_of_rank(profile, profile->ranks[i], &rows, &n, error);

		if (r)
			return r;
		if (profile->info.n_rows && !n)
			continue;
		if (claim(merge, index, profile->ranks[i]))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	merge->parts[index].joins = merge->n_claims == before;
	return 0;
}

static int claim_ranks(struct sp_merge *merge, struct sp_error *error)
{
	int r = 0;

	for (size_t i = 0; !r && i < merge->n_parts; i++)
		r = claim_part(merge, i, error);
	if (r)
		return r;
	sort_claims(merge, 0);
	for (size_t i = 1; i < merge->n_claims; i++)
		if (merge->claims[i].rank == merge->claims[i - 1].rank)
			return refuse(merge, &merge->claims[i - 1], &merge->claims[i], "rank",
				      error);
	return 0;
}

/* ---- samples that join a rank ---- */

/* Sorts the ranks, each once. */
static void tidy(uint32_t *ranks, size_t *n)
{
	size_t kept = 0;

	if (*n)
		qsort(ranks, *n, sizeof(*ranks), sp_compare_u32);
	for (size_t i = 0; i < *n; i++)
		if (!kept || ranks[kept - 1] != ranks[i])
			ranks[kept++] = ranks[i];
	*n = kept;
}

/* Notes the ranks of some samples in the part's list, which is kept short. */
static int note_ranks(struct sp_merge_part *part, const struct sp_sample_row *samples, size_t n,
		      size_t *tidy_at)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t rank = samples[i].rank;

		if (part->n_sample_ranks && part->sample_ranks[part->n_sample_ranks - 1] == rank)
			continue;
		if (part->n_sample_ranks >= *tidy_at) {
			tidy(part->sample_ranks, &part->n_sample_ranks);
			*tidy_at = 2 * part->n_sample_ranks + 1024;
		}
		if (sp_array_reserve((void **)&part->sample_ranks, &part->sample_ranks_capacity,
				     part->n_sample_ranks, sizeof(rank)))
			return -ENOMEM;
		part->sample_ranks[part->n_sample_ranks++] = rank;
	}
	return 0;
}

/* Lists the ranks that a part has samples of: one pass over them. */
static int list_sample_ranks(struct sp_merge *merge, struct sp_merge_part *part,
			     struct sp_error *error)
{
	enum { BLOCK = 1024 };
	struct sp_sample_row *samples sp_cleanup_free = calloc(BLOCK, sizeof(*samples));
	uint64_t n = part->profile->info.n_samples;
	size_t tidy_at = 1024;
	int r = samples ? 0 : -ENOMEM;

	if (part->sample_ranks)
		return 0;
	/* A .sps file tells its rank even if it has no samples. */
	if (!r && part->profile->info.format == SP_FORMAT_SPS && part->profile->info.n_ranks == 1) {
		samples[0].rank = part->profile->ranks[0];
		r = note_ranks(part, samples, 1, &tidy_at);
		n = 0;
	}
	for (uint64_t at = 0; !r && at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? (size_t)(n - at) : BLOCK;

		r = sp_profile_read_samples(part->profile, at, some, samples, error);
		if (r)
			return sp_merge_blame(merge, part, r, error);
		r = note_ranks(part, samples, some, &tidy_at);
	}
	tidy(part->sample_ranks, &part->n_sample_ranks);
	return r ? sp_error_set(error, r, 0, "no memory") : 0;
}

/* True if samples of @rank, as the part has it, are in the part. */
static bool has_samples_of(const struct sp_merge_part *part, uint32_t rank)
{
	return part->n_sample_ranks && bsearch(&rank, part->sample_ranks, part->n_sample_ranks,
					       sizeof(rank), sp_compare_u32);
}

static const struct sp_merge_claim *find_owner(const struct sp_merge *merge, size_t n_owned,
					       uint32_t rank)
{
	size_t at = sp_search(n_owned, i, merge->claims[i].rank < rank);

	return at < n_owned && merge->claims[at].rank == rank ? &merge->claims[at] : NULL;
}

/* Compares the samples of a joining part, which claims ranks from @first on, with those of the
 * ranks' owners. */
static int meet_owners(struct sp_merge *merge, size_t n_owned, size_t first, bool *ret_same,
		       struct sp_error *error)
{
	const struct sp_merge_claim *met = NULL;
	size_t same = 0, n = merge->n_claims - first;

	for (size_t i = first; i < merge->n_claims; i++) {
		const struct sp_merge_claim *owner =
			find_owner(merge, n_owned, merge->claims[i].rank);
		struct sp_merge_part *part = owner ? &merge->parts[owner->part] : NULL;
		int r;

		if (!part || !part->profile->info.n_samples)
			continue;
		r = list_sample_ranks(merge, part, error);
		if (r)
			return r;
		if (!has_samples_of(part, owner->own))
			continue;
		same++;
		met = owner;
	}
	if (same && same < n)
		return refuse(merge, met, &merge->claims[first], "samples of rank", error);
	*ret_same = same > 0;
	return 0;
}

/* Drops the parts that are marked, and renumbers the claims. */
static int drop_parts(struct sp_merge *merge, const bool *dropped)
{
	uint32_t *numbers sp_cleanup_free = calloc(merge->n_parts, sizeof(*numbers));
	size_t kept = 0;

	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < merge->n_parts; i++) {
		numbers[i] = (uint32_t)kept;
		if (dropped[i])
			sp_merge_free_part(&merge->parts[i]);
		else
			merge->parts[kept++] = merge->parts[i];
	}
	merge->n_parts = kept;
	for (size_t i = 0; i < merge->n_claims; i++)
		merge->claims[i].part = numbers[merge->claims[i].part];
	return 0;
}

int sp_merge_sort_ranks(struct sp_merge *merge, struct sp_error *error)
{
	bool *dropped sp_cleanup_free = calloc(merge->n_parts, sizeof(*dropped));
	size_t n_owned;
	int r = claim_ranks(merge, error);

	if (r)
		return r;
	if (!dropped)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	n_owned = merge->n_claims;
	for (size_t i = 0; !r && i < merge->n_parts; i++) {
		struct sp_merge_part *part = &merge->parts[i];
		size_t first = merge->n_claims;

		if (!part->joins)
			continue;
		r = list_sample_ranks(merge, part, error);
		for (size_t k = 0; !r && k < part->n_sample_ranks; k++)
			if (claim(merge, i, part->sample_ranks[k]))
				r = sp_error_set(error, -ENOMEM, 0, "no memory");
		if (!r)
			r = meet_owners(merge, n_owned, first, &dropped[i], error);
		if (dropped[i])
			merge->n_claims = first;
	}
	if (r)
		return r;
	sort_claims(merge, n_owned);
	for (size_t i = n_owned + 1; i < merge->n_claims; i++)
		if (merge->claims[i].rank == merge->claims[i - 1].rank)
			return refuse(merge, &merge->claims[i - 1], &merge->claims[i],
				      "samples of rank", error);
	for (size_t i = 0; i < merge->n_claims; i++) {
		struct sp_merge_part *part = &merge->parts[merge->claims[i].part];

		if (merge->claims[i].rank < part->lowest)
			part->lowest = merge->claims[i].rank;
	}
	merge->n_claims = n_owned;
	return drop_parts(merge, dropped) ? sp_error_set(error, -ENOMEM, 0, "no memory") : 0;
}

/* ---- rows ---- */

static int add_rows(struct sp_merge *merge, const struct sp_merge_claim *from,
		    struct sp_error *error)
{
	const struct sp_merge_part *part = &merge->parts[from->part];
	struct sp_profile *profile = merge->profile;
	const uint32_t *rows;
	uint32_t n;
	int r = sp_profile_rows_of_rank(part->profile, from->own, &rows, &n, error);

	for (uint32_t i = 0; !r && i < n; i++) {
		uint32_t row = profile->info.n_rows++;

		profile->rows[row] = part->profile->rows[rows[i]];
		profile->rows[row].region = part->regions[profile->rows[row].region];
		profile->rows[row].rank = from->rank;
		merge->row_part[row] = from->part;
		merge->row_index[row] = rows[i];
	}
	return r;
}

/* The ranks that the parts list, those of .sps files included. */
static int list_ranks(struct sp_merge *merge)
{
	struct sp_profile *profile = merge->profile;
	size_t n = 0, total = 0;

	for (size_t i = 0; i < merge->n_parts; i++)
		total += merge->parts[i].profile->info.n_ranks;
	profile->ranks = calloc(total + 1, sizeof(*profile->ranks));
	if (!profile->ranks)
		return -ENOMEM;
	for (size_t i = 0; i < merge->n_parts; i++)
		for (uint32_t k = 0; k < merge->parts[i].profile->info.n_ranks; k++)
			profile->ranks[n++] =
				sp_merge_rank(&merge->parts[i], merge->parts[i].profile->ranks[k]);
	tidy(profile->ranks, &n);
	profile->info.n_ranks = (uint32_t)n;
	return 0;
}

int sp_merge_list_rows(struct sp_merge *merge, struct sp_error *error)
{
	struct sp_profile *profile = merge->profile;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < merge->n_parts; i++)
		n += merge->parts[i].profile->info.n_rows;
	if (n > SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -SP_E_COUNT, 0,
				    "together they have %zu rows; at most %u are allowed", n,
				    SP_PROFILE_MAX_ROWS);
	profile->rows = calloc(n + 1, sizeof(*profile->rows));
	merge->row_part = calloc(n + 1, sizeof(*merge->row_part));
	merge->row_index = calloc(n + 1, sizeof(*merge->row_index));
	if (!profile->rows || !merge->row_part || !merge->row_index || list_ranks(merge))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; !r && i < merge->n_claims; i++)
		r = add_rows(merge, &merge->claims[i], error);
	return r;
}
