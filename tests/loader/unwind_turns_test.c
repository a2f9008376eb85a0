/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_turns_test.c - files without end of one user or process keep nobody else waiting.
 */
#include <stdlib.h>

#include "loader/unwind_turns.h"
#include "tests/loader/check.h"

#define SECOND 1000000000ull
#define MOST 16

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

static void put(struct sp_unwind_turns *turns, uid_t uid, uint32_t process, uintptr_t number)
{
	struct sp_unwind_job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->fd = -1;
	job->uid = uid;
	job->process = process;
	job->what = (void *)number;
	CHECK(sp_unwind_turns_put(turns, job) == 0, "put");
}

static void test_users(void)
{
	struct sp_unwind_turns *turns = sp_unwind_turns_new();
	struct sp_unwind_job *jobs[MOST], *more[MOST];
	uint64_t now = 100 * SECOND;
	size_t n;

	for (unsigned i = 0; i < 1000; i++)
		put(turns, 1000, 1, i);
	put(turns, 1001, 2, 0);
	CHECK(!sp_unwind_turns_take(turns, false, now, jobs, MOST), "all are urgent at first");
	n = sp_unwind_turns_take(turns, true, now, jobs, MOST);
	CHECK(n == MOST && jobs[0]->uid == 1000, "the first user's, %zu", n);
	put(turns, 1000, 1, 1000);
	/* Meanwhile another taker gets the other user's, and no more of the first one's. */
	CHECK(sp_unwind_turns_take(turns, true, now, more, MOST) == 1 && more[0]->uid == 1001,
	      "the second user's");
	sp_unwind_job_free(more[0]);
	CHECK(!sp_unwind_turns_wait(turns, true, now), "nobody else");
	CHECK(!sp_unwind_turns_take(turns, true, now, more, MOST), "nobody else");
	sp_unwind_turns_end(turns, 1001, 0, now);
	for (size_t i = n; i-- > 3;)
		CHECK(sp_unwind_turns_put_back(turns, jobs[i]) == 0, "put back");
	for (size_t i = 0; i < 3; i++)
		sp_unwind_job_free(jobs[i]);
	/* It cost much: not urgent any more, until time has passed. */
	sp_unwind_turns_end(turns, 1000, 2 * SP_UNWIND_URGENT_NS, now);
	CHECK(!sp_unwind_turns_wait(turns, true, now), "not urgent");
	CHECK(sp_unwind_turns_wait(turns, false, now), "but there");
	put(turns, 1001, 2, 1);
	n = sp_unwind_turns_take(turns, true, now, jobs, MOST);
	CHECK(n == 1 && jobs[0]->uid == 1001, "one for whom little was done comes first");
	sp_unwind_job_free(jobs[0]);
	sp_unwind_turns_end(turns, 1001, 0, now);
	n = sp_unwind_turns_take(turns, false, now, jobs, 2);
	CHECK(n == 2 && jobs[0]->what == (void *)3 && jobs[1]->what == (void *)4,
	      "where it was left");
	for (size_t i = 0; i < n; i++)
		sp_unwind_job_free(jobs[i]);
	sp_unwind_turns_end(turns, 1000, 0, now);
	now += SP_UNWIND_CREDIT * SP_UNWIND_URGENT_NS;
	CHECK(!sp_unwind_turns_wait(turns, true, now), "as long as is owed");
	CHECK(sp_unwind_turns_wait(turns, true, now + SP_UNWIND_CREDIT), "then urgent again");
	sp_unwind_turns_free(turns);
}

static void test_processes(void)
{
	struct sp_unwind_turns *turns = sp_unwind_turns_new();
	struct sp_unwind_job *jobs[MOST];

	for (unsigned i = 0; i < 100; i++)
		put(turns, 0, 1, i);
	put(turns, 0, 2, 0);
	put(turns, 0, 3, 0);
	CHECK(sp_unwind_turns_take(turns, true, 0, jobs, 4) == 4, "four");
	CHECK(jobs[0]->process == 1 && jobs[1]->process == 2 && jobs[2]->process == 3 &&
		      jobs[3]->process == 1 && jobs[3]->what == (void *)1,
	      "one of each process");
	for (size_t i = 0; i < 4; i++)
		sp_unwind_job_free(jobs[i]);
	sp_unwind_turns_end(turns, 0, 0, 0);
	sp_unwind_turns_free(turns);
}

/* Whatever happens, each comes once, in the order of its process. */
static void test_all_come(void)
{
	enum { USERS = 5, PROCESSES = 4 };
	static uintptr_t given[USERS][PROCESSES], taken[USERS][PROCESSES];
	struct sp_unwind_turns *turns = sp_unwind_turns_new();
	uint64_t now = 1, left = 0;

	for (int step = 0; step < 100000 || left; step++) {
		struct sp_unwind_job *jobs[MOST];
		size_t n, keep;
		uid_t uid;

		now += any(SECOND / 100);
		if (step < 100000 && any(3)) {
			size_t u = any(USERS), p = any(PROCESSES);

			put(turns, (uid_t)u, (uint32_t)p, given[u][p]++);
			left++;
			continue;
		}
		n = sp_unwind_turns_take(turns, any(2), now, jobs, 1 + any(MOST));
		keep = n ? 1 + any(n) : 0;
		uid = n ? jobs[0]->uid : 0;
		for (size_t i = n; i-- > keep;)
			CHECK(sp_unwind_turns_put_back(turns, jobs[i]) == 0, "put back");
		if (n)
			sp_unwind_turns_end(turns, uid, any(SECOND / 5), now);
		for (size_t i = 0; i < keep; i++) {
			CHECK(jobs[i]->uid == uid, "of two users");
			CHECK(jobs[i]->what == (void *)taken[jobs[i]->uid][jobs[i]->process]++,
			      "out of order");
			sp_unwind_job_free(jobs[i]);
			left--;
		}
	}
	sp_unwind_turns_free(turns);
}

int main(void)
{
	test_users();
	test_processes();
	test_all_come();
	return check_done();
}
