/* SPDX-License-Identifier: BSD-2-Clause
 *
 * user.c - see user.h.
 *
 * The ids by which files are reached are a thread's own to the kernel; libc's setgroups() would
 * change all threads, so it is passed by.
 */
#include "userspace/base/user.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

static int set_groups(int count, const gid_t *groups)
{
	return syscall(SYS_setgroups, count, groups) < 0 ? -errno : 0;
}

/* They say nothing about success but in the next call's answer. */
static bool set_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	return (gid_t)setfsgid((gid_t)-1) == gid && (uid_t)setfsuid((uid_t)-1) == uid;
}

void sp_user_find_groups(struct sp_user *user)
{
	const struct passwd *account = user->known ? getpwuid(user->uid) : NULL;
	int count = SP_USER_GROUPS;

	user->group_count = 0;
	if (!account)
		return;
	/* Of too many it gives the first, and counts them all. */
	(void)getgrouplist(account->pw_name, user->gid, user->groups, &count);
	user->group_count = count < SP_USER_GROUPS ? (unsigned)count : SP_USER_GROUPS;
}

int sp_user_enter(const struct sp_user *user, struct sp_user_before *ret_before)
{
	uid_t uid = user->known ? user->uid : SP_USER_NOBODY;
	gid_t gid = user->known ? user->gid : SP_USER_NOBODY;
	int r;

	ret_before->changed = false;
	if (geteuid() != 0 || uid == 0)
		return 0;
	ret_before->group_count = getgroups(256, ret_before->groups);
	if (ret_before->group_count < 0)
		return -errno;
	r = set_groups(user->known ? (int)user->group_count : 0, user->groups);
	if (r < 0)
		return r;
	ret_before->changed = true;
	if (set_ids(uid, gid))
		return 0;
	sp_user_leave(ret_before);
	ret_before->changed = false;
	return -EPERM;
}

void sp_user_leave(const struct sp_user_before *before)
{
	if (!before->changed)
		return;
	/* Half an identity is worse than none. */
	if (!set_ids(geteuid(), getegid()) || set_groups(before->group_count, before->groups) < 0)
		abort();
}
