/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * counts.c - enters regions in every way that scope_profiler.h has, from four threads, and prints
 * for each how often it was begun and ended by its own account. probes.py compares that with what
 * bpftrace saw. Compiled as C with scope_profiler.c, and as header-only C++.
 */
#ifdef __cplusplus
#include "scope_profiler.hpp"
#else
#include "scope_profiler.h"
#endif

#include "check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 2000, DEPTH = 300 };

static void recurse(int region, int depth)
{
	sp_begin(region);
	if (depth > 1)
		recurse(region, depth - 1);
	sp_end(region);
}

static void *work(void *arg)
{
	sp_profiler *p = sp_default_profiler();
	int step = sp_region("step"), solve = sp_region_at("solve", __FILE__, __LINE__);
	int crossed = sp_region("ended out of order");

	recurse(sp_region("deeper than 64"), DEPTH);
	for (int i = 0; i < ROUNDS; i++) {
		sp_scope scope;

		sp_begin(step);
		scope = sp_profiler_scope_begin(p, solve);
		sp_begin(sp_region("by name"));
		CHECK(sp_profiler_end_last(p), SP_OK);
		if (i % 10 == 0) {
			sp_begin(crossed);
			CHECK(sp_scope_end(&scope), SP_OK);
			sp_end(crossed);
			/* These match nothing, and fire nothing. */
			CHECK(sp_trace_end(p, crossed), SP_ERR_UNMATCHED_END);
			CHECK(sp_scope_end(&scope), SP_ERR_UNMATCHED_END);
		} else {
			CHECK(sp_scope_end(&scope), SP_OK);
		}
		sp_end(step);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	sp_profiler *p;
	int left_open;

	sp_init("counts", 0);
	p = sp_default_profiler();
	sp_begin(sp_region("whole run, \"quoted\""));
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, work, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	sp_end(sp_region("whole run, \"quoted\""));
	left_open = sp_region("left open");
	sp_begin(left_open);
	sp_begin(left_open);
	sp_end(left_open);
	for (int i = 0; i < sp_profiler_num_regions(p); i++)
		printf("count %s|%lld|%lld\n", sp_profiler_region_name(p, i),
		       (long long)sp_num_calls(i),
		       (long long)(sp_num_calls(i) - sp_trace_num_open(p, i)));
	sp_finalize();
	/* Ignored from here on, and not fired. */
	sp_begin(left_open);
	sp_end(left_open);
	return 0;
}
