/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_guard_pipe.h - moves parts of a profile between a guard and its child. Not installed.
 *
 * One description serves both directions: the same calls, in the same order, send what is there or
 * receive it into memory that was zeroed, so the two ends cannot disagree. A failure sticks: from
 * then on nothing moves, and the one who receives finds zeroes and empty arrays, which the usual
 * destructors free.
 *
 * Invariant of receiving: the other end may say anything. No count or length makes more memory than
 * the budget of the message, texts end with a NUL and are UTF-8, numbers that select are checked.
 */
#ifndef SP_FORMATS_PROFILE_GUARD_PIPE_H
#define SP_FORMATS_PROFILE_GUARD_PIPE_H

#include <time.h>

#include "formats/h5_util.h"
#include "formats/profile_read.h"

struct sp_pipe {
	int fd; /* a stream socket, of the owner */
	bool receiving;
	int failed;	      /* 0, or the first failure: -EPIPE the other end is gone, -ETIMEDOUT,
				 -EBADMSG nonsense was received, -ENOMEM */
	uint64_t budget;      /* of receiving: bytes that the message may still take */
	unsigned int silence; /* seconds without a byte that receiving bears, 0: any */
	clockid_t clock; /* of the CPU time of the other end: while it works, it is not silent */
	size_t at, used; /* of the buffer */
	unsigned char buffer[1 << 16];
};

void sp_pipe_bytes(struct sp_pipe *pipe, void *data, size_t n);
#define sp_pipe_value(pipe, value) sp_pipe_bytes((pipe), &(value), sizeof(value))
void sp_pipe_fail(struct sp_pipe *pipe, int code);
void sp_pipe_text(struct sp_pipe *pipe, const char **text);
void sp_pipe_text_or_null(struct sp_pipe *pipe, const char **text);
/* The number of elements; receiving makes an array for them, of zeroes. */
void sp_pipe_array(struct sp_pipe *pipe, void **array, size_t *n, size_t element);
/* An array of plain numbers whose count both ends know. */
void sp_pipe_numbers(struct sp_pipe *pipe, void **array, size_t n, size_t element);
/* Nothing is received after it that was not sent before its twin: finds ends out of step. */
void sp_pipe_end(struct sp_pipe *pipe);

/* ---- profile_guard_content.c: what is not a plain number ---- */

void sp_pipe_facts(struct sp_pipe *pipe, struct sp_fact **facts, size_t *n);
void sp_pipe_table(struct sp_pipe *pipe, enum sp_h5_table which, void **rows, size_t *n);
void sp_pipe_extras(struct sp_pipe *pipe, struct sp_extras *extras);
void sp_pipe_check(struct sp_pipe *pipe, struct sp_profile_check *check);
/* A row; of a receiver its strings are to be freed. */
void sp_pipe_row(struct sp_pipe *pipe, struct sp_row *row);

#endif
