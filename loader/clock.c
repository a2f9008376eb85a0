/* SPDX-License-Identifier: BSD-2-Clause
 *
 * clock.c - a time namespace adds an offset to two clocks, for system calls alone; BPF programs and
 * perf see them without.
 */
#include "loader/clock.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static struct offset {
	const char *name;
	int64_t ns;
} offsets[] = {{"monotonic", 0}, {"boottime", 0}};

/* The file tells of the namespace that children get, which after an exec is our own. Kernels
 * without such namespaces have no file. */
static void read_offsets(void)
{
	struct stat own, children;
	long long seconds, ns;
	char name[32];
	FILE *f;

	if (stat("/proc/self/ns/time", &own) ||
	    stat("/proc/self/ns/time_for_children", &children) || own.st_ino != children.st_ino)
		return;
	f = fopen("/proc/self/timens_offsets", "re");
	if (!f)
		return;
	while (fscanf(f, "%31s %lld %lld", name, &seconds, &ns) == 3)
		for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
			if (!strcmp(name, offsets[i].name))
				offsets[i].ns = seconds * 1000000000 + ns;
	fclose(f);
}

int64_t sp_clock(clockid_t clock)
{
	static bool known;
	struct timespec t;
	int64_t ns;

	if (!known)
		read_offsets();
	known = true;
	clock_gettime(clock, &t);
	ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	if (clock == CLOCK_MONOTONIC)
		ns -= offsets[0].ns;
	else if (clock == CLOCK_BOOTTIME)
		ns -= offsets[1].ns;
	return ns;
}

uint64_t sp_now(void)
{
	return (uint64_t)sp_clock(CLOCK_MONOTONIC);
}
