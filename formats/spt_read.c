// SPDX-License-Identifier: BSD-2-Clause
/*
 * spt_read.c - reads .spt traces of both versions and byte orders.
 *
 * Invariant: once open has succeeded every array of every region is known to lie inside the file,
 * the last one ends where the file does, and every string is UTF-8.
 */
#include "formats/spt.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/input.h"
#include "formats/util.h"

struct sp_spt_reader {
	struct sp_input input;
	int32_t version;
	int32_t rank;
	struct sp_spt_region *regions;
	uint64_t *starts; /* offsets of the regions' arrays */
	size_t n_regions;
};

/* Reads the part of a region record that only version 2 has. */
static int read_source(struct sp_spt_reader *reader, struct sp_spt_region *region, const char *what,
		       struct sp_error *error)
{
	char *file;
	int32_t line;
	int r;

	r = sp_input_text(&reader->input, SP_SPT_MAX_NAME, &file, what, error);
	if (r)
		return r;
	region->source_file = file;
	r = sp_input_s32(&reader->input, &line, what, error);
	if (r)
		return r;
	region->source_line = line < 0 ? -1 : line;
	return 0;
}

static int read_region(struct sp_spt_reader *reader, size_t index, struct sp_error *error)
{
	struct sp_spt_region *region = &reader->regions[index];
	struct sp_input *input = &reader->input;
	uint64_t at;
	int64_t calls;
	char what[40];
	char *name;
	int r;

	snprintf(what, sizeof(what), "region record %zu", index);
	region->source_line = -1;
	r = sp_input_text(input, SP_SPT_MAX_NAME, &name, what, error);
	if (r)
		return r;
	region->name = name;
	if (reader->version >= 2) {
		r = read_source(reader, region, what, error);
		if (r)
			return r;
	}
	at = input->at;
	r = sp_input_s64(input, &calls, what, error);
	if (r)
		return r;
	if (calls < 0)
		return sp_error_set(error, -SP_E_COUNT, at, "%s claims %" PRId64 " calls", what,
				    calls);
	if ((uint64_t)calls > sp_input_left(input) / 16)
		return sp_error_set(error, -SP_E_TRUNCATED, at,
				    "%s claims %" PRId64
				    " calls, and the file has room for %" PRIu64
				    ": it is truncated or damaged",
				    what, calls, sp_input_left(input) / 16);
	region->calls = (uint64_t)calls;
	reader->starts[index] = input->at;
	return sp_input_skip(input, 16 * region->calls, what, error);
}

/* Makes room for region number @index; the table grows with what was read, not with what is
 * claimed. */
static int reserve(struct sp_spt_reader *reader, size_t *capacity, size_t index)
{
	size_t regions = *capacity, starts = *capacity;
	int r;

	r = sp_array_reserve((void **)&reader->regions, &regions, index, sizeof(*reader->regions));
	if (!r)
		r = sp_array_reserve((void **)&reader->starts, &starts, index,
				     sizeof(*reader->starts));
	if (!r)
		*capacity = regions;
	return r;
}

static int read_file(struct sp_spt_reader *reader, struct sp_error *error)
{
	struct sp_input *input = &reader->input;
	size_t capacity = 0;
	int64_t claimed;
	int r;

	r = sp_input_magic(input, "SCOPEPRF", "a native trace (.spt)", SP_SPT_VERSION,
			   &reader->version, error);
	if (!r)
		r = sp_input_s32(input, &reader->rank, "the header", error);
	if (!r)
		r = sp_input_s64(input, &claimed, "the header", error);
	if (r)
		return r;
	if (reader->rank < 0)
		return sp_error_set(error, -SP_E_DAMAGED, 12, "has the rank %" PRId32,
				    reader->rank);
	if (claimed < 0 || claimed > SP_SPT_MAX_REGIONS)
		return sp_error_set(error, -SP_E_COUNT, 16,
				    "claims %" PRId64 " regions; at most %u are allowed", claimed,
				    SP_SPT_MAX_REGIONS);
	for (size_t i = 0; i < (size_t)claimed; i++) {
		if (reserve(reader, &capacity, i))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		reader->regions[i] = (struct sp_spt_region){0};
		reader->n_regions = i + 1;
		r = read_region(reader, i, error);
		if (r)
			return r;
	}
	if (sp_input_left(input))
		return sp_error_set(error, -SP_E_TRAILING, input->at,
				    "has %" PRIu64 " bytes after its last region",
				    sp_input_left(input));
	return 0;
}

int sp_spt_reader_open(const char *path, struct sp_spt_reader **ret_reader, struct sp_error *error)
{
	struct sp_spt_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_input_open(&reader->input, path, error);
	if (!r)
		r = read_file(reader, error);
	if (r) {
		sp_spt_reader_free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

void sp_spt_reader_free(struct sp_spt_reader *reader)
{
	if (!reader)
		return;
	sp_input_close(&reader->input);
	for (size_t i = 0; i < reader->n_regions; i++) {
		free((char *)reader->regions[i].name);
		free((char *)reader->regions[i].source_file);
	}
	free(reader->regions);
	free(reader->starts);
	free(reader);
}

int32_t sp_spt_reader_version(const struct sp_spt_reader *reader)
{
	return reader->version;
}

int32_t sp_spt_reader_rank(const struct sp_spt_reader *reader)
{
	return reader->rank;
}

bool sp_spt_reader_big_endian(const struct sp_spt_reader *reader)
{
	return reader->input.big;
}

size_t sp_spt_reader_n_regions(const struct sp_spt_reader *reader)
{
	return reader->n_regions;
}

const struct sp_spt_region *sp_spt_reader_region(const struct sp_spt_reader *reader, size_t index)
{
	return &reader->regions[index];
}

int sp_spt_reader_calls(struct sp_spt_reader *reader, size_t region, uint64_t first, size_t n,
			int64_t *ret_starts, int64_t *ret_ends, struct sp_error *error)
{
	uint64_t calls, at;
	int r = 0;

	if (region >= reader->n_regions)
		return sp_error_set(error, -EINVAL, 0, "has no region %zu", region);
	calls = reader->regions[region].calls;
	if (first > calls || n > calls - first)
		return sp_error_set(error, -EINVAL, 0, "region %zu has only %" PRIu64 " calls",
				    region, calls);
	at = reader->starts[region] + 8 * first;
	if (ret_starts)
		r = sp_input_array_64(&reader->input, at, n, ret_starts, error);
	if (!r && ret_ends)
		r = sp_input_array_64(&reader->input, at + 8 * calls, n, ret_ends, error);
	return r;
}
