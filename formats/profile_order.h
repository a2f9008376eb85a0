/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_order.h - all calls of a rank as one stream, in order of entry. Not installed.
 *
 * The order is scope-profiler's: by start; of two with one start the longer first, then the one of
 * the earlier region, then the one that stands first in its row. Memory: some 32 MiB and a little
 * for each row, whatever the number of calls.
 */
#ifndef SP_FORMATS_PROFILE_ORDER_H
#define SP_FORMATS_PROFILE_ORDER_H

#include "formats/profile_read.h"

struct sp_ordered_call {
	int64_t start, end;
	int64_t lane;	/* task if ≥ 0, else −2 − thread, -1 without either */
	uint64_t index; /* in its row */
};

struct sp_call_order;

/* One pass over the calls, to see whether they are sorted; those that are not are sorted now.
 * -ENOTSUP for an aggregate profile. */
int sp_call_order_open(struct sp_profile *profile, uint32_t rank, struct sp_call_order **ret_order,
		       struct sp_error *error);
/* The next call: 1, 0 after the last, -errno. Valid until the next one. */
int sp_call_order_next(struct sp_call_order *order, const struct sp_ordered_call **ret_call,
		       uint32_t *ret_row, struct sp_error *error);
void sp_call_order_free(struct sp_call_order *order); /* NULL is fine */

#endif
