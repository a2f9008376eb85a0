/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan.c - runs sp-elf over batches of files and hands on what passes the checks.
 *
 * Invariant: the callback sees all of a file's events or only an image event with an error, never
 * half a file, and each file once, whatever became of the helper.
 */
#include "loader/elfscan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/codec.h"
#include "loader/batch.h"
#include "loader/elf_limits.h"
#include "loader/elfscan_check.h"
#include "loader/filekey.h"
#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"

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
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
};

/* A run over some files. */
struct run {
	struct sp_elfscan *scan;
	struct sp_batch batch;
	sp_elfscan_cb cb;
	void *arg;
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

void sp_elfscan_meanwhile(struct sp_elfscan *scan, void (*meanwhile)(void *arg), void *arg)
{
	scan->meanwhile = meanwhile;
	scan->meanwhile_arg = arg;
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

	if (sp_filekey_stat(fd, &st) < 0)
		return;
	ev->device = st.st_dev;
	ev->inode = st.st_ino;
	ev->size = (uint64_t)st.st_size;
	ev->mtime = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	ev->ctime = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
}

static int call_back(struct run *run, size_t index, const struct sp_head *event)
{
	int r = run->cb(index, event, run->arg);

	if (r < 0)
		run->batch.stop = r;
	return r < 0 ? r : 0;
}

/* The image event of a file of which nothing else is known. */
static int deliver_failure(struct run *run, size_t index, int error)
{
	union scratch scratch = {.image = {
					 .head = {.type = SP_EV_image},
					 .tail_bytes = 1,
					 .image = (uint32_t)index + 1,
					 .error = error,
				 }};

	set_result(&run->scan->results[index], error, NULL);
	describe(&scratch.image, run->batch.fds[index]);
	return call_back(run, index, &scratch.head);
}

/* The next record's length; false where it is not all there yet. */
static bool next_record(const struct run *run, size_t at, uint32_t *ret_bytes)
{
	if (run->used - at < sizeof(*ret_bytes))
		return false;
	memcpy(ret_bytes, run->bytes + at, sizeof(*ret_bytes));
	return *ret_bytes <= run->used - at - sizeof(*ret_bytes);
}

static void load(const struct run *run, size_t at, uint32_t bytes, union scratch *scratch)
{
	memcpy(scratch->bytes, run->bytes + at + sizeof(bytes), bytes);
	memset(scratch->bytes + bytes, 0, 8);
}

static int deliver_file(struct run *run, size_t end)
{
	size_t index = run->batch.first + run->batch.done, at = 0;
	struct result *result = &run->scan->results[index];
	uint32_t bytes;

	while (at < end && next_record(run, at, &bytes)) {
		union scratch scratch;
		int r = 0;

		load(run, at, bytes, &scratch);
		at += sizeof(bytes) + bytes;
		if (scratch.head.type == SP_EV_meta) {
			set_result(result, result->error,
				   scratch.bytes + sizeof(struct sp_ev_meta) + 5);
			continue;
		}
		if (scratch.head.type == SP_EV_image) {
			set_result(result, scratch.image.error, NULL);
			describe(&scratch.image, run->batch.fds[index]);
		}
		r = call_back(run, index, &scratch.head);
		if (r < 0)
			return r;
	}
	return 0;
}

static int start_check(struct run *run)
{
	struct stat st;
	int r;

	memset(&run->check, 0, sizeof(run->check));
	if (run->batch.done == run->batch.count)
		return 0;
	r = sp_filekey_stat(run->batch.fds[run->batch.first + run->batch.done], &st);
	if (r < 0)
		return r;
	run->check.file_size = (uint64_t)st.st_size;
	run->check.image = (uint32_t)(run->batch.first + run->batch.done) + 1;
	return 0;
}

/* The file's last record was seen, and @end is where the next file's begin. */
static int finish_file(struct run *run, size_t end)
{
	int r = sp_elfscan_check_end(&run->check);

	/* It said how many sites there are, and then found others: somebody writes to it. */
	r = r < 0 ? deliver_failure(run, run->batch.first + run->batch.done, -SP_E_TRUNCATED)
		  : deliver_file(run, end - sizeof(uint32_t));
	if (r < 0)
		return r;
	run->batch.done++;
	memmove(run->bytes, run->bytes + end, run->used - end);
	run->used -= end;
	run->seen = 0;
	return start_check(run);
}

/* Looks at what came. -EPROTO: nonsense. */
static int take_records(struct run *run)
{
	uint32_t bytes;

	while (next_record(run, run->seen, &bytes)) {
		union scratch scratch;
		int r;

		if (run->batch.done == run->batch.count || bytes > SP_ELF_LIMIT_EVENT)
			return -EPROTO;
		if (bytes == 0) {
			r = finish_file(run, run->seen + sizeof(bytes));
			if (r < 0)
				return r;
			continue;
		}
		load(run, run->seen, bytes, &scratch);
		if (sp_elfscan_check_event(&run->check, &scratch.head, bytes) < 0)
			return -EPROTO;
		run->seen += sizeof(bytes) + bytes;
	}
	/* A length that no event has would let the buffer fill for nothing. */
	if (run->used - run->seen >= sizeof(bytes) && bytes > SP_ELF_LIMIT_EVENT)
		return -EPROTO;
	return 0;
}

static int make_room(struct run *run)
{
	size_t room = run->room ? run->room * 2 : 1 << 18;
	uint8_t *bytes;

	if (run->room - run->used >= 1 << 16)
		return 0;
	if (room > 2 * SP_ELF_LIMIT_BYTES)
		return -SP_E_COUNT;
	bytes = realloc(run->bytes, room);
	if (!bytes)
		return -ENOMEM;
	run->bytes = bytes;
	run->room = room;
	return 0;
}

static int read_all(struct sp_batch *batch)
{
	struct run *run = batch->arg;
	int r;

	run->used = run->seen = 0;
	r = start_check(run);
	while (r == 0 && batch->done < batch->count) {
		ssize_t n;

		r = make_room(run);
		if (r < 0)
			break;
		n = sp_batch_read(batch, run->bytes + run->used, run->room - run->used);
		if (n <= 0)
			return (int)n;
		run->used += (size_t)n;
		r = take_records(run);
	}
	return r;
}

static int fail(struct sp_batch *batch, size_t index, int error)
{
	return deliver_failure(batch->arg, index, error);
}

int sp_elfscan_run(struct sp_elfscan *scan, const int *fds, size_t n, sp_elfscan_cb cb, void *arg,
		   struct sp_error *err)
{
	struct run run = {.scan = scan, .cb = cb, .arg = arg};
	struct result *results = calloc(n ? n : 1, sizeof(*results));
	int r;

	if (!results)
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	free(scan->results);
	scan->results = results;
	scan->count = n;
	run.batch = (struct sp_batch){
		.name = "sp-elf",
		.numbered = true,
		.helper = scan->helper,
		.fds = fds,
		.n = n,
		.cpu_seconds = CPU_SECONDS,
		.memory_bytes = MEMORY_BYTES,
		.read = read_all,
		.fail = fail,
		.arg = &run,
		.meanwhile = scan->meanwhile,
		.meanwhile_arg = scan->meanwhile_arg,
	};
	r = sp_batch_run(&run.batch, err);
	free(run.bytes);
	return r;
}
