/* SPDX-License-Identifier: BSD-2-Clause
 *
 * hostile.c - processes in odd states, and programs that lie to the probes. The first argument says
 * what is played; hostile.py knows what comes of each.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "usdt/sp_region.h"

static void pass_time(void)
{
	for (int i = 0; i < 40; i++) {
		SP_REGION_BEGIN("waiting");
		usleep(100000);
		SP_REGION_END("waiting");
	}
}

/* With a child that has ended and is never waited for. */
static int play_zombie(void)
{
	if (fork() == 0)
		_exit(0);
	pass_time();
	return 0;
}

static void *go_on(void *arg)
{
	pass_time();
	exit(0);
	return arg;
}

/* The first thread ends, the second goes on. */
static int play_leaderless(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, go_on, NULL);
	pthread_exit(NULL);
}

static int play_many(void)
{
	for (int i = 0; i < 100000; i++) {
		SP_REGION_BEGIN("many");
		SP_REGION_END("many");
	}
	return 0;
}

static const struct {
	const char *name;
	int (*play)(void);
} plays[] = {
	{"many", play_many},
	{"zombie", play_zombie},
	{"leaderless", play_leaderless},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(plays) / sizeof(plays[0]); i++)
		if (!strcmp(argv[1], plays[i].name))
			return plays[i].play();
	return 2;
}
