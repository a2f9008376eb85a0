// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write.c - the HDF5 writer: the file, its regions, rows and calls.
 *
 * Invariant: calls reach the columns in the order in which they are added, so a row is the range
 * from its offset to the next row's; the region table and the index are written at the commit, from
 * memory.
 */
#include "formats/h5_write_internal.h"

#include <stdlib.h>
#include <string.h>

#include "formats/stats.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	AUTO_LEVEL = 4,	      /* scope-profiler's */
	AUTO_CALLS = 1 << 14, /* so are these */
};

int sp_h5_writer_result(const struct sp_h5_writer *writer, int r, struct sp_error *error)
{
	if (!writer->sink.error)
		return r;
	return sp_error_set(error, writer->sink.error, 0, "cannot be written: %s",
			    strerror(-writer->sink.error));
}

static int open_file(struct sp_h5_writer *writer, struct sp_error *error)
{
	sp_cleanup_h5 hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	sp_cleanup_h5 hid_t creation = sp_h5_untimed(H5P_FILE_CREATE);
	H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
	int r;

	/* The 1.10 format has checksums in its metadata, and an index of chunks that is quick to
	 * append to. The metadata cache is kept small: what is in it is rarely asked for again.
	 * Chunks are aligned, since the page cache takes them in larger pieces then. */
	if (access < 0 || creation < 0 ||
	    H5Pset_alignment(access, SP_H5_CHUNK_BYTES, SP_H5_CHUNK_BYTES) < 0 ||
	    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
	    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 ||
	    H5Pget_mdc_config(access, &cache) < 0)
		return sp_h5_write_failed(error, "cannot be created");
	cache.set_initial_size = 1;
	cache.initial_size = 1 << 20;
	cache.min_size = 1 << 19;
	cache.max_size = 2 << 20;
	if (H5Pset_mdc_config(access, &cache) < 0)
		return sp_h5_write_failed(error, "cannot be created");
	r = sp_h5_sink_init(&writer->sink, sp_output_fd(writer->output), access, error);
	if (r)
		return r;
	writer->file =
		H5Fcreate(sp_output_temporary(writer->output), H5F_ACC_TRUNC, creation, access);
	if (writer->file < 0)
		return sp_h5_write_failed(error, "cannot be created");
	return sp_h5_writer_result(writer, 0, error);
}

static int init_deflater(struct sp_h5_writer *writer, struct sp_error *error)
{
	unsigned int level = writer->options.gzip;

	if (!level)
		return 0;
	return sp_h5_deflater_new(level == SP_H5_GZIP_AUTO ? AUTO_LEVEL : level,
				  writer->options.threads, &writer->deflater, error);
}

static void init_columns(struct sp_h5_writer *writer)
{
	bool deltas = writer->options.schema == 3;

	if (writer->options.event_metadata)
		sp_h5_column_init(&writer->event_metadata, writer->file,
				  "/rank_region_index/event_metadata", SP_H5_str, NULL);
	if (writer->options.aggregate)
		return;
	sp_h5_column_init(&writer->starts, writer->file,
			  deltas ? "/events/start_deltas" : "/events/start_times", SP_H5_s64,
			  writer->deflater);
	sp_h5_column_init(&writer->ends, writer->file,
			  deltas ? "/events/durations" : "/events/end_times", SP_H5_s64,
			  writer->deflater);
	for (size_t i = 0; i < SP_CALLS_N_COLUMNS; i++)
		if (writer->options.columns & (1u << i))
			sp_h5_column_init(&writer->calls[i], writer->file,
					  sp_h5_call_columns[i].path, sp_h5_call_columns[i].type,
					  writer->deflater);
}

int sp_h5_writer_open(const char *path, const struct sp_h5_options *options,
		      struct sp_h5_writer **ret_writer, struct sp_error *error)
{
	struct sp_h5_writer *writer;
	int r;

	if ((options->gzip > 9 && options->gzip != SP_H5_GZIP_AUTO) ||
	    options->columns >> SP_CALLS_N_COLUMNS)
		return sp_error_set(error, -EINVAL, 0, "unknown columns or compression level");
	if (options->schema && options->schema != 2 && options->schema != 3)
		return sp_error_set(error, -EINVAL, 0, "schema %d cannot be written",
				    options->schema);
	sp_h5_init();
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	writer->file = writer->sink.driver = -1;
	writer->options = *options;
	writer->options.schema = options->schema ? options->schema : 3;
	r = sp_output_open(path, options->output_flags, &writer->output, error);
	if (!r)
		r = init_deflater(writer, error);
	if (!r)
		r = open_file(writer, error);
	if (!r)
		r = sp_h5_writer_set_metadata_number(writer, "start_time_ns",
						     options->start_time_ns, error);
	if (r) {
		sp_h5_writer_free(writer);
		return r;
	}
	init_columns(writer);
	*ret_writer = writer;
	return 0;
}

/* ---- regions ---- */

int sp_h5_writer_add_region(struct sp_h5_writer *writer, const char *name, uint32_t *ret_region,
			    struct sp_error *error)
{
	sp_cleanup_free char *repaired = sp_utf8_repair(name);

	if (!repaired || sp_intern_add(&writer->regions, repaired, ret_region, NULL))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (writer->regions.n > SP_PROFILE_MAX_REGIONS)
		return sp_error_set(error, -EINVAL, 0, "has more than %u regions",
				    SP_PROFILE_MAX_REGIONS);
	return 0;
}

/* ---- rows and calls ---- */

int sp_h5_writer_begin_row(struct sp_h5_writer *writer, const struct sp_h5_row *row,
			   struct sp_error *error)
{
	struct sp_h5_writer_row *new;
	bool metadata = row->event_metadata && *row->event_metadata;

	if (writer->options.aggregate && !row->stats)
		return sp_error_set(error, -EINVAL, 0, "a row comes without its statistics");
	if (metadata && !writer->options.event_metadata)
		return sp_error_set(error, -EINVAL, 0, "a row comes with metadata of its calls");
	if (row->region >= writer->regions.n)
		return sp_error_set(error, -EINVAL, 0, "a row names region %u of %zu", row->region,
				    writer->regions.n);
	if (writer->n_rows == SP_PROFILE_MAX_ROWS)
		return sp_error_set(error, -EINVAL, 0, "has more than %u rows",
				    SP_PROFILE_MAX_ROWS);
	if (sp_array_reserve((void **)&writer->rows, &writer->rows_capacity, writer->n_rows,
			     sizeof(*writer->rows)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	new = &writer->rows[writer->n_rows];
	*new = (struct sp_h5_writer_row){
		.region = row->region,
		.rank = row->rank,
		.source_line = row->source_line < 0 ? -1 : row->source_line,
		.self_ns = row->self_ns < 0 ? -1 : row->self_ns,
		.offset = writer->n_calls,
		.source_file = sp_utf8_repair(row->source_file ? row->source_file : ""),
		.source_text = sp_utf8_repair(row->source_text ? row->source_text : ""),
		.tags = sp_utf8_repair(row->tags && *row->tags ? row->tags : "[]"),
	};
	if (writer->options.aggregate)
		new->stats = *row->stats;
	writer->n_rows++; /* from here on free() frees its strings */
	if (!new->source_file || !new->source_text || !new->tags)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	writer->last_start = 0;
	if (!writer->options.event_metadata)
		return 0;
	return sp_h5_writer_result(writer,
				   sp_h5_column_append_text(&writer->event_metadata,
							    metadata ? row->event_metadata : "",
							    error),
				   error);
}

/* Adds the times of calls to the columns, and to the statistics of the row. */
static int add_deltas(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n,
		      struct sp_error *error)
{
	struct sp_stats *stats = &writer->rows[writer->n_rows - 1].stats;
	size_t some;
	int r = 0;

	for (size_t at = 0; !r && at < n; at += some) {
		void *deltas, *durations;

		/* Both columns are equally full. */
		r = sp_h5_column_room(&writer->starts, n - at, &deltas, &some, error);
		if (!r)
			r = sp_h5_column_room(&writer->ends, some, &durations, &some, error);
		if (r)
			return r;
		sp_stats_add_encoding(stats, calls->start + at, calls->end + at,
				      calls->child_ns ? calls->child_ns + at : NULL,
				      calls->gpu_ns ? calls->gpu_ns + at : NULL, some,
				      writer->last_start, deltas, durations);
		writer->last_start = calls->start[at + some - 1];
		r = sp_h5_column_add(&writer->starts, some, error);
		if (!r)
			r = sp_h5_column_add(&writer->ends, some, error);
	}
	return r;
}

static int add_times(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n,
		     struct sp_error *error)
{
	int r;

	if (writer->options.schema == 3)
		return add_deltas(writer, calls, n, error);
	sp_stats_add(&writer->rows[writer->n_rows - 1].stats, calls->start, calls->end,
		     calls->child_ns, calls->gpu_ns, n);
	r = sp_h5_column_append(&writer->starts, calls->start, n, error);
	return r ? r : sp_h5_column_append(&writer->ends, calls->end, n, error);
}

static int add_columns(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n,
		       struct sp_error *error)
{
	int r = 0;

	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++) {
		const struct sp_h5_column_def *def = &sp_h5_call_columns[i];
		const void *values = *(void *const *)((const char *)calls + def->offset);

		if (!(writer->options.columns & (1u << i)))
			continue;
		r = values ? sp_h5_column_append(&writer->calls[i], values, n, error)
			   : sp_h5_column_fill(&writer->calls[i], def->number, n, error);
	}
	return r;
}

int sp_h5_writer_add_calls(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n,
			   struct sp_error *error)
{
	unsigned int columns = writer->options.columns;
	/* Statistics are of what is stored. */
	const struct sp_calls timed = {
		.start = calls->start,
		.end = calls->end,
		.child_ns = columns & SP_CALLS_child_ns ? calls->child_ns : NULL,
		.gpu_ns = columns & SP_CALLS_gpu_ns ? calls->gpu_ns : NULL,
	};
	int r;

	if (!writer->n_rows)
		return sp_error_set(error, -EINVAL, 0, "calls come before the first row");
	if (writer->options.aggregate)
		return sp_error_set(error, -EINVAL, 0, "the aggregate layout has no calls");
	r = add_times(writer, &timed, n, error);
	if (!r)
		r = add_columns(writer, calls, n, error);
	writer->n_calls += n;
	return sp_h5_writer_result(writer, r, error);
}

/* ---- the end ---- */

static void free_columns(struct sp_h5_writer *writer)
{
	sp_h5_column_free(&writer->starts);
	sp_h5_column_free(&writer->ends);
	sp_h5_column_free(&writer->event_metadata);
	for (size_t i = 0; i < SP_CALLS_N_COLUMNS; i++)
		sp_h5_column_free(&writer->calls[i]);
	sp_h5_writer_free_tables(writer);
}

static int finish_calls(struct sp_h5_writer *writer, struct sp_error *error)
{
	bool plain = writer->options.gzip == SP_H5_GZIP_AUTO && writer->n_calls < AUTO_CALLS;
	int r;

	for (size_t i = 0; plain && i < SP_CALLS_N_COLUMNS; i++)
		writer->calls[i].deflater = NULL; /* none of them has filled a chunk */
	if (plain)
		writer->starts.deflater = writer->ends.deflater = NULL;
	r = sp_h5_column_finish(&writer->starts, error);
	if (!r)
		r = sp_h5_column_finish(&writer->ends, error);
	for (size_t i = 0; !r && i < SP_CALLS_N_COLUMNS; i++)
		if (writer->options.columns & (1u << i))
			r = sp_h5_column_finish(&writer->calls[i], error);
	return r;
}

/* What makes the file a profile. */
static int finish_attributes(struct sp_h5_writer *writer, struct sp_error *error)
{
	sp_cleanup_h5 hid_t root = -1;
	sp_cleanup_h5 hid_t own = -1;
	int r;

	errno = 0;
	root = sp_h5_open_group(writer->file, "/");
	own = sp_h5_open_group(writer->file, "/sp_trace");
	if (root < 0 || own < 0)
		return sp_h5_write_failed(error, "cannot be completed");
	r = sp_h5_put_text(root, "storage_layout",
			   writer->options.aggregate ? "aggregate" : "columnar", error);
	if (!r)
		r = sp_h5_put_number(root, "scope_profiler_schema", writer->options.schema, error);
	return r ? r : sp_h5_put_number(own, "version", 1, error);
}

static int finish_content(struct sp_h5_writer *writer, struct sp_error *error)
{
	int r = writer->options.aggregate ? 0 : finish_calls(writer, error);

	if (!r)
		r = sp_h5_writer_finish_tables(writer, error);
	if (!r)
		r = sp_h5_writer_write_index(writer, error);
	if (!r && writer->deflater)
		r = sp_h5_deflater_drain(writer->deflater, error);
	return r ? r : finish_attributes(writer, error);
}

int sp_h5_writer_commit(struct sp_h5_writer *writer, struct sp_error *error)
{
	int r = sp_h5_writer_result(writer, finish_content(writer, error), error);
	herr_t closed;

	if (r)
		return r;
	free_columns(writer);
	errno = 0;
	closed = H5Fclose(writer->file);
	writer->file = -1;
	if (closed < 0)
		r = sp_h5_write_failed(error, "cannot be closed");
	r = sp_h5_writer_result(writer, r, error);
	return r ? r : sp_output_commit(writer->output, error);
}

void sp_h5_writer_free(struct sp_h5_writer *writer)
{
	if (!writer)
		return;
	sp_h5_deflater_free(writer->deflater);
	free_columns(writer);
	sp_h5_close(&writer->file);
	sp_h5_sink_free(&writer->sink);
	for (size_t i = 0; i < writer->n_rows; i++) {
		free(writer->rows[i].source_file);
		free(writer->rows[i].source_text);
		free(writer->rows[i].tags);
	}
	sp_intern_free(&writer->regions);
	free(writer->rows);
	sp_output_free(writer->output);
	H5garbage_collect();
	free(writer);
}
