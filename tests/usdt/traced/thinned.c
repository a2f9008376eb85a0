/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls regions of several kinds from two threads while a test thins them from outside. Waits for
 * the tracer, runs phase after phase as it reads lines from its input, a number of calls in each,
 * and answers each with a line. Prints `calls THREAD NAME COUNT` when the input ends.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "usdt/sp_region.h"

static pthread_barrier_t start, end;
static unsigned long calls, total;
static int done;

static void end_hot(void)
{
	SP_REGION_END("hot");
}

static void *work(void *unused)
{
	sp_region_t handle = sp_region_intern("handle");
	unsigned long i;

	(void)unused;
	for (;;) {
		pthread_barrier_wait(&start);
		if (done)
			break;
		for (i = 0; i < calls; i++) {
			SP_REGION_SCOPE("scope");
			SP_REGION_BEGIN("hot");
			SP_REGION_BEGIN("cool");
			SP_REGION_END("cool");
			sp_region_begin(handle);
			sp_region_end(handle);
			end_hot();
		}
		pthread_barrier_wait(&end);
	}
	flockfile(stdout);
	printf("calls %ld scope %lu\n", syscall(SYS_gettid), total);
	printf("calls %ld hot %lu\n", syscall(SYS_gettid), total);
	printf("calls %ld cool %lu\n", syscall(SYS_gettid), total);
	printf("calls %ld handle %lu\n", syscall(SYS_gettid), total);
	funlockfile(stdout);
	return NULL;
}

int main(void)
{
	struct timespec pause = {0, 10000000};
	pthread_t thread[2];
	char line[64];
	unsigned i;

	(void)sp_region_intern("handle");
	for (i = 0; i < 10000 && !(sp_begin_sema_v1 && sp_end_sema_v1); i++)
		nanosleep(&pause, NULL);
	if (i == 10000)
		return 4;
	puts("traced");
	fflush(stdout);
	pthread_barrier_init(&start, NULL, 3);
	pthread_barrier_init(&end, NULL, 3);
	for (i = 0; i < 2; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 1;
	while (fgets(line, sizeof(line), stdin)) {
		calls = strtoul(line, NULL, 10);
		total += calls;
		pthread_barrier_wait(&start);
		pthread_barrier_wait(&end);
		puts("phase");
		fflush(stdout);
	}
	done = 1;
	pthread_barrier_wait(&start);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
