/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_guard_internal.h - what a guard and its child say to each other. Not installed.
 *
 * The guard (parent) sends requests, the child answers them in their order: a reply, what it is
 * about, a mark. Numbers in bulk go through a window, memory that both share: each kind of them has
 * two halves there, so that the child can fill one while the guard's caller works on the other.
 *
 * Invariant: nothing that comes from the child is believed. What selects something is checked, and
 * what stands in the window is checked after it was copied.
 */
#ifndef SP_FORMATS_PROFILE_GUARD_INTERNAL_H
#define SP_FORMATS_PROFILE_GUARD_INTERNAL_H

#include <sys/types.h>

#include "formats/profile_guard.h"
#include "formats/profile_guard_pipe.h"
#include "formats/profile_internal.h"

enum sp_guard_op {
	SP_GUARD_CALLS, /* the first four go through the window */
	SP_GUARD_SAMPLES,
	SP_GUARD_OFFSETS,
	SP_GUARD_FRAMES,
	SP_GUARD_N_STREAMS,
	SP_GUARD_OPEN = SP_GUARD_N_STREAMS,
	SP_GUARD_REOPEN,
	SP_GUARD_TABLE,
	SP_GUARD_METADATA,
	SP_GUARD_META,
	SP_GUARD_EXTRAS,
	SP_GUARD_EVENT_METADATA,
	SP_GUARD_CHECK,
};

#define SP_GUARD_HALF ((size_t)1 << 20)
#define SP_GUARD_WINDOW (2 * SP_GUARD_N_STREAMS * SP_GUARD_HALF)
/* Beside the bits of SP_CALLS_*. */
#define SP_GUARD_START (1u << 30)
#define SP_GUARD_END (1u << 31)

struct sp_guard_request {
	uint32_t op;	   /* enum sp_guard_op */
	uint32_t row;	   /* of event metadata; of the first of the calls; which table */
	uint32_t columns;  /* of calls */
	uint32_t half;	   /* of the window: 0 or 1 */
	uint64_t first, n; /* calls: the first in its row, and they may go on into the next rows */
	struct sp_profile_check check; /* where a check goes on */
};

struct sp_guard_reply {
	int32_t code; /* 0, or what failed */
	uint32_t padding;
	struct sp_error error;
};

/* What of an open file is not in its rows. */
struct sp_guard_opened {
	int32_t version, trace_version;
	uint8_t aggregate, has_event_metadata, compressed, origin_known;
	uint32_t columns;
	uint64_t n_regions, n_rows, n_calls, n_samples, n_frames;
	int64_t start_time_ns;
};

/* Where a kind's half begins. */
static inline void *sp_guard_half(void *window, uint32_t op, uint32_t half)
{
	return (char *)window + (2 * (size_t)op + half) * SP_GUARD_HALF;
}
/* ---- profile_guard_window.c ---- */

/* Bytes of one element. */
size_t sp_guard_element(uint32_t op, uint32_t columns);
/* The elements that a half holds. */
size_t sp_guard_capacity(uint32_t op, uint32_t columns);
/* Columns of @n calls that stand in a half: points into it, at call @at of them. */
struct sp_calls sp_guard_view(void *half, uint32_t columns, size_t n, size_t at);

/* The columns that are not NULL. */
uint32_t sp_guard_columns(const struct sp_calls *calls);
/* Copies @n calls from a view to call @at of the caller's. */
void sp_guard_copy_calls(const struct sp_calls *to, size_t at, const struct sp_calls *view,
			 uint32_t columns, size_t n);

/* ---- profile_guard_child.c ---- */

struct sp_guard_child_setup {
	const char *path;
	int fd; /* its end of the socket */
	void *window;
	struct sp_guard_limits limits;
	pid_t parent;
};
/* In a process that was just forked: answers requests until the guard closes the socket. */
void sp_guard_child_run(const struct sp_guard_child_setup *setup) __attribute__((noreturn));

/* ---- the guard ---- */

struct sp_guard_block {
	bool used;  /* was asked for */
	bool ready; /* and is there */
	uint32_t columns;
	uint64_t first, n; /* calls are numbered through all rows */
};

/* Reading of one kind: two blocks, and where a reader would go on. */
struct sp_guard_stream {
	struct sp_guard_block blocks[2];
	unsigned int newest;
	uint32_t columns;
	uint64_t next;
	size_t size;   /* elements that the newest block was to have */
	bool no_ahead; /* reading ahead failed: leave it until the reader asks for that place */
};

/* While there is a child. */
struct sp_guard_child {
	pid_t pid;
	pid_t owner; /* our own, when it was forked */
	void *window;
	struct sp_guard_stream streams[SP_GUARD_N_STREAMS];
	struct sp_guard_request asked[2 * SP_GUARD_N_STREAMS]; /* and not answered */
	size_t n_asked;
	struct sp_pipe pipe; /* of replies; requests are sent through its fd */
};

struct sp_guard {
	struct sp_profile *profile;
	char *path; /* without links: a change of directory does no harm */
	struct sp_guard_limits limits;
	uint64_t device, inode, size;
	int64_t changed_s, changed_ns;
	uint64_t n_frames;
	uint64_t *row_first;	      /* number of each row's first call */
	struct sp_guard_child *child; /* NULL: none */
	uint64_t last_used;
	struct sp_error failed; /* the child died: so every further call fails */
};

/* ---- profile_guard_process.c ---- */

/* Makes sure that there is a child. */
int sp_guard_wake(struct sp_guard *guard, struct sp_error *error);
/* Starts a child and has it open the file; the rows follow in the pipe, unless it opens it again.
 */
int sp_guard_ask_open(struct sp_guard *guard, enum sp_guard_op op,
		      struct sp_guard_opened *ret_opened, struct sp_error *error);
/* -ESTALE unless the path still leads to the file that was opened. */
int sp_guard_check_same(const struct sp_guard *guard, struct sp_error *error);
/* Ends the child, whatever it does; it has nothing to lose. */
void sp_guard_stop(struct sp_guard *guard);
/* The status of a child that has closed its socket: it is dying, or has lost its mind. */
int sp_guard_find_status(const struct sp_guard_child *child, int *ret_status);
/* Lets go of a child that was reaped. */
void sp_guard_forget(struct sp_guard *guard);

/* ---- profile_guard_ask.c ---- */

/* Sends a request. */
int sp_guard_ask(struct sp_guard *guard, const struct sp_guard_request *request,
		 struct sp_error *error);
/* The reply to @request, whose turn it is: 0, and its content follows in the pipe, or what failed.
 */
int sp_guard_reply(struct sp_guard *guard, const struct sp_guard_request *request,
		   struct sp_error *error);
/* After the content of a reply: whether it all came, and was sane. */
int sp_guard_received(struct sp_guard *guard, const struct sp_guard_request *request,
		      struct sp_error *error);
/* The child's words or numbers cannot be: ends it. */
int sp_guard_nonsense(struct sp_guard *guard, const struct sp_guard_request *request,
		      struct sp_error *error);

/* ---- profile_guard_stream.c: callbacks of struct sp_profile_ops ---- */

int sp_guard_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			const struct sp_calls *calls, struct sp_error *error);
int sp_guard_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			  struct sp_sample_row *ret_samples, struct sp_error *error);
int sp_guard_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				uint64_t *ret_offsets, struct sp_error *error);
int sp_guard_read_frames(struct sp_profile *profile, uint64_t first, size_t n, uint64_t *ret_frames,
			 struct sp_error *error);
/* Receives what was asked for ahead, so that the next reply is the next request's. */
int sp_guard_drain(struct sp_guard *guard, struct sp_error *error);

#endif
