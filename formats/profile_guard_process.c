// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_process.c - the children of guards: who lives, and for how long.
 *
 * Invariant: a child is reaped by whoever started it, at the latest when its profile is freed. At
 * most SP_GUARD_MAX_CHILDREN live; before one is ended for another, what its profile could be asked
 * for and is small has been received, so that walks over thousands of files start each child once.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/profile_guard_internal.h"

/* A child that waits for a disk uses no CPU time. */
#define SILENCE_PER_CPU_SECOND 4

static struct sp_guard *alive[SP_GUARD_MAX_CHILDREN];
static uint64_t uses;

/* ---- the end of a child ---- */

void sp_guard_forget(struct sp_guard *guard)
{
	struct sp_guard_child *child = guard->child;

	for (size_t i = 0; i < SP_GUARD_MAX_CHILDREN; i++)
		if (alive[i] == guard)
			alive[i] = NULL;
	close(child->pipe.fd);
	munmap(child->window, SP_GUARD_WINDOW);
	free(child);
	guard->child = NULL;
}

static int reap(pid_t pid, int flags, int *ret_status)
{
	pid_t got;

	do
		got = waitpid(pid, ret_status, flags);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : (int)got;
}

void sp_guard_stop(struct sp_guard *guard)
{
	int status;

	if (!guard->child)
		return;
	if (guard->child->owner == getpid()) { /* not in a fork of the process that started it */
		kill(guard->child->pid, SIGKILL);
		reap(guard->child->pid, 0, &status);
	}
	sp_guard_forget(guard);
}

int sp_guard_find_status(const struct sp_guard_child *child, int *ret_status)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (int i = 0; i < 1000; i++) {
		int r = reap(child->pid, WNOHANG, ret_status);

		if (r)
			return r < 0 ? r : 0;
		nanosleep(&moment, NULL);
	}
	kill(child->pid, SIGKILL);
	return reap(child->pid, 0, ret_status) < 0 ? -ECHILD : 0;
}

/* ---- sleeping and waking ---- */

/* Receives all that is small and may still be asked for. What fails now will fail when it is. */
static void remember(struct sp_guard *guard)
{
	struct sp_profile *profile = guard->profile;
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n;

	for (int i = 0; i < SP_H5_N_TABLES && guard->child; i++) {
		struct sp_profile_table *table = &profile->tables[i];

		if (i != SP_H5_TABLE_sample && !table->loaded)
			table->loaded = !profile->ops->read_table(profile, (enum sp_h5_table)i,
								  &table->rows, &table->n, NULL);
	}
	if (guard->child)
		sp_profile_metadata(profile, &facts, &n, NULL);
	if (guard->child)
		sp_profile_meta(profile, &facts, &n, NULL);
	if (guard->child)
		sp_profile_extras(profile, &extras, NULL);
	guard->failed.code = 0;
}

static int start(struct sp_guard *guard, struct sp_error *error)
{
	struct sp_guard_child *child = calloc(1, sizeof(*child));
	struct sp_guard_child_setup setup = {
		.path = guard->path,
		.limits = guard->limits,
		.parent = getpid(),
	};
	int sockets[2];

	if (!child)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	child->window = mmap(NULL, SP_GUARD_WINDOW, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (child->window == MAP_FAILED) {
		free(child);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
		int r = -errno;

		munmap(child->window, SP_GUARD_WINDOW);
		free(child);
		return sp_error_set(error, r, 0, "no socket for the process that reads it: %s",
				    strerror(-r));
	}
	setup.fd = sockets[1];
	setup.window = child->window;
	child->owner = setup.parent;
	/* Takes a millisecond, which each child would spend again. */
	H5open();
	child->pid = fork();
	if (!child->pid)
		sp_guard_child_run(&setup);
	close(sockets[1]);
	child->pipe.fd = sockets[0];
	child->pipe.receiving = true;
	child->pipe.silence = guard->limits.cpu_seconds * SILENCE_PER_CPU_SECOND;
	guard->child = child;
	if (child->pid < 0) {
		int r = -errno;

		sp_guard_forget(guard);
		return sp_error_set(error, r, 0, "no process to read it in: %s", strerror(-r));
	}
	if (clock_getcpuclockid(child->pid, &child->pipe.clock))
		child->pipe.clock = CLOCK_MONOTONIC_COARSE; /* then all time is its own */
	return 0;
}

/* Finds a place among the living, if need be that of the one used longest ago. */
static size_t make_room(void)
{
	size_t oldest = 0;

	for (size_t i = 0; i < SP_GUARD_MAX_CHILDREN; i++) {
		if (!alive[i])
			return i;
		if (alive[i]->last_used < alive[oldest]->last_used)
			oldest = i;
	}
	if (alive[oldest]->child->owner == getpid())
		remember(alive[oldest]);
	if (alive[oldest])
		sp_guard_stop(alive[oldest]);
	return oldest;
}

int sp_guard_check_same(const struct sp_guard *guard, struct sp_error *error)
{
	struct stat st;

	if (stat(guard->path, &st))
		return sp_error_set(error, -errno, 0, "cannot be opened again: %s",
				    strerror(errno));
	if (st.st_dev != guard->device || st.st_ino != guard->inode ||
	    (uint64_t)st.st_size != guard->size || st.st_ctim.tv_sec != guard->changed_s ||
	    st.st_ctim.tv_nsec != guard->changed_ns)
		return sp_error_set(error, -ESTALE, 0,
				    "has changed while it was read; read it again");
	return 0;
}

int sp_guard_ask_open(struct sp_guard *guard, enum sp_guard_op op,
		      struct sp_guard_opened *ret_opened, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = op};
	size_t place = make_room();
	int r = start(guard, error);

	if (r)
		return r;
	alive[place] = guard;
	guard->last_used = ++uses;
	r = sp_guard_ask(guard, &wanted, error);
	if (!r)
		r = sp_guard_reply(guard, &wanted, error);
	if (r)
		return r;
	sp_pipe_value(&guard->child->pipe, *ret_opened);
	return 0;
}

static int reopen(struct sp_guard *guard, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_REOPEN};
	const struct sp_profile_info *info = &guard->profile->info;
	struct sp_guard_opened opened = {0};
	int r = sp_guard_check_same(guard, error);

	if (!r)
		r = sp_guard_ask_open(guard, SP_GUARD_REOPEN, &opened, error);
	if (!r)
		r = sp_guard_received(guard, &wanted, error);
	if (!r && (opened.n_regions != info->n_regions || opened.n_rows != info->n_rows ||
		   opened.n_calls != info->n_calls || opened.n_samples != info->n_samples ||
		   opened.n_frames != guard->n_frames))
		r = sp_error_set(error, -ESTALE, 0, "has changed while it was read; read it again");
	if (!r)
		r = sp_guard_check_same(guard, error);
	if (r)
		sp_guard_stop(guard);
	return r;
}

int sp_guard_wake(struct sp_guard *guard, struct sp_error *error)
{
	if (guard->failed.code)
		return sp_error_set(error, guard->failed.code, 0, "%s", guard->failed.text);
	if (guard->child && guard->child->owner != getpid())
		sp_guard_stop(guard); /* the child answers another process */
	if (!guard->child)
		return reopen(guard, error);
	guard->last_used = ++uses;
	return 0;
}
