/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine.c - see confine.h.
 */
#include "userspace/base/confine.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENOUGH_MEMORY ((rlim_t)4 << 30)

/* Neither the ids nor the capabilities can be had back. */
static bool become(const struct sp_user *user)
{
	uid_t uid = user->known ? user->uid : SP_USER_NOBODY;
	gid_t gid = user->known ? user->gid : SP_USER_NOBODY;
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct left[2] = {{0}, {0}};
	uint32_t keep = uid == 0 ? 1u << CAP_DAC_READ_SEARCH : 0;

	if (geteuid() != 0)
		return true;
	if (uid != 0 &&
	    (syscall(SYS_setgroups, user->known ? user->group_count : 0, user->groups) < 0 ||
	     syscall(SYS_setresgid, gid, gid, gid) < 0 ||
	     syscall(SYS_setresuid, uid, uid, uid) < 0))
		return false;
	if (syscall(SYS_capget, &head, left) < 0)
		return false;
	keep &= left[0].permitted;
	left[0] = (struct __user_cap_data_struct){.effective = keep, .permitted = keep};
	left[1] = (struct __user_cap_data_struct){0};
	return syscall(SYS_capset, &head, left) == 0;
}

void sp_confine_mute(void)
{
#ifndef __SANITIZE_ADDRESS__
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
#endif
}

void sp_confine_child(pid_t parent, unsigned children, const struct sp_user *user)
{
	struct rlimit limit = {0, 0};
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	setrlimit(RLIMIT_CORE, &limit);
	sp_confine_mute();
#ifndef __SANITIZE_ADDRESS__
	if (pages > 0 && page > 0) {
		rlim_t all = (rlim_t)pages / 4 * 3 * (rlim_t)page;
		rlim_t part = all / (children ? children : 1);

		if (part < ENOUGH_MEMORY)
			part = all < ENOUGH_MEMORY ? all : ENOUGH_MEMORY;
		/* What was set before may be less. */
		if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur < part)
			part = limit.rlim_cur;
		limit.rlim_cur = limit.rlim_max = part;
		setrlimit(RLIMIT_DATA, &limit);
	}
#else
	(void)pages;
	(void)page;
	(void)children;
#endif
	unsetenv("DEBUGINFOD_URLS");
	if (!become(user))
		_exit(1);
	/* Not before: it is forgotten with the ids. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
#ifndef __SANITIZE_ADDRESS__
	(void)sp_confine_calls();
#endif
}
