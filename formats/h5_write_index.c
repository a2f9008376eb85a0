// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write_index.c - the HDF5 writer: region table and index, written at the commit from memory.
 *
 * Invariant: every region has a row, and none has two on one rank.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write_internal.h"
#include "formats/util.h"

/* Gives every region without a row an empty one: scope-profiler fails on a region that has none. */
static int complete_rows(struct sp_h5_writer *writer, struct sp_error *error)
{
	sp_cleanup_free bool *has_row = calloc(writer->regions.n + 1, sizeof(bool));
	uint32_t rank = writer->n_rows ? UINT32_MAX : 0;
	const struct sp_stats none = {0};
	int r = 0;

	if (!has_row)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; i < writer->n_rows; i++) {
		has_row[writer->rows[i].region] = true;
		rank = writer->rows[i].rank < rank ? writer->rows[i].rank : rank;
	}
	for (size_t i = 0; !r && i < writer->regions.n; i++)
		if (!has_row[i])
			r = sp_h5_writer_begin_row(writer,
						   &(struct sp_h5_row){.region = (uint32_t)i,
								       .rank = rank,
								       .source_line = -1,
								       .self_ns = -1,
								       .stats = &none},
						   error);
	return r;
}

static int check_rows(struct sp_h5_writer *writer, struct sp_error *error)
{
	sp_cleanup_free uint64_t *keys = calloc(writer->n_rows + 1, sizeof(*keys));

	if (!keys)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; i < writer->n_rows; i++)
		keys[i] = (uint64_t)writer->rows[i].region << 32 | writer->rows[i].rank;
	qsort(keys, writer->n_rows, sizeof(*keys), sp_compare_u64);
	for (size_t i = 1; i < writer->n_rows; i++)
		if (keys[i] == keys[i - 1])
			return sp_error_set(
				error, -EINVAL, 0, "region \"%s\" has two rows for rank %u",
				sp_intern_text(&writer->regions, keys[i] >> 32), (uint32_t)keys[i]);
	return 0;
}

static int64_t row_self(const struct sp_h5_writer_row *row)
{
	return row->stats.calls && row->stats.self >= 0 ? row->stats.self : row->self_ns;
}

/* The column can be closed then. */
static int finish_column(struct sp_h5_writer *writer, struct sp_h5_column *column,
			 struct sp_error *error)
{
	int r = sp_h5_column_finish(column, error);

	return r || !writer->deflater ? r : sp_h5_deflater_drain(writer->deflater, error);
}

/* Writes one column of the index, row by row. */
#define WRITE_INDEX(column_path, kind, ctype, expression) \
	do { \
		sp_h5_column_init(&column, writer->file, "/rank_region_index/" column_path, \
				  SP_H5_##kind, writer->deflater); \
		for (size_t i = 0; !r && i < writer->n_rows; i++) { \
			const struct sp_h5_writer_row *row = &writer->rows[i]; \
			ctype value = (expression); \
\
			r = sp_h5_column_append(&column, &value, 1, error); \
		} \
		if (!r) \
			r = finish_column(writer, &column, error); \
		sp_h5_column_free(&column); \
	} while (0)

#define WRITE_INDEX_TEXT(column_path, expression) \
	do { \
		sp_h5_column_init(&column, writer->file, "/rank_region_index/" column_path, \
				  SP_H5_str, NULL); \
		for (size_t i = 0; !r && i < writer->n_rows; i++) { \
			const struct sp_h5_writer_row *row = &writer->rows[i]; \
\
			r = sp_h5_column_append_text(&column, (expression), error); \
		} \
		if (!r) \
			r = finish_column(writer, &column, error); \
		sp_h5_column_free(&column); \
	} while (0)

static int write_index(struct sp_h5_writer *writer, struct sp_error *error)
{
	struct sp_h5_column column;
	int r = 0;

	WRITE_INDEX("region_ids", u32, uint32_t, row->region);
	WRITE_INDEX("ranks", u32, uint32_t, row->rank);
	WRITE_INDEX("source_lines", s64, int64_t, row->source_line);
	WRITE_INDEX_TEXT("source_files", row->source_file);
	WRITE_INDEX_TEXT("source_texts", row->source_text);
	WRITE_INDEX_TEXT("tags", row->tags);
	if (!r && writer->options.event_metadata)
		r = sp_h5_column_finish(&writer->event_metadata, error);
	return r;
}

static int write_ranges(struct sp_h5_writer *writer, struct sp_error *error)
{
	struct sp_h5_column column;
	int r = 0;

	WRITE_INDEX("event_offsets", u64, uint64_t, row->offset);
	WRITE_INDEX("event_counts", u64, uint64_t, row->stats.calls);
	WRITE_INDEX("exclusive_totals", s64, int64_t, row_self(row));
	return r;
}

static int write_aggregate(struct sp_h5_writer *writer, struct sp_error *error)
{
	struct sp_h5_column column;
	int r = 0;

	WRITE_INDEX("aggregate_counts", u64, uint64_t, row->stats.calls);
	WRITE_INDEX("aggregate_totals", s64, int64_t, row->stats.total);
	WRITE_INDEX("aggregate_minimums", s64, int64_t, row->stats.minimum);
	WRITE_INDEX("aggregate_maximums", s64, int64_t, row->stats.maximum);
	WRITE_INDEX("aggregate_exclusives", s64, int64_t, row_self(row));
	return r;
}

static int write_summary(struct sp_h5_writer *writer, struct sp_error *error)
{
	hsize_t size = writer->n_rows;
	sp_cleanup_h5 hid_t type = sp_h5_summary_type();
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &size, NULL);
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_free struct sp_h5_summary *summary = calloc(size + 1, sizeof(*summary));

	if (!summary)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; i < writer->n_rows; i++) {
		const struct sp_stats *stats = &writer->rows[i].stats;

		summary[i] = (struct sp_h5_summary){
			.total = stats->total,
			.minimum = stats->minimum,
			.maximum = stats->maximum,
			.first = stats->first,
			.last = stats->last,
			.start_minimum = stats->start_minimum,
			.end_maximum = stats->end_maximum,
			.gpu_count = stats->gpu_calls,
			.gpu_total = stats->gpu_total,
			.mean = stats->mean,
			.m2 = stats->m2,
		};
	}
	errno = 0;
	if (type < 0 || space < 0 || properties < 0)
		return sp_h5_write_failed(error, "summary_statistics");
	dataset = H5Dcreate2(writer->file, "/rank_region_index/summary_statistics", type, space,
			     H5P_DEFAULT, properties, H5P_DEFAULT);
	if (dataset < 0 ||
	    (size && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, summary) < 0))
		return sp_h5_write_failed(error, "summary_statistics");
	return 0;
}

static int write_regions(struct sp_h5_writer *writer, struct sp_error *error)
{
	struct sp_h5_column names;
	int r = 0;

	sp_h5_column_init(&names, writer->file, "/region_table/names", SP_H5_str, NULL);
	for (size_t i = 0; !r && i < writer->regions.n; i++)
		r = sp_h5_column_append_text(&names, sp_intern_text(&writer->regions, i), error);
	if (!r)
		r = sp_h5_column_finish(&names, error);
	sp_h5_column_free(&names);
	return r;
}

int sp_h5_writer_write_index(struct sp_h5_writer *writer, struct sp_error *error)
{
	int r;

	r = complete_rows(writer, error);
	if (!r)
		r = check_rows(writer, error);
	if (!r)
		r = write_regions(writer, error);
	if (!r)
		r = write_index(writer, error);
	if (!r && writer->options.aggregate)
		return write_aggregate(writer, error);
	if (!r)
		r = write_ranges(writer, error);
	return r ? r : write_summary(writer, error);
}
