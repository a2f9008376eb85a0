/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_share.c - see unwind_share.h.
 *
 * Invariant: `held` of all shares but root's together is that of the whole.
 */
#include "loader/unwind_share.h"

#include <errno.h>
#include <stdlib.h>

struct sp_unwind_share *sp_unwind_share_of(struct sp_unwind_shares *shares, uid_t uid)
{
	struct sp_unwind_share **bucket = &shares->buckets[uid % SP_UNWIND_SHARE_BUCKETS], *share;

	for (share = *bucket; share; share = share->next)
		if (share->uid == uid)
			return share;
	share = calloc(1, sizeof(*share));
	if (!share)
		return NULL;
	share->all = shares;
	share->uid = uid;
	share->next = *bucket;
	*bucket = share;
	return share;
}

int sp_unwind_share_take(struct sp_unwind_share *share, enum sp_unwind_shared kind, uint64_t n)
{
	struct sp_unwind_shares *all = share->all;

	if (share->uid != 0) {
		if (share->held[kind] + n > all->room[kind] / 2 ||
		    all->held[kind] + n > all->room[kind] / 8 * 7)
			return -EDQUOT;
		all->held[kind] += n;
	}
	share->held[kind] += n;
	return 0;
}

void sp_unwind_share_give(struct sp_unwind_share *share, enum sp_unwind_shared kind, uint64_t n)
{
	share->held[kind] -= n;
	if (share->uid != 0)
		share->all->held[kind] -= n;
}

void sp_unwind_shares_clear(struct sp_unwind_shares *shares)
{
	for (size_t i = 0; i < SP_UNWIND_SHARE_BUCKETS; i++)
		while (shares->buckets[i]) {
			struct sp_unwind_share *share = shares->buckets[i];

			shares->buckets[i] = share->next;
			free(share);
		}
}
