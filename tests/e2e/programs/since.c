/* SPDX-License-Identifier: BSD-2-Clause
 *
 * since.c - is in regions of its own and of a library before a recorder attaches, and says when it saw
 * their probes off for the last time; then it opens libraries whose probes are armed while it is in
 * their regions.
 *
 *	since LIBRARY LATE LATER	copies of libsincelib.so
 *
 * Writes "ready", waits for a line, and writes in ns of CLOCK_MONOTONIC: when the probes were last
 * seen off, the time before a fork, and that after it in the child.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "usdt/sp_region.h"

struct library {
	void (*begin)(void), (*end)(void), (*scope)(void);
	int (*is_armed)(void);
};

static unsigned long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static struct library load(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct library l;

	if (!handle) {
		fprintf(stderr, "since: %s\n", dlerror());
		exit(9);
	}
	l.begin = (void (*)(void))dlsym(handle, "since_begin");
	l.end = (void (*)(void))dlsym(handle, "since_end");
	l.scope = (void (*)(void))dlsym(handle, "since_scope");
	l.is_armed = (int (*)(void))dlsym(handle, "since_is_armed");
	return l;
}

int main(int argc, char **argv)
{
	unsigned long long time, off, before, *child;
	struct library library, late, later;
	pid_t pid;

	if (argc != 4)
		return 9;
	child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	library = load(argv[1]);
	SP_REGION_BEGIN("program");
	library.begin();
	puts("ready");
	fflush(stdout);
	for (time = off = now(); !SP_REGION_ENABLED() || !library.is_armed(); time = now())
		off = time;
	if (getchar() == EOF)
		return 9;
	library.end();
	before = now();
	pid = fork();
	if (pid == 0) {
		*child = now();
		SP_REGION_END("program");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	SP_REGION_END("program");

	late = load(argv[2]);
	late.begin();
	while (!late.is_armed())
		usleep(1000);
	late.end();
	SP_REGION_BEGIN("around");
	later = load(argv[3]);
	later.scope();
	SP_REGION_END("around");
	printf("%llu %llu %llu\n", off, before, *child);
	return 0;
}
