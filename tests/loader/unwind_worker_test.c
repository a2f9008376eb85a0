/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_worker_test.c HELPER - tables made beside us: all that were asked for come, in order, with
 * what asked for them; a helper that is not there is told apart from a file that has no table.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "loader/unwind_worker.h"
#include "tests/loader/check.h"
#include "tests/loader/unwind_fake.h"
#include "userspace/base/vdso.h"

#define JOBS 50

/* The next one, waited for by the descriptor alone. */
static struct sp_unwind_job *next(struct sp_unwind_worker *worker)
{
	struct pollfd p = {.fd = sp_unwind_worker_fd(worker), .events = POLLIN};
	struct sp_unwind_job *job;

	while (!(job = sp_unwind_worker_take(worker)))
		if (poll(&p, 1, 20000) <= 0)
			return NULL;
	return job;
}

static void test_tables(const char *helper)
{
	struct sp_bpf bpf;
	size_t rows = 0, chunks = 0;
	const char *const paths[] = {"/proc/self/exe", "/dev/null", helper, "/proc/self/maps"};
	struct sp_unwind_worker *worker;
	int marks[JOBS], vdso = sp_vdso_open();

	fake_open(&bpf, SP_UNWIND_CHUNKS);
	CHECK(sp_unwind_worker_new(&bpf, 0, helper, &worker) == 0, "worker");
	for (int i = 0; i < JOBS; i++) {
		int fd = open(paths[i % 4], O_RDONLY | O_CLOEXEC);

		CHECK(fd >= 0 && sp_unwind_worker_add(worker, fd, 0, 1, &marks[i]) == 0, "add");
	}
	CHECK(vdso >= 0, "our vDSO");
	CHECK(sp_unwind_worker_add(worker, vdso, 0, 1, NULL) == 0, "add");
	for (int i = 0; i <= JOBS; i++) {
		struct sp_unwind_job *job = next(worker);
		bool wanted = i == JOBS || i % 4 == 0 || i % 4 == 2;

		CHECK(job, "job %d does not come", i);
		if (!job)
			break;
		CHECK(job->what == (i < JOBS ? &marks[i] : NULL), "job %d is another", i);
		CHECK(!job->helper_failed, "%s", job->why);
		CHECK((job->error == 0) == wanted, "job %d: %d, %s", i, job->error, job->why);
		CHECK(!wanted || job->table.rows > 10, "job %d: %zu rows", i, job->table.rows);
		CHECK(wanted || job->why[0], "no reason for job %d", i);
		CHECK(sp_unwind_worker_pending(worker) == (size_t)(JOBS - i), "pending");
		rows += job->table.rows;
		chunks += job->chunks;
		CHECK(rows <= chunks * SP_UNWIND_CHUNK_ROWS, "%zu chunks for %zu rows", chunks,
		      rows);
		sp_unwind_job_free(job);
	}
	CHECK(!sp_unwind_worker_take(worker), "there are more");
	CHECK(chunks == bpf.chunk_count && chunks < 3 + rows / SP_UNWIND_CHUNK_ROWS,
	      "%zu chunks for %zu rows", chunks, rows);
	sp_unwind_worker_free(worker);
	fake_close(&bpf);
}

static void test_no_helper(void)
{
	struct sp_unwind_worker *worker;
	struct sp_unwind_job *job;
	struct sp_bpf bpf;

	fake_open(&bpf, 1);
	CHECK(sp_unwind_worker_new(&bpf, 1, "/nowhere/sp-unwind", &worker) == 0, "worker");
	CHECK(sp_unwind_worker_add(worker, open("/proc/self/exe", O_RDONLY), 0, 1, NULL) == 0,
	      "add");
	job = next(worker);
	CHECK(job && job->error < 0 && job->helper_failed && strstr(job->why, "/nowhere/sp-unwind"),
	      "%s", job ? job->why : "nothing");
	sp_unwind_job_free(job);
	sp_unwind_worker_free(worker);
	fake_close(&bpf);
}

/* It can be left in the middle. */
static void test_leaving(const char *helper)
{
	struct sp_unwind_worker *worker;
	struct sp_bpf bpf;

	fake_open(&bpf, 1);
	CHECK(sp_unwind_worker_new(&bpf, 1, helper, &worker) == 0, "worker");
	for (int i = 0; i < JOBS; i++)
		CHECK(sp_unwind_worker_add(worker, open("/proc/self/exe", O_RDONLY), 0, 1, NULL) ==
			      0,
		      "add");
	sp_unwind_worker_free(worker);
	fake_close(&bpf);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	test_tables(argv[1]);
	test_no_helper();
	test_leaving(argv[1]);
	return check_done();
}
