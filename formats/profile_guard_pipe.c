// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_pipe.c - bytes, texts and arrays over a socket; the header has the invariant.
 */
#include "formats/profile_guard_pipe.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "formats/utf8.h"

#define MARK 0x656e6421u

void sp_pipe_fail(struct sp_pipe *pipe, int code)
{
	if (!pipe->failed)
		pipe->failed = code;
}

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec used;

	return clock_gettime(clock, &used) ? 0 : used.tv_sec * 1000000000 + used.tv_nsec;
}

/* In slices of a second: a stop of both processes, which is no silence of one, costs one of them.
 * On a busy machine an end that works gets few slices, so these count less; its own limit of CPU
 * time comes first. */
static void await(struct sp_pipe *pipe)
{
	enum { IDLE = 16, BUSY = 1, SOME_NS = 1000000 };
	struct pollfd ready = {.fd = pipe->fd, .events = POLLIN};
	int64_t used = -1;

	for (unsigned int waited = 0; pipe->silence;) {
		int n = poll(&ready, 1, 1000);
		int64_t now;

		if (n > 0)
			return;
		if (n < 0 && errno != EINTR)
			return; /* what follows says why */
		if (n)
			continue;
		now = cpu_ns(pipe->clock);
		waited += used >= 0 && now - used > SOME_NS ? BUSY : IDLE;
		used = now;
		if (waited < pipe->silence * IDLE)
			continue;
		sp_pipe_fail(pipe, -ETIMEDOUT);
		return;
	}
}

static void refill(struct sp_pipe *pipe)
{
	ssize_t got = -1;

	pipe->at = pipe->used = 0;
	while (!pipe->failed && got < 0) {
		await(pipe);
		if (pipe->failed)
			return;
		got = recv(pipe->fd, pipe->buffer, sizeof(pipe->buffer), 0);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			sp_pipe_fail(pipe, -EPIPE);
	}
	if (!got)
		sp_pipe_fail(pipe, -EPIPE);
	if (got > 0)
		pipe->used = (size_t)got;
}

/* Sends what is buffered. */
static void flush(struct sp_pipe *pipe)
{
	while (!pipe->failed && pipe->at < pipe->used) {
		ssize_t put = send(pipe->fd, pipe->buffer + pipe->at, pipe->used - pipe->at,
				   MSG_NOSIGNAL);

		if (put > 0)
			pipe->at += (size_t)put;
		else if (errno != EINTR)
			sp_pipe_fail(pipe, -EPIPE);
	}
	pipe->at = pipe->used = 0;
}

static void send_bytes(struct sp_pipe *pipe, const unsigned char *from, size_t n)
{
	while (n && !pipe->failed) {
		size_t room = sizeof(pipe->buffer) - pipe->used, some = n < room ? n : room;

		memcpy(pipe->buffer + pipe->used, from, some);
		pipe->used += some;
		from += some;
		n -= some;
		if (pipe->used == sizeof(pipe->buffer))
			flush(pipe);
	}
}

void sp_pipe_bytes(struct sp_pipe *pipe, void *data, size_t n)
{
	unsigned char *to = data;

	if (!pipe->receiving) {
		send_bytes(pipe, data, n);
		return;
	}
	while (n && !pipe->failed) {
		size_t there = pipe->used - pipe->at, some = n < there ? n : there;

		if (!some) {
			refill(pipe);
			continue;
		}
		memcpy(to, pipe->buffer + pipe->at, some);
		pipe->at += some;
		to += some;
		n -= some;
	}
	if (pipe->failed) /* half of a number is none */
		memset(data, 0, (size_t)(to - (unsigned char *)data) + n);
}

/* Takes memory from the budget. */
static void *take(struct sp_pipe *pipe, uint64_t n, size_t element)
{
	void *memory;

	if (pipe->failed)
		return NULL;
	if (n > pipe->budget / element) {
		sp_pipe_fail(pipe, -ENOMEM);
		return NULL;
	}
	memory = calloc(n ? n : 1, element);
	if (!memory)
		sp_pipe_fail(pipe, -ENOMEM);
	pipe->budget -= n * element;
	return memory;
}

static void receive_text(struct sp_pipe *pipe, uint64_t length, const char **ret_text)
{
	char *text = length == UINT64_MAX ? NULL : take(pipe, length + 1, 1);

	if (!text)
		return;
	sp_pipe_bytes(pipe, text, length);
	if (!sp_utf8_valid(text, strlen(text))) {
		char *repaired = sp_utf8_repair(text);

		free(text);
		text = repaired;
		if (!text)
			sp_pipe_fail(pipe, -ENOMEM);
	}
	*ret_text = text;
}

void sp_pipe_text_or_null(struct sp_pipe *pipe, const char **text)
{
	uint64_t length = !pipe->receiving && *text ? strlen(*text) : UINT64_MAX;

	sp_pipe_value(pipe, length);
	if (!pipe->receiving) {
		if (*text)
			send_bytes(pipe, (const unsigned char *)*text, length);
		return;
	}
	*text = NULL;
	if (!pipe->failed)
		receive_text(pipe, length, text);
}

void sp_pipe_text(struct sp_pipe *pipe, const char **text)
{
	static const char *const empty = "";

	sp_pipe_text_or_null(pipe, pipe->receiving || *text ? text : (const char **)&empty);
	if (pipe->receiving && !*text)
		sp_pipe_fail(pipe, -EBADMSG);
}

void sp_pipe_array(struct sp_pipe *pipe, void **array, size_t *n, size_t element)
{
	uint64_t count = pipe->receiving ? 0 : *n;

	sp_pipe_value(pipe, count);
	if (!pipe->receiving)
		return;
	*array = count ? take(pipe, count, element) : NULL;
	*n = *array ? count : 0;
}

void sp_pipe_numbers(struct sp_pipe *pipe, void **array, size_t n, size_t element)
{
	if (pipe->receiving)
		*array = take(pipe, n, element);
	if (*array)
		sp_pipe_bytes(pipe, *array, n * element);
}

void sp_pipe_end(struct sp_pipe *pipe)
{
	uint32_t mark = MARK;

	sp_pipe_value(pipe, mark);
	if (!pipe->receiving)
		flush(pipe);
	else if (mark != MARK)
		sp_pipe_fail(pipe, -EBADMSG);
}
