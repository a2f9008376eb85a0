/* SPDX-License-Identifier: BSD-2-Clause
 *
 * look_child.c - see look_child.h.
 */
#include "loader/look_child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bpf/config.h"
#include "formats/wire.h"
#include "loader/archive_judge.h"
#include "loader/command.h"
#include "loader/companion.h"
#include "loader/hold.h"
#include "loader/slice.h"
#include "userspace/base/cleanup.h"

#define HURRY (-10) /* nice value, as the recorder's */

static const struct sp_identity *whose; /* files of a command are opened; set before the fork */

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* All but the path. */
static void describe(int fd, const char *path, struct sp_look_file *file)
{
	struct statfs system;
	struct stat status;

	file->system = fstatfs(fd, &system) == 0 ? (long)system.f_type : 0;
	file->place = 0;
	if (fstat(fd, &status) == 0 && !status.st_nlink)
		file->place = SP_IMAGE_DELETED;
	else if (!sp_procmaps_is_at(fd, path))
		file->place = SP_IMAGE_ELSEWHERE;
}

static int look_at_map(struct sp_look_question *q, struct sp_look_answer *a, int *ret_fd)
{
	char elsewhere[PATH_MAX];
	const char *path;
	int r;

	q->map.path = q->path;
	r = sp_procmaps_open(q->pid, &q->map, ret_fd);
	if (r < 0)
		return r;
	path = sp_procmaps_reach(*ret_fd, q->path, elsewhere, sizeof(elsewhere));
	snprintf(a->file.path, sizeof(a->file.path), "%s", path);
	describe(*ret_fd, path, &a->file);
	return 0;
}

static int look_at_program(const struct sp_look_question *q, struct sp_look_answer *a, int *ret_fd)
{
	sp_cleanup(sp_freep) char *path = sp_command_find(q->path);
	int r = path ? sp_identity_enter(whose) : -ENOENT;

	if (r < 0)
		return r;
	r = sp_procmaps_open_path(path, ret_fd);
	sp_identity_leave(whose);
	if (r < 0)
		return r;
	snprintf(a->file.path, sizeof(a->file.path), "%s", path);
	a->file.is_elf = is_elf(*ret_fd);
	describe(*ret_fd, path, &a->file);
	return 0;
}

/* A string of another process. False: it cannot be read, and what can is taken. */
static bool read_text(pid_t pid, uint64_t address, char *out, size_t room)
{
	size_t at = 0;

	while (address && at < room - 1) {
		/* Up to the end of the page: the next one may not be there. */
		size_t n = 4096 - (address + at) % 4096;
		struct iovec to = {out + at, n < room - 1 - at ? n : room - 1 - at};
		struct iovec from = {(void *)(uintptr_t)(address + at), to.iov_len};
		ssize_t got = process_vm_readv(pid, &to, 1, &from, 1, 0);

		if (got <= 0)
			break;
		if (memchr(out + at, 0, (size_t)got))
			return true;
		at += (size_t)got;
	}
	out[at] = 0;
	return at > 0;
}

static int look_at_name(const struct sp_look_question *q, struct sp_look_name *name)
{
	struct sp_dynamic_descriptor d = {0};
	struct iovec to = {&d, sizeof(d)}, from = {(void *)(uintptr_t)q->address, sizeof(d)};

	if (process_vm_readv(q->pid, &to, 1, &from, 1, 0) != sizeof(d))
		return -EFAULT;
	name->is_read = read_text(q->pid, d.name, name->name, sizeof(name->name));
	read_text(q->pid, d.file, name->file, sizeof(name->file));
	read_text(q->pid, d.tags, name->tags, sizeof(name->tags));
	name->line = (int32_t)d.line;
	return 0;
}

static int look_at(struct sp_look_question *q, int given, struct sp_look_answer *a, int *ret_fd)
{
	switch (q->what) {
	case SP_LOOK_MAP:
		return look_at_map(q, a, ret_fd);
	case SP_LOOK_PROGRAM:
		return look_at_program(q, a, ret_fd);
	case SP_LOOK_OPEN_FILE:
		a->file.is_elf = is_elf(given);
		describe(given, q->path, &a->file);
		return 0;
	case SP_LOOK_PROCESS:
		return sp_procinfo_read(q->pid, &a->process);
	case SP_LOOK_NAME:
		return look_at_name(q, &a->name);
	case SP_LOOK_JUDGE:
		return sp_archive_judge(whose, given, q->path, q->has_user ? &q->user : NULL,
					&a->is_private);
	case SP_LOOK_MARK:
		return sp_hold_mark(given);
	}
	return -EINVAL;
}

static void run_child(pid_t recorder)
{
	static struct sp_look_question q;
	static struct sp_look_answer a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(0);
	/* Nobody who reads what the recorder says is to wait for one that hangs. */
	for (int i = 0; i < 3; i++)
		close(i);
	sp_slice_set(HURRY, true); /* the recorder waits for it */
	for (;;) {
		int given = -1, fd = -1;
		int r = sp_companion_receive(SP_COMPANION_SOCKET, &q, sizeof(q), &given, 1, 0);

		if (r == -EAGAIN)
			continue;
		if (r < 0)
			_exit(0);
		memset(&a, 0, sizeof(a));
		a.result = look_at(&q, given, &a, &fd);
		/* Its ids were changed and changed back: then it is forgotten. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (sp_companion_send(SP_COMPANION_SOCKET, &a, sizeof(a), &fd, fd >= 0, 0) < 0)
			_exit(0);
		if (fd >= 0)
			close(fd);
		if (given >= 0)
			close(given);
	}
}

int sp_look_child_start(const struct sp_identity *identity, pid_t *ret_pid, int *ret_socket)
{
	const struct sp_companion child = {.name = "sp-look", .in_group = true, .run = run_child};

	whose = identity;
	return sp_companion_start(&child, ret_pid, ret_socket);
}
