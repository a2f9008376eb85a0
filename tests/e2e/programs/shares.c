/* SPDX-License-Identifier: BSD-2-Clause
 *
 * shares.c - loops of known weight under named regions, and one outside.
 *
 *	shares SECONDS
 *
 * Burns that many seconds of processor time in slices of uneven length, and prints what share of it
 * each region had, the regions inside it not counted: "share NAME FRACTION", "-" for none.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "usdt/sp_region.h"

enum { LARGE, SMALL, AROUND, INSIDE, NONE, COUNT };

static const char *const names[COUNT] = {"large", "small", "around", "inside", "-"};
static uint64_t spent[COUNT];
static volatile uint64_t sink;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Pure arithmetic; about 1 ns a round. */
static void burn(int which, unsigned rounds)
{
	uint64_t begin = now(CLOCK_THREAD_CPUTIME_ID), x = sink;

	for (unsigned i = 0; i < rounds; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
	spent[which] += now(CLOCK_THREAD_CPUTIME_ID) - begin;
}

int main(int argc, char **argv)
{
	uint64_t end, total = 0;
	unsigned seed = 1;

	if (argc != 2 || atof(argv[1]) <= 0)
		return 9;
	end = now(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)(atof(argv[1]) * 1e9);
	while (now(CLOCK_THREAD_CPUTIME_ID) < end) {
		unsigned unit = 60000 + (unsigned)rand_r(&seed) % 60000;

		SP_REGION_BEGIN("large");
		burn(LARGE, unit * 45);
		SP_REGION_END("large");
		SP_REGION_BEGIN("small");
		burn(SMALL, unit * 10);
		SP_REGION_END("small");
		burn(NONE, unit * 15);
		SP_REGION_BEGIN("around");
		burn(AROUND, unit * 10);
		SP_REGION_BEGIN("inside");
		burn(INSIDE, unit * 20);
		SP_REGION_END("inside");
		SP_REGION_END("around");
	}
	for (int i = 0; i < COUNT; i++)
		total += spent[i];
	for (int i = 0; i < COUNT; i++)
		printf("share %s %.6f\n", names[i], (double)spent[i] / (double)total);
	return 0;
}
