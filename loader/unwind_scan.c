/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_scan.c - runs sp-unwind over batches of files and hands on the tables that pass the
 * checks.
 *
 * Invariant: the callback sees each file once, whatever became of the helper, and no table that
 * sp_unwind_table_check() has not passed.
 */
#include "loader/unwind_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "loader/unwind_reply.h"
#include "userspace/base/cleanup.h"

#define BATCH 128u
#define IDLE_MS 5000   /* without a byte: it hangs */
#define BATCH_MS 20000 /* all in all */
#define RUN_MS 60000   /* all helpers of a run: many files that hang must not stop the recorder */
#define CPU_SECONDS 5u
#define PIPE_BYTES (1 << 20)
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_BYTES 0u /* the sanitizer reserves terabytes */
#else
#define MEMORY_BYTES (1u << 30)
#endif

/* One helper at work. */
struct batch {
	int helper;
	const int *fds;
	size_t first, count, done; /* files: of the run's; in this batch; completed */
	sp_unwind_scan_cb cb;
	void *arg;
	int stop; /* what the callback said, if that ends the run */
	int pipe;
	uint64_t start;
};

static const struct {
	int code;
	const char *text;
} errors[] = {
	{ENOEXEC, "not an ELF file"},
	{ENOTSUP, "not a linked 64-bit program or library for x86-64 or aarch64"},
	{SP_E_MISSING, "it has no call frame information (.eh_frame or .debug_frame)"},
	{SP_E_TRUNCATED, "the file is cut short, or changed while it was read"},
	{SP_E_DAMAGED, "its ELF headers are damaged"},
	{SP_E_COUNT, "it has more segments or sections than sp-trace takes from one file"},
	{EPROTO, "reading it made the helper fail: the file is damaged on purpose or by accident"},
	{ETIME, "reading its call frame information took too long and was given up"},
	{ENOMEM, "its call frame information takes too much memory"},
};

static const char *error_text(int code)
{
	for (size_t i = 0; i < sp_array_size(errors); i++)
		if (errors[i].code == -code)
			return errors[i].text;
	return strerror(-code);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int call_back(struct batch *batch, size_t index, struct sp_unwind_table *table, int error,
		     const char *why)
{
	uint64_t before = now_ms();
	int r = batch->cb(index, table, error, why, batch->arg);

	if (r < 0)
		batch->stop = r;
	/* That was not the helper's time. */
	batch->start += now_ms() - before;
	return r < 0 ? r : 0;
}

/* Reads exactly @bytes. -EPIPE where the pipe ends before, -ETIME. */
static int read_exactly(struct batch *batch, void *to, size_t bytes)
{
	uint64_t heard = now_ms();
	char *at = to;

	while (bytes) {
		struct pollfd p = {.fd = batch->pipe, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t n;

		if (now - heard >= IDLE_MS || now - batch->start >= BATCH_MS)
			return -ETIME;
		n = poll(&p, 1, (int)(IDLE_MS - (now - heard)));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		n = read(batch->pipe, at, bytes);
		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		heard = now_ms();
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int read_table(struct batch *batch, const struct sp_unwind_reply *reply,
		      struct sp_unwind_table *table)
{
	int r;

	table->segments = reply->segments;
	table->rules = reply->rules;
	table->rows = reply->rows;
	table->rules_at = malloc((reply->rules + 1) * sizeof(*table->rules_at));
	table->pc = malloc((reply->rows + 1) * sizeof(*table->pc));
	table->rule = malloc((reply->rows + 1) * sizeof(*table->rule));
	if (!table->rules_at || !table->pc || !table->rule)
		return -ENOMEM;
	r = read_exactly(batch, table->segment, reply->segments * sizeof(table->segment[0]));
	if (r == 0)
		r = read_exactly(batch, table->rules_at, reply->rules * sizeof(*table->rules_at));
	if (r == 0)
		r = read_exactly(batch, table->pc, reply->rows * sizeof(*table->pc));
	if (r == 0)
		r = read_exactly(batch, table->rule, reply->rows * sizeof(*table->rule));
	return r;
}

static bool reply_is_good(const struct sp_unwind_reply *reply)
{
	if (reply->magic != SP_UNWIND_REPLY_MAGIC || reply->text > SP_UNWIND_REPLY_TEXT)
		return false;
	if (reply->error)
		return reply->error < 0 && reply->error > -4096 && !reply->segments &&
		       !reply->rules && !reply->rows;
	return reply->segments <= SP_UNWIND_LIMIT_SEGMENTS &&
	       reply->rules <= SP_UNWIND_LIMIT_RULES && reply->rows <= SP_UNWIND_LIMIT_ROWS;
}

static int read_reply(struct batch *batch, struct sp_unwind_table *table)
{
	size_t index = batch->first + batch->done;
	char text[SP_UNWIND_REPLY_TEXT + 1] = "";
	struct sp_unwind_reply reply;
	struct sp_error said = {0};
	struct stat st;
	int r = read_exactly(batch, &reply, sizeof(reply));

	if (r == 0 && !reply_is_good(&reply))
		r = -EPROTO;
	if (r == 0 && !reply.error)
		r = read_table(batch, &reply, table);
	if (r == 0)
		r = read_exactly(batch, text, reply.text);
	if (r < 0)
		return r;
	if (!reply.error) {
		if (fstat(batch->fds[index], &st) < 0)
			return -errno;
		r = sp_unwind_table_check(table, (uint64_t)st.st_size);
		if (r < 0)
			return r;
	}
	/* It goes to a terminal, sooner or later. */
	sp_error_set(&said, reply.error, 0, "%s",
		     text[0] || !reply.error ? text : error_text(reply.error));
	batch->done++;
	return call_back(batch, index, reply.error ? NULL : table, reply.error,
			 said.text[0] ? said.text : NULL);
}

/* Negative: why it did not read on. */
static int read_all(struct batch *batch)
{
	int r = 0;

	batch->start = now_ms();
	while (r == 0 && batch->done < batch->count) {
		struct sp_unwind_table table = {0};

		r = read_reply(batch, &table);
		sp_unwind_table_clear(&table);
	}
	return r;
}

/* One helper for the batch. @ret_why: what became of the file that it did not complete. Fails only
 * where no helper could be run. */
static int run_batch(struct batch *batch, int *ret_why, struct sp_error *err)
{
	sp_cleanup(sp_closep) int in = -1, out = -1;
	char count[24];
	const char *const argv[] = {"sp-unwind", count, NULL};
	struct sp_sandbox box = {
		.argv = argv,
		.fds = batch->fds + batch->first,
		.fd_count = batch->count,
		.in = -1,
		.err = -1,
		.uid = SP_SANDBOX_NOBODY,
		.gid = SP_SANDBOX_NOBODY,
		.cpu_seconds = CPU_SECONDS,
		.memory_bytes = MEMORY_BYTES,
		.no_files = true,
		.own_group = true,
		.directory = "/",
	};
	int ends[2], status = 0, r;
	pid_t pid;

	snprintf(count, sizeof(count), "%zu", batch->count);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return sp_error_set(err, -errno, 0, "cannot make a pipe: %s", strerror(errno));
	batch->pipe = in = ends[0];
	box.out = out = ends[1];
	/* Fewer turns for large tables; no harm where there is no such room. */
	fcntl(in, F_SETPIPE_SZ, PIPE_BYTES);
	r = sp_sandbox_spawn(batch->helper, &box, &pid, err);
	if (r < 0)
		return r;
	close(out);
	out = -1;
	r = read_all(batch);
	/* Only one whose pipe ended is gone, and says why; the others have no more to say. */
	sp_sandbox_wait(pid, r != -EPIPE, &status);
	if (r == -EPIPE && WIFEXITED(status) && WEXITSTATUS(status) == 3)
		return sp_error_set(err, -EPERM, 0,
				    "the helper sp-unwind cannot lock itself in: this kernel or "
				    "container refuses seccomp filters");
	if (r == -EPIPE)
		r = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU ? -ETIME : -EPROTO;
	*ret_why = r;
	return 0;
}

/* How many files from @first on can go into one batch: 0 where that one is no open descriptor. */
static size_t batch_size(const int *fds, size_t first, size_t n)
{
	struct stat st;
	size_t count = 0;

	while (count < BATCH && first + count < n && fstat(fds[first + count], &st) == 0)
		count++;
	return count;
}

/* The batch's helper failed at the file at @index. Perhaps only because of the limits that it
 * shares with those before it, so it gets one for itself. */
static int retry_alone(struct batch *batch, size_t index, int why, struct sp_error *err)
{
	bool was_alone = batch->count == 1;
	int r = 0;

	batch->first = index;
	batch->count = 1;
	batch->done = 0;
	if (!was_alone)
		r = run_batch(batch, &why, err);
	if (r == 0 && batch->stop == 0 && batch->done == 0)
		call_back(batch, index, NULL, why, error_text(why));
	return r;
}

static int run_files(struct batch *batch, size_t n, struct sp_error *err)
{
	uint64_t start = now_ms();
	size_t next = 0;
	int r = 0;

	while (next < n && r == 0 && batch->stop == 0) {
		bool late = now_ms() - start >= RUN_MS;
		int why = 0;

		batch->first = next;
		batch->count = late ? 0 : batch_size(batch->fds, next, n);
		batch->done = 0;
		if (batch->count == 0) {
			why = late ? -ETIME : -EBADF;
			call_back(batch, next++, NULL, why, error_text(why));
			continue;
		}
		r = run_batch(batch, &why, err);
		next += batch->done;
		if (r == 0 && batch->stop == 0 && batch->done < batch->count)
			r = retry_alone(batch, next++, why, err);
	}
	return r;
}

int sp_unwind_scan(const char *helper, const int *fds, size_t n, sp_unwind_scan_cb cb, void *arg,
		   struct sp_error *err)
{
	sp_cleanup(sp_closep) int program = -1;
	struct batch batch = {.fds = fds, .cb = cb, .arg = arg};
	int r = helper ? sp_sandbox_open_path(helper, &program, err)
		       : sp_sandbox_open("sp-unwind", &program, err);

	if (r < 0)
		return r;
	batch.helper = program;
	r = run_files(&batch, n, err);
	return r < 0 ? r : batch.stop;
}
