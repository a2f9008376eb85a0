/* SPDX-License-Identifier: BSD-2-Clause
 *
 * batch.c - one helper after the other, until each file has its result.
 *
 * Invariant: no helper outlives its batch.
 */
#include "loader/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader/filekey.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"

#define BATCH 128u
#define IDLE_MS 5000   /* without a byte: it hangs */
#define BATCH_MS 20000 /* all in all */
#define RUN_MS 60000   /* all helpers of a run: many files that hang must not stop the recorder */
#define TURN_MS 20
#define PIPE_BYTES (1 << 20)

uint64_t sp_batch_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void sp_batch_excuse(struct sp_batch *batch, uint64_t ms)
{
	batch->started += ms;
	batch->heard += ms;
}

ssize_t sp_batch_read(struct sp_batch *batch, void *to, size_t room)
{
	for (;;) {
		struct pollfd p = {.fd = batch->pipe, .events = POLLIN};
		uint64_t now = sp_batch_now_ms();
		ssize_t n;

		if (now - batch->heard >= IDLE_MS || now - batch->started >= BATCH_MS)
			return -ETIME;
		n = poll(&p, 1, batch->meanwhile ? TURN_MS : (int)(IDLE_MS - (now - batch->heard)));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && batch->meanwhile)
			batch->meanwhile(batch->meanwhile_arg);
		if (n <= 0)
			continue;
		n = read(batch->pipe, to, room);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		batch->heard = sp_batch_now_ms();
		return n;
	}
}

/* One helper for the batch. @ret_why: what became of the file that it did not complete. Fails only
 * where no helper could be run. */
static int run_batch(struct sp_batch *batch, int *ret_why, struct sp_error *err)
{
	sp_cleanup(sp_closep) int in = -1, out = -1;
	char count[24], first[24];
	const char *const argv[] = {batch->name, count, batch->numbered ? first : NULL, NULL};
	struct sp_sandbox box = {
		.argv = argv,
		.fds = batch->fds + batch->first,
		.fd_count = batch->count,
		.in = -1,
		.err = -1,
		.uid = SP_SANDBOX_NOBODY,
		.gid = SP_SANDBOX_NOBODY,
		.cpu_seconds = batch->cpu_seconds,
		.memory_bytes = batch->memory_bytes,
		.no_files = true,
		.own_group = true,
		.directory = "/",
	};
	int ends[2], status = 0, r;
	pid_t pid;

	snprintf(count, sizeof(count), "%zu", batch->count);
	snprintf(first, sizeof(first), "%zu", batch->first + 1);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return sp_error_set(err, -errno, 0, "cannot make a pipe: %s", strerror(errno));
	batch->pipe = in = ends[0];
	box.out = out = ends[1];
	/* Fewer turns for long answers; no harm where there is no such room. */
	fcntl(in, F_SETPIPE_SZ, PIPE_BYTES);
	r = sp_sandbox_spawn(batch->helper, &box, &pid, err);
	if (r < 0)
		return r;
	close(out);
	out = -1;
	batch->started = batch->heard = sp_batch_now_ms();
	r = batch->read(batch);
	/* Only one whose pipe ended early is gone, and says why; the others have no more to say. */
	sp_sandbox_wait(pid, r < 0 || batch->done == batch->count, &status);
	if (r == 0 && batch->done < batch->count) {
		if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
			return sp_error_set(err, -EPERM, 0,
					    "the helper %s cannot lock itself in: this kernel or "
					    "container refuses seccomp filters",
					    batch->name);
		r = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU ? -ETIME : -EPROTO;
	}
	*ret_why = r;
	return 0;
}

static void fail(struct sp_batch *batch, size_t index, int error)
{
	int r = batch->fail(batch, index, error);

	if (r < 0)
		batch->stop = r;
}

static void begin(struct sp_batch *batch, size_t first, size_t count)
{
	batch->first = first;
	batch->count = count;
	batch->done = 0;
}

/* How many files from @first on can go into one batch: 0 where that one is no open descriptor. */
static size_t batch_size(const int *fds, size_t first, size_t n)
{
	struct stat st;
	size_t count = 0;

	while (count < BATCH && first + count < n && sp_filekey_stat(fds[first + count], &st) == 0)
		count++;
	return count;
}

/* The batch's helper failed at the file at @index. Perhaps only because of the limits that it
 * shares with those before it, so it gets one for itself. */
static int retry_alone(struct sp_batch *batch, size_t index, int why, struct sp_error *err)
{
	bool was_alone = batch->count == 1;
	int r = 0;

	begin(batch, index, 1);
	if (!was_alone)
		r = run_batch(batch, &why, err);
	if (r == 0 && batch->stop == 0 && batch->done == 0)
		fail(batch, index, why);
	return r;
}

int sp_batch_run(struct sp_batch *batch, struct sp_error *err)
{
	uint64_t start = sp_batch_now_ms();
	size_t next = 0;
	int r = 0;

	batch->stop = 0;
	while (next < batch->n && r == 0 && batch->stop == 0) {
		bool late = sp_batch_now_ms() - start >= RUN_MS;
		int why = 0;

		begin(batch, next, late ? 0 : batch_size(batch->fds, next, batch->n));
		if (batch->count == 0) {
			fail(batch, next++, late ? -ETIME : -EBADF);
			continue;
		}
		r = run_batch(batch, &why, err);
		next += batch->done;
		if (r == 0 && batch->stop == 0 && batch->done < batch->count)
			r = retry_alone(batch, next++, why, err);
	}
	return r < 0 ? r : batch->stop;
}
