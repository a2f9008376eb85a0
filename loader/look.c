/* SPDX-License-Identifier: BSD-2-Clause
 *
 * look.c - the child that looks, and who waits for it.
 *
 * Invariant: the recorder never waits longer than its patience, and a child that it gave up is
 * killed, and left to the kernel where it does not die.
 */
#include "loader/look.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/config.h"
#include "formats/wire.h"
#include "loader/archive.h"
#include "loader/clock.h"
#include "loader/command.h"
#include "loader/companion.h"
#include "loader/hold.h"
#include "loader/slice.h"
#include "userspace/base/cleanup.h"

#define HURRY (-10) /* nice value, as the recorder's */
#define PATIENCE_MS 1000
#define HASTE_MS 50  /* after … */
#define HANGS_MOST 3 /* … so many that did not answer */
#define TURN_MS 20
#define DEVICES 64
#define UNREAD_PIDS 64
#define UNREAD_MOST 32 /* names that a process makes up do not keep us from those of others */

enum what { MAP, PROGRAM, OPEN_FILE, PROCESS, NAME, JUDGE, MARK };

struct question {
	enum what what;
	pid_t pid;
	uint64_t address;
	bool has_user; /* else he is NULL */
	struct sp_user user;
	struct sp_procmap map; /* but for its path */
	char path[PATH_MAX];
};

struct answer {
	int result;
	union {
		struct sp_look_file file;
		struct sp_procinfo process;
		struct sp_look_name name;
		bool is_private;
	};
};

struct sp_look {
	const struct sp_identity *identity;
	void (*meanwhile)(void *arg);
	void *arg;
	int socket;
	pid_t child; /* 0: there is none */
	unsigned hangs;
	uint64_t devices[DEVICES]; /* major << 32 | minor: file systems that do not answer */
	size_t n_devices;
	struct {
		pid_t pid;
		unsigned n;
	} unread[UNREAD_PIDS]; /* of processes the last names, so many of them */
};

/* ---- the child's side ---- */

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

static int look_at_map(struct question *q, struct answer *a, int *ret_fd)
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

static int look_at_program(const struct question *q, struct answer *a, int *ret_fd)
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

/* A string of another process, "" if it cannot be read. */
static void read_text(pid_t pid, uint64_t address, char *out, size_t room)
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
			return;
		at += (size_t)got;
	}
	out[at] = 0;
}

static int look_at_name(const struct question *q, struct sp_look_name *name)
{
	struct sp_dynamic_descriptor d = {0};
	struct iovec to = {&d, sizeof(d)}, from = {(void *)(uintptr_t)q->address, sizeof(d)};

	if (process_vm_readv(q->pid, &to, 1, &from, 1, 0) != sizeof(d))
		return -EFAULT;
	read_text(q->pid, d.name, name->name, sizeof(name->name));
	read_text(q->pid, d.file, name->file, sizeof(name->file));
	read_text(q->pid, d.tags, name->tags, sizeof(name->tags));
	name->line = (int32_t)d.line;
	return 0;
}

static int look_at(struct question *q, int given, struct answer *a, int *ret_fd)
{
	switch (q->what) {
	case MAP:
		return look_at_map(q, a, ret_fd);
	case PROGRAM:
		return look_at_program(q, a, ret_fd);
	case OPEN_FILE:
		a->file.is_elf = is_elf(given);
		describe(given, q->path, &a->file);
		return 0;
	case PROCESS:
		return sp_procinfo_read(q->pid, &a->process);
	case NAME:
		return look_at_name(q, &a->name);
	case JUDGE:
		return sp_archive_judge(whose, given, q->path, q->has_user ? &q->user : NULL,
					&a->is_private);
	case MARK:
		return sp_hold_mark(given);
	}
	return -EINVAL;
}

/* What goes beside a message. */
union control {
	char space[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static int send_all(int socket, const void *bytes, size_t n, int fd)
{
	union control control = {0};
	struct iovec body = {(void *)bytes, n};
	struct msghdr m = {.msg_iov = &body, .msg_iovlen = 1};

	if (fd >= 0) {
		struct cmsghdr *c;

		m.msg_control = control.space;
		m.msg_controllen = sizeof(control.space);
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	return sendmsg(socket, &m, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -EPIPE;
}

/* -EAGAIN: nothing is there yet (MSG_DONTWAIT); -EPIPE: nothing will be. */
static int receive(int socket, void *bytes, size_t n, int flags, int *ret_fd)
{
	union control control = {0};
	struct iovec body = {bytes, n};
	struct msghdr m = {.msg_iov = &body,
			   .msg_iovlen = 1,
			   .msg_control = control.space,
			   .msg_controllen = sizeof(control.space)};
	ssize_t got = recvmsg(socket, &m, flags | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&m) : NULL;

	*ret_fd = -1;
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return got == (ssize_t)n ? 0 : -EPIPE;
}

static void run_child(pid_t recorder)
{
	static struct question q;
	static struct answer a;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != recorder)
		_exit(0);
	/* Nobody who reads what the recorder says is to wait for one that hangs. */
	for (int i = 0; i < 3; i++)
		close(i);
	sp_slice_set(HURRY, true); /* the recorder waits for it */
	for (;;) {
		int given, fd = -1;
		int r = receive(SP_COMPANION_SOCKET, &q, sizeof(q), 0, &given);

		if (r == -EAGAIN)
			continue;
		if (r < 0)
			_exit(0);
		memset(&a, 0, sizeof(a));
		a.result = look_at(&q, given, &a, &fd);
		/* Its ids were changed and changed back: then it is forgotten. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (send_all(SP_COMPANION_SOCKET, &a, sizeof(a), fd) < 0)
			_exit(0);
		if (fd >= 0)
			close(fd);
		if (given >= 0)
			close(given);
	}
}

/* ---- the recorder's side ---- */

static int start(struct sp_look *look)
{
	const struct sp_companion child = {.name = "sp-look", .run = run_child};

	whose = look->identity;
	return sp_companion_start(&child, &look->child, &look->socket);
}

/* One that hangs in the kernel may not die: it is not waited for. */
static void end(struct sp_look *look)
{
	if (!look->child)
		return;
	close(look->socket);
	(void)kill(look->child, SIGKILL);
	for (int i = 0; i < 20 && waitpid(look->child, NULL, WNOHANG) == 0; i++)
		usleep(1000);
	look->child = 0;
}

int sp_look_start(const struct sp_identity *identity, struct sp_look **ret_look)
{
	struct sp_look *look = calloc(1, sizeof(*look));
	int r;

	if (!look)
		return -ENOMEM;
	look->identity = identity;
	r = start(look);
	if (r < 0) {
		free(look);
		return r;
	}
	*ret_look = look;
	return 0;
}

void sp_look_meanwhile(struct sp_look *look, void (*meanwhile)(void *arg), void *arg)
{
	look->meanwhile = meanwhile;
	look->arg = arg;
}

void sp_look_free(struct sp_look *look)
{
	if (!look)
		return;
	end(look);
	free(look);
}

static int await_answer(struct sp_look *look, struct answer *a, int *ret_fd)
{
	uint64_t patience = look->hangs < HANGS_MOST ? PATIENCE_MS : HASTE_MS;
	uint64_t until = sp_now() + patience * 1000000u;
	struct pollfd p = {.fd = look->socket, .events = POLLIN};
	int r;

	do {
		int ready = poll(&p, 1, TURN_MS);

		r = ready > 0 ? receive(look->socket, a, sizeof(*a), MSG_DONTWAIT, ret_fd)
			      : -EAGAIN;
		if (r != -EAGAIN)
			return r;
		if (look->meanwhile)
			look->meanwhile(look->arg);
	} while (sp_now() < until);
	look->hangs++;
	return -ETIMEDOUT;
}

/* @fd: beside the question, -1 none. @ret_fd: beside the answer. */
static int ask(struct sp_look *look, const struct question *q, int fd, struct answer *a,
	       int *ret_fd)
{
	int r = look->child ? 0 : start(look);

	*ret_fd = -1;
	if (r == 0)
		r = send_all(look->socket, q, sizeof(*q), fd);
	if (r == 0)
		r = await_answer(look, a, ret_fd);
	if (r < 0) { /* it hangs, or somebody has killed it: the next question gets another */
		end(look);
		return r;
	}
	return a->result;
}

static struct question *question(enum what what, pid_t pid, const char *path)
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->what = what;
	q->pid = pid;
	snprintf(q->path, sizeof(q->path), "%s", path);
	return q;
}

static int ask_for_file(struct sp_look *look, const struct question *q, int given,
			struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct answer *a = malloc(sizeof(*a));
	int fd, r = q && a ? ask(look, q, given, a, &fd) : -ENOMEM;

	if (r == 0 && fd < 0 && given < 0)
		r = -EMFILE; /* there was no room for it */
	if (r < 0)
		return r;
	*ret_file = a->file;
	ret_file->fd = given < 0 ? fd : given;
	return 0;
}

int sp_look_map(struct sp_look *look, pid_t pid, const struct sp_procmap *map,
		struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct question *q = question(MAP, pid, map->path);
	uint64_t device = (uint64_t)map->major << 32 | map->minor;
	int r;

	for (size_t i = 0; i < look->n_devices; i++)
		if (look->devices[i] == device)
			return -EHOSTDOWN;
	if (q)
		q->map = *map;
	r = ask_for_file(look, q, -1, ret_file);
	if (r == -ETIMEDOUT && look->n_devices < DEVICES)
		look->devices[look->n_devices++] = device;
	return r;
}

int sp_look_program(struct sp_look *look, const char *name, struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct question *q = question(PROGRAM, 0, name);

	return ask_for_file(look, q, -1, ret_file);
}

int sp_look_open_file(struct sp_look *look, int fd, const char *path, struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct question *q = question(OPEN_FILE, 0, path);
	int r = ask_for_file(look, q, fd, ret_file);

	if (r == 0)
		snprintf(ret_file->path, sizeof(ret_file->path), "%s", path);
	return r;
}

int sp_look_process(struct sp_look *look, pid_t pid, struct sp_procinfo *ret_info)
{
	sp_cleanup(sp_freep) struct question *q = question(PROCESS, pid, "");
	sp_cleanup(sp_freep) struct answer *a = malloc(sizeof(*a));
	int fd, r = q && a ? ask(look, q, -1, a, &fd) : -ENOMEM;

	if (r == 0)
		*ret_info = a->process;
	return r;
}

int sp_look_name(struct sp_look *look, pid_t pid, uint64_t address, struct sp_look_name *ret_name)
{
	sp_cleanup(sp_freep) struct question *q = question(NAME, pid, "");
	sp_cleanup(sp_freep) struct answer *a = malloc(sizeof(*a));
	size_t slot = (unsigned)pid % UNREAD_PIDS;
	unsigned unread = look->unread[slot].pid == pid ? look->unread[slot].n : 0;
	int fd, r = -ENOMEM;

	if (unread >= UNREAD_MOST)
		return -EFAULT;
	if (q && a) {
		q->address = address;
		r = ask(look, q, -1, a, &fd);
	}
	if (r == 0)
		*ret_name = a->name;
	look->unread[slot].pid = pid;
	look->unread[slot].n = r == 0 && ret_name->name[0] ? 0 : unread + 1;
	return r;
}

int sp_look_judge(void *look, int fd, const char *path, const struct sp_user *user,
		  bool *ret_private)
{
	sp_cleanup(sp_freep) struct question *q = question(JUDGE, 0, path);
	sp_cleanup(sp_freep) struct answer *a = malloc(sizeof(*a));
	int none, r = -ENOMEM;

	if (q && a) {
		q->has_user = user;
		if (user)
			q->user = *user;
		r = ask(look, q, fd, a, &none);
		*ret_private = a->is_private;
	}
	return r;
}

int sp_look_mark(struct sp_look *look, int fan)
{
	sp_cleanup(sp_freep) struct question *q = question(MARK, 0, "");
	sp_cleanup(sp_freep) struct answer *a = malloc(sizeof(*a));
	int none;

	return q && a ? ask(look, q, fan, a, &none) : -ENOMEM;
}
