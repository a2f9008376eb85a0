// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_order.c - merges the rows of a rank, each of which is sorted or is made so.
 *
 * A stream is a row read forward, or a part of one that stands in a temporary file: a row out of
 * order is cut into runs, each sorted in memory. So is, as it is, a long row of an HDF5 file that
 * has so many rows that each could be read in small pieces only, which libhdf5 is slow at.
 *
 * Invariant: the calls of a stream ascend, and the heap holds every stream with calls left, by its
 * next call.
 */
#include "formats/profile_order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/profile_internal.h"
#include "formats/util.h"

enum {
	READ = 1 << 13,	   /* calls read at once in the first pass */
	RUN = 1 << 18,	   /* calls sorted at once */
	BUDGET = 32 << 20, /* bytes for the buffers of all streams */
	LEAST = 16,	   /* calls in a buffer */
	MOST = 1 << 13,
	SMALL = 1 << 10, /* smaller reads are too slow for libhdf5 */
};

struct stream {
	uint32_t row, region;
	bool spooled;
	uint64_t offset;  /* in the temporary file, bytes */
	uint64_t next, n; /* calls read into the buffer so far, and in all */
	size_t at, filled;
	struct sp_ordered_call *buffer;
};

struct head {
	int64_t start, end;
	struct stream *stream;
};

struct sp_call_order {
	struct sp_profile *profile;
	struct sp_calls columns; /* READ calls */
	int spool;		 /* -1: not needed so far */
	uint64_t spooled;	 /* bytes in it */
	struct stream *streams;
	size_t n_streams, capacity;
	struct head *heap;
	size_t n_heap;
	size_t block; /* calls in a buffer */
	struct sp_ordered_call *buffers;
	bool advance;
};

/* ---- order ---- */

static inline int compare_calls(const struct sp_ordered_call *a, const struct sp_ordered_call *b)
{
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->end < b->end) - (a->end > b->end);
}

static int compare_in_row(const void *a, const void *b)
{
	const struct sp_ordered_call *left = a, *right = b;
	int order = compare_calls(left, right);

	return order ? order : (left->index > right->index) - (left->index < right->index);
}

static inline bool head_before(const struct head *a, const struct head *b)
{
	const struct sp_ordered_call *left, *right;

	if (a->start != b->start)
		return a->start < b->start;
	if (a->end != b->end)
		return a->end > b->end;
	if (a->stream->region != b->stream->region)
		return a->stream->region < b->stream->region;
	left = &a->stream->buffer[a->stream->at];
	right = &b->stream->buffer[b->stream->at];
	return left->index < right->index;
}

/* ---- reading calls ---- */

/* Reads up to READ calls of a row as records. */
static int read_records(struct sp_call_order *order, uint32_t row, uint64_t first, size_t n,
			struct sp_ordered_call *records, struct sp_error *error)
{
	const struct sp_calls *from = &order->columns;
	int r = sp_profile_read_calls(order->profile, row, first, n, from, error);

	for (size_t i = 0; !r && i < n; i++) {
		int64_t lane = -1;

		if (from->task && from->task[i] >= 0)
			lane = from->task[i];
		else if (from->thread && from->thread[i] >= 0)
			lane = sp_wrap_sub(-2, from->thread[i]);
		records[i] =
			(struct sp_ordered_call){from->start[i], from->end[i], lane, first + i};
	}
	return r;
}

static int append_to_spool(struct sp_call_order *order, const struct sp_ordered_call *records,
			   size_t n, struct sp_error *error)
{
	size_t size = n * sizeof(*records);
	int r = order->spool < 0 ? sp_temporary_open(&order->spool, error) : 0;

	if (r)
		return r;
	r = sp_pwrite_all(order->spool, records, size, order->spooled);
	if (r)
		return sp_error_set(error, r, 0,
				    "the temporary file for its calls cannot be written: %s",
				    strerror(-r));
	order->spooled += size;
	return 0;
}

static int add_stream(struct sp_call_order *order, const struct stream *stream,
		      struct sp_error *error)
{
	if (sp_array_reserve((void **)&order->streams, &order->capacity, order->n_streams,
			     sizeof(*order->streams)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	order->streams[order->n_streams] = *stream;
	order->streams[order->n_streams++].region =
		sp_profile_row(order->profile, stream->row)->region;
	return 0;
}

/* ---- opening ---- */

/* Makes sorted runs of a row. */
static int sort_row(struct sp_call_order *order, uint32_t row, struct sp_error *error)
{
	uint64_t n = sp_profile_row(order->profile, row)->stats.calls;
	size_t capacity = n < RUN ? (size_t)n : RUN;
	struct sp_ordered_call *run sp_cleanup_free = calloc(capacity, sizeof(*run));
	int r = 0;

	if (!run)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (uint64_t at = 0; !r && at < n; at += RUN) {
		size_t some = n - at < RUN ? (size_t)(n - at) : RUN;
		struct stream stream = {
			.row = row, .spooled = true, .offset = order->spooled, .n = some};

		for (size_t i = 0; !r && i < some; i += READ)
			r = read_records(order, row, at + i, some - i < READ ? some - i : READ,
					 run + i, error);
		if (r)
			break;
		qsort(run, some, sizeof(*run), compare_in_row);
		r = append_to_spool(order, run, some, error);
		if (!r)
			r = add_stream(order, &stream, error);
	}
	return r;
}

/* Looks through a row; copies it to the temporary file if @spool. */
static int scan_row(struct sp_call_order *order, uint32_t row, bool spool,
		    struct sp_ordered_call *records, struct sp_error *error)
{
	struct stream stream = {.row = row,
				.spooled = spool,
				.offset = order->spooled,
				.n = sp_profile_row(order->profile, row)->stats.calls};
	struct sp_ordered_call last = {.start = INT64_MIN, .end = INT64_MAX, .lane = -1};
	int r = 0;

	for (uint64_t at = 0; !r && at < stream.n; at += READ) {
		size_t some = stream.n - at < READ ? (size_t)(stream.n - at) : READ;

		r = read_records(order, row, at, some, records, error);
		for (size_t i = 0; !r && i < some; i++) {
			if (compare_calls(&last, &records[i]) > 0)
				return sort_row(order, row, error);
			last = records[i];
		}
		if (!r && spool)
			r = append_to_spool(order, records, some, error);
	}
	return r || !stream.n ? r : add_stream(order, &stream, error);
}

static int scan_rows(struct sp_call_order *order, uint32_t rank, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(order->profile);
	struct sp_ordered_call *records sp_cleanup_free = calloc(READ, sizeof(*records));
	const uint32_t *rows;
	uint32_t n;
	size_t piece;
	int r = sp_profile_rows_of_rank(order->profile, rank, &rows, &n, error);

	if (!r && !records)
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	if (r)
		return r;
	piece = BUDGET / sizeof(*records) / ((size_t)n + 1);
	for (uint32_t i = 0; !r && i < n; i++) {
		bool spool = info->format != SP_FORMAT_SPT && piece < SMALL &&
			     sp_profile_row(order->profile, rows[i])->stats.calls > piece;

		r = scan_row(order, rows[i], spool, records, error);
	}
	return r;
}

/* ---- merging ---- */

static int fill(struct sp_call_order *order, struct stream *stream, struct sp_error *error)
{
	uint64_t left = stream->n - stream->next;
	size_t some = left < order->block ? (size_t)left : order->block;
	int r;

	stream->at = stream->filled = 0;
	if (!some)
		return 0;
	if (stream->spooled) {
		r = sp_pread_all(order->spool, stream->buffer, some * sizeof(*stream->buffer),
				 stream->offset + stream->next * sizeof(*stream->buffer));
		if (r)
			return sp_error_set(error, r, 0,
					    "the temporary file of its calls cannot be read: %s",
					    strerror(-r));
	} else {
		r = read_records(order, stream->row, stream->next, some, stream->buffer, error);
		if (r)
			return r;
	}
	stream->filled = some;
	stream->next += some;
	return 0;
}

static void sift_down(struct sp_call_order *order, size_t at)
{
	struct head *heap = order->heap, moved = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= order->n_heap)
			break;
		if (child + 1 < order->n_heap && head_before(&heap[child + 1], &heap[child]))
			child++;
		if (!head_before(&heap[child], &moved))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

static inline struct head head_of(struct stream *stream)
{
	const struct sp_ordered_call *call = &stream->buffer[stream->at];

	return (struct head){call->start, call->end, stream};
}

/* One block of memory for all buffers, in large pages if there are: the streams are visited in no
 * order, and otherwise each visit would miss the address cache, too. */
static int make_buffers(struct sp_call_order *order)
{
	enum { PAGE = 2 << 20 };
	struct sp_ordered_call *next;
	size_t n = 0, size;

	for (size_t i = 0; i < order->n_streams; i++)
		n += order->streams[i].n < order->block ? (size_t)order->streams[i].n
							: order->block;
	size = n * sizeof(*next);
	if (size >= 2 * PAGE) {
		size = (size + PAGE - 1) / PAGE * PAGE;
		order->buffers = aligned_alloc(PAGE, size);
		if (order->buffers)
			(void)madvise(order->buffers, size, MADV_HUGEPAGE);
	} else {
		order->buffers = malloc(size + 1);
	}
	next = order->buffers;
	for (size_t i = 0; next && i < order->n_streams; i++) {
		struct stream *stream = &order->streams[i];

		stream->buffer = next;
		next += stream->n < order->block ? (size_t)stream->n : order->block;
	}
	return order->buffers ? 0 : -ENOMEM;
}

static int start_streams(struct sp_call_order *order, struct sp_error *error)
{
	int r = 0;

	order->block = BUDGET / sizeof(struct sp_ordered_call) / (order->n_streams + 1);
	order->block = order->block < LEAST ? LEAST : order->block > MOST ? MOST : order->block;
	order->heap = calloc(order->n_streams + 1, sizeof(*order->heap));
	if (!order->heap || make_buffers(order))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; !r && i < order->n_streams; i++) {
		r = fill(order, &order->streams[i], error);
		if (!r)
			order->heap[order->n_heap++] = head_of(&order->streams[i]);
	}
	for (size_t i = order->n_heap / 2; !r && i > 0; i--)
		sift_down(order, i - 1);
	return r;
}

int sp_call_order_next(struct sp_call_order *order, const struct sp_ordered_call **ret_call,
		       uint32_t *ret_row, struct sp_error *error)
{
	struct stream *stream;

	if (order->advance) {
		stream = order->heap[0].stream;
		if (++stream->at == stream->filled) {
			int r = fill(order, stream, error);

			if (r)
				return r;
		}
		order->heap[0] = stream->filled ? head_of(stream) : order->heap[--order->n_heap];
		sift_down(order, 0);
	}
	order->advance = order->n_heap > 0;
	if (!order->n_heap)
		return 0;
	stream = order->heap[0].stream;
	/* The buffers together are larger than the caches; this stream's next call is wanted soon.
	 */
	__builtin_prefetch(&stream->buffer[stream->at] + 1);
	__builtin_prefetch(&stream->buffer[stream->at] + 2);
	*ret_call = &stream->buffer[stream->at];
	*ret_row = stream->row;
	return 1;
}

int sp_call_order_open(struct sp_profile *profile, uint32_t rank, struct sp_call_order **ret_order,
		       struct sp_error *error)
{
	unsigned int columns = sp_profile_info(profile)->columns;
	struct sp_call_order *order;
	int r = 0;

	if (sp_profile_info(profile)->aggregate)
		return sp_error_set(error, -ENOTSUP, 0, "has statistics only, not the calls");
	order = calloc(1, sizeof(*order));
	if (!order)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	order->profile = profile;
	order->spool = -1;
	if (sp_calls_alloc(&order->columns, READ, columns & (SP_CALLS_thread | SP_CALLS_task)))
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	if (!r)
		r = scan_rows(order, rank, error);
	if (!r)
		r = start_streams(order, error);
	if (r) {
		sp_call_order_free(order);
		return r;
	}
	*ret_order = order;
	return 0;
}

void sp_call_order_free(struct sp_call_order *order)
{
	if (!order)
		return;
	free(order->buffers);
	free(order->streams);
	free(order->heap);
	sp_calls_free(&order->columns);
	if (order->spool >= 0)
		close(order->spool);
	free(order);
}
