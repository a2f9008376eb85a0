// SPDX-License-Identifier: BSD-2-Clause
/*
 * sps_write.c - writes .sps sample files, in native byte order.
 *
 * Invariant: the header and the tables are in the file from open on, with counts of 0 that commit
 * replaces, so a sample's place never depends on how many follow.
 */
#include "formats/sps.h"

#include <stdio.h>
#include <string.h>

#include "formats/utf8.h"
#include "formats/util.h"

enum {
	BUFFERED = 4096, /* samples */
	TICKS_AT = 20,
};

/* As in the file. */
struct disk_sample {
	int32_t region;
	int32_t module;
	uint64_t ip;
};
_Static_assert(sizeof(struct disk_sample) == 16, "the format says 16 bytes");

struct sp_sps_writer {
	struct sp_output *output;
	size_t n_regions;
	size_t n_modules;
	uint64_t count_at; /* offset of the number of samples */
	uint64_t end;	   /* where the next bytes go */
	uint64_t samples;
	size_t buffered;
	struct disk_sample buffer[BUFFERED];
};

/* A growing piece of memory, for the tables. */
struct bytes {
	char *data;
	size_t used, capacity;
};

static int bytes_add(struct bytes *bytes, const void *data, size_t size)
{
	if (size > bytes->capacity - bytes->used) {
		size_t grown = bytes->capacity * 2 + size;
		char *moved = realloc(bytes->data, grown);

		if (!moved)
			return -ENOMEM;
		bytes->data = moved;
		bytes->capacity = grown;
	}
	memcpy(bytes->data + bytes->used, data, size);
	bytes->used += size;
	return 0;
}

static int bytes_add_s32(struct bytes *bytes, int32_t value)
{
	return bytes_add(bytes, &value, sizeof(value));
}

static int bytes_add_text(struct bytes *bytes, const char *text)
{
	sp_cleanup_free char *repaired = sp_utf8_repair(text ? text : "");
	size_t size;
	int r;

	if (!repaired)
		return -ENOMEM;
	size = strlen(repaired);
	if (size > SP_SPS_MAX_NAME)
		return -EINVAL;
	r = bytes_add_s32(bytes, (int32_t)size);
	return r ? r : bytes_add(bytes, repaired, size);
}

static int put_header(struct bytes *bytes, int32_t rank, int32_t hz, const char *const *regions,
		      size_t n_regions, const struct sp_sps_module *modules, size_t n_modules)
{
	const int64_t zero = 0;
	int r;

	r = bytes_add(bytes, "SCOPESMP", 8);
	if (!r)
		r = bytes_add_s32(bytes, SP_SPS_VERSION);
	if (!r)
		r = bytes_add_s32(bytes, rank);
	if (!r)
		r = bytes_add_s32(bytes, hz);
	if (!r)
		r = bytes_add(bytes, &zero, sizeof(zero));
	if (!r)
		r = bytes_add_s32(bytes, (int32_t)n_regions);
	for (size_t i = 0; !r && i < n_regions; i++)
		r = bytes_add_text(bytes, regions[i]);
	if (!r)
		r = bytes_add_s32(bytes, (int32_t)n_modules);
	for (size_t i = 0; !r && i < n_modules; i++) {
		r = bytes_add_text(bytes, modules[i].path);
		if (!r)
			r = bytes_add(bytes, &modules[i].bias, sizeof(modules[i].bias));
	}
	if (!r)
		r = bytes_add(bytes, &zero, sizeof(zero));
	return r;
}

int sp_sps_writer_open(const char *path, unsigned int output_flags, int32_t rank, int32_t hz,
		       const char *const *regions, size_t n_regions,
		       const struct sp_sps_module *modules, size_t n_modules,
		       struct sp_sps_writer **ret_writer, struct sp_error *error)
{
	struct sp_sps_writer *writer;
	struct bytes header = {0};
	int r;

	if (rank < 0 || n_regions > SP_SPS_MAX_TABLE || n_modules > SP_SPS_MAX_TABLE)
		return sp_error_set(error, -EINVAL, 0,
				    "rank %d with %zu regions and %zu modules cannot be stored",
				    rank, n_regions, n_modules);
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	writer->n_regions = n_regions;
	writer->n_modules = n_modules;
	r = put_header(&header, rank, hz, regions, n_regions, modules, n_modules);
	if (r)
		sp_error_set(error, r, 0,
			     r == -EINVAL ? "a name or path is too long" : "no memory");
	if (!r)
		r = sp_output_open(path, output_flags, &writer->output, error);
	if (!r)
		r = sp_output_write(writer->output, 0, header.data, header.used, error);
	writer->end = header.used;
	writer->count_at = header.used - 8;
	free(header.data);
	if (r) {
		sp_sps_writer_free(writer);
		return r;
	}
	*ret_writer = writer;
	return 0;
}

static int flush(struct sp_sps_writer *writer, struct sp_error *error)
{
	size_t size = writer->buffered * sizeof(writer->buffer[0]);
	int r = sp_output_write(writer->output, writer->end, writer->buffer, size, error);

	if (!r) {
		writer->end += size;
		writer->buffered = 0;
	}
	return r;
}

int sp_sps_writer_add(struct sp_sps_writer *writer, const struct sp_sps_sample *samples, size_t n,
		      struct sp_error *error)
{
	for (size_t i = 0; i < n; i++) {
		const struct sp_sps_sample *sample = &samples[i];

		if (sample->region < 0 || (size_t)sample->region >= writer->n_regions ||
		    sample->module < -1 ||
		    (sample->module >= 0 && (size_t)sample->module >= writer->n_modules))
			return sp_error_set(
				error, -EINVAL, 0,
				"a sample names region %d or module %d, which do not exist",
				sample->region, sample->module);
		writer->buffer[writer->buffered++] =
			(struct disk_sample){sample->region, sample->module, sample->ip};
		writer->samples++;
		if (writer->buffered == BUFFERED) {
			int r = flush(writer, error);

			if (r)
				return r;
		}
	}
	return 0;
}

int sp_sps_writer_commit(struct sp_sps_writer *writer, int64_t ticks, struct sp_error *error)
{
	int64_t samples = (int64_t)writer->samples;
	int r;

	if (ticks < samples)
		ticks = samples;
	r = flush(writer, error);
	if (!r)
		r = sp_output_write(writer->output, TICKS_AT, &ticks, sizeof(ticks), error);
	if (!r)
		r = sp_output_write(writer->output, writer->count_at, &samples, sizeof(samples),
				    error);
	return r ? r : sp_output_commit(writer->output, error);
}

void sp_sps_writer_free(struct sp_sps_writer *writer)
{
	if (!writer)
		return;
	sp_output_free(writer->output);
	free(writer);
}
