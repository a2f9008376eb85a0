/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * threads.c - many threads on the same handles: counts are exact, each thread's ends match its own
 * begins, and nothing races. Built with the thread sanitizer, which fails it on any race, and once
 * more with the address sanitizer.
 *
 * While threads begin and end, others register names, give places, ask for counts, and come and go.
 */
#include "scope_profiler.h"

#include "check.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 20000, NAMES = 40, SHORT_LIVED = 300 };

static sp_profiler *shared;
static int outer, inner;
static int stop;

static void *work(void *arg)
{
	int64_t own = 0;

	(void)arg;
	for (int i = 0; i < ROUNDS; i++) {
		sp_scope scope = sp_profiler_scope_begin(shared, outer);

		sp_profiler_begin(shared, inner);
		if (i % 3 == 0) {
			sp_profiler_begin(shared, inner);
			CHECK(sp_profiler_end_last(shared), SP_OK);
		}
		CHECK(sp_trace_end(shared, inner), SP_OK);
		/* Others have it open most of the time; this thread has not. */
		if (i % 100 == 0)
			CHECK(sp_trace_end(shared, inner), SP_ERR_UNMATCHED_END);
		CHECK(sp_scope_end(&scope), SP_OK);
		own++;
	}
	CHECK(own, ROUNDS);
	return NULL;
}

/* All register the same names, in different orders: each gets one handle. */
static void *names(void *arg)
{
	int *handles = arg;
	char name[32];

	for (int k = 0; k < NAMES; k++) {
		int i = (k * 7 + handles[0]) % NAMES;

		snprintf(name, sizeof(name), "name %d", i);
		sp_profiler_region_at(shared, name, i % 2 ? "threads.c" : NULL, i);
		handles[i + 1] = sp_profiler_region_at(shared, name, "other.c", 1);
		sp_profiler_begin(shared, handles[i + 1]);
		sp_profiler_end(shared, handles[i + 1]);
	}
	return NULL;
}

static void *ask(void *arg)
{
	sp_region_stats stats;
	int64_t calls = 0;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK(sp_profiler_get_region_stats(shared, outer, &stats), SP_ERR_UNSUPPORTED);
		CHECK(stats.calls >= calls, 1);
		calls = stats.calls;
		CHECK(sp_trace_num_open(shared, outer) <= THREADS, 1);
		for (int i = 0; i < sp_profiler_num_regions(shared); i++)
			CHECK(strlen(sp_profiler_region_name(shared, i)) > 0, 1);
		sp_profiler_last_error(shared);
	}
	return NULL;
}

static void *leave_open(void *arg)
{
	int region = sp_profiler_region(shared, "left open");

	(void)arg;
	sp_profiler_begin(shared, region);
	return NULL;
}

static void *once(void *arg)
{
	sp_profiler_begin(shared, inner);
	sp_profiler_end(shared, inner);
	/* Also the default one: a thread has a record in every profiler that it uses. */
	sp_begin(0);
	sp_end(0);
	return arg;
}

static void *end_foreign(void *arg)
{
	sp_scope *scope = arg;

	/* The call belongs to the thread that began it. */
	CHECK(sp_scope_end(scope), SP_ERR_UNMATCHED_END);
	CHECK(sp_profiler_end_last(shared), SP_ERR_UNMATCHED_END);
	return NULL;
}

/* Records of threads that have ended are used again. Which one it is shows in the slot. */
static void *take_record(void *arg)
{
	sp_scope scope = sp_profiler_scope_begin(shared, inner);

	CHECK(scope.slot >> 40 <= 2 * THREADS + 2, 1);
	CHECK(sp_scope_end(&scope), SP_OK);
	CHECK(sp_profiler_end_last(shared), SP_ERR_UNMATCHED_END);
	return arg;
}

static pthread_t start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run, arg), 0);
	return thread;
}

static void test_counts(void)
{
	pthread_t workers[THREADS], namers[THREADS], asker;
	static int handles[THREADS][NAMES + 1];

	asker = start(ask, NULL);
	for (int i = 0; i < THREADS; i++) {
		handles[i][0] = i * 5;
		workers[i] = start(work, NULL);
		namers[i] = start(names, handles[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i], NULL);
		pthread_join(namers[i], NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(asker, NULL);

	CHECK(sp_trace_num_calls(shared, outer), (int64_t)THREADS * ROUNDS);
	CHECK(sp_trace_num_calls(shared, inner), (int64_t)THREADS * (ROUNDS + (ROUNDS + 2) / 3));
	CHECK(sp_trace_num_open(shared, outer) + sp_trace_num_open(shared, inner), 0);
	CHECK(sp_profiler_num_regions(shared), 2 + NAMES);
	for (int k = 1; k <= NAMES; k++) {
		for (int i = 1; i < THREADS; i++)
			CHECK(handles[i][k], handles[0][k]);
		CHECK(sp_trace_num_calls(shared, handles[0][k]), THREADS);
	}
	CHECK(sp_profiler_reset(shared), SP_OK);
}

static void test_come_and_go(void)
{
	sp_scope scope;
	int left;

	for (int i = 0; i < SHORT_LIVED; i++)
		pthread_join(start(once, NULL), NULL);
	CHECK(sp_trace_num_calls(shared, inner), SHORT_LIVED);
	CHECK(sp_num_calls(0), SHORT_LIVED);

	scope = sp_profiler_scope_begin(shared, outer);
	pthread_join(start(end_foreign, &scope), NULL);
	CHECK(sp_scope_end(&scope), SP_OK);

	/* What a thread left open stays so, and is not handed on to the next thread. */
	pthread_join(start(leave_open, NULL), NULL);
	left = sp_trace_find(shared, "left open");
	CHECK(sp_trace_num_open(shared, left), 1);
	pthread_join(start(take_record, NULL), NULL);
	CHECK(sp_trace_end(shared, left), SP_ERR_UNMATCHED_END);
	CHECK(sp_trace_num_open(shared, left), 1);
	CHECK(sp_profiler_reset(shared), SP_ERR_OPEN_SCOPES);
	CHECK(sp_trace_finalize(shared), SP_ERR_OPEN_SCOPES);
}

static void *hold(void *arg)
{
	pthread_barrier_t *barrier = arg;

	sp_begin(0);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	sp_end(0);
	CHECK(sp_profiler_last_error(sp_default_profiler()), SP_OK);
	return NULL;
}

/* A call that another thread has open is not open in the child, where that thread does not exist.
 */
static void test_fork(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	int status;
	pid_t pid;

	CHECK(pthread_barrier_init(&barrier, NULL, 2), 0);
	thread = start(hold, &barrier);
	pthread_barrier_wait(&barrier);
	pid = fork();
	if (!pid)
		_exit(sp_trace_num_open(sp_default_profiler(), 0) != 0 ||
		      sp_profiler_reset(sp_default_profiler()) != SP_OK);
	CHECK(pid > 0, 1);
	CHECK(waitpid(pid, &status, 0), pid);
	CHECK(status, 0);
	CHECK(sp_trace_num_open(sp_default_profiler(), 0), 1);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static void *outlive(void *arg)
{
	pthread_barrier_t *barrier = arg;

	once(NULL);
	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	sp_begin(0);
	sp_end(0);
	return NULL;
}

/* A thread that has records of a profiler which is gone goes on, and ends, in peace. */
static void test_destroy(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	sp_profiler *next;

	CHECK(pthread_barrier_init(&barrier, NULL, 2), 0);
	thread = start(outlive, &barrier);
	pthread_barrier_wait(&barrier);
	sp_destroy(shared);
	next = sp_create("next", 0); /* often at the same address */
	CHECK(sp_profiler_region(next, "r"), 0);
	sp_profiler_begin(next, 0);
	CHECK(sp_profiler_end_last(next), SP_OK);
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&barrier);
	sp_destroy(next);
}

int main(void)
{
	CHECK(sp_init("threads", 0), 0);
	CHECK(sp_region("default"), 0);
	shared = sp_create("shared", 0);
	outer = sp_profiler_region(shared, "outer");
	inner = sp_profiler_region(shared, "inner");
	test_counts();
	test_come_and_go();
	test_fork();
	test_destroy();
	return sp_finalize();
}
