/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pairs.c - N begin-end pairs as fast as they go; prints nanoseconds a pair.
 *
 *   pairs N [SECONDS]   with SECONDS: rounds of N until they are over; prints the number of pairs, too
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined(BENCH_SCOPE_PROFILER)
#include "scope_profiler.h"
static int region;
#define BEGIN() sp_begin(region)
#define END() sp_end(region)
#elif defined(BENCH_LTTNG)
#define TRACEPOINT_DEFINE
#include "bench/lttng_pairs.h"
#define BEGIN() tracepoint(sp_bench, begin, "pair")
#define END() tracepoint(sp_bench, end, "pair")
#else
#include "usdt/sp_region.h"
#define BEGIN() SP_REGION_BEGIN("pair")
#define END() SP_REGION_END("pair")
#endif

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	double seconds = argc > 2 ? atof(argv[2]) : 0, begin, took;
	long done = 0;

#if defined(BENCH_SCOPE_PROFILER)
	sp_init("pairs", 0);
	region = sp_region("pair");
#endif
	begin = now_ns();
	do {
		for (long i = 0; i < n; i++) {
			BEGIN();
			END();
		}
		done += n;
		took = now_ns() - begin;
	} while (took < seconds * 1e9);
	printf("%ld pairs, %.3f ns a pair\n", done, took / (double)done);
#if defined(BENCH_SCOPE_PROFILER)
	sp_finalize();
#endif
	return 0;
}
