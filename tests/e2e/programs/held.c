/* SPDX-License-Identifier: BSD-2-Clause
 *
 * held.c - the given number of threads, all of which wait in a region for ever: for what ends them all.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "usdt/sp_region.h"

static pthread_barrier_t all;

static void *hold(void *arg)
{
	SP_REGION_BEGIN("held");
	pthread_barrier_wait(&all);
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t thread;

	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, hold, NULL) != 0)
			return 1;
	pthread_barrier_wait(&all);
	puts("held");
	fflush(stdout);
	for (;;)
		pause();
}
