// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_stream.c - numbers in bulk, through the window of a guard's child.
 *
 * Invariant: a half of the window is written by the child only between the request that names it
 * and its reply, and is copied out only after the reply. Who reads forward finds the next block
 * filled, or being filled, when the last one is used up; who jumps gets just what was asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_guard_internal.h"

/* What a read wants, and where it goes on. */
struct want {
	uint32_t op, row, columns;
	uint64_t first, total; /* elements that there are: of the row, of the kind */
	size_t n;
	const struct sp_calls *calls; /* or */
	char *elements;
	size_t done; /* of them */
};

/* ---- places in the window ---- */

/* start, end, then the columns that profile_tables.def lists. */
static size_t column_size(unsigned int c)
{
	return c < 2 ? sizeof(int64_t) : sp_h5_type_size(sp_h5_call_columns[c - 2].type);
}

static bool has_column(uint32_t columns, unsigned int c)
{
	return columns & (c == 0 ? SP_GUARD_START : c == 1 ? SP_GUARD_END : 1u << (c - 2));
}

static void **column_of(struct sp_calls *calls, unsigned int c)
{
	return c == 0	? (void **)&calls->start
	       : c == 1 ? (void **)&calls->end
			: (void **)(void *)((char *)calls + sp_h5_call_columns[c - 2].offset);
}

enum { N_COLUMNS = SP_CALLS_N_COLUMNS + 2 };
_Static_assert(SP_CALLS_N_COLUMNS < 30, "start and end have bits beside the columns'");

size_t sp_guard_element(uint32_t op, uint32_t columns)
{
	size_t size = 0;

	if (op == SP_GUARD_SAMPLES)
		return sizeof(struct sp_sample_row);
	if (op != SP_GUARD_CALLS)
		return sizeof(uint64_t);
	for (unsigned int c = 0; c < N_COLUMNS; c++)
		size += has_column(columns, c) ? column_size(c) : 0;
	return size;
}

size_t sp_guard_capacity(uint32_t op, uint32_t columns)
{
	size_t padding = sizeof(uint64_t) * N_COLUMNS, element = sp_guard_element(op, columns);

	return (SP_GUARD_HALF - padding) / (element ? element : 1);
}

struct sp_calls sp_guard_view(void *half, uint32_t columns, size_t n)
{
	struct sp_calls view = {0};
	char *at = half;

	for (unsigned int c = 0; c < N_COLUMNS; c++) {
		if (!has_column(columns, c))
			continue;
		*column_of(&view, c) = at;
		at += (column_size(c) * n + 7) / 8 * 8;
	}
	return view;
}

static uint32_t wanted_columns(const struct sp_calls *calls)
{
	struct sp_calls all = *calls;
	uint32_t columns = 0;

	for (unsigned int c = 0; c < N_COLUMNS; c++)
		if (*column_of(&all, c))
			columns |= c == 0 ? SP_GUARD_START : c == 1 ? SP_GUARD_END : 1u << (c - 2);
	return columns;
}

/* Copies @n elements from element @from of a block on. */
static void copy_out(const struct sp_guard *guard, const struct want *want,
		     const struct sp_guard_block *block, uint32_t half, size_t from, size_t n)
{
	void *base = sp_guard_half(guard->child->window, want->op, half);
	size_t element = sp_guard_element(want->op, want->columns);
	struct sp_calls view, all;

	if (want->op != SP_GUARD_CALLS) {
		memcpy(want->elements + want->done * element, (char *)base + from * element,
		       n * element);
		return;
	}
	view = sp_guard_view(base, want->columns, (size_t)block->n);
	all = *want->calls;
	for (unsigned int c = 0; c < N_COLUMNS; c++) {
		size_t size = column_size(c);

		if (has_column(want->columns, c))
			memcpy((char *)*column_of(&all, c) + want->done * size,
			       (char *)*column_of(&view, c) + from * size, n * size);
	}
}

/* ---- asking and receiving ---- */

static int ask(struct sp_guard *guard, uint32_t op, uint32_t half,
	       const struct sp_guard_block *wanted, struct sp_error *error)
{
	struct sp_guard_child *child = guard->child;
	struct sp_guard_request request = {
		.op = op,
		.row = wanted->row,
		.columns = wanted->columns,
		.half = half,
		.first = wanted->first,
		.n = wanted->n,
	};
	int r = sp_guard_ask(guard, &request, error);

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

/* The next block that somebody who reads forward will want; false if there is none. */
static bool block_after(const struct sp_guard *guard, const struct want *want,
			const struct sp_guard_block *block, size_t size,
			struct sp_guard_block *ret_next)
{
	enum { MAX_EMPTY_ROWS = 64 };
	const struct sp_profile *profile = guard->profile;
	uint64_t first = block->first + block->n, total = want->total;
	uint32_t row = block->row;

	for (int i = 0; want->op == SP_GUARD_CALLS && first >= total && i < MAX_EMPTY_ROWS; i++) {
		if (row + 1 >= profile->info.n_rows)
			return false;
		total = profile->rows[++row].stats.calls;
		first = 0;
	}
	if (first >= total)
		return false;
	*ret_next = (struct sp_guard_block){
		.used = true,
		.row = row,
		.columns = block->columns,
		.first = first,
		.n = total - first < size ? total - first : size,
	};
	return true;
}

static bool same_place(const struct sp_guard_block *a, const struct sp_guard_block *b)
{
	return a->used && a->row == b->row && a->columns == b->columns && a->first == b->first;
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
	const struct sp_guard_block *other = &stream->blocks[!half];
	size_t size = grown(stream, want);
	struct sp_guard_block next;

	if (stream->no_ahead || (other->used && !other->ready) ||
	    !block_after(guard, want, &stream->blocks[half], size, &next) ||
	    same_place(other, &next))
		return 0;
	stream->size = size;
	return ask(guard, want->op, !half, &next, error);
}

/* Asks for what is wanted now. */
static int ask_now(struct sp_guard *guard, const struct want *want, bool forward,
		   uint32_t *ret_half, struct sp_error *error)
{
	struct sp_guard_stream *stream = &guard->child->streams[want->op];
	size_t capacity = sp_guard_capacity(want->op, want->columns), size = want->n - want->done;
	struct sp_guard_block wanted = {.used = true, .row = want->row, .columns = want->columns};
	uint32_t half;
	int r;

	if (forward && size < grown(stream, want))
		size = grown(stream, want);
	if (size > capacity)
		size = capacity;
	stream->size = size;
	wanted.first = want->first + want->done;
	wanted.n = want->total - wanted.first < size ? want->total - wanted.first : size;
	half = !stream->newest;
	if (stream->blocks[half].used && !stream->blocks[half].ready) {
		r = sp_guard_drain(guard, error);
		if (r)
			return r;
	}
	*ret_half = half;
	return ask(guard, want->op, half, &wanted, error);
}

static bool find_block(const struct sp_guard_stream *stream, const struct want *want,
		       uint32_t *ret_half)
{
	uint64_t at = want->first + want->done;

	for (uint32_t half = 0; half < 2; half++) {
		const struct sp_guard_block *block = &stream->blocks[half];

		if (block->used && block->row == want->row && block->columns == want->columns &&
		    at >= block->first && at - block->first < block->n) {
			*ret_half = half;
			return true;
		}
	}
	return false;
}

/* Whether the read begins where the last one ended. */
static bool goes_on(const struct sp_guard *guard, const struct sp_guard_stream *stream,
		    const struct want *want)
{
	if (stream->columns != want->columns || !stream->size)
		return false;
	if (stream->row == want->row)
		return stream->next == want->first;
	return want->op == SP_GUARD_CALLS && !want->first && stream->row < want->row &&
	       stream->next == guard->profile->rows[stream->row].stats.calls;
}

static int read_stream(struct sp_guard *guard, struct want *want, struct sp_error *error)
{
	struct sp_guard_stream *stream;
	bool forward;
	int r = sp_guard_wake(guard, error);

	if (r)
		return r;
	stream = &guard->child->streams[want->op];
	forward = goes_on(guard, stream, want);
	if (!forward)
		stream->no_ahead = false;
	while (want->done < want->n) {
		const struct sp_guard_block *block;
		uint32_t half = 0;
		size_t from, some;

		if (!find_block(stream, want, &half))
			r = ask_now(guard, want, forward, &half, error);
		if (!r && forward)
			r = ask_ahead(guard, want, half, error);
		if (!r)
			r = await(guard, want->op, half, error);
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
	stream->row = want->row;
	stream->columns = want->columns;
	stream->next = want->first + want->n;
	return 0;
}

/* ---- the kinds ---- */

int sp_guard_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			const struct sp_calls *calls, struct sp_error *error)
{
	struct want want = {
		.op = SP_GUARD_CALLS,
		.row = row,
		.columns = wanted_columns(calls),
		.first = first,
		.total = profile->rows[row].stats.calls,
		.n = n,
		.calls = calls,
	};

	return want.columns ? read_stream(profile->implementation, &want, error) : 0;
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
