/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_before.c - calls that were open when their lane began, and what is inside of them.
 *
 * Such a call comes to light with its end, when all that the lane has recorded since its beginning,
 * and that had no parent, is already written as if nothing were around it. Invariant: the calls
 * from before of a lane all start with it and nest by their ends, so what ends (or was sampled)
 * while one was open is inside of all that end later.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/analysis/recording_events.h"
#include "userspace/base/array.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

int sp_recording_add_before(struct sp_recording *rec, const struct sp_ev_call *call)
{
	struct sp_before *before = sp_array_add(&rec->befores, &rec->n_befores, &rec->befores_room);

	if (!before)
		return -ENOMEM;
	*before = (struct sp_before){
		.lane = sp_recording_lane(rec, call->head.lane),
		.site = sp_recording_site(rec, call->site),
		.end = call->end,
		.number = call->number,
	};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sp_before *x = a, *y = b;

	return x->lane != y->lane ? COMPARE(x->lane, y->lane)
	       : x->end != y->end ? COMPARE(x->end, y->end)
				  : COMPARE(y->number, x->number);
}

void sp_recording_sort_befores(struct sp_recording *rec)
{
	if (rec->n_befores)
		qsort(rec->befores, rec->n_befores, sizeof(*rec->befores), compare);
}

/* The first that does not stand before @lane and @time. */
static size_t find(const struct sp_recording *rec, uint64_t lane, uint64_t time)
{
	const struct sp_before *at = rec->befores;

	return sp_search(rec->n_befores, i,
			 at[i].lane < lane || (at[i].lane == lane && at[i].end < time));
}

const struct sp_before *sp_recording_before(const struct sp_recording *rec, uint32_t lane,
					    uint64_t time, uint32_t *ret_depth)
{
	size_t first = find(rec, lane, time), after = find(rec, (uint64_t)lane + 1, 0);

	*ret_depth = (uint32_t)(after - first);
	return after > first ? &rec->befores[first] : NULL;
}
