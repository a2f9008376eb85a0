/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_ranks.c - see sample_ranks.h.
 */
#include "userspace/analysis/sample_ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "formats/util.h"
#include "userspace/base/array.h"

void sp_sample_ranks_done(struct sp_sample_ranks *ranks)
{
	free(ranks->items);
	*ranks = (struct sp_sample_ranks){0};
}

static size_t find(const struct sp_sample_ranks *ranks, uint32_t rank)
{
	return sp_search(ranks->n, i, ranks->items[i].rank < rank);
}

int sp_sample_ranks_add(struct sp_sample_ranks *ranks, uint32_t rank, uint64_t samples,
			uint64_t lost)
{
	size_t at = find(ranks, rank);

	if (at == ranks->n || ranks->items[at].rank != rank) {
		if (!sp_array_add(&ranks->items, &ranks->n, &ranks->room))
			return -ENOMEM;
		memmove(ranks->items + at + 1, ranks->items + at,
			(ranks->n - 1 - at) * sizeof(*ranks->items));
		ranks->items[at] = (struct sp_sample_rank){.rank = rank};
	}
	ranks->items[at].samples += samples;
	sp_add_capped(&ranks->items[at].lost, lost);
	return 0;
}

bool sp_sample_ranks_silent(const struct sp_sample_ranks *ranks, const struct sp_sample_rank *rank)
{
	return !rank->samples && (rank->lost || ranks->lost);
}
