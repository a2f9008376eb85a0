// SPDX-License-Identifier: BSD-2-Clause
/*
 * util.c - whole reads and writes, temporary files, and arrays that grow.
 */
#include "formats/util.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/error.h"

int sp_pread_all(int fd, void *data, size_t size, uint64_t offset)
{
	char *at = data;

	while (size) {
		ssize_t got = pread(fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -SP_E_TRUNCATED;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

int sp_pwrite_all(int fd, const void *data, size_t size, uint64_t offset)
{
	const char *at = data;

	while (size) {
		ssize_t put = pwrite(fd, at, size, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (!put)
			return -EIO;
		at += put;
		offset += (uint64_t)put;
		size -= (size_t)put;
	}
	return 0;
}

/* What it is, is seen before it is opened for reading: the open of a device may do something. */
int sp_open_regular(const char *path, int *ret_fd, uint64_t *ret_size, struct sp_error *error)
{
	int at = open(path, O_PATH | O_CLOEXEC), fd;
	struct stat st;
	char self[32];

	if (at < 0)
		return sp_error_set(error, -errno, 0, "cannot be opened: %s", strerror(errno));
	if (fstat(at, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(at);
		return sp_error_set(error, S_ISDIR(st.st_mode) ? -EISDIR : -SP_E_FORMAT, 0,
				    S_ISDIR(st.st_mode) ? "is a directory"
							: "is not a regular file");
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) /* no /proc */
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(at); /* which leaves errno alone, as it succeeds */
	if (fd < 0)
		return sp_error_set(error, -errno, 0, "cannot be opened: %s", strerror(errno));
	*ret_fd = fd;
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Some file systems have no nameless files: there the name is removed at once. */
static int open_nameless(const char *directory)
{
	char path[4096];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	if (snprintf(path, sizeof(path), "%s/.sp-formats.XXXXXX", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

int sp_temporary_open(int *ret_fd, struct sp_error *error)
{
	const char *given = secure_getenv("TMPDIR");
	const char *const directories[] = {given && *given ? given : "/var/tmp", "/var/tmp",
					   "/tmp"};
	int first = 0, fd;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		fd = open_nameless(directories[i]);
		if (fd >= 0) {
			*ret_fd = fd;
			return 0;
		}
		first = first ? first : fd;
	}
	return sp_error_set(error, first, 0,
			    "a temporary file cannot be made in %s: %s; set TMPDIR to a directory "
			    "with room",
			    directories[0], strerror(-first));
}

int sp_array_reserve(void **array, size_t *capacity, size_t used, size_t size)
{
	size_t grown = *capacity ? *capacity * 2 : 16;
	void *moved;

	if (used < *capacity)
		return 0;
	if (grown > SIZE_MAX / size)
		return -ENOMEM;
	moved = realloc(*array, grown * size);
	if (!moved)
		return -ENOMEM;
	*array = moved;
	*capacity = grown;
	return 0;
}
