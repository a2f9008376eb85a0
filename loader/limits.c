/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/limits.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>

#include "userspace/base/log.h"

#define MOST_FILES 65536
#define STACK (8u << 20)       /* as is usual */
#define STACK_LEAST (1u << 20) /* that may be left as it is */
#define STACK_NEEDED (256u << 10)

/* Rings and perf events take some four descriptors a CPU, and the usual limit is 1024. A limit
 * beyond fs.nr_open is refused, and one beyond the hard limit to who is not quite root. */
static void raise_files(const struct rlimit *before)
{
	for (rlim_t n = MOST_FILES; n > before->rlim_cur; n /= 2) {
		struct rlimit more = {n, n > before->rlim_max ? n : before->rlim_max};

		if (setrlimit(RLIMIT_NOFILE, &more) == 0)
			return;
	}
}

/* It grows into the new limit. Threads have stacks of their own, as large as the limit was when we
 * were started. */
static int raise_stack(const struct rlimit *before)
{
	rlim_t most = before->rlim_max > STACK ? before->rlim_max : STACK;
	struct rlimit now, more = {STACK, most}, allowed = {before->rlim_max, before->rlim_max};
	pthread_attr_t threads;

	if (before->rlim_cur >= STACK_LEAST)
		return 0;
	if (setrlimit(RLIMIT_STACK, &more))
		(void)setrlimit(RLIMIT_STACK, &allowed);
	if (getrlimit(RLIMIT_STACK, &now) == 0 && now.rlim_cur < STACK_NEEDED) {
		sp_log_error("the stack may have only %llu KiB",
			     (unsigned long long)now.rlim_cur >> 10);
		sp_log_hint("raise its limit: ulimit -s 8192");
		return -ENOMEM;
	}
	if (pthread_attr_init(&threads) == 0) {
		if (pthread_attr_setstacksize(&threads, STACK_LEAST) == 0)
			(void)pthread_setattr_default_np(&threads);
		pthread_attr_destroy(&threads);
	}
	return 0;
}

int sp_limits_raise(const struct sp_command_given *given)
{
	raise_files(&given->files);
	return raise_stack(&given->stack);
}
