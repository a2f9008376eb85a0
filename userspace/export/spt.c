/* SPDX-License-Identifier: BSD-2-Clause
 *
 * spt.c - a unit of a recording as a .spt file.
 *
 * The format wants the number of calls of every region before the first call, so calls wait in a
 * scratch file (16 bytes each) until the last. Regions without a call are left out, as
 * scope-profiler does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/spt.h"
#include "userspace/analysis/scratch.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/export/sink.h"

#define CHUNK 8192

struct spt_sink {
	char *path;
	unsigned output_flags;
	int32_t rank;
	struct sp_spt_region *regions;
	size_t n_regions, regions_room;
	uint32_t *rows; /* regions in order of their rows */
	size_t n_rows, rows_room;
	struct sp_scratch *calls;
};

static void spt_free(void *data)
{
	struct spt_sink *sink = data;

	if (!sink)
		return;
	free(sink->path);
	free(sink->regions);
	free(sink->rows);
	sp_scratch_free(sink->calls);
	free(sink);
}

static int spt_open(const char *path, const struct sp_sink_unit *unit, void **ret_sink,
		    struct sp_error *error)
{
	struct spt_sink *sink = calloc(1, sizeof(*sink));
	int r = sink ? 0 : -ENOMEM;

	if (r == 0) {
		sink->path = strdup(path);
		sink->output_flags = unit->output_flags;
		sink->rank = (int32_t)unit->unit->rank;
		r = sink->path ? sp_scratch_new(unit->scratch_directory, 1 << 18, &sink->calls)
			       : -ENOMEM;
	}
	if (r < 0) {
		spt_free(sink);
		return sp_error_set(error, r, 0, "a temporary file cannot be made beside it: %s",
				    strerror(-r));
	}
	*ret_sink = sink;
	return 0;
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int spt_add_region(void *data, const struct sp_sink_region *region, struct sp_error *error)
{
	struct spt_sink *sink = data;
	struct sp_spt_region *new =
		sp_array_add(&sink->regions, &sink->n_regions, &sink->regions_room);

	if (!new)
		return out_of_memory(error);
	new->name = region->name;
	new->source_file = region->file;
	new->source_line = region->line > INT32_MAX ? -1 : (int32_t)region->line;
	return 0;
}

static int spt_begin_row(void *data, uint32_t region, struct sp_error *error)
{
	struct spt_sink *sink = data;
	uint32_t *row = sp_array_add(&sink->rows, &sink->n_rows, &sink->rows_room);

	if (!row)
		return out_of_memory(error);
	*row = region;
	return 0;
}

static int spt_add_calls(void *data, const struct sp_calls *calls, size_t n, struct sp_error *error)
{
	struct spt_sink *sink = data;
	int r = 0;

	sink->regions[sink->rows[sink->n_rows - 1]].calls += n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		int64_t pair[2] = {calls->start[i], calls->end[i]};

		r = sp_scratch_append(sink->calls, pair, sizeof(pair));
	}
	return r < 0 ? sp_error_set(error, r, 0, "its temporary file cannot be written: %s",
				    strerror(-r))
		     : 0;
}

struct chunk {
	int64_t pairs[CHUNK][2], starts[CHUNK], ends[CHUNK];
};

static int copy_row(struct spt_sink *sink, struct sp_spt_writer *writer, size_t region,
		    uint64_t calls, uint64_t *offset, struct chunk *chunk, struct sp_error *error)
{
	while (calls) {
		size_t n = calls < CHUNK ? (size_t)calls : CHUNK;
		int r = sp_scratch_read(sink->calls, *offset, chunk->pairs,
					n * sizeof(chunk->pairs[0]));

		if (r < 0)
			return sp_error_set(error, r, 0, "its temporary file cannot be read: %s",
					    strerror(-r));
		for (size_t i = 0; i < n; i++) {
			chunk->starts[i] = chunk->pairs[i][0];
			chunk->ends[i] = chunk->pairs[i][1];
		}
		r = sp_spt_writer_add(writer, region, chunk->starts, chunk->ends, n, error);
		if (r < 0)
			return r;
		*offset += n * sizeof(chunk->pairs[0]);
		calls -= n;
	}
	return 0;
}

static int spt_commit(void *data, struct sp_error *error)
{
	struct spt_sink *sink = data;
	sp_cleanup(sp_freep) struct sp_spt_region *kept = calloc(sink->n_rows + 1, sizeof(*kept));
	sp_cleanup(sp_freep) struct chunk *chunk = malloc(sizeof(*chunk));
	struct sp_spt_writer *writer = NULL;
	uint64_t offset = 0;
	size_t n = 0;
	int r;

	if (!kept || !chunk)
		return out_of_memory(error);
	for (size_t i = 0; i < sink->n_rows; i++)
		if (sink->regions[sink->rows[i]].calls)
			kept[n++] = sink->regions[sink->rows[i]];
	r = sp_spt_writer_open(sink->path, sink->output_flags, SP_SPT_VERSION, sink->rank, kept, n,
			       &writer, error);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = copy_row(sink, writer, i, kept[i].calls, &offset, chunk, error);
	if (r == 0)
		r = sp_spt_writer_commit(writer, error);
	sp_spt_writer_free(writer);
	return r;
}

const struct sp_sink_ops sp_sink_spt = {
	.name = "spt",
	.subdirectory = "spt",
	.open = spt_open,
	.add_region = spt_add_region,
	.begin_row = spt_begin_row,
	.add_calls = spt_add_calls,
	.commit = spt_commit,
	.free = spt_free,
};
