// SPDX-License-Identifier: BSD-2-Clause
/*
 * spt_write.c - writes .spt traces.
 *
 * The counts are known at open, so every byte's place is: the region records' heads are written
 * first, then starts and ends of a region go to two cursors in the file, through one buffer each.
 * Invariant: bytes before start_at and end_at of the current region are in the file; what is
 * buffered follows them.
 */
#include "formats/spt.h"

#include <endian.h>
#include <string.h>

#include "formats/utf8.h"
#include "formats/util.h"

enum { BUFFERED = 8192 }; /* calls */

struct region_place {
	uint64_t calls;
	uint64_t starts; /* offset in the file */
};

struct sp_spt_writer {
	struct sp_output *output;
	int version;
	struct region_place *regions;
	size_t n_regions;
	size_t region;	  /* being filled */
	uint64_t written; /* of its calls, in the file */
	size_t buffered;  /* of its calls, in the buffers */
	int64_t starts[BUFFERED];
	int64_t ends[BUFFERED];
};

static size_t put_32(char *at, int32_t value)
{
	uint32_t little = htole32((uint32_t)value);

	memcpy(at, &little, sizeof(little));
	return sizeof(little);
}

static size_t put_64(char *at, uint64_t value)
{
	uint64_t little = htole64(value);

	memcpy(at, &little, sizeof(little));
	return sizeof(little);
}

/* Writes a region record up to its arrays at *@offset, and moves that behind the arrays. */
static int write_head(struct sp_spt_writer *writer, const struct sp_spt_region *region,
		      struct region_place *place, uint64_t *offset, struct sp_error *error)
{
	sp_cleanup_free char *name = sp_utf8_repair(region->name ? region->name : "");
	sp_cleanup_free char *file = sp_utf8_repair(region->source_file ? region->source_file : "");
	sp_cleanup_free char *head = NULL;
	size_t name_size, file_size, used = 0;
	int r;

	if (!name || !file)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	name_size = strlen(name);
	file_size = strlen(file);
	if (name_size > SP_SPT_MAX_NAME || file_size > SP_SPT_MAX_NAME)
		return sp_error_set(error, -EINVAL, 0, "a name or path has more than %u bytes",
				    SP_SPT_MAX_NAME);
	head = malloc(name_size + file_size + 32);
	if (!head)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	used += put_32(head + used, (int32_t)name_size);
	memcpy(head + used, name, name_size);
	used += name_size;
	if (writer->version >= 2) {
		used += put_32(head + used, (int32_t)file_size);
		memcpy(head + used, file, file_size);
		used += file_size;
		used += put_32(head + used, region->source_line < 0 ? -1 : region->source_line);
	}
	used += put_64(head + used, region->calls);
	r = sp_output_write(writer->output, *offset, head, used, error);
	if (r)
		return r;
	place->calls = region->calls;
	place->starts = *offset + used;
	/* 2^56 bytes are far beyond any file system, and keep the sums from overflowing. */
	if (region->calls > (UINT64_C(1) << 52) || place->starts > (UINT64_C(1) << 56))
		return sp_error_set(error, -EFBIG, 0, "too many calls for a file");
	*offset = place->starts + 16 * region->calls;
	return 0;
}

static int write_heads(struct sp_spt_writer *writer, int32_t rank,
		       const struct sp_spt_region *regions, struct sp_error *error)
{
	char header[24] = "SCOPEPRF";
	uint64_t offset = sizeof(header);
	int r;

	put_32(header + 8, writer->version);
	put_32(header + 12, rank);
	put_64(header + 16, writer->n_regions);
	r = sp_output_write(writer->output, 0, header, sizeof(header), error);
	for (size_t i = 0; !r && i < writer->n_regions; i++)
		r = write_head(writer, &regions[i], &writer->regions[i], &offset, error);
	return r;
}

int sp_spt_writer_open(const char *path, unsigned int output_flags, int version, int32_t rank,
		       const struct sp_spt_region *regions, size_t n_regions,
		       struct sp_spt_writer **ret_writer, struct sp_error *error)
{
	struct sp_spt_writer *writer;
	int r;

	if (version < 1 || version > SP_SPT_VERSION)
		return sp_error_set(error, -EINVAL, 0, "version %d of .spt cannot be written",
				    version);
	if (rank < 0 || n_regions > SP_SPT_MAX_REGIONS)
		return sp_error_set(error, -EINVAL, 0, "rank %d with %zu regions cannot be stored",
				    rank, n_regions);
	writer = calloc(1, sizeof(*writer));
	if (writer)
		writer->regions = calloc(n_regions ? n_regions : 1, sizeof(*writer->regions));
	if (!writer || !writer->regions) {
		sp_spt_writer_free(writer);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	writer->version = version;
	writer->n_regions = n_regions;
	r = sp_output_open(path, output_flags, &writer->output, error);
	if (!r)
		r = write_heads(writer, rank, regions, error);
	if (r) {
		sp_spt_writer_free(writer);
		return r;
	}
	*ret_writer = writer;
	return 0;
}

/* Writes @n calls after those that are in the file. */
static int write_calls(struct sp_spt_writer *writer, const int64_t *starts, const int64_t *ends,
		       size_t n, struct sp_error *error)
{
	const struct region_place *place = &writer->regions[writer->region];
	uint64_t at = place->starts + 8 * writer->written;
	int r;

	r = sp_output_write(writer->output, at, starts, 8 * n, error);
	if (!r)
		r = sp_output_write(writer->output, at + 8 * place->calls, ends, 8 * n, error);
	if (!r)
		writer->written += n;
	return r;
}

static int flush(struct sp_spt_writer *writer, struct sp_error *error)
{
	int r;

	if (!writer->buffered)
		return 0;
	r = write_calls(writer, writer->starts, writer->ends, writer->buffered, error);
	if (!r)
		writer->buffered = 0;
	return r;
}

/* Moves on to @region, if all regions before it are complete. */
static int advance(struct sp_spt_writer *writer, size_t region, struct sp_error *error)
{
	while (writer->region < region) {
		int r = flush(writer, error);

		if (r)
			return r;
		if (writer->written != writer->regions[writer->region].calls)
			return sp_error_set(
				error, -EINVAL, 0, "region %zu got %llu of its %llu calls",
				writer->region, (unsigned long long)writer->written,
				(unsigned long long)writer->regions[writer->region].calls);
		writer->region++;
		writer->written = 0;
	}
	return 0;
}

/* Copies into a buffer, little-endian. */
static void buffer_values(int64_t *buffer, const int64_t *values, size_t n)
{
	memcpy(buffer, values, 8 * n);
	if (htole64(1) != 1)
		sp_swap_64(buffer, n);
}

int sp_spt_writer_add(struct sp_spt_writer *writer, size_t region, const int64_t *starts,
		      const int64_t *ends, size_t n, struct sp_error *error)
{
	uint64_t left;
	int r;

	if (region >= writer->n_regions || region < writer->region)
		return sp_error_set(error, -EINVAL, 0, "calls of region %zu come after region %zu",
				    region, writer->region);
	r = advance(writer, region, error);
	if (r)
		return r;
	left = writer->regions[region].calls - writer->written - writer->buffered;
	if (n > left)
		return sp_error_set(error, -EINVAL, 0, "region %zu gets more than its %llu calls",
				    region, (unsigned long long)writer->regions[region].calls);
	/* Many at once need no buffer. */
	if (!writer->buffered && n >= BUFFERED && htole64(1) == 1)
		return write_calls(writer, starts, ends, n, error);
	while (n) {
		size_t some = BUFFERED - writer->buffered;

		if (some > n)
			some = n;
		buffer_values(writer->starts + writer->buffered, starts, some);
		buffer_values(writer->ends + writer->buffered, ends, some);
		writer->buffered += some;
		starts += some;
		ends += some;
		n -= some;
		if (writer->buffered == BUFFERED) {
			r = flush(writer, error);
			if (r)
				return r;
		}
	}
	return 0;
}

int sp_spt_writer_commit(struct sp_spt_writer *writer, struct sp_error *error)
{
	int r = advance(writer, writer->n_regions, error);

	return r ? r : sp_output_commit(writer->output, error);
}

void sp_spt_writer_free(struct sp_spt_writer *writer)
{
	if (!writer)
		return;
	sp_output_free(writer->output);
	free(writer->regions);
	free(writer);
}
