/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine.c - see confine.h.
 */
#include "userspace/base/confine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define ENOUGH_MEMORY ((rlim_t)4 << 30)

void sp_confine_child(pid_t parent, unsigned children)
{
	struct rlimit limit = {0, 0};
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &limit);
#ifndef __SANITIZE_ADDRESS__
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
	}
	if (pages > 0 && page > 0) {
		rlim_t all = (rlim_t)pages / 4 * 3 * (rlim_t)page;
		rlim_t part = all / (children ? children : 1);

		if (part < ENOUGH_MEMORY)
			part = all < ENOUGH_MEMORY ? all : ENOUGH_MEMORY;
		limit.rlim_cur = limit.rlim_max = part;
		setrlimit(RLIMIT_DATA, &limit);
	}
#else
	(void)pages;
	(void)page;
	(void)children;
#endif
	unsetenv("DEBUGINFOD_URLS");
}
