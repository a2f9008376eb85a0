/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_ranges.c - from "this part of the file is mapped here" to "these rows hold here".
 */
#include "loader/unwind_ranges.h"

#include <errno.h>
#include <stdlib.h>

/* Adds one, cut to what lies behind the one before it. */
static int add(struct sp_unwind_ranges *ranges, struct sp_unwind_range range)
{
	if (ranges->count && range.start < ranges->list[ranges->count - 1].end)
		range.start = ranges->list[ranges->count - 1].end;
	if (range.start >= range.end)
		return 0;
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? 2 * ranges->room : 256;
		struct sp_unwind_range *more = realloc(ranges->list, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		ranges->list = more;
		ranges->room = room;
	}
	ranges->list[ranges->count++] = range;
	return 0;
}

static int add_without_table(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *piece)
{
	static const uint32_t flags[] = {
		[SP_UNWIND_ABSENT] = SP_RANGE_NO_TABLE,
		[SP_UNWIND_WANTED] = SP_RANGE_PENDING,
		[SP_UNWIND_MISSING] = SP_RANGE_NO_TABLE,
		[SP_UNWIND_REFUSED] = SP_RANGE_REFUSED,
	};

	return add(ranges, (struct sp_unwind_range){
				   .start = piece->start,
				   .end = piece->end,
				   .base = piece->start,
				   .flags = piece->file ? flags[piece->file->state] : piece->flags,
			   });
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What of a segment is in the mapping, by the file's parts. */
static int add_segment(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *piece,
		       const struct sp_unwind_segment *segment)
{
	const struct sp_unwind_file *file = piece->file;
	uint64_t bytes = piece->end - piece->start;
	/* Offsets in the file. */
	uint64_t first = larger(piece->offset, segment->file_offset);
	uint64_t last = smaller(piece->offset + bytes, segment->file_offset + segment->file_size);
	uint64_t start, end, bias; /* start and end are link-time addresses */
	int r = 0;

	if (piece->offset + bytes < bytes || first >= last)
		return 0;
	start = segment->address + (first - segment->file_offset);
	end = segment->address + (last - segment->file_offset);
	bias = piece->start - piece->offset - segment->address + segment->file_offset;
	for (size_t i = 0; i < file->part_count && r == 0; i++) {
		const struct sp_unwind_part *p = &file->parts[i];
		uint64_t from = larger(start, p->start), to = smaller(end, p->end);

		if (from < to)
			r = add(ranges, (struct sp_unwind_range){
						.start = bias + from,
						.end = bias + to,
						.base = bias + p->base,
						.chunk = p->chunk,
						.first = p->first,
						.count = p->count,
					});
	}
	return r;
}

int sp_unwind_ranges_make(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *pieces,
			  size_t count)
{
	int r = 0;

	ranges->count = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct sp_unwind_file *file = pieces[i].file;

		if (!file || file->state != SP_UNWIND_READY) {
			r = add_without_table(ranges, &pieces[i]);
			continue;
		}
		for (size_t k = 0; k < file->segment_count && r == 0; k++)
			r = add_segment(ranges, &pieces[i], &file->segments[k]);
	}
	return r;
}
