/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unruled.c - is built with frame pointers, but for its innermost function, and without call frame
 * information: only the code itself tells who called that one.
 */
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sum;

static NOINLINE void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sum += i;
}

static NOINLINE void middle(int n)
{
	leaf(n);
	sum++;
}

static NOINLINE void outer(int n)
{
	middle(n);
	sum++;
}

int main(int argc, char **argv)
{
	double until = argc > 1 ? atof(argv[1]) : 1;

	do
		outer(100000);
	while ((double)clock() / CLOCKS_PER_SEC < until);
	return 0;
}
