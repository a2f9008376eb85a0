/* SPDX-License-Identifier: BSD-2-Clause
 *
 * directory.c - see directory.h.
 *
 * Root walks step by step: each step is held open, so what was checked is what is entered.
 */
#include "formats/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LINKS 40 /* as the kernel has it */

/* Moves to @next, which is closed if it cannot be had. */
static void step(int *at, int next)
{
	close(*at);
	*at = next;
}

static int from_where(const char *path)
{
	return open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Puts where the link @link leads in front of the rest of the path, *@path. */
static int follow(int link, const struct stat *status, char **path, char **rest)
{
	char target[PATH_MAX], *longer;
	ssize_t n;

	if (status->st_uid != 0)
		return -ELOOP;
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	if (asprintf(&longer, "%s/%s", target, *rest) < 0)
		return -ENOMEM;
	free(*path);
	*path = *rest = longer;
	return 0;
}

static int walk(const char *wanted)
{
	char *path = strdup(wanted), *rest = path;
	int at = path ? from_where(path) : -1, links = 0, r = path ? 0 : -ENOMEM;

	if (path && at < 0)
		r = -errno;
	while (r == 0) {
		char *name = rest + strspn(rest, "/");
		struct stat status;
		int next;

		if (!*name)
			break;
		rest = name + strcspn(name, "/");
		if (*rest)
			*rest++ = '\0';
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 || fstat(next, &status) < 0) {
			r = -errno;
		} else if (S_ISLNK(status.st_mode)) {
			r = ++links > MOST_LINKS ? -ELOOP : follow(next, &status, &path, &rest);
			close(next);
			if (r == 0 && *path == '/')
				step(&at, from_where(path));
			continue;
		} else {
			step(&at, next);
		}
	}
	if (r == 0) {
		int opened = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		r = opened < 0 ? -errno : opened;
	}
	if (at >= 0)
		close(at);
	free(path);
	return r;
}

int sp_directory_open(const char *path)
{
	int fd;

	if (geteuid() == 0)
		return *path ? walk(path) : -ENOENT;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

enum action { MAKE, REMOVE, UNLINK };

static int act_in(int parent, const char *name, enum action action)
{
	int r = action == MAKE ? mkdirat(parent, name, 0777)
			       : unlinkat(parent, name, action == REMOVE ? AT_REMOVEDIR : 0);

	return r < 0 ? -errno : 0;
}

static int act(const char *path, enum action action)
{
	char *copy = strdup(path), *slash;
	size_t n = strlen(path);
	int parent, r;

	if (!copy)
		return -ENOMEM;
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = '\0';
	slash = strrchr(copy, '/');
	if (slash && slash != copy)
		*slash = '\0';
	parent = sp_directory_open(!slash ? "." : slash == copy ? "/" : copy);
	r = parent < 0 ? parent : act_in(parent, slash && slash[1] ? slash + 1 : copy, action);
	if (parent >= 0)
		close(parent);
	free(copy);
	return r;
}

int sp_directory_make(const char *path)
{
	return act(path, MAKE);
}

int sp_directory_remove(const char *path)
{
	return act(path, REMOVE);
}

int sp_directory_unlink(const char *path)
{
	return act(path, UNLINK);
}

const char *sp_directory_error(int error)
{
	return error == -ELOOP && geteuid() == 0
		       ? "its path has a symbolic link of another user, which root does not follow"
		       : strerror(-error);
}
