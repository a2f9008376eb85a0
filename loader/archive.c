/* SPDX-License-Identifier: BSD-2-Clause
 *
 * archive.c - see archive.h.
 *
 * Invariant: what waits for a file's bytes is a child, which has the user's rights, and is killed
 * where it does not answer.
 */
#include "loader/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/archive_copy.h"
#include "loader/archive_judge.h"
#include "loader/sandbox.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define LOOK_MS 200  /* how soon Ctrl-C is seen */
#define HANGS_MOST 3 /* then no more is tried */

struct sp_archive {
	int directory_fd;
	const struct sp_identity *identity;
	sp_archive_judge_cb judge; /* NULL: sp_archive_judge() */
	void *judge_arg;
	struct sp_archive_held *list;
	size_t count, room, held;
	uint64_t most_bytes;
	size_t most_files;
	unsigned patience_ms;
};

int sp_archive_new(int directory_fd, const struct sp_identity *identity,
		   struct sp_archive **ret_archive)
{
	struct sp_archive *archive = calloc(1, sizeof(*archive));

	if (!archive)
		return -ENOMEM;
	archive->directory_fd = directory_fd;
	archive->identity = identity;
	archive->most_bytes = SP_ARCHIVE_BYTES;
	archive->most_files = SP_ARCHIVE_FILES;
	archive->patience_ms = SP_ARCHIVE_PATIENCE_MS;
	*ret_archive = archive;
	return 0;
}

void sp_archive_set_judge(struct sp_archive *archive, sp_archive_judge_cb judge, void *arg)
{
	archive->judge = judge;
	archive->judge_arg = arg;
}

void sp_archive_limit(struct sp_archive *archive, uint64_t bytes, size_t files)
{
	archive->most_bytes = bytes;
	archive->most_files = files;
}

void sp_archive_hurry(struct sp_archive *archive, unsigned patience_ms)
{
	archive->patience_ms = patience_ms;
}

void sp_archive_free(struct sp_archive *archive)
{
	if (!archive)
		return;
	for (size_t i = 0; i < archive->count; i++) {
		if (archive->list[i].fd >= 0)
			close(archive->list[i].fd);
		free(archive->list[i].path);
		free(archive->list[i].build_id);
	}
	free(archive->list);
	free(archive);
}

int sp_archive_add(struct sp_archive *archive, int fd, const char *path, const char *build_id,
		   uint32_t image, const struct sp_user *user)
{
	struct sp_archive_held held = {.fd = -1, .image = image};
	struct sp_archive_held *added;
	int r = sp_filekey_read(fd, &held.key);

	if (r < 0)
		return r;
	held.refused =
		archive->judge
			? archive->judge(archive->judge_arg, fd, path, user, &held.is_private)
			: sp_archive_judge(archive->identity, fd, path, user, &held.is_private);
	if (!held.refused && archive->held < archive->most_files)
		held.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* none left: told at the end */
	held.path = strdup(path);
	held.build_id = strdup(build_id);
	added = held.path && held.build_id
			? sp_array_add(&archive->list, &archive->count, &archive->room)
			: NULL;
	if (!added) {
		free(held.path);
		free(held.build_id);
		if (held.fd >= 0)
			close(held.fd);
		return -ENOMEM;
	}
	archive->held += held.fd >= 0;
	*added = held;
	return 0;
}

/* ---- the child, with the user's rights ---- */

static int open_folder(const struct sp_archive *archive)
{
	int fd;

	if (mkdirat(archive->directory_fd, SP_ARCHIVE_FOLDER, 0777) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(archive->directory_fd, SP_ARCHIVE_FOLDER,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What it says: before each step, and at the end of each file; it is answered with an int, 0 or why
 * it is to stop. */
struct note {
	bool is_done;
	int result;
	char name[SP_ARCHIVE_NAME]; /* of the copy; "": there is none */
};

static int tell(int fd, bool is_done, int result, const char *name)
{
	struct note note = {.is_done = is_done, .result = result};
	int answer;

	snprintf(note.name, sizeof(note.name), "%s", name ? name : "");
	if (send(fd, &note, sizeof(note), MSG_NOSIGNAL) != sizeof(note) ||
	    recv(fd, &answer, sizeof(answer), 0) != sizeof(answer))
		_exit(1); /* nobody is there any more */
	return answer;
}

static int step(void *arg, const char *name)
{
	return tell(*(int *)arg, false, 0, name);
}

/* @left_over: a copy that a child before this one did not get done with. */
static void serve(const struct sp_archive *archive, int fd, size_t first, uint64_t bytes,
		  const char *left_over, pid_t parent)
{
	int folder = sp_identity_enter(archive->identity);

	/* Not before: it is forgotten with the ids. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (folder == 0)
		folder = open_folder(archive);
	if (folder >= 0 && left_over[0])
		unlinkat(folder, left_over, 0);
	for (size_t i = first; i < archive->count; i++) {
		const struct sp_archive_held *held = &archive->list[i];
		sp_cleanup(sp_freep) char *name = NULL;
		int r = folder < 0 ? folder
				   : sp_archive_copy(folder, held, archive->most_bytes - bytes,
						     step, &fd, &name);

		bytes += r == 0 ? held->key.size : 0;
		tell(fd, true, r, name);
		/* What stops one of them stops all. */
		if (folder >= 0 && (r == -EINTR || r == -ENOSPC || r == -EDQUOT)) {
			close(folder);
			folder = r;
		}
	}
	_exit(0);
}

struct child {
	pid_t pid; /* 0: there is none */
	int fd;
};

static int start(const struct sp_archive *archive, size_t first, uint64_t bytes,
		 const char *left_over, struct child *ret_child)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		serve(archive, ends[1], first, bytes, left_over, parent);
	}
	close(ends[1]);
	if (pid < 0) {
		int r = -errno;

		close(ends[0]);
		return r;
	}
	*ret_child = (struct child){.pid = pid, .fd = ends[0]};
	return 0;
}

static void end(struct child *child, bool kill_it)
{
	int status;

	if (!child->pid)
		return;
	close(child->fd);
	(void)sp_sandbox_wait(child->pid, kill_it, &status);
	*child = (struct child){0};
}

/* ---- the recorder ---- */

static const char *reason(int error)
{
	switch (error) {
	case -EMFILE:
		return "there are too many files";
	case -EFBIG:
		return "together they would be larger than an archive may be, 4 GiB";
	case -ESTALE:
		return "it was changed while it was mapped";
	case -EACCES:
		return "the user who records, or the one who ran it, may not read it";
	case -EPERM:
		return "it is another user's, in a place where the one who records may not look";
	case -EINTR:
		return "interrupted";
	case -ETIMEDOUT:
		return "its file system, or that of the recording, does not answer";
	case -ECHILD:
		return "the process that copied it was killed";
	default:
		return strerror(-error);
	}
}

/* -ETIMEDOUT where nothing comes, -ECHILD where nothing will, and what @ops says. */
static int await(const struct sp_archive *archive, const struct child *child,
		 const struct sp_archive_ops *ops, void *arg, struct note *ret_note)
{
	for (unsigned waited = 0; waited < archive->patience_ms; waited += LOOK_MS) {
		struct pollfd ready = {.fd = child->fd, .events = POLLIN};
		int r;

		if (poll(&ready, 1, LOOK_MS) > 0)
			return recv(child->fd, ret_note, sizeof(*ret_note), 0) == sizeof(*ret_note)
				       ? 0
				       : -ECHILD;
		r = ops->go_on ? ops->go_on(arg) : 0;
		if (r < 0)
			return r;
	}
	return -ETIMEDOUT;
}

static void answer(const struct child *child, int value)
{
	(void)send(child->fd, &value, sizeof(value), MSG_NOSIGNAL);
}

/* Lets the child copy one file. Where that cannot be waited for, the child is ended, and
 * @left_over is what it leaves, or "". */
static int await_file(const struct sp_archive *archive, struct child *child,
		      const struct sp_archive_ops *ops, void *arg, char *name, char *left_over)
{
	left_over[0] = 0;
	for (;;) {
		struct note note;
		int r = await(archive, child, ops, arg, &note);

		if (r < 0) {
			end(child, true);
			return r;
		}
		note.name[sizeof(note.name) - 1] = 0;
		memcpy(note.is_done ? name : left_over, note.name, SP_ARCHIVE_NAME);
		answer(child, note.is_done || !ops->go_on ? 0 : ops->go_on(arg));
		if (note.is_done) {
			left_over[0] = 0;
			return note.result;
		}
	}
}

static void count(const struct sp_archive_held *held, int r, const char *name,
		  const struct sp_archive_ops *ops, void *arg, struct sp_archive_counts *counts)
{
	char path[sizeof(SP_ARCHIVE_FOLDER) + 1 + SP_ARCHIVE_NAME] = "";

	if (r == 1)
		return;
	if (r == 0)
		snprintf(path, sizeof(path), SP_ARCHIVE_FOLDER "/%s", name);
	counts->copied += r == 0;
	counts->left += r < 0;
	counts->bytes += r == 0 ? held->key.size : 0;
	ops->wrote(arg, held->image, held->key.size, r, path, held->path, r < 0 ? reason(r) : "");
}

void sp_archive_write(struct sp_archive *archive, const struct sp_archive_ops *ops, void *arg,
		      struct sp_archive_counts *ret_counts)
{
	struct sp_archive_counts counts = {0};
	static const struct sp_archive_ops no_questions = {0};
	char left_over[SP_ARCHIVE_NAME] = "";
	struct child child = {0};
	unsigned hangs = 0;
	int stopped = 0;

	for (size_t i = 0; i < archive->count; i++) {
		char name[SP_ARCHIVE_NAME] = "";
		int r = stopped;

		if (r == 0 && !child.pid)
			r = start(archive, i, counts.bytes, left_over, &child);
		if (r == 0)
			r = await_file(archive, &child, ops, arg, name, left_over);
		if (!stopped && !child.pid) { /* it could not be had, or was ended */
			bool hung = r == -ETIMEDOUT || r == -ECHILD;

			stopped = hung && ++hangs < HANGS_MOST ? 0 : r;
		}
		count(&archive->list[i], r, name, ops, arg, &counts);
	}
	end(&child, false);
	/* A last one, which copies nothing, puts away what is left. */
	if (left_over[0] && start(archive, archive->count, 0, left_over, &child) == 0) {
		struct note none;

		(void)await(archive, &child, &no_questions, NULL, &none);
		end(&child, true);
	}
	*ret_counts = counts;
}
