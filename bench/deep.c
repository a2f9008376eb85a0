/* SPDX-License-Identifier: BSD-2-Clause
 *
 * deep.c - a program with some 30 frames below main, many different paths, and inlined work at the
 * bottom: stacks as numerical codes have them.
 *
 *   deep SECONDS [DEPTH [PATHS]]    PATHS: a power of two; there are 16 times as many (default 256)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define APART __attribute__((noinline, noclone))

static inline double square(double x)
{
	return x * x + 1e-9;
}

static inline double mix(double a, double b)
{
	return square(a - b) / (square(a) + square(b) + 1.0);
}

typedef double (*level)(int depth, uint32_t path, double x);
static const level levels[16];

/* Sixteen bodies at the bottom, each with some lines of its own. */
#define LEAF(n) \
	static APART double leaf_##n(double x, int rounds) \
	{ \
		double a = x + n, b = n * 0.5 + 1; \
		for (int i = 0; i < rounds; i++) { \
			a = mix(a, b) + square(b) * 1e-3; \
			b = b * 0.999 + mix(b, x + i); \
			if (a > 1e6) \
				a = square(1 / a); \
		} \
		return a + b; \
	}
/* And as many on the way there, which call each other in an order that the path gives. */
#define LEVEL(n) \
	static APART double level_##n(int depth, uint32_t path, double x) \
	{ \
		double y = mix(x, n + 0.5); \
		if (depth <= 0) \
			return leaf_##n(y, 100 + (int)(path & 31) * 4); \
		y += levels[path & 15](depth - 1, path >> 1 | (path & 1) << 15, y * 1e-3); \
		return y * 0.5; \
	}
#define ALL(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

ALL(LEAF)
ALL(LEVEL)

#define NAME(n) level_##n,
static const level levels[16] = {ALL(NAME)};

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1, sum = 0;
	int depth = argc > 2 ? atoi(argv[2]) : 28;
	uint32_t paths = argc > 3 ? (uint32_t)atoi(argv[3]) : 256;
	time_t end = time(NULL) + (time_t)seconds;
	uint32_t path = 1;

	while (time(NULL) < end)
		for (int i = 0; i < 1000; i++) {
			path = path * 1103515245 + 12345;
			sum += levels[path >> 28](depth, path >> 12 & (paths - 1), sum * 1e-6);
		}
	printf("%g\n", sum);
	return 0;
}
