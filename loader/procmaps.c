/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procmaps.c - parses /proc/PID/maps and opens what it names.
 *
 * Invariant: a descriptor is handed out only for a regular file that was compared with the mapping
 * by inode; a path is where to look, never proof.
 */
#include "loader/procmaps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "loader/without.h"
#include "userspace/base/cleanup.h"

/* The kernel writes a newline as \012 and leaves everything else, the backslash included. */
static void unescape(char *path)
{
	char *out = path;

	for (; *path; path++) {
		if (!strncmp(path, "\\012", 4)) {
			*out++ = '\n';
			path += 3;
		} else {
			*out++ = *path;
		}
	}
	*out = 0;
}

static bool cut_mark(char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), tail = sizeof(mark) - 1;

	if (n <= tail || strcmp(path + n - tail, mark))
		return false;
	path[n - tail] = 0;
	return true;
}

static bool parse(char *line, struct sp_procmap *ret_map)
{
	struct sp_procmap map = {0};
	char flags[5];
	int at = 0;
	size_t n = strlen(line);

	if (n && line[n - 1] == '\n')
		line[n - 1] = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n", &map.start,
		   &map.end, flags, &map.offset, &map.major, &map.minor, &map.inode, &at) != 7 ||
	    !at || strlen(flags) != 4)
		return false;
	map.flags = (flags[0] == 'r' ? SP_MAP_READ : 0) | (flags[1] == 'w' ? SP_MAP_WRITE : 0) |
		    (flags[2] == 'x' ? SP_MAP_EXEC : 0);
	map.shared = flags[3] == 's';
	/* Padded with spaces, but a path begins with a slash or a bracket. */
	line += at + strspn(line + at, " ");
	map.deleted = cut_mark(line);
	unescape(line);
	map.path = line;
	*ret_map = map;
	return true;
}

int sp_procmaps_read(pid_t pid, sp_procmap_cb cb, void *arg)
{
	sp_cleanup(sp_fclosep) FILE *file = NULL;
	sp_cleanup(sp_freep) char *line = NULL;
	char path[32];
	size_t room = 0;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	while (r >= 0 && getline(&line, &room, file) > 0) {
		struct sp_procmap map;

		if (parse(line, &map))
			r = cb(&map, arg);
	}
	if (r >= 0 && ferror(file))
		r = errno ? -errno : -EIO;
	return r < 0 ? r : 0;
}

/* Opens a path without any effect, looks at what it is, and only then for reading. */
static int open_checked(const char *path, const struct sp_procmap *map, int *ret_fd)
{
	sp_cleanup(sp_closep) int at = open(path, O_PATH | O_CLOEXEC);
	struct stat st;
	char self[32];
	int fd;

	if (at < 0 || fstat(at, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOENT;
	/* File systems without a device of their own report others in stat(2) than in maps. */
	if (map && (st.st_ino != map->inode ||
		    (st.st_dev != makedev(map->major, map->minor) && major(st.st_dev) != 0)))
		return -ENOENT;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", at);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int sp_procmaps_open(pid_t pid, const struct sp_procmap *map, int *ret_fd)
{
	char path[4160];

	if (map->inode == 0 || map->path[0] != '/')
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 map->start, map->end);
	if (!sp_without(SP_FEATURE_MAP_FILES) && open_checked(path, map, ret_fd) == 0)
		return 0;
	if (snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, map->path) <
		    (int)sizeof(path) &&
	    open_checked(path, map, ret_fd) == 0)
		return 0;
	/* Our own root, for processes whose root we may not enter. */
	return open_checked(map->path, map, ret_fd) == 0 ? 0 : -ENOENT;
}

bool sp_procmaps_is_at(int fd, const char *path)
{
	struct stat of, at;

	return fstat(fd, &of) == 0 && fstatat(AT_FDCWD, path, &at, AT_NO_AUTOMOUNT) == 0 &&
	       at.st_size == of.st_size && at.st_mtim.tv_sec == of.st_mtim.tv_sec &&
	       at.st_mtim.tv_nsec == of.st_mtim.tv_nsec;
}

const char *sp_procmaps_reach(int fd, const char *path, char *buffer, size_t size)
{
	char self[32];
	ssize_t n;

	if (sp_procmaps_is_at(fd, path))
		return path;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	n = readlink(self, buffer, size);
	if (n <= 0 || (size_t)n >= size)
		return path;
	buffer[n] = 0;
	return sp_procmaps_is_at(fd, buffer) ? buffer : path;
}

int sp_procmaps_open_path(const char *path, int *ret_fd)
{
	return open_checked(path, NULL, ret_fd);
}
