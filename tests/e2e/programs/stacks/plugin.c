/* SPDX-License-Identifier: BSD-2-Clause
 *
 * plugin.c - is opened by kinds.c, works for a while and is closed.
 */
#include <math.h>
#include <stdlib.h>

#include "tiny.h"

static double numbers[512];
static volatile double sum;

static __attribute__((noinline)) double inner(double x, int depth)
{
	volatile double kept = x;

	return depth ? inner(x * 0.99, depth - 1) + kept : sqrt(kept) + sin(x);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double plugin_work(double seconds, double (*now)(void))
{
	double until = now() + seconds;

	do {
		for (int i = 0; i < 512; i++)
			numbers[i] = inner(i, 5 + i % 5);
		qsort(numbers, 512, sizeof(numbers[0]), compare);
		sum += numbers[5];
	} while (now() < until);
	return sum;
}

/* Each is looked up as it is called for the first time. */
int plugin_bind(int a)
{
#define TINY_CALL(n) a = tiny_many##n(a);
	TINY_1024(TINY_CALL)
	return a;
}
