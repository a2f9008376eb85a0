/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive_judge.c - see archive_judge.h.
 */
#include "loader/archive_judge.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int sp_archive_may_read(int fd)
{
#ifdef SYS_faccessat2
	if (syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH | AT_EACCESS) == 0)
		return 0;
	return -errno;
#else
	(void)fd;
	return -ENOSYS;
#endif
}

/* Whether the user comes to the file by its path. */
static bool can_reach(const struct sp_user *user, int fd, const char *path)
{
	struct sp_user_before before;
	struct stat of, at;
	bool same;

	if (fstat(fd, &of) < 0 || sp_user_enter(user, &before) < 0)
		return false;
	same = stat(path, &at) == 0 && at.st_dev == of.st_dev && at.st_ino == of.st_ino;
	sp_user_leave(&before);
	return same;
}

int sp_archive_judge(const struct sp_identity *me, int fd, const char *path,
		     const struct sp_user *user, bool *ret_private)
{
	struct sp_user self = {.uid = me->uid, .gid = me->gid, .known = true};
	const struct sp_user nobody = {0};
	struct sp_user_before before;
	struct stat status;
	int r;

	if (geteuid() != 0 || !user) /* we may do no more than he may */
		return 0;
	self.group_count =
		me->group_count < SP_USER_GROUPS ? (unsigned)me->group_count : SP_USER_GROUPS;
	for (unsigned i = 0; i < self.group_count; i++)
		self.groups[i] = me->groups[i];
	r = sp_user_enter(user, &before);
	if (r < 0)
		return r;
	r = sp_archive_may_read(fd);
	sp_user_leave(&before);
	if (r < 0)
		return r;
	if (user->known && user->uid == me->uid)
		return 0;
	/* What a container has of root's lies where no user goes, and is no secret. */
	if (fstat(fd, &status) < 0 || (!user->known && status.st_uid == 0))
		return 0;
	*ret_private = !can_reach(me->uid == 0 ? &nobody : &self, fd, path);
	return *ret_private && me->uid != 0 ? -EPERM : 0;
}
