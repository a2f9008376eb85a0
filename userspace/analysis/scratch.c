/* SPDX-License-Identifier: BSD-2-Clause
 *
 * scratch.c - see scratch.h.
 *
 * Invariant: the file has no name once sp_scratch_new() returns, so nothing is left behind however
 * the process ends.
 */
#include "userspace/analysis/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

struct sp_scratch {
	int fd;
	uint64_t written; /* bytes in the file */
	size_t used, room;
	uint8_t buffer[];
};

static int create(const char *directory)
{
	sp_cleanup(sp_freep) char *path = NULL;
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	/* Some network file systems have no unnamed files. */
	if (asprintf(&path, "%s/.sp-report.XXXXXX", directory) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int sp_scratch_new(const char *directory, size_t buffer_bytes, struct sp_scratch **ret_scratch)
{
	struct sp_scratch *scratch = malloc(sizeof(*scratch) + buffer_bytes);
	int fd;

	if (!scratch)
		return -ENOMEM;
	fd = create(directory);
	if (fd < 0) {
		free(scratch);
		return fd;
	}
	scratch->fd = fd;
	scratch->written = scratch->used = 0;
	scratch->room = buffer_bytes;
	*ret_scratch = scratch;
	return 0;
}

void sp_scratch_free(struct sp_scratch *scratch)
{
	if (!scratch)
		return;
	close(scratch->fd);
	free(scratch);
}

uint64_t sp_scratch_bytes(const struct sp_scratch *scratch)
{
	return scratch->written + scratch->used;
}

static int write_out(struct sp_scratch *scratch, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = pwrite(scratch->fd, data, bytes, (off_t)scratch->written);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		scratch->written += (uint64_t)n;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int flush(struct sp_scratch *scratch)
{
	int r = write_out(scratch, scratch->buffer, scratch->used);

	if (r == 0)
		scratch->used = 0;
	return r;
}

int sp_scratch_append(struct sp_scratch *scratch, const void *data, size_t bytes)
{
	int r = bytes > scratch->room - scratch->used ? flush(scratch) : 0;

	if (r < 0)
		return r;
	if (bytes > scratch->room)
		return write_out(scratch, data, bytes);
	memcpy(scratch->buffer + scratch->used, data, bytes);
	scratch->used += bytes;
	return 0;
}

void *sp_scratch_room(struct sp_scratch *scratch, size_t bytes, int *ret_error)
{
	int r = bytes > scratch->room - scratch->used ? flush(scratch) : 0;

	if (r < 0) {
		*ret_error = r;
		return NULL;
	}
	return scratch->buffer + scratch->used;
}

void sp_scratch_used(struct sp_scratch *scratch, size_t bytes)
{
	scratch->used += bytes;
}

int sp_scratch_read(struct sp_scratch *scratch, uint64_t offset, void *data, size_t bytes)
{
	uint8_t *out = data;
	int r = offset + bytes > scratch->written ? flush(scratch) : 0;

	while (r == 0 && bytes) {
		ssize_t n = pread(scratch->fd, out, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENODATA;
		offset += (uint64_t)n;
		out += n;
		bytes -= (size_t)n;
	}
	return r;
}

void sp_scratch_forget(struct sp_scratch *scratch, uint64_t offset, uint64_t bytes)
{
	(void)!fallocate(scratch->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
			 (off_t)bytes);
}
