// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard.c - profiles whose HDF5 file is read by a child: who lives, and what killed it.
 *
 * Invariant: a child is reaped by whoever started it, at the latest when its profile is freed; what
 * killed it becomes the error of the call that was waiting and of every later one. At most
 * SP_GUARD_MAX_CHILDREN live; before one is ended for another, what its profile could be asked for
 * and is small has been received, so that walks over thousands of files start each child once.
 */
#include "formats/profile_guard.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/h5_read.h"
#include "formats/profile_guard_internal.h"
#include "formats/util.h"

#define DEFAULT_MEMORY ((uint64_t)1 << 30)
#define DEFAULT_CPU_SECONDS 30
/* A child that waits for a disk uses no CPU time. */
#define SILENCE_PER_CPU_SECOND 4

static struct sp_guard *alive[SP_GUARD_MAX_CHILDREN];
static uint64_t uses;

/* ---- the end of a child ---- */

static void forget(struct sp_guard *guard)
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

/* Ends the child, whatever it does; it has nothing to lose. */
static void stop(struct sp_guard *guard)
{
	int status;

	if (!guard->child)
		return;
	if (guard->child->owner == getpid()) { /* not in a fork of the process that started it */
		kill(guard->child->pid, SIGKILL);
		reap(guard->child->pid, 0, &status);
	}
	forget(guard);
}

/* The status of a child that has closed its socket: it is dying, or has lost its mind. */
static int find_status(const struct sp_guard_child *child, int *ret_status)
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

static const char *signal_name(int number, char *buffer, size_t size)
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(buffer, size, "SIG%s", name);
	else
		snprintf(buffer, size, "signal %d", number);
	return buffer;
}

/* What the child was doing, as "reading …". */
static void describe(const struct sp_guard *guard, const struct sp_guard_request *request,
		     char *text, size_t size)
{
	const struct sp_profile *profile = guard->profile;
	static const char *const plain[] = {
		[SP_GUARD_SAMPLES] = "reading samples",
		[SP_GUARD_OFFSETS] = "reading the stacks of samples",
		[SP_GUARD_FRAMES] = "reading the frames of stacks",
		[SP_GUARD_OPEN] = "opening it",
		[SP_GUARD_REOPEN] = "opening it again",
		[SP_GUARD_METADATA] = "reading its metadata",
		[SP_GUARD_META] = "reading /sp_trace/meta",
		[SP_GUARD_EXTRAS] = "reading what else its ranks have",
		[SP_GUARD_CHECK] = "checking all that is in it",
	};
	const struct sp_row *row =
		request->row < profile->info.n_rows ? &profile->rows[request->row] : NULL;

	switch (request->op) {
	case SP_GUARD_CALLS:
	case SP_GUARD_EVENT_METADATA:
		snprintf(text, size, "reading the %s of region \"%.60s\" on rank %" PRIu32,
			 request->op == SP_GUARD_CALLS ? "calls" : "annotations",
			 row ? profile->regions[row->region] : "?", row ? row->rank : 0);
		break;
	case SP_GUARD_TABLE:
		snprintf(text, size, "reading its table of %s rows",
			 request->row < SP_H5_N_TABLES ? sp_h5_tables[request->row].name : "?");
		break;
	default:
		snprintf(text, size, "%s", plain[request->op]);
	}
}

static void explain_signal(struct sp_guard *guard, int number, const char *doing,
			   struct sp_error *error)
{
	char name[32];

	signal_name(number, name, sizeof(name));
	switch (number) {
	case SIGXCPU:
		sp_error_set(
			error, -SP_E_DAMAGED, 0,
			"libhdf5 took more than %u s of CPU time while %s: the file is damaged",
			guard->limits.cpu_seconds, doing);
		break;
	case SIGSEGV:
	case SIGBUS:
	case SIGABRT:
	case SIGFPE:
	case SIGILL:
		sp_error_set(error, -SP_E_DAMAGED, 0,
			     "libhdf5 crashed on it (%s while %s): the file is damaged", name,
			     doing);
		break;
	default:
		sp_error_set(error, -SP_E_DAMAGED, 0,
			     "the process that was %s was ended by %s from outside; try again",
			     doing, name);
	}
}

/* Puts the end of the child into words, for good. */
static int lose(struct sp_guard *guard, const struct sp_guard_request *request,
		struct sp_error *error)
{
	struct sp_guard_child *child = guard->child;
	int status = 0, failure = child->pipe.failed;
	char doing[160];

	describe(guard, request, doing, sizeof(doing));
	if (failure == -ENOMEM) {
		/* The message was too long; another, shorter one may do. */
		stop(guard);
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "needs more than %" PRIu64 " MiB of memory while %s",
				    guard->limits.memory >> 20, doing);
	}
	if (failure == -ETIMEDOUT)
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "nothing came for %u s while %s: the file is damaged, or where it is "
			     "stored does not answer",
			     child->pipe.silence, doing);
	else if (failure == -EBADMSG || find_status(child, &status) < 0)
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "libhdf5 overwrote memory while %s: the file is damaged", doing);
	else if (WIFSIGNALED(status))
		explain_signal(guard, WTERMSIG(status), doing, &guard->failed);
	else
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "the process that was %s ended with status %d", doing,
			     WEXITSTATUS(status));
	if (failure == -ETIMEDOUT || failure == -EBADMSG)
		stop(guard);
	else
		forget(guard);
	return sp_error_set(error, guard->failed.code, 0, "%s", guard->failed.text);
}

int sp_guard_nonsense(struct sp_guard *guard, const struct sp_guard_request *request,
		      struct sp_error *error)
{
	guard->child->pipe.failed = -EBADMSG;
	return lose(guard, request, error);
}

/* ---- requests ---- */

int sp_guard_ask(struct sp_guard *guard, const struct sp_guard_request *request,
		 struct sp_error *error)
{
	struct sp_pipe *pipe = &guard->child->pipe;
	const char *at = (const char *)request;
	size_t left = sizeof(*request);

	while (left) {
		ssize_t put = send(pipe->fd, at, left, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			sp_pipe_fail(pipe, -EPIPE);
			return lose(guard, request, error);
		}
		at += put;
		left -= (size_t)put;
	}
	return 0;
}

int sp_guard_reply(struct sp_guard *guard, const struct sp_guard_request *request,
		   struct sp_error *error)
{
	struct sp_pipe *pipe = &guard->child->pipe;
	struct sp_guard_reply reply;
	char doing[160];
	int r;

	pipe->budget = guard->limits.memory;
	sp_pipe_value(pipe, reply);
	if (pipe->failed)
		return lose(guard, request, error);
	if (!reply.code)
		return 0;
	r = sp_guard_received(guard, request, error);
	if (r)
		return r;
	if (reply.code > 0)
		return sp_guard_nonsense(guard, request, error);
	if (reply.code == -ENOMEM) {
		describe(guard, request, doing, sizeof(doing));
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "needs more than %" PRIu64
				    " MiB of memory while %s: the file is damaged, or too large",
				    guard->limits.memory >> 20, doing);
	}
	reply.error.text[sizeof(reply.error.text) - 1] = '\0';
	sp_error_set(error, reply.code, 0, "%s", reply.error.text);
	if (error)
		error->offset = reply.error.offset;
	return reply.code;
}

int sp_guard_received(struct sp_guard *guard, const struct sp_guard_request *request,
		      struct sp_error *error)
{
	sp_pipe_end(&guard->child->pipe);
	return guard->child->pipe.failed ? lose(guard, request, error) : 0;
}

/* One request, whose content, if it succeeds, is to be received by the caller. */
static int request(struct sp_guard *guard, const struct sp_guard_request *request,
		   struct sp_error *error)
{
	int r = sp_guard_wake(guard, error);

	if (!r)
		r = sp_guard_drain(guard, error);
	if (!r)
		r = sp_guard_ask(guard, request, error);
	return r ? r : sp_guard_reply(guard, request, error);
}

static int read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
		      size_t *ret_n, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_TABLE, .row = which};
	struct sp_guard *guard = profile->implementation;
	void *rows = NULL;
	size_t n = 0;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_table(&guard->child->pipe, which, &rows, &n);
	r = sp_guard_received(guard, &wanted, error);
	if (r) {
		sp_h5_free_table(which, rows, n);
		return r;
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static int read_facts(struct sp_profile *profile, const char *group, struct sp_fact **ret_facts,
		      size_t *ret_n, struct sp_error *error)
{
	const struct sp_guard_request wanted = {
		.op = strcmp(group, "/metadata") ? SP_GUARD_META : SP_GUARD_METADATA,
	};
	struct sp_guard *guard = profile->implementation;
	struct sp_fact *facts = NULL;
	size_t n = 0;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_facts(&guard->child->pipe, &facts, &n);
	r = sp_guard_received(guard, &wanted, error);
	if (r) {
		sp_facts_free(facts, n);
		return r;
	}
	*ret_facts = facts;
	*ret_n = n;
	return 0;
}

static int read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
		       struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_EXTRAS};
	struct sp_guard *guard = profile->implementation;
	struct sp_extras extras = {0};
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_extras(&guard->child->pipe, &extras);
	r = sp_guard_received(guard, &wanted, error);
	if (r)
		sp_extras_free(&extras);
	else
		*ret_extras = extras;
	return r;
}

static int read_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			       struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_EVENT_METADATA, .row = row};
	struct sp_guard *guard = profile->implementation;
	char *json = NULL;
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_text_or_null(&guard->child->pipe, (const char **)&json);
	r = sp_guard_received(guard, &wanted, error);
	if (r)
		free(json);
	else
		*ret_json = json;
	return r;
}

static int check(struct sp_profile *profile, struct sp_profile_check *check, struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_CHECK, .check = *check};
	struct sp_guard *guard = profile->implementation;
	struct sp_profile_check went_on = {0};
	int r = request(guard, &wanted, error);

	if (r)
		return r;
	sp_pipe_check(&guard->child->pipe, &went_on);
	r = sp_guard_received(guard, &wanted, error);
	if (!r)
		*check = went_on;
	return r;
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
			table->loaded = !read_table(profile, (enum sp_h5_table)i, &table->rows,
						    &table->n, NULL);
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

		forget(guard);
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
		stop(alive[oldest]);
	return oldest;
}

/* Whether the path still leads to the file that was opened. */
static int check_same(const struct sp_guard *guard, struct sp_error *error)
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

static int ask_open(struct sp_guard *guard, enum sp_guard_op op, struct sp_guard_opened *ret_opened,
		    struct sp_error *error)
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
	int r = check_same(guard, error);

	if (!r)
		r = ask_open(guard, SP_GUARD_REOPEN, &opened, error);
	if (!r)
		r = sp_guard_received(guard, &wanted, error);
	if (!r && (opened.n_regions != info->n_regions || opened.n_rows != info->n_rows ||
		   opened.n_calls != info->n_calls || opened.n_samples != info->n_samples ||
		   opened.n_frames != guard->n_frames))
		r = sp_error_set(error, -ESTALE, 0, "has changed while it was read; read it again");
	if (!r)
		r = check_same(guard, error);
	if (r)
		stop(guard);
	return r;
}

int sp_guard_wake(struct sp_guard *guard, struct sp_error *error)
{
	if (guard->failed.code)
		return sp_error_set(error, guard->failed.code, 0, "%s", guard->failed.text);
	if (guard->child && guard->child->owner != getpid())
		stop(guard); /* the child answers another process */
	if (!guard->child)
		return reopen(guard, error);
	guard->last_used = ++uses;
	return 0;
}

/* ---- opening ---- */

static void close_guard(void *implementation)
{
	struct sp_guard *guard = implementation;

	if (!guard)
		return;
	stop(guard);
	free(guard->row_first);
	free(guard->path);
	free(guard);
}

static const struct sp_profile_ops guarded_ops = {
	.read_calls = sp_guard_read_calls,
	.read_samples = sp_guard_read_samples,
	.read_stack_offsets = sp_guard_read_stack_offsets,
	.read_frames = sp_guard_read_frames,
	.read_table = read_table,
	.read_facts = read_facts,
	.read_extras = read_extras,
	.read_event_metadata = read_event_metadata,
	.check = check,
	.close = close_guard,
};

static int receive_regions(struct sp_profile *profile, struct sp_pipe *pipe, uint64_t n,
			   struct sp_error *error)
{
	int r = 0;

	for (uint64_t i = 0; !r && i < n && !pipe->failed; i++) {
		const char *name sp_cleanup_free = NULL;

		sp_pipe_text(pipe, &name);
		if (!pipe->failed)
			r = sp_profile_add_region(profile, name, error);
	}
	return r;
}

static int receive_rows(struct sp_profile *profile, struct sp_pipe *pipe, uint64_t n,
			struct sp_error *error)
{
	int r = 0;

	for (uint64_t i = 0; !r && i < n && !pipe->failed; i++) {
		struct sp_row row = {0};

		sp_pipe_row(pipe, &row);
		if (!pipe->failed &&
		    (row.region >= profile->info.n_regions || row.source_line < -1))
			sp_pipe_fail(pipe, -EBADMSG);
		if (!pipe->failed)
			r = sp_profile_add_row(profile, &row, error);
		free((char *)row.source_file);
		free((char *)row.source_text);
		free((char *)row.tags);
	}
	return r;
}

/* Numbers the calls through the rows. An aggregate has none, whatever it counts. */
static int number_calls(struct sp_guard *guard, struct sp_error *error)
{
	const struct sp_profile *profile = guard->profile;
	uint64_t n = 0;

	if (profile->info.aggregate)
		return 0;
	guard->row_first = calloc(profile->info.n_rows + 1, sizeof(*guard->row_first));
	if (!guard->row_first)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint32_t i = 0; i < profile->info.n_rows; i++) {
		guard->row_first[i] = n;
		if (__builtin_add_overflow(n, profile->rows[i].stats.calls, &n))
			return sp_error_set(error, -SP_E_COUNT, 0,
					    "claims more calls than there are numbers");
	}
	return 0;
}

static int receive_profile(struct sp_guard *guard, const struct sp_guard_opened *opened,
			   struct sp_error *error)
{
	const struct sp_guard_request wanted = {.op = SP_GUARD_OPEN};
	struct sp_profile *profile = guard->profile;
	struct sp_profile_info *info = &profile->info;
	struct sp_pipe *pipe = &guard->child->pipe;
	int r;

	info->version = opened->version;
	info->trace_version = opened->trace_version;
	info->aggregate = opened->aggregate != 0;
	info->has_event_metadata = opened->has_event_metadata != 0;
	info->compressed = opened->compressed != 0;
	info->columns = opened->columns & ((1u << SP_CALLS_N_COLUMNS) - 1);
	info->n_samples = opened->n_samples;
	info->start_time_ns = opened->start_time_ns;
	profile->origin_known = opened->origin_known != 0;
	guard->n_frames = opened->n_frames;
	if (opened->n_regions > SP_PROFILE_MAX_REGIONS || opened->n_rows > SP_PROFILE_MAX_ROWS)
		sp_pipe_fail(pipe, -EBADMSG);
	r = receive_regions(profile, pipe, opened->n_regions, error);
	if (!r)
		r = receive_rows(profile, pipe, opened->n_rows, error);
	if (r) /* the rest of the message is of no use */
		return r;
	r = sp_guard_received(guard, &wanted, error);
	if (!r && info->n_calls != opened->n_calls)
		r = sp_guard_nonsense(guard, &wanted, error);
	if (!r && info->n_samples > INT64_MAX)
		r = sp_error_set(error, -SP_E_COUNT, 0, "claims %" PRIu64 " samples",
				 info->n_samples);
	return r ? r : number_calls(guard, error);
}

static int open_guarded(struct sp_profile *profile, const struct sp_guard_limits *limits,
			struct sp_error *error)
{
	struct sp_guard *guard = calloc(1, sizeof(*guard));
	struct sp_guard_opened opened = {0};
	struct stat st;
	int r;

	if (!guard)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	profile->ops = &guarded_ops;
	profile->implementation = guard;
	guard->profile = profile;
	guard->limits = limits ? *limits : (struct sp_guard_limits){0};
	if (!guard->limits.memory)
		guard->limits.memory = DEFAULT_MEMORY;
	if (!guard->limits.cpu_seconds)
		guard->limits.cpu_seconds = DEFAULT_CPU_SECONDS;
	guard->path = realpath(profile->path, NULL);
	if (!guard->path || stat(guard->path, &st))
		return sp_error_set(error, -errno, 0, "cannot be opened: %s", strerror(errno));
	guard->device = st.st_dev;
	guard->inode = st.st_ino;
	guard->size = (uint64_t)st.st_size;
	guard->changed_s = st.st_ctim.tv_sec;
	guard->changed_ns = st.st_ctim.tv_nsec;
	r = ask_open(guard, SP_GUARD_OPEN, &opened, error);
	if (!r)
		r = receive_profile(guard, &opened, error);
	if (!r)
		r = check_same(guard, error);
	return r ? r : sp_profile_opened(profile, error);
}

int sp_profile_open_guarded(const char *path, const struct sp_guard_limits *limits,
			    struct sp_profile **ret_profile, struct sp_error *error)
{
	enum sp_format format;
	struct sp_profile *profile;
	int r = sp_format_detect(path, &format, error);

	if (r)
		return r;
	if (format != SP_FORMAT_HDF5)
		return sp_profile_open(path, ret_profile, error);
	profile = calloc(1, sizeof(*profile));
	if (profile)
		profile->path = strdup(path);
	if (!profile || !profile->path) {
		sp_profile_free(profile);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	profile->info.format = format;
	profile->info.ticks = profile->info.hz = -1;
	r = open_guarded(profile, limits, error);
	if (r) {
		sp_profile_free(profile);
		return r;
	}
	*ret_profile = profile;
	return 0;
}
