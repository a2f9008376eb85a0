/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_spt.c - one rank of a profile as a native trace.
 *
 * The format has starts and ends by region, and where a region begins; nothing else arrives. All
 * rows are written, also those without a call.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/spt.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/write.h"

enum { CALLS = 1 << 17 }; /* read and written at once */

struct spt_rows {
	uint32_t *rows; /* of the profile */
	struct sp_spt_region *regions;
	size_t n;
	uint64_t calls, longest;
};

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static void spt_rows_free(struct spt_rows *rows)
{
	free(rows->rows);
	free(rows->regions);
}

static int find_rows(struct sp_profile *profile, uint32_t rank, struct spt_rows *out,
		     struct sp_error *error)
{
	uint32_t n = sp_profile_info(profile)->n_rows;

	out->rows = calloc((size_t)n + 1, sizeof(*out->rows));
	out->regions = calloc((size_t)n + 1, sizeof(*out->regions));
	if (!out->rows || !out->regions)
		return out_of_memory(error);
	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		int64_t line = row->source_line;

		if (row->rank != rank)
			continue;
		out->rows[out->n] = i;
		out->regions[out->n++] = (struct sp_spt_region){
			.name = sp_profile_region(profile, row->region),
			.source_file = row->source_file,
			.source_line = line < 0 || line > INT32_MAX ? -1 : (int32_t)line,
			.calls = row->stats.calls,
		};
		out->calls += row->stats.calls;
		if (row->stats.calls > out->longest)
			out->longest = row->stats.calls;
	}
	return 0;
}

static int copy_calls(struct sp_profile *profile, const struct spt_rows *rows,
		      struct sp_spt_writer *writer, const struct sp_write_options *options,
		      struct sp_error *error)
{
	size_t room = rows->longest < CALLS ? (size_t)rows->longest + 1 : CALLS;
	struct sp_calls calls;
	uint64_t done = 0;
	int r = 0;

	if (sp_calls_alloc(&calls, room, 0))
		return out_of_memory(error);
	for (size_t i = 0; r == 0 && i < rows->n; i++) {
		uint64_t n = rows->regions[i].calls;

		for (uint64_t at = 0; r == 0 && at < n; at += CALLS) {
			size_t some = n - at < CALLS ? (size_t)(n - at) : CALLS;

			r = sp_profile_read_calls(profile, rows->rows[i], at, some, &calls, error);
			if (r == 0)
				r = sp_spt_writer_add(writer, i, calls.start, calls.end, some,
						      error);
			done += some;
			if (r == 0 && options->progress)
				r = options->progress(options->progress_data, done, rows->calls);
		}
	}
	sp_calls_free(&calls);
	return r;
}

int sp_write_spt(struct sp_profile *profile, uint32_t rank, const char *path,
		 const struct sp_write_options *options, struct sp_error *error)
{
	int version = options->version ? options->version : SP_SPT_VERSION;
	sp_cleanup(spt_rows_free) struct spt_rows rows = {0};
	struct sp_spt_writer *writer = NULL;
	int r;

	if (sp_profile_info(profile)->aggregate)
		return sp_error_set(
			error, -ENOTSUP, 0,
			"the profile has statistics only, and a trace consists of calls");
	if (rank > INT32_MAX)
		return sp_error_set(error, -ERANGE, 0, "a trace cannot have the rank %u", rank);
	r = find_rows(profile, rank, &rows, error);
	if (r == 0)
		r = sp_spt_writer_open(path, options->output_flags, version, (int32_t)rank,
				       rows.regions, rows.n, &writer, error);
	if (r == 0)
		r = copy_calls(profile, &rows, writer, options, error);
	if (r == 0)
		r = sp_spt_writer_commit(writer, error);
	sp_spt_writer_free(writer);
	return r;
}
