/* SPDX-License-Identifier: BSD-2-Clause
 *
 * kernel_faults.c - put before libc with LD_PRELOAD, stands between sp-trace and the kernel, and
 * answers as another kernel would. SP_FAULT says how:
 *
 *   refuse  a probe on a 5-byte nop is refused: EINVAL
 *   silent  it is accepted and never fires: it goes to a place behind the stub's `ret`
 *
 * Whatever SP_FAULT says, each such request is told on SP_FAULT_LOG's file, so that a test knows
 * that it was asked for. Both ways of attaching are known: uprobe_multi links and perf events.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINK_CREATE 28 /* as in linux/bpf.h */
#define UPROBE_MULTI 48
#define MOST 64
#define BEHIND 6 /* from the 5-byte nop past the `ret` behind it */

struct multi {
	uint32_t prog, target, type, flags;
	uint64_t path, offsets, semaphores, cookies;
	uint32_t count, multi_flags, pid, reserved;
};

static long call(long number, long a, long b, long c, long d, long e, long f)
{
	static long (*next)(long, ...);

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, a, b, c, d, e, f);
}

static int is_5_byte_nop(const char *path, uint64_t offset)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0, 0};
	uint8_t bytes[sizeof(nop)];
	int fd = open(path, O_RDONLY | O_CLOEXEC), is;

	if (fd < 0)
		return 0;
	is = pread(fd, bytes, sizeof(bytes), (off_t)offset) == sizeof(bytes) &&
	     !memcmp(bytes, nop, sizeof(nop));
	close(fd);
	return is;
}

/* Where a probe goes; -1: it is refused. */
static int64_t place(const char *path, uint64_t offset)
{
	const char *fault = getenv("SP_FAULT"), *log = getenv("SP_FAULT_LOG");
	FILE *f;

	if (!is_5_byte_nop(path, offset))
		return (int64_t)offset;
	f = log ? fopen(log, "a") : NULL;
	if (f) {
		fprintf(f, "%s %llu\n", fault ? fault : "-", (unsigned long long)offset);
		fclose(f);
	}
	if (fault && !strcmp(fault, "refuse"))
		return -1;
	return (int64_t)offset + (fault && !strcmp(fault, "silent") ? BEHIND : 0);
}

static long attach_multi(struct multi attr, long size)
{
	const uint64_t *from = (const uint64_t *)(uintptr_t)attr.offsets;
	uint64_t offsets[MOST];

	for (uint32_t i = 0; i < attr.count && i < MOST; i++) {
		int64_t at = place((const char *)(uintptr_t)attr.path, from[i]);

		if (at < 0) {
			errno = EINVAL;
			return -1;
		}
		offsets[i] = (uint64_t)at;
	}
	if (attr.count <= MOST)
		attr.offsets = (uintptr_t)offsets;
	return call(SYS_bpf, LINK_CREATE, (long)&attr, size, 0, 0, 0);
}

static uint32_t uprobe_type(void)
{
	FILE *f = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	unsigned type = 0;

	if (f) {
		if (fscanf(f, "%u", &type) != 1)
			type = 0;
		fclose(f);
	}
	return type;
}

static long attach_event(const struct perf_event_attr *wanted, long b, long c, long d, long e)
{
	struct perf_event_attr attr;
	int64_t at;

	memset(&attr, 0, sizeof(attr));
	memcpy(&attr, wanted, wanted->size < sizeof(attr) ? wanted->size : sizeof(attr));
	at = place((const char *)(uintptr_t)attr.config1, attr.config2);
	if (at < 0) {
		errno = EINVAL;
		return -1;
	}
	attr.config2 = (uint64_t)at;
	return call(SYS_perf_event_open, (long)&attr, b, c, d, e, 0);
}

long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_bpf && a[0] == LINK_CREATE && a[2] >= (long)sizeof(struct multi) &&
	    ((const struct multi *)a[1])->type == UPROBE_MULTI)
		return attach_multi(*(const struct multi *)a[1], a[2]);
	if (number == SYS_perf_event_open) {
		const struct perf_event_attr *attr = (const struct perf_event_attr *)a[0];

		if (attr->type == uprobe_type() && attr->type)
			return attach_event(attr, a[1], a[2], a[3], a[4]);
	}
	return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
