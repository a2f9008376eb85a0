// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_native.c - .spt and .sps files as profiles.
 *
 * Invariant: region i of the profile is region i of the file, and so is row i of a trace. Regions
 * of one name stay apart here; whoever pools rows does it by name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/profile_internal.h"
#include "formats/sps.h"
#include "formats/spt.h"
#include "formats/util.h"

/* ---- .spt ---- */

static void fill_defaults(const struct sp_calls *calls, size_t n)
{
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	for (size_t i = 0; calls->field && i < n; i++) \
		calls->field[i] = (default);
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
}

static int read_spt_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			  const struct sp_calls *calls, struct sp_error *error)
{
	fill_defaults(calls, n);
	return sp_spt_reader_calls(profile->implementation, row, first, n, calls->start, calls->end,
				   error);
}

static void close_spt(void *implementation)
{
	sp_spt_reader_free(implementation);
}

static const struct sp_profile_ops spt_ops = {
	.read_calls = read_spt_calls,
	.close = close_spt,
};

int sp_profile_open_spt(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_spt_reader *reader;
	int r = sp_spt_reader_open(profile->path, &reader, error);

	if (r)
		return r;
	profile->ops = &spt_ops;
	profile->implementation = reader;
	profile->info.version = sp_spt_reader_version(reader);
	profile->info.big_endian = sp_spt_reader_big_endian(reader);
	for (size_t i = 0; !r && i < sp_spt_reader_n_regions(reader); i++) {
		const struct sp_spt_region *region = sp_spt_reader_region(reader, i);

		r = sp_profile_add_region(profile, region->name, error);
		if (!r)
			r = sp_profile_add_row(
				profile,
				&(struct sp_row){
					.region = (uint32_t)i,
					.rank = (uint32_t)sp_spt_reader_rank(reader),
					.source_file = region->source_file,
					.source_line = region->source_line,
					.stats = sp_profile_unknown_stats(region->calls),
				},
				error);
	}
	return r;
}

/* ---- .sps ---- */

static int read_sps_samples(struct sp_profile *profile, uint64_t first, size_t n,
			    struct sp_sample_row *ret_samples, struct sp_error *error)
{
	enum { BLOCK = 1024 };
	struct sp_sps_sample raw[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		int r = sp_sps_reader_samples(profile->implementation, first + at, some, raw,
					      error);

		if (r)
			return r;
		for (size_t i = 0; i < some; i++)
			ret_samples[at + i] = (struct sp_sample_row){
				.thread = -1,
				.region = raw[i].region,
				.call_id = -1,
				.ip = raw[i].ip,
				.module = raw[i].module,
				.rank = profile->ranks[0],
			};
	}
	return 0;
}

/* Modules come with what the file knows: path and load bias. */
static int read_sps_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			  size_t *ret_n, struct sp_error *error)
{
	struct sp_sps_reader *reader = profile->implementation;
	size_t n = which == SP_H5_TABLE_module ? sp_sps_reader_n_modules(reader) : 0;
	struct sp_module_row *rows = calloc(n + 1, sizeof(*rows));
	bool complete = rows != NULL;

	for (size_t i = 0; complete && i < n; i++) {
		const struct sp_sps_module *module = sp_sps_reader_module(reader, i);

		rows[i] = (struct sp_module_row){
			.path = strdup(module->path),
			.build_id = strdup(""),
			.bias = module->bias,
			.process = UINT32_MAX,
		};
		complete = rows[i].path && rows[i].build_id;
	}
	if (!complete) {
		sp_h5_free_table(which, rows, rows ? n : 0);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

static void close_sps(void *implementation)
{
	sp_sps_reader_free(implementation);
}

static const struct sp_profile_ops sps_ops = {
	.read_samples = read_sps_samples,
	.read_table = read_sps_table,
	.close = close_sps,
};

int sp_profile_open_sps(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_sps_reader *reader;
	int r = sp_sps_reader_open(profile->path, &reader, error);

	if (r)
		return r;
	profile->ops = &sps_ops;
	profile->implementation = reader;
	profile->info.version = sp_sps_reader_version(reader);
	profile->info.big_endian = sp_sps_reader_big_endian(reader);
	profile->info.hz = sp_sps_reader_hz(reader);
	profile->info.ticks = sp_sps_reader_ticks(reader);
	profile->info.n_samples = sp_sps_reader_n_samples(reader);
	profile->ranks = calloc(1, sizeof(*profile->ranks));
	if (!profile->ranks)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	profile->ranks[0] = (uint32_t)sp_sps_reader_rank(reader);
	profile->info.n_ranks = 1;
	for (size_t i = 0; !r && i < sp_sps_reader_n_regions(reader); i++)
		r = sp_profile_add_region(profile, sp_sps_reader_region(reader, i), error);
	return r;
}
