/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tree.c - a call tree as programs have them: stacks of some 30 frames, a great many of them different,
 * with small functions that the compiler puts into their callers.
 *
 *   tree SECONDS [THREADS]
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x7fb5d329728ea185u;
	return x ^ x >> 27;
}

static inline uint64_t spin(uint64_t x, int n)
{
	for (int i = 0; i < n; i++)
		x = mix(x + (uint64_t)i);
	return x;
}

static uint64_t step(uint64_t path, int depth);

/* Four functions that differ in their frames and in what they do before and after they go deeper. */
#define FUNCTION(name, words, before, after)                                     \
	static __attribute__((noinline)) uint64_t name(uint64_t path, int depth) \
	{                                                                        \
		volatile uint64_t local[words] = {path};                         \
		uint64_t x = spin(path, before) & 1;                             \
                                                                                 \
		x += step(path >> 2, depth - 1);                                 \
		return spin(x, after) + local[0];                                \
	}

FUNCTION(assemble, 2, 3, 5)
FUNCTION(exchange, 5, 9, 2)
FUNCTION(reduce, 3, 1, 11)
FUNCTION(project, 8, 6, 6)

static __attribute__((noinline)) uint64_t leaf(uint64_t path)
{
	return spin(path, 2000);
}

static __attribute__((noinline)) uint64_t step(uint64_t path, int depth)
{
	static uint64_t (*const functions[])(uint64_t, int) = {assemble, exchange, reduce, project};

	return depth <= 0 ? leaf(path) : functions[path & 3](path, depth) + 1;
}

static void *run(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg + 1, sum = 0;

	/* The first levels are mostly the same, as in real programs. */
	for (double until = now() + seconds; now() < until;)
		for (int i = 0; i < 20; i++) {
			seed = mix(seed + 0x9e3779b97f4a7c15u);
			sum += step(seed << 12 & 0x3fffffff, 14);
		}
	return (void *)(uintptr_t)sum;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 2;
	pthread_t thread[64];

	seconds = argc > 1 ? atof(argv[1]) : 1;
	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, run, (void *)(uintptr_t)i);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
