/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_share.h - what of the room for unwind tables each user may have.
 *
 * Many users' programs are recorded at once, and anybody can make and map libraries without end. A
 * user, by whom a file is owned, gets at most half of everything, and all users but root together
 * seven eighths: so the system's own libraries always find room.
 */
#ifndef SP_LOADER_UNWIND_SHARE_H
#define SP_LOADER_UNWIND_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum sp_unwind_shared {
	SP_UNWIND_SHARED_FILES,
	SP_UNWIND_SHARED_ROWS,
	SP_UNWIND_SHARED_RULES,
	SP_UNWIND_SHARED_KINDS,
};

struct sp_unwind_shares;

struct sp_unwind_share {
	struct sp_unwind_share *next; /* in its bucket */
	struct sp_unwind_shares *all;
	uid_t uid;
	uint64_t held[SP_UNWIND_SHARED_KINDS];
	bool said; /* the user was told of once, for the caller */
};

#define SP_UNWIND_SHARE_BUCKETS 256

struct sp_unwind_shares {
	uint64_t room[SP_UNWIND_SHARED_KINDS];
	uint64_t held[SP_UNWIND_SHARED_KINDS]; /* by all but root */
	struct sp_unwind_share *buckets[SP_UNWIND_SHARE_BUCKETS];
};

/* The share of a user; it lives as long as @shares. NULL: no memory. */
struct sp_unwind_share *sp_unwind_share_of(struct sp_unwind_shares *shares, uid_t uid);
/* @n more of a kind. -EDQUOT: that would be more than its share. */
int sp_unwind_share_take(struct sp_unwind_share *share, enum sp_unwind_shared kind, uint64_t n);
void sp_unwind_share_give(struct sp_unwind_share *share, enum sp_unwind_shared kind, uint64_t n);
void sp_unwind_shares_clear(struct sp_unwind_shares *shares);

#endif
