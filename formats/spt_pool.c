// SPDX-License-Identifier: BSD-2-Clause
/*
 * spt_pool.c - merges records of one name.
 *
 * Invariant: the heap holds every record with calls left, by its next call, and @next calls have
 * been given out since the beginning. After a failure it begins again.
 */
#include "formats/spt_pool.h"

#include <stdlib.h>

#include "formats/util.h"

enum { BUDGET = 1 << 16, LEAST = 32 }; /* calls in all buffers, and in each */

struct cursor {
	uint32_t record;
	uint64_t calls, next; /* of the record; read into the buffer so far */
	size_t at, filled;
	int64_t *starts, *ends;
};

struct sp_spt_pool {
	struct sp_spt_reader *reader;
	struct cursor *cursors;
	size_t n_cursors, block;
	struct cursor **heap;
	size_t n_heap;
	bool started;
	uint64_t next;
};

static bool before(const struct cursor *a, const struct cursor *b)
{
	if (a->starts[a->at] != b->starts[b->at])
		return a->starts[a->at] < b->starts[b->at];
	if (a->ends[a->at] != b->ends[b->at])
		return a->ends[a->at] > b->ends[b->at];
	return a->record < b->record;
}

static void sift_down(struct sp_spt_pool *pool, size_t at)
{
	struct cursor **heap = pool->heap, *moved = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= pool->n_heap)
			break;
		if (child + 1 < pool->n_heap && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static int fill(struct sp_spt_pool *pool, struct cursor *cursor, struct sp_error *error)
{
	uint64_t left = cursor->calls - cursor->next;
	size_t some = left < pool->block ? (size_t)left : pool->block;
	int r = sp_spt_reader_calls(pool->reader, cursor->record, cursor->next, some,
				    cursor->starts, cursor->ends, error);

	if (r)
		return r;
	cursor->at = 0;
	cursor->filled = some;
	cursor->next += some;
	return 0;
}

static int start(struct sp_spt_pool *pool, struct sp_error *error)
{
	pool->n_heap = 0;
	pool->next = 0;
	for (size_t i = 0; i < pool->n_cursors; i++) {
		int r;

		pool->cursors[i].next = 0;
		r = fill(pool, &pool->cursors[i], error);
		if (r)
			return r;
		pool->heap[pool->n_heap++] = &pool->cursors[i];
	}
	for (size_t i = pool->n_heap / 2; i > 0; i--)
		sift_down(pool, i - 1);
	pool->started = true;
	return 0;
}

/* Moves past the next call. */
static int advance(struct sp_spt_pool *pool, struct sp_error *error)
{
	struct cursor *top = pool->heap[0];

	pool->next++;
	if (++top->at == top->filled) {
		if (top->next < top->calls) {
			int r = fill(pool, top, error);

			if (r)
				return r;
		} else {
			pool->heap[0] = pool->heap[--pool->n_heap];
		}
	}
	if (pool->n_heap)
		sift_down(pool, 0);
	return 0;
}

int sp_spt_pool_calls(struct sp_spt_pool *pool, uint64_t first, size_t n, int64_t *ret_starts,
		      int64_t *ret_ends, struct sp_error *error)
{
	int r = !pool->started || pool->next > first ? start(pool, error) : 0;

	while (!r && pool->next < first)
		r = advance(pool, error);
	for (size_t i = 0; !r && i < n; i++) {
		const struct cursor *top = pool->heap[0];

		if (ret_starts)
			ret_starts[i] = top->starts[top->at];
		if (ret_ends)
			ret_ends[i] = top->ends[top->at];
		r = advance(pool, error);
	}
	pool->started = !r;
	return r;
}

int sp_spt_pool_new(struct sp_spt_reader *reader, const uint32_t *records, size_t n,
		    struct sp_spt_pool **ret_pool, struct sp_error *error)
{
	struct sp_spt_pool *pool = calloc(1, sizeof(*pool));
	bool complete = pool != NULL;

	if (pool) {
		pool->reader = reader;
		pool->block = BUDGET / n < LEAST ? LEAST : BUDGET / n;
		pool->cursors = calloc(n, sizeof(*pool->cursors));
		pool->heap = calloc(n, sizeof(struct cursor *));
		complete = pool->cursors && pool->heap;
	}
	for (size_t i = 0; complete && i < n; i++) {
		uint64_t calls = sp_spt_reader_region(reader, records[i])->calls;
		size_t room = calls < pool->block ? (size_t)calls : pool->block;
		struct cursor *cursor = &pool->cursors[pool->n_cursors];

		if (!calls)
			continue;
		*cursor = (struct cursor){.record = records[i],
					  .calls = calls,
					  .starts = calloc(room, sizeof(int64_t)),
					  .ends = calloc(room, sizeof(int64_t))};
		pool->n_cursors++;
		complete = cursor->starts && cursor->ends;
	}
	if (!complete) {
		sp_spt_pool_free(pool);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	*ret_pool = pool;
	return 0;
}

void sp_spt_pool_free(struct sp_spt_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->n_cursors; i++) {
		free(pool->cursors[i].starts);
		free(pool->cursors[i].ends);
	}
	free(pool->cursors);
	free(pool->heap);
	free(pool);
}
