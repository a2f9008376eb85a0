/* SPDX-License-Identifier: BSD-2-Clause
 *
 * extsort.c - see extsort.h.
 *
 * In a run a record is a byte that says which words differ from the record before, then the
 * differences as zigzag varints. Invariant: a run's first record is coded against zeros, so a run
 * is read alone.
 */
#include "userspace/analysis/extsort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/record_sort.h"
#include "userspace/analysis/scratch.h"
#include "userspace/base/array.h"

#define PACKED_MAX (1 + 8 * 10)
#define READ_BYTES (32 * 1024)
#define WRITE_BYTES (256 * 1024)

struct run {
	uint64_t offset, end;
};

/* A run that is being read. */
struct source {
	uint64_t offset, end; /* of what is not in the buffer yet */
	size_t at, filled;
	struct sp_record record;
	uint8_t buffer[READ_BYTES];
};

struct sp_extsort {
	struct sp_scratch *scratch;
	size_t records, fan_in;
	uint64_t count;

	/* Adding. */
	struct sp_record *buffer;
	struct sp_record_key *keys, *spare;
	size_t used;
	struct run *runs;
	size_t n_runs, runs_room, first_run; /* runs before first_run are merged into later ones */

	/* Merging. */
	struct source **sources; /* a heap by record */
	size_t n_sources;
	bool advance;
};

int sp_extsort_new(const char *directory, size_t records, size_t fan_in,
		   struct sp_extsort **ret_sort)
{
	struct sp_extsort *sort = calloc(1, sizeof(*sort));
	int r;

	if (!sort)
		return -ENOMEM;
	sort->records = records ? records : SP_EXTSORT_RECORDS;
	sort->fan_in = fan_in ? fan_in : SP_EXTSORT_FAN_IN;
	r = sp_scratch_new(directory, WRITE_BYTES, &sort->scratch);
	if (r < 0) {
		sp_extsort_free(sort);
		return r;
	}
	*ret_sort = sort;
	return 0;
}

static void free_buffers(struct sp_extsort *sort)
{
	free(sort->buffer);
	free(sort->keys);
	free(sort->spare);
	sort->buffer = NULL;
	sort->keys = sort->spare = NULL;
}

void sp_extsort_free(struct sp_extsort *sort)
{
	if (!sort)
		return;
	free_buffers(sort);
	for (size_t i = 0; i < sort->n_sources; i++)
		free(sort->sources[i]);
	free(sort->sources);
	free(sort->runs);
	sp_scratch_free(sort->scratch);
	free(sort);
}

/* ---- runs ---- */

static inline uint8_t *pack(uint8_t *out, const struct sp_record *record, struct sp_record *last)
{
	uint8_t *changed = out++;
	unsigned mask = 0;

	for (unsigned i = 0; i < 8; i++) {
		uint64_t d = record->word[i] - last->word[i];

		if (!d)
			continue;
		mask |= 1u << i;
		d = (d << 1) ^ (0 - (d >> 63));
		for (; d >= 0x80; d >>= 7)
			*out++ = (uint8_t)(d | 0x80);
		*out++ = (uint8_t)d;
	}
	*changed = (uint8_t)mask;
	*last = *record;
	return out;
}

/* The caller has made sure of PACKED_MAX readable bytes. */
static inline const uint8_t *unpack(const uint8_t *in, struct sp_record *record)
{
	for (unsigned mask = *in++; mask; mask &= mask - 1) {
		uint64_t d = 0;
		unsigned shift = 0;

		for (; *in & 0x80; shift += 7)
			d |= (uint64_t)(*in++ & 0x7f) << (shift & 63);
		d |= (uint64_t)*in++ << (shift & 63);
		record->word[__builtin_ctz(mask)] += (d >> 1) ^ (0 - (d & 1));
	}
	return in;
}

static int append_record(struct sp_extsort *sort, const struct sp_record *record,
			 struct sp_record *last)
{
	int r = 0;
	uint8_t *room = sp_scratch_room(sort->scratch, PACKED_MAX, &r);

	if (!room)
		return r;
	sp_scratch_used(sort->scratch, (size_t)(pack(room, record, last) - room));
	return 0;
}

static int note_run(struct sp_extsort *sort, uint64_t offset)
{
	struct run *run = sp_array_add(&sort->runs, &sort->n_runs, &sort->runs_room);

	if (!run)
		return -ENOMEM;
	*run = (struct run){offset, sp_scratch_bytes(sort->scratch)};
	return 0;
}

static int write_run(struct sp_extsort *sort)
{
	uint64_t offset = sp_scratch_bytes(sort->scratch);
	struct sp_record last = {{0}};
	int r;

	if (!sort->used)
		return 0;
	r = sp_records_sort(sort->buffer, sort->used, &sort->keys, &sort->spare);
	for (size_t i = 0; r == 0 && i < sort->used; i++)
		r = append_record(sort, &sort->buffer[sort->keys[i].index], &last);
	if (r == 0)
		r = note_run(sort, offset);
	sort->used = 0;
	return r;
}

static int make_buffers(struct sp_extsort *sort)
{
	sort->buffer = malloc(sort->records * sizeof(*sort->buffer));
	sort->keys = malloc(sort->records * sizeof(*sort->keys));
	sort->spare = malloc(sort->records * sizeof(*sort->spare));
	return sort->buffer && sort->keys && sort->spare ? 0 : -ENOMEM;
}

int sp_extsort_add(struct sp_extsort *sort, const struct sp_record *record)
{
	int r = 0;

	if (!sort->buffer)
		r = make_buffers(sort);
	else if (sort->used == sort->records)
		r = write_run(sort);
	if (r < 0)
		return r;
	sort->buffer[sort->used++] = *record;
	sort->count++;
	return 0;
}

/* ---- merging ---- */

/* Moves on to the next record of a run. 1, 0 at its end, -errno. */
static int source_next(struct sp_extsort *sort, struct source *source)
{
	size_t left = source->filled - source->at;

	if (left < PACKED_MAX && source->offset < source->end) {
		uint64_t bytes = source->end - source->offset;
		int r;

		memmove(source->buffer, source->buffer + source->at, left);
		if (bytes > sizeof(source->buffer) - PACKED_MAX - left)
			bytes = sizeof(source->buffer) - PACKED_MAX - left;
		r = sp_scratch_read(sort->scratch, source->offset, source->buffer + left, bytes);
		if (r < 0)
			return r;
		source->offset += bytes;
		source->at = 0;
		source->filled = left = left + bytes;
	}
	if (!left)
		return 0;
	source->at =
		(size_t)(unpack(source->buffer + source->at, &source->record) - source->buffer);
	return source->at <= source->filled ? 1 : -EIO;
}

static void sift_down(struct sp_extsort *sort, size_t at)
{
	struct source **heap = sort->sources, *moved = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= sort->n_sources)
			break;
		if (child + 1 < sort->n_sources &&
		    sp_record_compare(&heap[child + 1]->record, &heap[child]->record) < 0)
			child++;
		if (sp_record_compare(&moved->record, &heap[child]->record) <= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moved;
}

/* Opens the next @n runs for merging. */
static int open_sources(struct sp_extsort *sort, size_t n)
{
	sort->n_sources = 0;
	for (size_t i = 0; i < n; i++) {
		const struct run *run = &sort->runs[sort->first_run + i];
		struct source *source = malloc(sizeof(*source));
		int r;

		if (!source)
			return -ENOMEM;
		sort->sources[sort->n_sources++] = source;
		source->offset = run->offset;
		source->end = run->end;
		source->at = source->filled = 0;
		/* unpack() may look behind what was read, never at what was not written. */
		memset(source->buffer, 0, sizeof(source->buffer));
		memset(&source->record, 0, sizeof(source->record));
		r = source_next(sort, source);
		if (r <= 0)
			return r < 0 ? r : -EIO; /* no run is empty */
	}
	for (size_t i = n / 2; i-- > 0;)
		sift_down(sort, i);
	sort->first_run += n;
	sort->advance = false;
	return 0;
}

static int merge_next(struct sp_extsort *sort, const struct sp_record **ret_record)
{
	if (sort->advance && sort->n_sources) {
		int r = source_next(sort, sort->sources[0]);

		if (r < 0)
			return r;
		if (r == 0) {
			free(sort->sources[0]);
			sort->sources[0] = sort->sources[--sort->n_sources];
		}
		if (sort->n_sources)
			sift_down(sort, 0);
	}
	if (!sort->n_sources)
		return 0;
	sort->advance = true;
	*ret_record = &sort->sources[0]->record;
	return 1;
}

static int merge_some(struct sp_extsort *sort, size_t n)
{
	uint64_t from = sort->runs[sort->first_run].offset;
	uint64_t to = sort->runs[sort->first_run + n - 1].end;
	uint64_t offset = sp_scratch_bytes(sort->scratch);
	const struct sp_record *record;
	struct sp_record last = {{0}};
	int r = open_sources(sort, n);

	while (r == 0 && (r = merge_next(sort, &record)) == 1)
		r = append_record(sort, record, &last);
	if (r == 0)
		r = note_run(sort, offset);
	if (r == 0)
		sp_scratch_forget(sort->scratch, from, to - from);
	return r;
}

int sp_extsort_finish(struct sp_extsort *sort)
{
	size_t left;
	int r = sort->buffer ? write_run(sort) : 0;

	free_buffers(sort);
	sort->sources = calloc(sort->fan_in, sizeof(*sort->sources));
	if (!sort->sources)
		return -ENOMEM;
	/* Each merge of n runs leaves n - 1 fewer; the first takes no more than it must. */
	while (r == 0 && (left = sort->n_runs - sort->first_run) > sort->fan_in) {
		size_t excess = left - sort->fan_in + 1;

		r = merge_some(sort, excess < sort->fan_in ? excess : sort->fan_in);
	}
	if (r == 0)
		r = open_sources(sort, sort->n_runs - sort->first_run);
	return r;
}

int sp_extsort_next(struct sp_extsort *sort, const struct sp_record **ret_record)
{
	return merge_next(sort, ret_record);
}
