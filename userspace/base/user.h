/* SPDX-License-Identifier: BSD-2-Clause
 *
 * user.h - root reads on behalf of a user no more than that user could read himself.
 */
#ifndef SP_BASE_USER_H
#define SP_BASE_USER_H

#include <stdbool.h>
#include <sys/types.h>

#define SP_USER_NOBODY 65534u
#define SP_USER_GROUPS 64 /* as many as are made use of */

struct sp_user {
	uid_t uid;
	gid_t gid;
	bool known; /* else it is nobody */
	unsigned group_count;
	gid_t groups[SP_USER_GROUPS]; /* besides @gid */
};

/* Of a known user: the groups that the machine's accounts give him. May ask a server. */
void sp_user_find_groups(struct sp_user *user);

struct sp_user_before {
	bool changed;
	int group_count;
	gid_t groups[256];
};

/* For root: between the two the calling thread reaches files as the user does, in his groups and
 * no others; other threads are left alone. Does nothing for anybody else, nor where the user
 * is root. -errno: the rights are as before, and nothing is to be read. */
int sp_user_enter(const struct sp_user *user, struct sp_user_before *ret_before);
/* Ends the process if the rights cannot be had back. */
void sp_user_leave(const struct sp_user_before *before);

#endif
