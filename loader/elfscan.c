/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan.c - runs sp-elf over batches of files and hands on what passes the checks.
 *
 * Invariant: the callback sees all of a file's events or only an image event with an error, never
 * half a file, and each file once, whatever became of the helper.
 */
#include "loader/elfscan.h"

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

#include "formats/codec.h"
#include "loader/elf_limits.h"
#include "loader/elfscan_check.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"

#define BATCH 128u
#define IDLE_MS 5000   /* without a byte: it hangs */
#define BATCH_MS 20000 /* all in all */
#define RUN_MS 60000   /* all helpers of a run: many files that hang must not stop the recorder */
#define CPU_SECONDS 2u
#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_BYTES 0u /* the sanitizer reserves terabytes */
#else
#define MEMORY_BYTES (256u << 20)
#endif

struct result {
	int error;
	char text[SP_ELF_LIMIT_NOTE + 1];
};

struct sp_elfscan {
	int helper;
	size_t count;
	struct result *results;
};

/* One helper at work. */
struct batch {
	struct sp_elfscan *scan;
	const int *fds;
	size_t first, count, done; /* files: of the run's; in this batch; completed */
	sp_elfscan_cb cb;
	void *arg;
	int stop;	/* what the callback said, if that ends the run */
	uint8_t *bytes; /* events of the file at hand, as they came */
	size_t used, room;
	size_t seen; /* of @bytes, was checked */
	struct sp_elfscan_check check;
};

/* Room for one event, aligned, and the NUL after it. */
union scratch {
	struct sp_head head;
	struct sp_ev_image image;
	uint64_t align;
	char bytes[SP_ELF_LIMIT_EVENT + 8];
};

static const struct {
	int code;
	const char *text;
} errors[] = {
	{ENOEXEC, "not an ELF file"},
	{ENOTSUP, "not a linked 64-bit program or library for x86-64 or aarch64"},
	{SP_E_TRUNCATED, "the file is cut short, or changed while it was read"},
	{SP_E_DAMAGED, "its ELF headers or region descriptors are damaged"},
	{SP_E_COUNT, "it has more regions, probes or sections than sp-trace takes from one file"},
	{SP_E_VERSION,
	 "it was built with a version of sp_region.h that this sp-trace does not know: update "
	 "sp-trace"},
	{SP_E_MISSING,
	 "its section headers were stripped, so its regions cannot be found: use plain `strip`"},
	{EPROTO, "reading it made the helper fail: the file is damaged on purpose or by accident"},
	{ETIME, "reading it took too long and was given up"},
	{ENOMEM, "reading it took too much memory"},
};

const char *sp_elfscan_error_text(int code)
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

int sp_elfscan_new(const char *helper, struct sp_elfscan **ret_scan, struct sp_error *err)
{
	struct sp_elfscan *scan = calloc(1, sizeof(*scan));
	int r;

	if (!scan)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	scan->helper = -1;
	r = helper ? sp_sandbox_open_path(helper, &scan->helper, err)
		   : sp_sandbox_open("sp-elf", &scan->helper, err);
	if (r < 0) {
		sp_elfscan_free(scan);
		return r;
	}
	*ret_scan = scan;
	return 0;
}

void sp_elfscan_free(struct sp_elfscan *scan)
{
	if (!scan)
		return;
	if (scan->helper >= 0)
		close(scan->helper);
	free(scan->results);
	free(scan);
}

int sp_elfscan_result(const struct sp_elfscan *scan, size_t index, const char **ret_text)
{
	const struct result *result;

	if (index >= scan->count)
		return -EINVAL;
	result = &scan->results[index];
	*ret_text = result->text[0] ? result->text : NULL;
	return result->error;
}

static void set_result(struct result *result, int error, const char *text)
{
	result->error = error;
	if (!text && error)
		text = sp_elfscan_error_text(error);
	snprintf(result->text, sizeof(result->text), "%s", text ? text : "");
}

/* What the file is, from its descriptor and not from the helper. */
static void describe(struct sp_ev_image *ev, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	ev->device = st.st_dev;
	ev->inode = st.st_ino;
	ev->size = (uint64_t)st.st_size;
	ev->mtime = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	ev->ctime = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
}

static int call_back(struct batch *batch, size_t index, const struct sp_head *event)
{
	int r = batch->cb(index, event, batch->arg);

	if (r < 0)
		batch->stop = r;
	return r < 0 ? r : 0;
}

/* The image event of a file of which nothing else is known. */
static int deliver_failure(struct batch *batch, size_t index, int error)
{
	union scratch scratch = {.image = {
					 .head = {.type = SP_EV_image},
					 .tail_bytes = 1,
					 .image = (uint32_t)index + 1,
					 .error = error,
				 }};

	set_result(&batch->scan->results[index], error, NULL);
	describe(&scratch.image, batch->fds[index]);
	return call_back(batch, index, &scratch.head);
}

/* The next record's length; false where it is not all there yet. */
static bool next_record(const struct batch *batch, size_t at, uint32_t *ret_bytes)
{
	if (batch->used - at < sizeof(*ret_bytes))
		return false;
	memcpy(ret_bytes, batch->bytes + at, sizeof(*ret_bytes));
	return *ret_bytes <= batch->used - at - sizeof(*ret_bytes);
}

static void load(const struct batch *batch, size_t at, uint32_t bytes, union scratch *scratch)
{
	memcpy(scratch->bytes, batch->bytes + at + sizeof(bytes), bytes);
	memset(scratch->bytes + bytes, 0, 8);
}

static int deliver_file(struct batch *batch, size_t end)
{
	size_t index = batch->first + batch->done, at = 0;
	struct result *result = &batch->scan->results[index];
	uint32_t bytes;

	while (at < end && next_record(batch, at, &bytes)) {
		union scratch scratch;
		int r = 0;

		load(batch, at, bytes, &scratch);
		at += sizeof(bytes) + bytes;
		if (scratch.head.type == SP_EV_meta) {
			set_result(result, result->error,
				   scratch.bytes + sizeof(struct sp_ev_meta) + 5);
			continue;
		}
		if (scratch.head.type == SP_EV_image) {
			set_result(result, scratch.image.error, NULL);
			describe(&scratch.image, batch->fds[index]);
		}
		r = call_back(batch, index, &scratch.head);
		if (r < 0)
			return r;
	}
	return 0;
}

static int start_check(struct batch *batch)
{
	struct stat st;

	memset(&batch->check, 0, sizeof(batch->check));
	if (batch->done == batch->count)
		return 0;
	if (fstat(batch->fds[batch->first + batch->done], &st) < 0)
		return -errno;
	batch->check.file_size = (uint64_t)st.st_size;
	batch->check.image = (uint32_t)(batch->first + batch->done) + 1;
	return 0;
}

/* The file's last record was seen, and @end is where the next file's begin. */
static int finish_file(struct batch *batch, size_t end)
{
	int r = sp_elfscan_check_end(&batch->check);

	/* It said how many sites there are, and then found others: somebody writes to it. */
	r = r < 0 ? deliver_failure(batch, batch->first + batch->done, -SP_E_TRUNCATED)
		  : deliver_file(batch, end - sizeof(uint32_t));
	if (r < 0)
		return r;
	batch->done++;
	memmove(batch->bytes, batch->bytes + end, batch->used - end);
	batch->used -= end;
	batch->seen = 0;
	return start_check(batch);
}

/* Looks at what came. -EPROTO: nonsense. */
static int take_records(struct batch *batch)
{
	uint32_t bytes;

	while (next_record(batch, batch->seen, &bytes)) {
		union scratch scratch;
		int r;

		if (batch->done == batch->count || bytes > SP_ELF_LIMIT_EVENT)
			return -EPROTO;
		if (bytes == 0) {
			r = finish_file(batch, batch->seen + sizeof(bytes));
			if (r < 0)
				return r;
			continue;
		}
		load(batch, batch->seen, bytes, &scratch);
		if (sp_elfscan_check_event(&batch->check, &scratch.head, bytes) < 0)
			return -EPROTO;
		batch->seen += sizeof(bytes) + bytes;
	}
	/* A length that no event has would let the buffer fill for nothing. */
	if (batch->used - batch->seen >= sizeof(bytes) && bytes > SP_ELF_LIMIT_EVENT)
		return -EPROTO;
	return 0;
}

static int make_room(struct batch *batch)
{
	size_t room = batch->room ? batch->room * 2 : 1 << 18;
	uint8_t *bytes;

	if (batch->room - batch->used >= 1 << 16)
		return 0;
	if (room > 2 * SP_ELF_LIMIT_BYTES)
		return -SP_E_COUNT;
	bytes = realloc(batch->bytes, room);
	if (!bytes)
		return -ENOMEM;
	batch->bytes = bytes;
	batch->room = room;
	return 0;
}

/* Reads until the pipe ends. Negative: why it did not read on. */
static int read_all(struct batch *batch, int fd)
{
	uint64_t start = now_ms(), heard = start;
	int r = start_check(batch);

	while (r == 0) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		uint64_t now = now_ms();
		ssize_t n;

		if (now - heard >= IDLE_MS || now - start >= BATCH_MS)
			return -ETIME;
		n = poll(&p, 1, (int)(IDLE_MS - (now - heard)));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n <= 0)
			continue;
		r = make_room(batch);
		if (r < 0)
			break;
		n = read(fd, batch->bytes + batch->used, batch->room - batch->used);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n < 0)
			continue;
		heard = now_ms();
		batch->used += (size_t)n;
		r = take_records(batch);
	}
	return r;
}

/* One helper for the batch. @ret_why: what became of the file that it did not complete. Fails only
 * where no helper could be run. */
static int run_batch(struct batch *batch, int *ret_why, struct sp_error *err)
{
	sp_cleanup(sp_closep) int in = -1, out = -1;
	char count[16], first[24];
	const char *const argv[] = {"sp-elf", count, first, NULL};
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
	snprintf(first, sizeof(first), "%zu", batch->first + 1);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return sp_error_set(err, -errno, 0, "cannot make a pipe: %s", strerror(errno));
	in = ends[0];
	box.out = out = ends[1];
	r = sp_sandbox_spawn(batch->scan->helper, &box, &pid, err);
	if (r < 0)
		return r;
	close(out);
	out = -1;
	r = read_all(batch, in);
	sp_sandbox_wait(pid, r < 0, &status);
	if (r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 3)
		return sp_error_set(err, -EPERM, 0,
				    "the helper sp-elf cannot lock itself in: this kernel or "
				    "container refuses seccomp filters");
	if (r == 0)
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
	batch->done = batch->used = batch->seen = 0;
	if (!was_alone)
		r = run_batch(batch, &why, err);
	if (r == 0 && batch->stop == 0 && batch->done == 0)
		deliver_failure(batch, index, why);
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
		batch->done = batch->used = batch->seen = 0;
		if (batch->count == 0) {
			deliver_failure(batch, next++, late ? -ETIME : -EBADF);
			continue;
		}
		r = run_batch(batch, &why, err);
		next += batch->done;
		if (r == 0 && batch->stop == 0 && batch->done < batch->count)
			r = retry_alone(batch, next++, why, err);
	}
	return r;
}

int sp_elfscan_run(struct sp_elfscan *scan, const int *fds, size_t n, sp_elfscan_cb cb, void *arg,
		   struct sp_error *err)
{
	struct batch batch = {.scan = scan, .fds = fds, .cb = cb, .arg = arg};
	struct result *results = calloc(n ? n : 1, sizeof(*results));
	int r;

	if (!results)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	free(scan->results);
	scan->results = results;
	scan->count = n;
	r = run_files(&batch, n, err);
	free(batch.bytes);
	return r < 0 ? r : batch.stop;
}
