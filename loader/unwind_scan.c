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
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loader/batch.h"
#include "loader/filekey.h"
#include "loader/sandbox.h"
#include "loader/unwind_reply.h"
#include "userspace/base/cleanup.h"

#define CPU_SECONDS 5u
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_BYTES 0u /* the sanitizer reserves terabytes */
#else
#define MEMORY_BYTES (1u << 30)
#endif

struct scan {
	sp_unwind_scan_cb cb;
	void *arg;
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

static int call_back(struct sp_batch *batch, size_t index, struct sp_unwind_table *table, int error,
		     const char *why)
{
	const struct scan *scan = batch->arg;
	uint64_t before = sp_batch_now_ms();
	int r = scan->cb(index, table, error, why, scan->arg);

	/* That was not the helper's time. */
	sp_batch_excuse(batch, sp_batch_now_ms() - before);
	return r < 0 ? r : 0;
}

/* Reads exactly @bytes. -EPIPE where the pipe ends before. */
static int read_exactly(struct sp_batch *batch, void *to, size_t bytes)
{
	char *at = to;

	while (bytes) {
		ssize_t n = sp_batch_read(batch, at, bytes);

		if (n <= 0)
			return n < 0 ? (int)n : -EPIPE;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int read_table(struct sp_batch *batch, const struct sp_unwind_reply *reply,
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

static int read_reply(struct sp_batch *batch, struct sp_unwind_table *table)
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
		r = sp_filekey_stat(batch->fds[index], &st);
		if (r < 0)
			return r;
		r = sp_unwind_table_check(table, (uint64_t)st.st_size);
		if (r < 0)
			return r;
	}
	/* It goes to a terminal, sooner or later. */
	sp_error_set(&said, reply.error, 0, "%s",
		     text[0] || !reply.error ? text : error_text(reply.error));
	batch->done++;
	batch->stop = call_back(batch, index, reply.error ? NULL : table, reply.error,
				said.text[0] ? said.text : NULL);
	return batch->stop;
}

/* A pipe that ends is no failure here: batch.c finds out why. */
static int read_replies(struct sp_batch *batch)
{
	int r = 0;

	while (r == 0 && batch->done < batch->count) {
		struct sp_unwind_table table = {0};

		r = read_reply(batch, &table);
		sp_unwind_table_clear(&table);
	}
	return r == -EPIPE && batch->stop == 0 ? 0 : r;
}

static int fail(struct sp_batch *batch, size_t index, int error)
{
	return call_back(batch, index, NULL, error, error_text(error));
}

int sp_unwind_scan(const char *helper, const int *fds, size_t n, sp_unwind_scan_cb cb, void *arg,
		   struct sp_error *err)
{
	sp_cleanup(sp_closep) int program = -1;
	struct scan scan = {cb, arg};
	struct sp_batch batch = {
		.name = "sp-unwind",
		.fds = fds,
		.n = n,
		.cpu_seconds = CPU_SECONDS,
		.memory_bytes = MEMORY_BYTES,
		.read = read_replies,
		.fail = fail,
		.arg = &scan,
	};
	int r = helper ? sp_sandbox_open_path(helper, &program, err)
		       : sp_sandbox_open("sp-unwind", &program, err);

	if (r < 0)
		return r;
	batch.helper = program;
	return sp_batch_run(&batch, err);
}
