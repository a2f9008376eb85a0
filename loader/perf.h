/* SPDX-License-Identifier: BSD-2-Clause
 *
 * perf.h - opening a perf event.
 */
#ifndef SP_LOADER_PERF_H
#define SP_LOADER_PERF_H

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* A descriptor, closed at exec, or -errno. */
static inline int sp_perf_open(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	long fd = syscall(__NR_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

#endif
