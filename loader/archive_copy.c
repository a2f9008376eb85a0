/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive_copy.c - see archive_copy.h.
 */
#include "loader/archive_copy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "loader/archive_judge.h"
#include "userspace/base/cleanup.h"

#define STEP (8u << 20) /* bytes between two questions whether to go on */
#define NAME_MOST 100
#define ID_MOST 64

/* ---- names ---- */

static bool is_hexadecimal(const char *text)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	return n && n <= ID_MOST && !text[n];
}

/* Its name in the folder: nothing but letters, digits and -_.+ */
static char *name_of(const struct sp_archive_held *held, bool with_number)
{
	bool id = is_hexadecimal(held->build_id);
	const char *slash = strrchr(held->path, '/'), *base = slash ? slash + 1 : held->path;
	const char *deleted = strstr(base, " (deleted)");
	size_t n = deleted && !deleted[10] ? (size_t)(deleted - base) : strlen(base);
	char number[32] = "";
	char *name;

	if (!id || with_number)
		snprintf(number, sizeof(number), "%s%u", id ? "-" : "image", held->image);
	if (asprintf(&name, "%s%s-%.*s", id ? held->build_id : "", number,
		     (int)(n < NAME_MOST ? n : NAME_MOST), base) < 0)
		return NULL;
	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.+", *at))
			*at = '_';
	return name;
}

/* ---- copying ---- */

static ssize_t copy_some(int in, off_t *at, int out, size_t n, int *method)
{
	static char buffer[1 << 16];
	ssize_t got = -1;

	if (*method == 0) {
		got = copy_file_range(in, at, out, NULL, n, 0);
		*method += got < 0 && errno != EINTR && errno != ENOSPC && errno != EDQUOT;
	}
	if (*method == 1) {
		got = sendfile(out, in, at, n);
		*method += got < 0 && (errno == EINVAL || errno == ENOSYS);
	}
	if (*method == 2) {
		got = pread(in, buffer, n < sizeof(buffer) ? n : sizeof(buffer), *at);
		if (got > 0)
			got = write(out, buffer, (size_t)got);
		if (got > 0)
			*at += got;
	}
	return got;
}

/* The data at @at, or the first behind it: where that begins and ends. None: at the file's end. */
static void find_data(int in, off_t at, uint64_t size, off_t *ret_begin, off_t *ret_end)
{
	off_t begin = lseek(in, at, SEEK_DATA), end;

	if (begin < 0 && errno == ENXIO)
		begin = (off_t)size;
	else if (begin < 0) /* a file system that knows of no holes */
		begin = at;
	end = lseek(in, begin, SEEK_HOLE);
	if (end <= begin || (uint64_t)end > size)
		end = (off_t)size;
	*ret_begin = begin;
	*ret_end = end;
}

/* Holes stay holes: a file may be far longer than there is room for its content. */
static int copy(int in, int out, uint64_t size, const char *name, sp_archive_step step, void *arg)
{
	int method = 0;
	off_t at = 0, end = 0;

	while ((uint64_t)at < size) {
		off_t begin = at;
		size_t n;
		ssize_t got;
		int r = step(arg, name);

		if (r < 0)
			return r;
		if (at >= end)
			find_data(in, at, size, &begin, &end);
		if (begin > at && lseek(out, begin, SEEK_SET) < 0)
			return -errno;
		at = begin;
		if ((uint64_t)at >= size)
			break;
		n = end - at < (off_t)STEP ? (size_t)(end - at) : STEP;
		got = copy_some(in, &at, out, n, &method);
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			return -ESTALE;
	}
	/* What ends with a hole ends there. */
	return ftruncate(out, (off_t)size) < 0 ? -errno : 0;
}

/* A new file of the name, or of the name with the image's number where another file has the same
 * build-id: anybody can forge those. */
static int make_file(int folder, const struct sp_archive_held *held, char **ret_name)
{
	for (int number = 0; number < 2; number++) {
		sp_cleanup(sp_freep) char *name = name_of(held, number);
		int fd;

		if (!name)
			return -ENOMEM;
		fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    held->is_private ? 0600 : 0666);
		if (fd >= 0) {
			*ret_name = sp_take(name);
			return fd;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       !memcmp(magic, "\177ELF", sizeof(magic));
}

int sp_archive_copy(int folder, const struct sp_archive_held *held, uint64_t room,
		    sp_archive_step step, void *arg, char **ret_name)
{
	sp_cleanup(sp_freep) char *name = NULL;
	struct sp_filekey key = {0};
	struct stat now;
	int out, r;

	if (held->refused)
		return held->refused;
	if (held->fd < 0)
		return -EMFILE;
	if (!is_elf(held->fd))
		return 1;
	r = sp_archive_may_read(held->fd);
	if (r == 0 && fstat(held->fd, &now))
		r = -errno;
	if (r < 0)
		return r;
	key = sp_filekey_of(&now);
	if (key.size != held->key.size || key.mtime != held->key.mtime)
		return -ESTALE;
	if (key.size > room)
		return -EFBIG;
	out = make_file(folder, held, &name);
	if (out < 0)
		return out;
	r = copy(held->fd, out, key.size, name, step, arg);
	if (close(out) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		unlinkat(folder, name, 0);
	else
		*ret_name = sp_take(name);
	return r;
}
