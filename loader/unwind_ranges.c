/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_ranges.c - from "this part of the file is mapped here" to "these rows hold here": for the
 * mappings that we know, and for the kernel side, which sees others before us.
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

/* The rows of a part that hold for a segment. False: none. */
static bool cut_slice(const struct sp_unwind_segment *segment, const struct sp_unwind_part *part,
		      struct sp_bpf_slice *ret_slice)
{
	uint64_t offset = segment->file_offset - segment->address; /* of address 0, in the file */
	uint64_t from = larger(segment->address, part->start);
	uint64_t to = smaller(segment->address + segment->file_size, part->end);

	if (from >= to)
		return false;
	*ret_slice = (struct sp_bpf_slice){
		.from = from + offset,
		.to = to + offset,
		.base = part->base + offset,
		.chunk = part->chunk,
		.first = part->first,
		.count = part->count,
	};
	return true;
}

/* What of a slice of its file is in the mapping. */
static int add_slice(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *piece,
		     const struct sp_bpf_slice *slice)
{
	uint64_t bytes = piece->end - piece->start, bias = piece->start - piece->offset;
	uint64_t from = larger(piece->offset, slice->from);
	uint64_t to = smaller(piece->offset + bytes, slice->to);

	if (piece->offset + bytes < bytes || from >= to)
		return 0;
	return add(ranges, (struct sp_unwind_range){
				   .start = bias + from,
				   .end = bias + to,
				   .base = bias + slice->base,
				   .chunk = slice->chunk,
				   .first = slice->first,
				   .count = slice->count,
			   });
}

/* What of a file is in the mapping. */
static int add_file(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *piece)
{
	const struct sp_unwind_file *file = piece->file;
	int r = 0;

	for (size_t k = 0; k < file->segment_count; k++)
		for (size_t i = 0; i < file->part_count && r == 0; i++) {
			struct sp_bpf_slice slice;

			if (cut_slice(&file->segments[k], &file->parts[i], &slice))
				r = add_slice(ranges, piece, &slice);
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
		r = add_file(ranges, &pieces[i]);
	}
	return r;
}

void sp_unwind_ranges_show(struct sp_bpf *bpf, const struct sp_unwind_file *file, bool ready)
{
	const struct sp_filekey *key = &file->key;
	const struct sp_bpf_file_key known_as = {
		.inode = key->inode,
		.size = key->size,
		.changed = key->ctime / 1000000000,
		.changed_ns = (uint32_t)(key->ctime % 1000000000),
		.device = major(key->device) << 20 | minor(key->device),
	};
	struct sp_bpf_file shown = {0};
	size_t count = 0;

	if (!key->device)
		return; /* it is no file */
	for (size_t k = 0; k < file->segment_count; k++)
		for (size_t i = 0; i < file->part_count; i++) {
			struct sp_bpf_slice slice;

			if (!cut_slice(&file->segments[k], &file->parts[i], &slice))
				continue;
			if (count == SP_FILE_SLICES)
				return;
			shown.slices[count++] = slice;
		}
	shown.count = (uint32_t)count;
	sp_bpf_unwind_set_file(bpf, &known_as, ready ? &shown : NULL);
}
