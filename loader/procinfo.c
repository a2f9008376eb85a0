/* SPDX-License-Identifier: BSD-2-Clause
 *
 * procinfo.c - reads /proc/PID.
 *
 * Invariant: every file is opened relative to one descriptor of the process's directory, which
 * names that process for good; every text is bounded and terminated.
 */
#include "loader/procinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/filekey.h"
#include "userspace/base/cleanup.h"

/* The kernel gives arguments and environment a quarter of the stack's limit: usually 2 MiB. */
#define ENVIRON_MOST (8u << 20)

/* At most @room bytes of a file of the process; fewer at its end. */
static ssize_t read_some(int dir, const char *name, char *out, size_t room)
{
	sp_cleanup(sp_closep) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	size_t used = 0;

	if (fd < 0)
		return -errno;
	while (used < room) {
		ssize_t n = read(fd, out + used, room - used);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		used += (size_t)n;
	}
	return (ssize_t)used;
}

/* "\nGroups:\t4 24 27 \n". What stands for groups that a user namespace does not know is left out.
 */
static void read_groups(const char *at, struct sp_procinfo *info)
{
	at += at ? strlen("\nGroups:") : 0;
	while (at && info->group_count < SP_USER_GROUPS) {
		char *end;
		unsigned long group = strtoul(at, &end, 10);

		/* The text may be cut short in the middle of a number. */
		if (*at == '\n' || end == at || (*end != ' ' && *end != '\n'))
			break;
		if (group != SP_USER_NOBODY)
			info->groups[info->group_count++] = (gid_t)group;
		at = end + (*end == ' ');
	}
}

static int read_status(int dir, struct sp_procinfo *info)
{
	char text[4096], *line;
	ssize_t n = read_some(dir, "status", text, sizeof(text) - 1);
	int ppid;

	if (n < 0)
		return (int)n;
	text[n] = 0;
	line = strstr(text, "\nPPid:");
	if (line && sscanf(line, "\nPPid: %d", &ppid) == 1)
		info->ppid = ppid;
	line = strstr(text, "\nUid:");
	if (line)
		sscanf(line, "\nUid: %u", &info->uid);
	line = strstr(text, "\nGid:");
	if (line)
		sscanf(line, "\nGid: %u", &info->gid);
	read_groups(strstr(text, "\nGroups:"), info);
	return 0;
}

static void read_comm(int dir, struct sp_procinfo *info)
{
	ssize_t n = read_some(dir, "comm", info->comm, sizeof(info->comm) - 1);

	if (n < 0)
		n = 0;
	if (n > 0 && info->comm[n - 1] == '\n')
		n--;
	info->comm[n] = 0;
}

/* The kernel marks a file that is gone; but a file may also be called that way. */
static void read_exe(int dir, struct sp_procinfo *info, bool little)
{
	static const char mark[] = " (deleted)";
	struct stat by_link, by_name;
	ssize_t n = readlinkat(dir, "exe", info->exe, sizeof(info->exe) - 1);
	size_t tail = sizeof(mark) - 1;

	info->exe[n < 0 ? 0 : n] = 0;
	if (n <= (ssize_t)tail || strcmp(info->exe + n - tail, mark))
		return;
	if (!little && fstatat(dir, "exe", &by_link, 0) == 0 && stat(info->exe, &by_name) == 0 &&
	    by_link.st_dev == by_name.st_dev && by_link.st_ino == by_name.st_ino)
		return;
	info->exe[n - (ssize_t)tail] = 0;
	info->exe_deleted = true;
}

static bool is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	return *word && word[strspn(word, plain)] == 0;
}

struct line {
	char *out;
	size_t used, room;
	bool cut;
};

/* All of it or nothing, so that no escape is torn apart. */
static void add(struct line *line, const char *text, size_t bytes)
{
	if (line->cut || bytes > line->room - line->used) {
		line->cut = true;
		return;
	}
	memcpy(line->out + line->used, text, bytes);
	line->used += bytes;
}

static void add_word(struct line *line, const char *word)
{
	if (is_plain(word)) {
		for (; *word; word++)
			add(line, word, 1);
		return;
	}
	add(line, "'", 1);
	for (; *word; word++)
		if (*word == '\'')
			add(line, "'\\''", 4);
		else
			add(line, word, 1);
	add(line, "'", 1);
}

static void read_command(int dir, struct sp_procinfo *info)
{
	static const char more[] = " \xe2\x80\xa6";
	char raw[SP_PROCINFO_COMMAND + 1];
	struct line line = {.out = info->command, .room = sizeof(info->command) - sizeof(more)};
	ssize_t n = read_some(dir, "cmdline", raw, sizeof(raw) - 1);

	if (n <= 0) {
		snprintf(info->command, sizeof(info->command), "[%s]", info->comm);
		return;
	}
	raw[n] = 0;
	for (ssize_t at = 0; at < n; at += (ssize_t)strlen(raw + at) + 1) {
		if (at)
			add(&line, " ", 1);
		add_word(&line, raw + at);
	}
	if (n == sizeof(raw) - 1)
		line.cut = true;
	/* Not in the middle of a character. */
	while (line.cut && line.used && ((uint8_t)line.out[line.used - 1] & 0x80))
		line.used--;
	if (line.cut)
		memcpy(line.out + line.used, more, sizeof(more));
	else
		line.out[line.used] = 0;
}

static void read_rank(int dir, struct sp_procinfo *info)
{
	sp_cleanup(sp_freep) char *environ = NULL;
	size_t room = 1 << 16;
	ssize_t n;

	/* Its length is not to be had in advance; read again with more room while it fills all. */
	do {
		free(environ);
		room *= 4;
		environ = malloc(room);
		n = environ ? read_some(dir, "environ", environ, room) : -ENOMEM;
	} while (n == (ssize_t)room && room < ENVIRON_MOST);
	info->environ_unreadable = n < 0;
	sp_procrank_parse(environ, n < 0 ? 0 : (size_t)n, info->comm, &info->rank);
}

static bool is_same(int dir, const char *theirs, const char *ours)
{
	sp_cleanup(sp_closep) int there = openat(dir, theirs, O_PATH | O_CLOEXEC);
	sp_cleanup(sp_closep) int here = open(ours, O_PATH | O_CLOEXEC);
	struct stat a, b;

	return sp_filekey_stat(there, &a) == 0 && sp_filekey_stat(here, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* In a container the same path is another file. */
static bool has_same_files(int dir)
{
	return is_same(dir, "ns/mnt", "/proc/self/ns/mnt") && is_same(dir, "root/.", "/.");
}

void sp_procinfo_user(pid_t pid, struct sp_user *ret_user)
{
	struct sp_procinfo info = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	sp_cleanup(sp_closep) int dir = -1;
	char path[32];

	*ret_user = (struct sp_user){0};
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && read_status(dir, &info) == 0 && info.uid != (uid_t)-1 &&
	    info.gid != (gid_t)-1 && has_same_files(dir)) {
		*ret_user = (struct sp_user){.uid = info.uid,
					     .gid = info.gid,
					     .known = true,
					     .group_count = info.group_count};
		memcpy(ret_user->groups, info.groups, sizeof(info.groups));
	}
}

static int read_info(pid_t pid, bool little, struct sp_procinfo *ret_info)
{
	sp_cleanup(sp_freep) struct sp_procinfo *info = calloc(1, sizeof(*info));
	sp_cleanup(sp_closep) int dir = -1;
	char path[32];
	int r;

	if (!info)
		return -ENOMEM;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	info->pid = pid;
	r = read_status(dir, info);
	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	read_comm(dir, info);
	read_exe(dir, info, little);
	if (little) {
		info->environ_unreadable = true;
		sp_procrank_parse(NULL, 0, info->comm, &info->rank);
	} else {
		read_command(dir, info);
		read_rank(dir, info);
	}
	info->same_files = has_same_files(dir);
	*ret_info = *info;
	return 0;
}

int sp_procinfo_read(pid_t pid, struct sp_procinfo *ret_info)
{
	return read_info(pid, false, ret_info);
}

int sp_procinfo_read_little(pid_t pid, struct sp_procinfo *ret_info)
{
	return read_info(pid, true, ret_info);
}
