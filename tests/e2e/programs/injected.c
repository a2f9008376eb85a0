/* SPDX-License-Identifier: BSD-2-Clause
 *
 * injected.c - a library to be preloaded into the recorder, and into nothing that it starts, which
 * makes the kernel look worse than it is:
 *
 *	INJECT_BPF=COMMAND:N:ERRNO	the Nth bpf(2) call of that command fails (COMMAND -1: of all)
 *	INJECT_BPF_LOG=FILE		each bpf(2) call's command is appended to FILE, a line each
 *	INJECT_HOUR=FILE		CLOCK_REALTIME is an hour ahead while FILE exists
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int command = -2, nth, error, seen, log_fd = -1;
static const char *hour;

static __attribute__((constructor)) void begin(void)
{
	const char *bpf = getenv("INJECT_BPF"), *log = getenv("INJECT_BPF_LOG");

	if (bpf && sscanf(bpf, "%d:%d:%d", &command, &nth, &error) != 3)
		_exit(99);
	if (log)
		log_fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	hour = getenv("INJECT_HOUR");
	unsetenv("LD_PRELOAD");
}

long syscall(long number, ...)
{
	static long (*next)(long, ...);
	long a[6];
	va_list ap;

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf) {
		if (log_fd >= 0)
			dprintf(log_fd, "%ld\n", a[0]);
		if ((a[0] == command || command == -1) && ++seen == nth) {
			errno = error;
			return -1;
		}
	}
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static int (*next)(clockid_t, struct timespec *);
	int r;

	if (!next)
		next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	r = next(clock, t);
	if (r == 0 && clock == CLOCK_REALTIME && hour && access(hour, F_OK) == 0)
		t->tv_sec += 3600;
	return r;
}
