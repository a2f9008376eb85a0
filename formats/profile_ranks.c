// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_ranks.c - where a rank is in the list of ranks, and which rows it has.
 *
 * Invariant: the index is made once, when first asked for, after the last row was added.
 */
#include <stdlib.h>

#include "formats/profile_internal.h"

#include "formats/search.h"

uint32_t sp_profile_rank_index(const struct sp_profile *profile, uint32_t rank)
{
	return (uint32_t)sp_search(profile->info.n_ranks, i, profile->ranks[i] < rank);
}

/* Counts the rows of each rank, then deals them out. */
static int index_ranks(struct sp_profile *profile)
{
	uint32_t n = profile->info.n_ranks;
	uint32_t *first = calloc((size_t)n + 3, sizeof(*first));
	uint32_t *rows = calloc((size_t)profile->info.n_rows + 1, sizeof(*rows));

	if (!first || !rows) {
		free(first);
		free(rows);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < profile->info.n_rows; i++)
		first[sp_profile_rank_index(profile, profile->rows[i].rank) + 2]++;
	for (uint32_t i = 2; i < n + 2; i++)
		first[i] += first[i - 1];
	for (uint32_t i = 0; i < profile->info.n_rows; i++)
		rows[first[sp_profile_rank_index(profile, profile->rows[i].rank) + 1]++] = i;
	profile->rank_first = first;
	profile->rank_rows = rows;
	return 0;
}

int sp_profile_rows_of_rank(struct sp_profile *profile, uint32_t rank, const uint32_t **ret_rows,
			    uint32_t *ret_n, struct sp_error *error)
{
	uint32_t index = sp_profile_rank_index(profile, rank);

	if (!profile->rank_rows && index_ranks(profile))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (index == profile->info.n_ranks || profile->ranks[index] != rank) {
		*ret_rows = profile->rank_rows;
		*ret_n = 0;
		return 0;
	}
	*ret_rows = profile->rank_rows + profile->rank_first[index];
	*ret_n = profile->rank_first[index + 1] - profile->rank_first[index];
	return 0;
}
