/* SPDX-License-Identifier: BSD-2-Clause
 *
 * files.c - see files.h.
 *
 * Invariant: a file is opened for reading through the descriptor by which it was seen to be
 * regular, so nobody can put something else in its place in between.
 */
#include "userspace/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

/* @at was opened with O_PATH, which has no effect on the file. */
static int open_seen(int at, int folder, const char *path, struct stat *ret_status)
{
	struct stat seen, now;
	char self[32];
	int fd;

	if (fstat(at, &seen) < 0)
		return -errno;
	if (!S_ISREG(seen.st_mode))
		return -ENOEXEC;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno == ENOENT) /* no /proc: by its name, if that is the same file still */
		fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &now) < 0 || now.st_dev != seen.st_dev || now.st_ino != seen.st_ino) {
		close(fd);
		return -ESTALE;
	}
	if (ret_status)
		*ret_status = now;
	return fd;
}

int sp_file_open(const char *path, struct stat *ret_status)
{
	sp_cleanup(sp_closep) int at = open(path, O_PATH | O_CLOEXEC);

	return at < 0 ? -errno : open_seen(at, AT_FDCWD, path, ret_status);
}

bool sp_path_stays_below(const char *path)
{
	if (*path == '/')
		return false;
	for (;;) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !strncmp(path, "..", 2))
			return false;
		if (!path[n])
			return true;
		path += n + 1;
	}
}

int sp_file_open_below(const char *directory, const char *path, struct stat *ret_status)
{
	sp_cleanup(sp_closep) int folder = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sp_cleanup(sp_closep) int at = -1;
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_BENEATH};

	if (!sp_path_stays_below(path))
		return -EXDEV;
	if (folder < 0)
		return -errno;
	at = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	/* Containers may refuse the call: then through no link at the end of the way. */
	if (at < 0 && (errno == ENOSYS || errno == EPERM))
		at = openat(folder, path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return at < 0 ? -errno : open_seen(at, folder, path, ret_status);
}
