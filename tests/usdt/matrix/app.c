/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The main file of the matrix program. Arguments: a number: repeat everything so often; "raise":
 * lift the semaphores from inside, so that gates and stubs run without a tracer; "traced": wait
 * until a tracer has lifted all of them, and in the end until all are down. Prints a line `call
 * COUNT NAME` for each region, and a checksum that no tracing may change.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* nanosleep */
#endif
#include <stdio.h>
#include <time.h>

#include "unit.h"

static struct {
	const char *name;
	unsigned long calls;
} table[64];

void count_call(const char *name)
{
	unsigned i;

	for (i = 0; table[i].name && strcmp(table[i].name, name); i++)
		;
	table[i].name = name;
	table[i].calls++;
}

static unsigned recurse(unsigned depth)
{
	SP_REGION_FUNCTION();
	count_call("recurse");
	return depth ? recurse(depth - 1) * 2 + 1 : 1;
}

static unsigned leave_early(unsigned x)
{
	unsigned i;

	for (i = 0; i < 8; i++) {
		SP_REGION_SCOPE_TAGGED("early", "mpi,halo");
		count_call("early");
		if (i == 2)
			continue;
		if (i == 3 + (x & 1))
			break;
		if (i == x)
			return x;
	}
	return i;
}

static unsigned run(unsigned x)
{
	SP_REGION_BEGIN(ODD_NAME);
	count_call(ODD_NAME);
	x = static_inline(x) + extern_inline(x) + recurse(3) + leave_early(x);
	SP_REGION_END(ODD_NAME);
	if (x & 1)
		SP_REGION_BEGIN("ends elsewhere");
	else
		SP_REGION_BEGIN("ends elsewhere");
	count_call("ends elsewhere");
	part_end_elsewhere();
	return x;
}

/* The semaphores that are up in all link units, of how many. */
static unsigned semaphores(int raise, unsigned *ret_all)
{
	unsigned up = part_semaphores(raise);

	*ret_all = 2;
#ifdef WITH_LIBRARIES
	up += one_semaphores(raise) + two_semaphores(raise);
	*ret_all += 4;
#endif
	return up;
}

/* Waits until all semaphores are up, or none is; for longer than traced.py waits for a tracer to end. */
static int await_semaphores(int up)
{
	struct timespec pause = {0, 10000000};
	unsigned all = 0, i;

	for (i = 0; i < 10000; i++) {
		if (semaphores(0, &all) == (up ? all : 0))
			return 1;
		nanosleep(&pause, NULL);
	}
	fprintf(stderr, "semaphores: %u of %u\n", semaphores(0, &all), all);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long rounds = 1, round;
	unsigned x = 1, all;
	int i, traced = 0;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "raise")) {
			if (SP_REGION_ENABLED() || semaphores(1, &all) != all ||
			    !SP_REGION_ENABLED())
				return 3;
		} else if (!strcmp(argv[i], "traced")) {
			struct timespec settle = {1, 0};

			traced = 1;
			if (!await_semaphores(1))
				return 4;
			nanosleep(&settle, NULL); /* the tracer's program comes after its probe */
		} else {
			rounds = strtoul(argv[i], NULL, 10);
		}
	}
	for (round = 0; round < rounds; round++) {
		x += run(x) + part_run(x);
#ifdef WITH_CXX
		x += cxx_run(x);
#endif
#ifdef WITH_LIBRARIES
		x += one_run(x) + two_run(x);
#endif
	}
	for (i = 0; table[i].name; i++)
		printf("call %lu %s\n", table[i].calls, table[i].name);
	printf("sum %u\n", x);
	fflush(stdout);
	return traced && !await_semaphores(0) ? 5 : 0;
}
