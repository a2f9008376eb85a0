// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_h5_samples.c - the samples of /sp_trace, streamed.
 *
 * Invariant: the number of samples is that of their times; every other column has as many, the
 * offsets one more; a stack's frames lie inside the frames.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_h5.h"
#include "formats/util.h"

static const char frames_path[] = "/sp_trace/samples/stack_frames";

int sp_h5_profile_open_samples(struct sp_profile *profile, struct sp_h5_profile *h5,
			       struct sp_error *error)
{
	const struct sp_h5_table_def *table = &sp_h5_tables[SP_H5_TABLE_sample];
	uint64_t n;
	int r;

	_Static_assert(sizeof(h5->samples) / sizeof(h5->samples[0]) >= 12, "columns of the samples");
	r = sp_h5_open_numbers(h5->file, table->columns[0].path, false, SP_H5_ANY_LENGTH,
			       &h5->samples[0], &n, error);
	if (r || h5->samples[0] < 0)
		return r;
	r = sp_h5_check_size(h5->samples[0], table->columns[0].path, n, error);
	for (size_t c = 1; !r && c < table->n_columns; c++) {
		const struct sp_h5_column_def *def = &table->columns[c];
		bool offsets = def->offset == offsetof(struct sp_sample_row, stack);

		r = sp_h5_open_numbers(h5->file, def->path, def->required, offsets ? n + 1 : n,
				       &h5->samples[c], NULL, error);
	}
	if (!r)
		r = sp_h5_open_numbers(h5->file, frames_path, true, SP_H5_ANY_LENGTH, &h5->frames,
				       &h5->n_frames, error);
	if (!r)
		r = sp_h5_check_size(h5->frames, frames_path, h5->n_frames, error);
	if (!r)
		profile->info.n_samples = n;
	return r;
}

/* Reads one column of some samples into their structs. */
static int read_column(struct sp_h5_profile *h5, size_t c, uint64_t first, size_t n,
		       struct sp_sample_row *samples, struct sp_error *error)
{
	const struct sp_h5_column_def *def = &sp_h5_tables[SP_H5_TABLE_sample].columns[c];
	size_t size = sp_h5_type_size(def->type);
	const char *values = (const char *)h5->block;
	int r = 0;

	if (h5->samples[c] >= 0)
		r = sp_h5_read_slab(h5->samples[c], def->path, sp_h5_memory_type(def->type), first,
				    n, h5->block, error);
	for (size_t i = 0; !r && i < n; i++) {
		char *field = (char *)&samples[i] + def->offset;

		if (h5->samples[c] >= 0)
			memcpy(field, values + i * size, size);
		else
			memset(field, 0, size); /* the optional ones have the default 0 */
	}
	return r;
}

static int check_sample(const struct sp_h5_profile *h5, uint64_t number,
			struct sp_sample_row *sample, struct sp_error *error)
{
	if (sample->region < -1 || sample->region >= (int64_t)h5->n_ids)
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "sample %" PRIu64 " names region %" PRId64 " of %" PRIu32,
				    number, sample->region, h5->n_ids);
	if (sample->stack > h5->n_frames || sample->module < -1 || sample->thread < -1)
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "sample %" PRIu64 " names frame %" PRIu64 ", module %" PRId64
				    " and thread %" PRId64,
				    number, sample->stack, sample->module, sample->thread);
	if (sample->region >= 0)
		sample->region = sp_h5_profile_region(h5, (uint32_t)sample->region);
	return 0;
}

int sp_h5_profile_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			       struct sp_sample_row *ret_samples, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;
	int r = 0;

	for (size_t at = 0; !r && at < n; at += SP_H5_READ_BLOCK) {
		size_t some = n - at < SP_H5_READ_BLOCK ? n - at : SP_H5_READ_BLOCK;

		for (size_t c = 0; !r && c < sp_h5_tables[SP_H5_TABLE_sample].n_columns; c++)
			r = read_column(h5, c, first + at, some, ret_samples + at, error);
		for (size_t i = at; !r && i < at + some; i++)
			r = check_sample(h5, first + i, &ret_samples[i], error);
	}
	return r;
}

int sp_h5_profile_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				     uint64_t *ret_offsets, struct sp_error *error)
{
	const struct sp_h5_table_def *table = &sp_h5_tables[SP_H5_TABLE_sample];
	struct sp_h5_profile *h5 = profile->implementation;
	size_t c = 0;
	int r;

	while (table->columns[c].offset != offsetof(struct sp_sample_row, stack))
		c++;
	if (h5->samples[c] < 0) {
		memset(ret_offsets, 0, (n + 1) * sizeof(*ret_offsets));
		return 0;
	}
	r = sp_h5_read_slab(h5->samples[c], table->columns[c].path, H5T_NATIVE_UINT64, first, n + 1,
			    ret_offsets, error);
	for (size_t i = 0; !r && i <= n; i++)
		if (ret_offsets[i] > h5->n_frames || (i && ret_offsets[i] < ret_offsets[i - 1]))
			r = sp_error_set(error, -SP_E_DAMAGED, 0,
					 "the stack of sample %" PRIu64 " begins at frame %" PRIu64
					 ", and there are %" PRIu64,
					 first + i, ret_offsets[i], h5->n_frames);
	return r;
}

int sp_h5_profile_read_frames(struct sp_profile *profile, uint64_t first, size_t n,
			      uint64_t *ret_frames, struct sp_error *error)
{
	struct sp_h5_profile *h5 = profile->implementation;

	if (h5->frames < 0 || first > h5->n_frames || n > h5->n_frames - first)
		return sp_error_set(error, -EINVAL, 0, "has only %" PRIu64 " stack frames",
				    h5->n_frames);
	return sp_h5_read_slab(h5->frames, frames_path, H5T_NATIVE_UINT64, first, n, ret_frames,
			       error);
}
