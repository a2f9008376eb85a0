/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page by which a process knows that it is no forked child: none before the first traced
 * region, one after, whatever the number of threads that come to it at once, and empty in a child.
 * In valgrind there is none, and nothing fires. Counts the pages that the kernel empties at a fork
 * ("wf" in smaps). With -DLARGE the program has more zeros than 32 bits can reach over.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "usdt/sp_region.h"

#define THREADS 16

#ifdef LARGE
static char before[3000000000u];
char after[1500000000u];
#endif

static pthread_barrier_t barrier;

static void check(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "not true: %s\n", what);
		exit(1);
	}
}

static unsigned wiped_mappings(void)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	unsigned found = 0;

	check(file != NULL, "/proc/self/smaps can be read");
	while (fgets(line, sizeof(line), file))
		found += !strncmp(line, "VmFlags:", 8) && strstr(line, " wf");
	fclose(file);
	return found;
}

static unsigned region(unsigned x)
{
	SP_REGION_FUNCTION();
	SP_REGION_BEGIN("inner");
	x = x * 3 + 1;
	SP_REGION_END("inner");
	return x;
}

static void *enter(void *unused)
{
	unsigned i, x = 1;

	pthread_barrier_wait(&barrier);
	errno = 77;
	for (i = 0; i < 1000; i++)
		x = region(x);
	check(errno == 77, "errno is the program's");
	return x ? unused : NULL;
}

/* @argv: a word if it is run in valgrind. */
int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	unsigned i, before_all = wiped_mappings();
	int status;
	pid_t pid;

	(void)argv;

#ifdef LARGE
	before[2999999999u] = after[1499999999u] = 1;
#endif
	region(1);
	check(!sp_home_v1[0] && wiped_mappings() == before_all, "nothing is mapped while untraced");
	sp_begin_sema_v1 = sp_end_sema_v1 = 1;
	check(SP_REGION_ENABLED() && !sp_home_v1[0], "to ask is not to enter");
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (i = 0; i < THREADS; i++)
		check(!pthread_create(&threads[i], NULL, enter, NULL), "thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (argc > 1) {
		check(wiped_mappings() == before_all && sp_home_v1[0] == (const char *)sp_home_v1,
		      "nothing fires in valgrind");
		return 0;
	}
	check(wiped_mappings() == before_all + 1, "one mapping for all threads");
	check(sp_home_v1[0] && *sp_home_v1[0] == 1 && !sp_home_v1[1], "the page says 1");
	pid = fork();
	if (pid == 0) {
		check(*sp_home_v1[0] == 0, "the page is empty in a child");
		region(1);
		check(*sp_home_v1[0] == 0 && wiped_mappings() == before_all + 1, "and stays so");
		_exit(0);
	}
	check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "the child ends well");
	return 0;
}
