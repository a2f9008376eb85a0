/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine_calls.c - the system calls that reading files takes, and sending answers to the parent.
 *
 * Invariant: no rule lets a file be made or changed, a program or a socket be begun, memory become
 * executable (but under valgrind), or another process be touched. Other calls fail, so that a
 * library that asks for more than it needs goes on without.
 */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/confine.h"

static const int free_calls[] = {
	SCMP_SYS(read),		  SCMP_SYS(pread64),
	SCMP_SYS(readv),	  SCMP_SYS(write),
	SCMP_SYS(writev),	  SCMP_SYS(lseek),
	SCMP_SYS(close),	  SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),	  SCMP_SYS(stat),
	SCMP_SYS(lstat),	  SCMP_SYS(statx),
	SCMP_SYS(access),	  SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),	  SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),	  SCMP_SYS(getcwd),
	SCMP_SYS(getdents64),	  SCMP_SYS(fcntl),
	SCMP_SYS(fadvise64),	  SCMP_SYS(brk),
	SCMP_SYS(munmap),	  SCMP_SYS(mremap),
	SCMP_SYS(madvise),	  SCMP_SYS(memfd_create),
	SCMP_SYS(poll),		  SCMP_SYS(ppoll),
	SCMP_SYS(recvfrom),	  SCMP_SYS(exit),
	SCMP_SYS(exit_group),	  SCMP_SYS(futex),
	SCMP_SYS(rt_sigreturn),	  SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask), SCMP_SYS(restart_syscall),
	SCMP_SYS(clock_gettime),  SCMP_SYS(getrandom),
	SCMP_SYS(sysinfo),	  SCMP_SYS(getpid),
	SCMP_SYS(gettid),	  SCMP_SYS(sched_yield),
	SCMP_SYS(uname),	  SCMP_SYS(sched_getaffinity),
};

static int allow(scmp_filter_ctx filter, int call, unsigned n, const struct scmp_arg_cmp *tests)
{
	int r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, n, tests);

	return r == -EDOM || r == -EINVAL ? 0 : r; /* this machine has no such call */
}

/* It turns all code into code of its own, for which it needs memory that can be executed. Whoever
 * sets the variable for this process can have it load what he likes anyway. */
static bool is_under_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "/vgpreload_");
}

static int add_rules(scmp_filter_ctx filter)
{
	const scmp_datum_t writing = O_ACCMODE | O_CREAT | O_TRUNC;
	const struct scmp_arg_cmp reads = SCMP_A1(SCMP_CMP_MASKED_EQ, writing, O_RDONLY);
	const struct scmp_arg_cmp reads_at = SCMP_A2(SCMP_CMP_MASKED_EQ, writing, O_RDONLY);
	const scmp_datum_t forbidden = is_under_valgrind() ? 0 : PROT_EXEC;
	const struct scmp_arg_cmp no_code = SCMP_A2(SCMP_CMP_MASKED_EQ, forbidden, 0);
	const struct scmp_arg_cmp self = SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()); /* abort() */
	const struct scmp_arg_cmp own = SCMP_A0(SCMP_CMP_EQ, 0);		       /* limits */
	const struct scmp_arg_cmp connected = SCMP_A4(SCMP_CMP_EQ, 0);
	int r = 0;

	for (size_t i = 0; i < sp_array_size(free_calls) && r == 0; i++)
		r = allow(filter, free_calls[i], 0, NULL);
	if (r == 0)
		r = allow(filter, SCMP_SYS(open), 1, &reads);
	if (r == 0)
		r = allow(filter, SCMP_SYS(openat), 1, &reads_at);
	if (r == 0)
		r = allow(filter, SCMP_SYS(mmap), 1, &no_code);
	if (r == 0)
		r = allow(filter, SCMP_SYS(mprotect), 1, &no_code);
	if (r == 0)
		r = allow(filter, SCMP_SYS(tgkill), 1, &self);
	if (r == 0)
		r = allow(filter, SCMP_SYS(prlimit64), 1, &own);
	if (r == 0)
		r = allow(filter, SCMP_SYS(sendto), 1, &connected);
	return r;
}

int sp_confine_calls(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r;

	if (!filter)
		return -ENOMEM;
	r = add_rules(filter);
	if (r == 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r;
}
