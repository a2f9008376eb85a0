/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * api.c - what our scope_profiler.h promises on its own, where differential.py cannot compare:
 * durations that are refused, limits that do not exist, ends out of order, output that is not
 * written, several profilers, fork. Runs in an empty directory, which must stay empty.
 */
#include "scope_profiler.h"

#include "check.h"

#include <dirent.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void test_nothing_started(void)
{
	sp_region_stats stats = {7, 7, 7, 7};

	CHECK(sp_default_profiler() == NULL, 1);
	CHECK(sp_is_active(), 0);
	CHECK(sp_region("early"), SP_INVALID_REGION);
	sp_begin(0);
	sp_end(0);
	CHECK(sp_num_calls(0), 0);
	CHECK(sp_finalize(), 0);
	CHECK(sp_output_path() == NULL, 1);
	CHECK(sp_start_sampling(99), SP_ERR_INACTIVE);
	CHECK(sp_profiler_get_region_stats(NULL, 0, &stats), SP_ERR_INACTIVE);
	CHECK(stats.calls, 7);
	CHECK(sp_profiler_reset(NULL), SP_ERR_INACTIVE);
	CHECK(sp_profiler_end_last(NULL), SP_ERR_UNMATCHED_END);
	sp_destroy(NULL);
}

static void test_no_durations(void)
{
	int region, other;
	sp_region_stats stats;

	CHECK(sp_init("compat", 0), 0);
	region = sp_region("timed elsewhere");
	for (int i = 0; i < 3; i++) {
		sp_begin(region);
		sp_end(region);
	}
	sp_begin(region);
	CHECK(sp_profiler_get_region_stats(sp_default_profiler(), region, &stats),
	      SP_ERR_UNSUPPORTED);
	CHECK(stats.calls, 4);
	CHECK(stats.total_ns, -1);
	CHECK(stats.min_ns, -1);
	CHECK(stats.max_ns, -1);
	CHECK(sp_trace_num_open(sp_default_profiler(), region), 1);
	CHECK(sp_profiler_reset(sp_default_profiler()), SP_ERR_OPEN_SCOPES);
	sp_end(region);
	CHECK(sp_profiler_reset(sp_default_profiler()), SP_OK);
	CHECK(sp_num_calls(region), 0);
	sp_begin(region);
	sp_end(region);
	CHECK(sp_num_calls(region), 1);
	other = sp_region("timed too");
	CHECK(other, region + 1);
	CHECK(sp_trace_find(sp_default_profiler(), "timed too"), other);
	CHECK(sp_trace_find(sp_default_profiler(), "unheard of"), SP_INVALID_REGION);
	CHECK(sp_profiler_num_regions(sp_default_profiler()), 2);
}

static void test_deep(sp_profiler *p)
{
	enum { DEPTH = 5000 };
	int a = sp_profiler_region(p, "deep"), b = sp_profiler_region(p, "below");
	static sp_scope scopes[DEPTH];

	for (int i = 0; i < DEPTH; i++) {
		scopes[i] = sp_profiler_scope_begin(p, a);
		CHECK(scopes[i].slot >= 0, 1);
	}
	sp_profiler_begin(p, b);
	CHECK(sp_profiler_end_last(p), SP_OK);
	CHECK(sp_trace_num_open(p, b), 0);
	CHECK(sp_scope_end(&scopes[0]), SP_ERR_UNMATCHED_END);
	for (int i = DEPTH - 1; i >= 0; i--)
		CHECK(sp_scope_end(&scopes[i]), SP_OK);
	CHECK(sp_scope_end(&scopes[0]), SP_ERR_UNMATCHED_END);
	CHECK(sp_trace_num_calls(p, a), DEPTH);
	CHECK(sp_trace_num_open(p, a), 0);
	sp_profiler_end(p, a);
	CHECK(sp_profiler_last_error(p), SP_ERR_UNMATCHED_END);
}

/* The innermost open call is the last one begun and not ended, whatever was ended in between. */
static void test_out_of_order(sp_profiler *p)
{
	int a = sp_profiler_region(p, "first"), b = sp_profiler_region(p, "second");
	sp_scope stale, fresh;

	sp_profiler_begin(p, a);
	sp_profiler_begin(p, b);
	sp_profiler_end(p, a);
	CHECK(sp_profiler_end_last(p), SP_OK);
	CHECK(sp_trace_num_open(p, b), 0);
	CHECK(sp_profiler_end_last(p), SP_ERR_UNMATCHED_END);

	/* A scope whose call was ended otherwise does not end a later one, not even after a reset.
	 */
	stale = sp_profiler_scope_begin(p, a);
	sp_profiler_end(p, a);
	CHECK(sp_profiler_reset(p), SP_OK);
	fresh = sp_profiler_scope_begin(p, a);
	CHECK(sp_scope_end(&stale), SP_ERR_UNMATCHED_END);
	CHECK(sp_scope_end(&fresh), SP_OK);
}

static void test_many_regions(sp_profiler *p)
{
	enum { REGIONS = 20000 };
	char name[32];
	int first = sp_profiler_num_regions(p);

	for (int i = 0; i < REGIONS; i++) {
		snprintf(name, sizeof(name), "region %d", i);
		CHECK(sp_profiler_region(p, name), first + i);
		sp_profiler_begin(p, first + i);
		sp_profiler_end(p, first + i);
	}
	CHECK(strcmp(sp_profiler_region_name(p, first + 77), "region 77"), 0);
	CHECK(sp_profiler_region(p, "region 19999"), first + 19999);
	CHECK(sp_trace_num_calls(p, first + 12345), 1);
}

/* Two profilers are apart, and a thread may use any number of them, one after the other. */
static void test_profilers(void)
{
	sp_profiler *p = sp_create(NULL, -1), *q = sp_create("q", 0);
	int a = sp_profiler_region(p, "only in p");

	CHECK(sp_profiler_region(q, "x"), 0);
	sp_profiler_begin(p, a);
	sp_profiler_end(q, 0);
	CHECK(sp_profiler_last_error(q), SP_ERR_UNMATCHED_END);
	CHECK(sp_profiler_last_error(p), SP_OK);
	CHECK(sp_profiler_finalize(p), 0); /* names the open region on stderr */
	CHECK(sp_profiler_last_error(p), SP_ERR_OPEN_SCOPES);
	sp_profiler_begin(p, a);
	CHECK(sp_trace_num_calls(p, a), 1);
	CHECK(sp_profiler_region(p, "late"), SP_INVALID_REGION);
	CHECK(sp_profiler_reset(p), SP_OK);
	sp_destroy(p);
	sp_destroy(q);
	for (int i = 0; i < 2000; i++) {
		p = sp_create("short-lived", i);
		a = sp_profiler_region(p, "r");
		sp_profiler_begin(p, a);
		sp_profiler_end(p, a);
		CHECK(sp_trace_num_calls(p, a), 1);
		sp_destroy(p);
	}
}

static void test_output(sp_profiler *p)
{
	struct timespec now;
	int64_t before, ns, after;

	CHECK(sp_hdf5_available(), 1);
	CHECK(sp_profiler_output_format(p), SP_OUTPUT_HDF5);
	CHECK(sp_profiler_set_output_format(p, SP_OUTPUT_TRACE), SP_OK);
	CHECK(sp_profiler_output_format(p), SP_OUTPUT_TRACE);
	CHECK(sp_profiler_set_output_format(p, (sp_output_format)9), SP_ERR_UNSUPPORTED);
	CHECK(strcmp(sp_profiler_output_path(p), "(no file: recorded by sp-trace)"), 0);
	CHECK(sp_profiler_flush(p), 0);
	CHECK(sp_profiler_start_sampling(p, 997), SP_OK);
	CHECK(sp_profiler_stop_sampling(p), SP_OK);
	for (int status = -2; status < 12; status++)
		CHECK(sp_error_string((sp_status)status) != NULL, 1);

	clock_gettime(CLOCK_MONOTONIC, &now);
	before = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	ns = sp_now_ns();
	clock_gettime(CLOCK_MONOTONIC, &now);
	after = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	CHECK(before <= ns && ns <= after, 1);
}

/* The child goes on with what this thread counted and had open. */
static void test_fork(sp_profiler *p)
{
	int a = sp_profiler_region(p, "across fork"), status;
	int64_t calls;
	pid_t pid;

	sp_profiler_begin(p, a);
	calls = sp_trace_num_calls(p, a);
	fflush(NULL);
	pid = fork();
	if (!pid) {
		sp_profiler_end(p, a);
		CHECK(sp_profiler_last_error(p), SP_OK);
		sp_profiler_begin(p, sp_profiler_region(p, "in the child"));
		CHECK(sp_profiler_end_last(p), SP_OK);
		CHECK(sp_trace_num_calls(p, a), calls);
		_exit(0);
	}
	CHECK(pid > 0, 1);
	CHECK(waitpid(pid, &status, 0), pid);
	CHECK(status, 0);
	CHECK(sp_trace_num_open(p, a), 1);
	CHECK(sp_profiler_end_last(p), SP_OK);
}

static void check_empty_directory(void)
{
	DIR *dir = opendir(".");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
			fprintf(stderr, "a file was left behind: %s\n", entry->d_name);
			exit(1);
		}
	CHECK(dir != NULL, 1);
	closedir(dir);
}

int main(void)
{
	char folder[] = "/tmp/sp-compat-XXXXXX";
	sp_profiler *p;

	CHECK(mkdtemp(folder) != NULL, 1);
	CHECK(chdir(folder), 0);
	test_nothing_started();
	test_no_durations();
	p = sp_create("compat", 0);
	test_deep(p);
	test_out_of_order(p);
	test_many_regions(p);
	test_profilers();
	test_output(p);
	test_fork(p);
	CHECK(sp_profiler_finalize(p), 0);
	CHECK(sp_finalize(), 0);
	sp_destroy(p);
	CHECK(sp_init("again", 1), 0); /* frees the first */
	CHECK(sp_region("afresh"), 0);
	sp_destroy(NULL);
	check_empty_directory();
	CHECK(rmdir(folder), 0);
	return 0;
}
