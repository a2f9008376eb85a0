/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_ranks.h - which ranks have samples, and how many each of them lost.
 */
#ifndef SP_ANALYSIS_SAMPLE_RANKS_H
#define SP_ANALYSIS_SAMPLE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_sample_rank {
	uint32_t rank;
	uint64_t samples, lost;
};

/* A zeroed struct is empty. */
struct sp_sample_ranks {
	struct sp_sample_rank *items; /* by rank */
	size_t n, room;
	uint64_t lost; /* of ranks that are not known */
};

void sp_sample_ranks_done(struct sp_sample_ranks *ranks);
/* Adds to what is known of a rank, which may be nothing. -ENOMEM. */
int sp_sample_ranks_add(struct sp_sample_ranks *ranks, uint32_t rank, uint64_t samples,
			uint64_t lost);
/* Whether none of the rank's samples is there, though it may have had some: it, or nobody knows
 * who, has lost samples. */
bool sp_sample_ranks_silent(const struct sp_sample_ranks *ranks, const struct sp_sample_rank *rank);

#endif
