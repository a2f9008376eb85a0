// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_stream.c - numbers in bulk, through the window of a guard's child.
 *
 * Invariant: a half of the window is written by the child only between the request that names it
 * and its reply, and is copied out only after the reply. Who reads forward finds the next block
 * filled, or being filled, when the last one is used up; who jumps gets just what was asked for.
 * Calls are numbered through all rows, so that a block of many small rows takes one request.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_guard_internal.h"

#include "formats/search.h"

/* What a read wants, and where it goes on. */
struct want {
	uint32_t op, columns;
	uint64_t first, total; /* of all elements of the kind */
	size_t n;
	const struct sp_calls *calls; /* or */
	char *elements;
	size_t done; /* of them */
};

/* Copies @n elements from element @from of a block on. */
static void copy_out(const struct sp_guard *guard, const struct want *want,
		     const struct sp_guard_block *block, uint32_t half, size_t from, size_t n)
{
	void *base = sp_guard_half(guard->child->window, want->op, half);
	size_t element = sp_guard_element(want->op, want->columns);
	struct sp_calls view;

	if (want->op != SP_GUARD_CALLS) {
		memcpy(want->elements + want->done * element, (char *)base + from * element,
		       n * element);
		return;
	}
	view = sp_guard_view(base, want->columns, (size_t)block->n, from);
	sp_guard_copy_calls(want->calls, want->done, &view, want->columns, n);
}

/* ---- asking and receiving ---- */

/* The row of a call by its number. */
static uint32_t row_of(const struct sp_guard *guard, uint64_t call)
{
	uint32_t rows = guard->profile->info.n_rows;

	return (uint32_t)sp_search(rows, i, guard->row_first[i] <= call) - 1;
}

static int ask(struct sp_guard *guard, uint32_t op, uint32_t half,
	       const struct sp_guard_block *wanted, struct sp_error *error)
{
	struct sp_guard_child *child = guard->child;
	struct sp_guard_request request = {
		.op = op,
		.columns = wanted->columns,
		.half = half,
		.first = wanted->first,
		.n = wanted->n,
	};
	int r;

	if (op == SP_GUARD_CALLS) {
		request.row = row_of(guard, wanted->first);
		request.first -= guard->row_first[request.row];
	}
	r = sp_guard_ask(guard, &request, error);
	if (r)
		return r;
	child->streams[op].blocks[half] = *wanted;
	child->streams[op].newest = half;
	child->asked[child->n_asked++] = request;
	return 0;
}

/* Receives the oldest reply that is due. A failure leaves its block empty. */
static int receive(struct sp_guard *guard, struct sp_error *error)
{
	struct sp_guard_child *child = guard->child;
	struct sp_guard_request request = child->asked[0];
	struct sp_guard_block *block = &child->streams[request.op].blocks[request.half];
	int r = sp_guard_reply(guard, &request, error);

	if (!r)
		r = sp_guard_received(guard, &request, error);
	if (!guard->child) /* it has ended, and all of this with it */
		return r;
	memmove(child->asked, child->asked + 1, --child->n_asked * sizeof(child->asked[0]));
	block->ready = !r;
	block->used = !r;
	return r;
}

/* The same, for somebody who waits for another reply: what was asked for ahead may fail, and
 * whoever needs it will hear of it. */
static int receive_other(struct sp_guard *guard, struct sp_error *error)
{
	uint32_t op = guard->child->asked[0].op;
	int r = receive(guard, NULL);

	if (!guard->child) {
		const struct sp_error *failed = &guard->failed;

		return failed->code ? sp_error_set(error, failed->code, 0, "%s", failed->text)
				    : sp_error_set(error, r, 0, "no memory");
	}
	guard->child->streams[op].no_ahead |= r != 0;
	return 0;
}

int sp_guard_drain(struct sp_guard *guard, struct sp_error *error)
{
	int r = 0;

	while (!r && guard->child->n_asked)
		r = receive_other(guard, error);
	return r;
}

/* Receives replies until the block in @half is there. */
static int await(struct sp_guard *guard, uint32_t op, uint32_t half, struct sp_error *error)
{
	struct sp_guard_child *child = guard->child;
	int r = 0;

	while (!r && !child->streams[op].blocks[half].ready) {
		bool ours = child->asked[0].op == op && child->asked[0].half == half;

		r = ours ? receive(guard, error) : receive_other(guard, error);
	}
	return r;
}

static size_t grown(const struct sp_guard_stream *stream, const struct want *want)
{
	size_t capacity = sp_guard_capacity(want->op, want->columns);

	return stream->size > capacity / 2 ? capacity : stream->size * 2;
}

/* Has the block after @half filled while the caller works on this one. */
static int ask_ahead(struct sp_guard *guard, const struct want *want, uint32_t half,
		     struct sp_error *error)
{
	struct sp_guard_stream *stream = &guard->child->streams[want->op];
	const struct sp_guard_block *block = &stream->blocks[half], *other = &stream->blocks[!half];
	struct sp_guard_block next = {.used = true, .columns = block->columns};
	size_t size = grown(stream, want);
	uint64_t left;

	next.first = block->first + block->n;
	left = want->total - next.first;
	next.n = left < size ? left : size;
	if (!left || stream->no_ahead || (other->used && !other->ready) ||
	    (other->used && other->columns == next.columns && other->first == next.first))
		return 0;
	stream->size = size;
	return ask(guard, want->op, !half, &next, error);
}

/* Asks for what is wanted now; somebody who reads forward gets more. */
static int ask_now(struct sp_guard *guard, const struct want *want, bool forward,
		   uint32_t *ret_half, struct sp_error *error)
{
	struct sp_guard_stream *stream = &guard->child->streams[want->op];
	size_t capacity = sp_guard_capacity(want->op, want->columns), size = want->n - want->done;
	struct sp_guard_block wanted = {.used = true, .columns = want->columns};
	uint32_t half = !stream->newest;
	int r = 0;

	if (forward && !stream->no_ahead && size < grown(stream, want))
		size = grown(stream, want);
	if (size > capacity)
		size = capacity;
	stream->size = size;
	wanted.first = want->first + want->done;
	wanted.n = want->total - wanted.first < size ? want->total - wanted.first : size;
	if (stream->blocks[half].used && !stream->blocks[half].ready)
		r = sp_guard_drain(guard, error);
	*ret_half = half;
	return r ? r : ask(guard, want->op, half, &wanted, error);
}

static bool find_block(const struct sp_guard_stream *stream, const struct want *want,
		       uint32_t *ret_half)
{
	uint64_t at = want->first + want->done;

	for (uint32_t half = 0; half < 2; half++) {
		const struct sp_guard_block *block = &stream->blocks[half];

		if (block->used && block->columns == want->columns && at >= block->first &&
		    at - block->first < block->n) {
			*ret_half = half;
			return true;
		}
	}
	return false;
}

/* Has a block with the next wanted element ready in *@ret_half. */
static int get_block(struct sp_guard *guard, const struct want *want, bool forward,
		     uint32_t *ret_half, struct sp_error *error)
{
	struct sp_guard_stream *stream = &guard->child->streams[want->op];
	uint64_t asked;
	int r = 0;

	if (!find_block(stream, want, ret_half))
		r = ask_now(guard, want, forward, ret_half, error);
	if (!r && forward)
		r = ask_ahead(guard, want, *ret_half, error);
	if (r)
		return r;
	asked = stream->blocks[*ret_half].first + stream->blocks[*ret_half].n;
	r = await(guard, want->op, *ret_half, error);
	if (!r || !guard->child || asked <= want->first + want->n)
		return r;
	/* It may be what nobody has asked for yet that cannot be read. */
	stream->no_ahead = true;
	r = ask_now(guard, want, false, ret_half, error);
	return r ? r : await(guard, want->op, *ret_half, error);
}

static int read_stream(struct sp_guard *guard, struct want *want, struct sp_error *error)
{
	struct sp_guard_stream *stream;
	bool forward;
	int r = sp_guard_wake(guard, error);

	if (r)
		return r;
	stream = &guard->child->streams[want->op];
	forward = stream->size && stream->columns == want->columns && stream->next == want->first;
	if (!forward)
		stream->no_ahead = false;
	while (want->done < want->n) {
		const struct sp_guard_block *block;
		uint32_t half = 0;
		size_t from, some;

		r = get_block(guard, want, forward, &half, error);
		if (r)
			return r;
		block = &stream->blocks[half];
		from = (size_t)(want->first + want->done - block->first);
		some = (size_t)block->n - from;
		if (some > want->n - want->done)
			some = want->n - want->done;
		copy_out(guard, want, block, half, from, some);
		want->done += some;
		forward = true;
	}
	stream->columns = want->columns;
	stream->next = want->first + want->n;
	return 0;
}

/* ---- the kinds ---- */

int sp_guard_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			const struct sp_calls *calls, struct sp_error *error)
{
	struct sp_guard *guard = profile->implementation;
	struct want want = {
		.op = SP_GUARD_CALLS,
		.columns = sp_guard_columns(calls),
		.first = guard->row_first[row] + first,
		.total = profile->info.n_calls,
		.n = n,
		.calls = calls,
	};

	return want.columns ? read_stream(guard, &want, error) : 0;
}

static struct sp_guard_request request_of(const struct want *want)
{
	return (struct sp_guard_request){.op = want->op, .first = want->first, .n = want->n};
}

int sp_guard_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			  struct sp_sample_row *ret_samples, struct sp_error *error)
{
	struct sp_guard *guard = profile->implementation;
	struct want want = {
		.op = SP_GUARD_SAMPLES,
		.first = first,
		.total = profile->info.n_samples,
		.n = n,
		.elements = (char *)ret_samples,
	};
	struct sp_guard_request request = request_of(&want);
	int r = read_stream(guard, &want, error);

	for (size_t i = 0; !r && i < n; i++)
		if (ret_samples[i].region < -1 ||
		    ret_samples[i].region >= (int64_t)profile->info.n_regions ||
		    ret_samples[i].module < -1 || ret_samples[i].thread < -1 ||
		    ret_samples[i].stack > guard->n_frames)
			r = sp_guard_nonsense(guard, &request, error);
	return r;
}

int sp_guard_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				uint64_t *ret_offsets, struct sp_error *error)
{
	struct sp_guard *guard = profile->implementation;
	struct want want = {
		.op = SP_GUARD_OFFSETS,
		.first = first,
		.total = profile->info.n_samples + 1,
		.n = n + 1,
		.elements = (char *)ret_offsets,
	};
	struct sp_guard_request request = request_of(&want);
	int r = read_stream(guard, &want, error);

	for (size_t i = 0; !r && i <= n; i++)
		if (ret_offsets[i] > guard->n_frames || (i && ret_offsets[i] < ret_offsets[i - 1]))
			r = sp_guard_nonsense(guard, &request, error);
	return r;
}

int sp_guard_read_frames(struct sp_profile *profile, uint64_t first, size_t n, uint64_t *ret_frames,
			 struct sp_error *error)
{
	struct sp_guard *guard = profile->implementation;
	struct want want = {
		.op = SP_GUARD_FRAMES,
		.first = first,
		.total = guard->n_frames,
		.n = n,
		.elements = (char *)ret_frames,
	};

	if (first > guard->n_frames || n > guard->n_frames - first)
		return sp_error_set(error, -EINVAL, 0, "has only %llu stack frames",
				    (unsigned long long)guard->n_frames);
	return read_stream(guard, &want, error);
}
