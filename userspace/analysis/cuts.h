/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cuts.h - calls without a begin or an end of their own: how many of which regions, and why.
 *
 * The recorder supplies it (SP_CALL_* of wire.h), so they are in every statistic with a
 * length that may not be that of a real call. Readers of a report must be told so. Regions are told
 * apart by name, and their calls by the place where they began. A call with several flags counts
 * once, for the lowest of them.
 */
#ifndef SP_ANALYSIS_CUTS_H
#define SP_ANALYSIS_CUTS_H

#include <stddef.h>
#include <stdint.h>

#define SP_CUT_KINDS 6 /* the bits 0 to 5 of a call's flags */

struct sp_pool;

struct sp_cuts {
	struct sp_pool *keys; /* of the places: their texts */
	struct sp_cut_place {
		const char *text; /* "solve at solver.c:12"; in the pool */
		uint64_t counts[SP_CUT_KINDS];
	} * places;
	size_t n, room;
};

/* Why, as the number of a bit; -1: the call had a begin and an end of its own. */
static inline int sp_cut_kind(uint16_t flags)
{
	unsigned bits = flags & ((1u << SP_CUT_KINDS) - 1);

	return bits ? __builtin_ctz(bits) : -1;
}

/* A name for programs: "closed_by_outer". */
const char *sp_cut_name(unsigned kind);

/* Calls that began at a place; @file "": unknown. A zeroed struct is empty. -ENOMEM, or -E2BIG
 * beyond 2^32 - 2 places. */
int sp_cuts_add(struct sp_cuts *cuts, const char *region, const char *file, int64_t line,
		unsigned kind, uint64_t count);
void sp_cuts_free(struct sp_cuts *cuts);

/* One sentence on the calls of a kind, to free(), with the three places that have most. NULL if
 * there are none (*ret_r 0) or without memory (*ret_r -ENOMEM). Costs a sort of the places. */
char *sp_cuts_tell(const struct sp_cuts *cuts, unsigned kind, int *ret_r);

#endif
