/* SPDX-License-Identifier: BSD-2-Clause
 *
 * look.c - asking the process that looks, and waiting for it.
 *
 * Invariant: the recorder never waits longer than its patience, and a child that it gave up is
 * killed, and left to the kernel where it does not die.
 */
#include "loader/look.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/clock.h"
#include "loader/companion.h"
#include "loader/look_child.h"
#include "userspace/base/cleanup.h"

#define PATIENCE_MS 1000
#define HASTE_MS 50  /* after … */
#define HANGS_MOST 3 /* … so many that did not answer */
#define BUSY 5	     /* times as long where it only lacks a processor */
#define TURN_MS 20
#define DEVICES 64
#define UNREAD_PIDS 64
#define UNREAD_MOST 32 /* names that a process makes up do not keep us from those of others */

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

static int start(struct sp_look *look)
{
	return sp_look_child_start(look->identity, &look->child, &look->socket);
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

pid_t sp_look_pid(const struct sp_look *look)
{
	return look->child;
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

/* It could go on at once, if it had a processor: nothing hangs. */
static bool is_runnable(pid_t pid)
{
	sp_cleanup(sp_fclosep) FILE *f = NULL;
	char path[64], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	return f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'R';
}

static int await_answer(struct sp_look *look, struct sp_look_answer *a, int *ret_fd)
{
	uint64_t patience = look->hangs < HANGS_MOST ? PATIENCE_MS : HASTE_MS;
	uint64_t until = sp_now() + patience * 1000000u;
	uint64_t most = until + (BUSY - 1) * patience * 1000000u;
	struct pollfd p = {.fd = look->socket, .events = POLLIN};

	for (;;) {
		/* Before each look: what takes long may be what we do meanwhile. */
		uint64_t now = sp_now();
		int ready = poll(&p, 1, TURN_MS);
		int r = ready > 0 ? sp_companion_receive(look->socket, a, sizeof(*a), ret_fd, 1,
							 MSG_DONTWAIT)
				  : -EAGAIN;

		if (r != -EAGAIN)
			return r < 0 ? r : 0;
		if (now >= until && (now >= most || !is_runnable(look->child)))
			break;
		if (look->meanwhile)
			look->meanwhile(look->arg);
	}
	look->hangs++;
	return -ETIMEDOUT;
}

/* @fd: beside the question, -1 none. @ret_fd: beside the answer. */
static int ask(struct sp_look *look, const struct sp_look_question *q, int fd,
	       struct sp_look_answer *a, int *ret_fd)
{
	int r = look->child ? 0 : start(look);

	*ret_fd = -1;
	if (r == 0)
		r = sp_companion_send(look->socket, q, sizeof(*q), &fd, fd >= 0, 0);
	if (r == 0)
		r = await_answer(look, a, ret_fd);
	if (r < 0) { /* it hangs, or somebody has killed it: the next question gets another */
		end(look);
		return r;
	}
	return a->result;
}

static struct sp_look_question *question(enum sp_look_what what, pid_t pid, const char *path)
{
	struct sp_look_question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->what = what;
	q->pid = pid;
	snprintf(q->path, sizeof(q->path), "%s", path);
	return q;
}

static int ask_for_file(struct sp_look *look, const struct sp_look_question *q, int given,
			struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct sp_look_answer *a = malloc(sizeof(*a));
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
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_MAP, pid, map->path);
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
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_PROGRAM, 0, name);

	return ask_for_file(look, q, -1, ret_file);
}

int sp_look_open_file(struct sp_look *look, int fd, const char *path, struct sp_look_file *ret_file)
{
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_OPEN_FILE, 0, path);
	int r = ask_for_file(look, q, fd, ret_file);

	if (r == 0)
		snprintf(ret_file->path, sizeof(ret_file->path), "%s", path);
	return r;
}

int sp_look_process(struct sp_look *look, pid_t pid, struct sp_procinfo *ret_info)
{
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_PROCESS, pid, "");
	sp_cleanup(sp_freep) struct sp_look_answer *a = malloc(sizeof(*a));
	int fd, r = q && a ? ask(look, q, -1, a, &fd) : -ENOMEM;

	if (r == 0)
		*ret_info = a->process;
	return r;
}

int sp_look_name(struct sp_look *look, pid_t pid, uint64_t address, struct sp_look_name *ret_name)
{
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_NAME, pid, "");
	sp_cleanup(sp_freep) struct sp_look_answer *a = malloc(sizeof(*a));
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
	look->unread[slot].n = r == 0 && ret_name->is_read ? 0 : unread + 1;
	return r;
}

int sp_look_judge(void *look, int fd, const char *path, const struct sp_user *user,
		  bool *ret_private)
{
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_JUDGE, 0, path);
	sp_cleanup(sp_freep) struct sp_look_answer *a = calloc(1, sizeof(*a));
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
	sp_cleanup(sp_freep) struct sp_look_question *q = question(SP_LOOK_MARK, 0, "");
	sp_cleanup(sp_freep) struct sp_look_answer *a = malloc(sizeof(*a));
	int none;

	return q && a ? ask(look, q, fan, a, &none) : -ENOMEM;
}
