/* SPDX-License-Identifier: BSD-2-Clause
 *
 * frames.c - fixed work at the bottom of a stack of a given depth; prints the ns that it took.
 *
 *   frames MILLIONS [DEPTH]    DEPTH functions, each with a frame of its own, below main (default 39: with
 *                              main and the two of libc that call it, and the worker, some 43 frames)
 *
 * Built with and without frame pointers it is the same program for both kinds of unwinding.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noinline)) uint64_t work(uint64_t n)
{
	uint64_t x = 88172645463325252u;

	for (uint64_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

/* Sizes of the frames differ with the depth, as those of real programs do. */
static __attribute__((noinline)) uint64_t descend(uint64_t n, int depth)
{
	volatile uint64_t local[4] = {n, (uint64_t)depth};
	uint64_t below;

	if (depth <= 1)
		below = work(n);
	else
		below = descend(n, depth - 1);
	return below + local[1] - (uint64_t)depth;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000;
	int depth = argc > 2 ? atoi(argv[2]) : 39;
	uint64_t begin = now_ns(), sum = descend(n * 1000000, depth);

	printf("%llu ns, result %llu\n", (unsigned long long)(now_ns() - begin), (unsigned long long)sum);
	return 0;
}
