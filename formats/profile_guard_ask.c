// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_ask.c - a request to a guard's child and its reply, or what killed the child.
 *
 * Invariant: what killed a child is the error of the call that was waiting, in a sentence that says
 * what was being read, and of every later call.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "formats/profile_guard_internal.h"

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
		sp_guard_stop(guard);
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "needs more than %" PRIu64 " MiB of memory while %s",
				    guard->limits.memory >> 20, doing);
	}
	if (failure == -ETIMEDOUT)
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "nothing came for %u s while %s: the file is damaged, or where it is "
			     "stored does not answer",
			     child->pipe.silence, doing);
	else if (failure == -EBADMSG || sp_guard_find_status(child, &status) < 0)
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "libhdf5 overwrote memory while %s: the file is damaged", doing);
	else if (WIFSIGNALED(status))
		explain_signal(guard, WTERMSIG(status), doing, &guard->failed);
	else
		sp_error_set(&guard->failed, -SP_E_DAMAGED, 0,
			     "the process that was %s ended with status %d", doing,
			     WEXITSTATUS(status));
	if (failure == -ETIMEDOUT || failure == -EBADMSG)
		sp_guard_stop(guard);
	else
		sp_guard_forget(guard);
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
