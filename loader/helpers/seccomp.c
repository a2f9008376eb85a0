/* SPDX-License-Identifier: BSD-2-Clause
 *
 * seccomp.c - the system calls that reading files and writing to a pipe take, and no others.
 *
 * Invariant: no rule lets a path, a process or a socket be named.
 */
#include "loader/helpers/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

static const int free_calls[] = {
	SCMP_SYS(read),		 SCMP_SYS(pread64),
	SCMP_SYS(lseek),	 SCMP_SYS(fstat),
	SCMP_SYS(brk),		 SCMP_SYS(munmap),
	SCMP_SYS(mremap),	 SCMP_SYS(madvise),
	SCMP_SYS(exit),		 SCMP_SYS(exit_group),
	SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(futex),
};

static int add_rules(scmp_filter_ctx filter)
{
	int r = 0;

	for (size_t i = 0; i < sizeof(free_calls) / sizeof(free_calls[0]) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, free_calls[i], 0);
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
				     SCMP_A0(SCMP_CMP_LE, 2));
	/* libelf asks whether the descriptor is one. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				     SCMP_A1(SCMP_CMP_EQ, F_GETFD));
	/* What glibc makes of fstat(). */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				     SCMP_A3(SCMP_CMP_EQ, AT_EMPTY_PATH));
	/* Memory: of no file, never executable. */
	if (r == 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
				     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
	return r;
}

int sp_seccomp_lock(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int r;

	if (!filter)
		return -ENOMEM;
	/* Nobody of the same user id may trace us from here on. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}
