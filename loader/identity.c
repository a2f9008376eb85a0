/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/identity.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/base/units.h"

static bool id_from_environment(const char *name, unsigned *ret_id)
{
	const char *text = getenv(name);
	uint64_t id;

	if (!text || sp_parse_count(text, 0, UINT32_MAX - 1, &id) < 0)
		return false;
	*ret_id = (unsigned)id;
	return true;
}

static int find_groups(struct sp_identity *me)
{
	int count = 0;

	if (!me->changed) {
		count = getgroups(0, NULL);
		me->groups = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof(gid_t));
		if (!me->groups)
			return -ENOMEM;
		count = count > 0 ? getgroups(count, me->groups) : 0;
	} else if (me->name) {
		(void)getgrouplist(me->name, me->gid, NULL, &count);
		me->groups = calloc((size_t)count + 1, sizeof(gid_t));
		if (!me->groups)
			return -ENOMEM;
		if (getgrouplist(me->name, me->gid, me->groups, &count) < 0)
			count = 0;
	}
	me->group_count = count > 0 ? (size_t)count : 0;
	return 0;
}

int sp_identity_find(bool as_root, struct sp_identity *ret_identity)
{
	struct sp_identity me = {.uid = getuid(), .gid = getgid()};
	unsigned uid, gid;
	struct passwd *pw;
	int r;

	if (geteuid() == 0 && !as_root && id_from_environment("SUDO_UID", &uid) &&
	    id_from_environment("SUDO_GID", &gid)) {
		me.uid = uid;
		me.gid = gid;
	}
	me.changed = me.uid != geteuid();
	pw = getpwuid(me.uid);
	if (pw) {
		me.name = strdup(pw->pw_name);
		me.home = strdup(pw->pw_dir);
		me.shell = strdup(pw->pw_shell);
	}
	r = find_groups(&me);
	if (r < 0) {
		sp_identity_clear(&me);
		return r;
	}
	*ret_identity = me;
	return 0;
}

void sp_identity_clear(struct sp_identity *me)
{
	free(me->groups);
	free(me->name);
	free(me->home);
	free(me->shell);
	memset(me, 0, sizeof(*me));
}

int sp_identity_become(const struct sp_identity *me)
{
	if (!me->changed)
		return 0;
	if (setgroups(me->group_count, me->groups) || setresgid(me->gid, me->gid, me->gid) ||
	    setresuid(me->uid, me->uid, me->uid))
		return -errno;
	if (me->home)
		setenv("HOME", me->home, 1);
	if (me->shell)
		setenv("SHELL", me->shell, 1);
	if (me->name) {
		setenv("USER", me->name, 1);
		setenv("LOGNAME", me->name, 1);
	}
	return 0;
}

static int saved_group_count;
static gid_t saved_groups[256];

/* Libc's calls change all threads, and another one may be starting a helper as root just then
 * (unwind_worker.h). The kernel's change the calling one. */
static int set_groups(size_t count, const gid_t *groups)
{
	return (int)syscall(SYS_setgroups, count, groups);
}

static int set_gid(gid_t gid)
{
	return (int)syscall(SYS_setresgid, -1, gid, -1);
}

static int set_uid(uid_t uid)
{
	return (int)syscall(SYS_setresuid, -1, uid, -1);
}

int sp_identity_enter(const struct sp_identity *me)
{
	if (!me->changed)
		return 0;
	saved_group_count = getgroups(256, saved_groups);
	if (set_groups(me->group_count, me->groups) || set_gid(me->gid) || set_uid(me->uid)) {
		int r = -errno;

		sp_identity_leave(me);
		return r;
	}
	return 0;
}

void sp_identity_leave(const struct sp_identity *me)
{
	if (!me->changed)
		return;
	/* Running on with half an identity would be worse than not running on. */
	if (set_uid(0) || set_gid(0) ||
	    (saved_group_count >= 0 && set_groups((size_t)saved_group_count, saved_groups)))
		abort();
}
