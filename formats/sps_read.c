// SPDX-License-Identifier: BSD-2-Clause
/*
 * sps_read.c - reads .sps sample files in both byte orders.
 *
 * Invariant: once open has succeeded the samples fill the file exactly from samples_at to its end.
 * Each sample's indices are checked when it is read.
 */
#include "formats/sps.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include "formats/input.h"
#include "formats/util.h"

enum { SAMPLE_SIZE = 16 };

struct sp_sps_reader {
	struct sp_input input;
	int32_t version, rank, hz;
	int64_t ticks;
	char **regions;
	size_t n_regions;
	struct sp_sps_module *modules;
	size_t n_modules;
	uint64_t samples_at, n_samples;
};

static int read_count(struct sp_sps_reader *reader, const char *what, int32_t *ret_count,
		      struct sp_error *error)
{
	uint64_t at = reader->input.at;
	int32_t count;
	int r = sp_input_s32(&reader->input, &count, what, error);

	if (r)
		return r;
	if (count < 0 || count > (int32_t)SP_SPS_MAX_TABLE)
		return sp_error_set(error, -SP_E_COUNT, at,
				    "%s is %" PRId32 "; at most %u are allowed", what, count,
				    SP_SPS_MAX_TABLE);
	*ret_count = count;
	return 0;
}

static int read_regions(struct sp_sps_reader *reader, struct sp_error *error)
{
	size_t capacity = 0;
	int32_t count;
	int r = read_count(reader, "the number of regions", &count, error);

	for (size_t i = 0; !r && i < (size_t)count; i++) {
		char what[40];

		snprintf(what, sizeof(what), "the name of region %zu", i);
		if (sp_array_reserve((void **)&reader->regions, &capacity, i, sizeof(char *)))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		r = sp_input_text(&reader->input, SP_SPS_MAX_NAME, &reader->regions[i], what,
				  error);
		if (!r)
			reader->n_regions = i + 1;
	}
	return r;
}

static int read_modules(struct sp_sps_reader *reader, struct sp_error *error)
{
	size_t capacity = 0;
	int32_t count;
	int r = read_count(reader, "the number of modules", &count, error);

	for (size_t i = 0; !r && i < (size_t)count; i++) {
		char what[40], *path;
		int64_t bias;

		snprintf(what, sizeof(what), "module %zu", i);
		if (sp_array_reserve((void **)&reader->modules, &capacity, i,
				     sizeof(*reader->modules)))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		r = sp_input_text(&reader->input, SP_SPS_MAX_NAME, &path, what, error);
		if (r)
			return r;
		reader->modules[i] = (struct sp_sps_module){.path = path};
		reader->n_modules = i + 1;
		r = sp_input_s64(&reader->input, &bias, what, error);
		if (!r)
			reader->modules[i].bias = (uint64_t)bias;
	}
	return r;
}

static int read_file(struct sp_sps_reader *reader, struct sp_error *error)
{
	struct sp_input *input = &reader->input;
	uint64_t at, left;
	int64_t count;
	int r;

	r = sp_input_magic(input, "SCOPESMP", "a sample file (.sps)", SP_SPS_VERSION,
			   &reader->version, error);
	if (!r)
		r = sp_input_s32(input, &reader->rank, "the header", error);
	if (!r)
		r = sp_input_s32(input, &reader->hz, "the header", error);
	if (!r)
		r = sp_input_s64(input, &reader->ticks, "the header", error);
	if (r)
		return r;
	if (reader->rank < 0)
		return sp_error_set(error, -SP_E_DAMAGED, 12, "has the rank %" PRId32,
				    reader->rank);
	if (reader->hz < 0 || reader->ticks < 0)
		return sp_error_set(error, -SP_E_COUNT, 16,
				    "has a negative rate or number of ticks");
	r = read_regions(reader, error);
	if (!r)
		r = read_modules(reader, error);
	at = input->at;
	if (!r)
		r = sp_input_s64(input, &count, "the number of samples", error);
	if (r)
		return r;
	left = sp_input_left(input);
	if (count < 0)
		return sp_error_set(error, -SP_E_COUNT, at, "claims %" PRId64 " samples", count);
	if ((uint64_t)count > left / SAMPLE_SIZE)
		return sp_error_set(error, -SP_E_TRUNCATED, at,
				    "claims %" PRId64 " samples, and the file has room for %" PRIu64
				    ": it is truncated or damaged",
				    count, left / SAMPLE_SIZE);
	reader->n_samples = (uint64_t)count;
	reader->samples_at = input->at;
	if (left != reader->n_samples * SAMPLE_SIZE)
		return sp_error_set(error, -SP_E_TRAILING,
				    reader->samples_at + reader->n_samples * SAMPLE_SIZE,
				    "has %" PRIu64 " bytes after its last sample",
				    left - reader->n_samples * SAMPLE_SIZE);
	return 0;
}

int sp_sps_reader_open(const char *path, struct sp_sps_reader **ret_reader, struct sp_error *error)
{
	struct sp_sps_reader *reader = calloc(1, sizeof(*reader));
	int r;

	if (!reader)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_input_open(&reader->input, path, error);
	if (!r)
		r = read_file(reader, error);
	if (r) {
		sp_sps_reader_free(reader);
		return r;
	}
	*ret_reader = reader;
	return 0;
}

void sp_sps_reader_free(struct sp_sps_reader *reader)
{
	if (!reader)
		return;
	sp_input_close(&reader->input);
	for (size_t i = 0; i < reader->n_regions; i++)
		free(reader->regions[i]);
	for (size_t i = 0; i < reader->n_modules; i++)
		free((char *)reader->modules[i].path);
	free(reader->regions);
	free(reader->modules);
	free(reader);
}

int32_t sp_sps_reader_version(const struct sp_sps_reader *reader)
{
	return reader->version;
}

int32_t sp_sps_reader_rank(const struct sp_sps_reader *reader)
{
	return reader->rank;
}

int32_t sp_sps_reader_hz(const struct sp_sps_reader *reader)
{
	return reader->hz;
}

int64_t sp_sps_reader_ticks(const struct sp_sps_reader *reader)
{
	return reader->ticks;
}

bool sp_sps_reader_big_endian(const struct sp_sps_reader *reader)
{
	return reader->input.big;
}

size_t sp_sps_reader_n_regions(const struct sp_sps_reader *reader)
{
	return reader->n_regions;
}

const char *sp_sps_reader_region(const struct sp_sps_reader *reader, size_t index)
{
	return reader->regions[index];
}

size_t sp_sps_reader_n_modules(const struct sp_sps_reader *reader)
{
	return reader->n_modules;
}

const struct sp_sps_module *sp_sps_reader_module(const struct sp_sps_reader *reader, size_t index)
{
	return &reader->modules[index];
}

uint64_t sp_sps_reader_n_samples(const struct sp_sps_reader *reader)
{
	return reader->n_samples;
}

int sp_sps_reader_samples(struct sp_sps_reader *reader, uint64_t first, size_t n,
			  struct sp_sps_sample *ret_samples, struct sp_error *error)
{
	struct sp_input *input = &reader->input;
	int r;

	if (first > reader->n_samples || n > reader->n_samples - first)
		return sp_error_set(error, -EINVAL, 0, "has only %" PRIu64 " samples",
				    reader->n_samples);
	/* Two 32-bit indices and an address: decoded one by one, since only the address is 64-bit.
	 */
	input->at = reader->samples_at + SAMPLE_SIZE * first;
	for (size_t i = 0; i < n; i++) {
		struct sp_sps_sample sample = {0};
		uint64_t at = input->at;
		int64_t ip = 0;

		r = sp_input_s32(input, &sample.region, "a sample", error);
		if (!r)
			r = sp_input_s32(input, &sample.module, "a sample", error);
		if (!r)
			r = sp_input_s64(input, &ip, "a sample", error);
		if (r)
			return r;
		sample.ip = (uint64_t)ip;
		if (sample.region < -1 || sample.region >= (int64_t)reader->n_regions ||
		    sample.module < -1 || sample.module >= (int64_t)reader->n_modules)
			return sp_error_set(error, -SP_E_DAMAGED, at,
					    "sample %" PRIu64 " names region %" PRId32
					    " and module %" PRId32 ", of %zu and %zu",
					    first + i, sample.region, sample.module,
					    reader->n_regions, reader->n_modules);
		ret_samples[i] = sample;
	}
	return 0;
}
