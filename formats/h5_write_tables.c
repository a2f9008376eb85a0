// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write_tables.c - the HDF5 writer: tables and samples.
 *
 * Invariant: all columns of a table have the same length; the table exists in the file exactly if a
 * row was added.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write_internal.h"
#include "formats/util.h"

static int open_table(struct sp_h5_writer *writer, enum sp_h5_table which, struct sp_error *error)
{
	const struct sp_h5_table_def *def = &sp_h5_tables[which];
	struct sp_h5_column *columns = calloc(def->n_columns, sizeof(*columns));

	if (!columns)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; i < def->n_columns; i++)
		sp_h5_column_init(&columns[i], writer->file, def->columns[i].path,
				  def->columns[i].type, writer->deflater);
	writer->tables[which] = columns;
	return 0;
}

static int add_value(struct sp_h5_writer *writer, struct sp_h5_column *column, const void *value,
		     struct sp_error *error)
{
	int64_t time;

	switch (column->type) {
	case SP_H5_str:
		return sp_h5_column_append_text(column, *(const char *const *)value, error);
	case SP_H5_reltime:
	case SP_H5_relend:
		time = *(const int64_t *)value;
		if (column->type == SP_H5_reltime || time >= 0)
			time = sp_wrap_sub(time, writer->options.start_time_ns);
		return sp_h5_column_append(column, &time, 1, error);
	default:
		return sp_h5_column_append(column, value, 1, error);
	}
}

static int add_rows(struct sp_h5_writer *writer, enum sp_h5_table which, const void *rows, size_t n,
		    struct sp_error *error)
{
	const struct sp_h5_table_def *def = &sp_h5_tables[which];
	int r = 0;

	if (!n)
		return 0;
	if (!writer->tables[which])
		r = open_table(writer, which, error);
	for (size_t i = 0; !r && i < n; i++) {
		const char *row = (const char *)rows + i * def->row_size;

		for (size_t c = 0; !r && c < def->n_columns; c++)
			r = add_value(writer, &writer->tables[which][c],
				      row + def->columns[c].offset, error);
	}
	return r;
}

int sp_h5_writer_add_threads(struct sp_h5_writer *writer, const struct sp_thread_row *rows,
			     size_t n, struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_thread, rows, n, error);
}

int sp_h5_writer_add_tasks(struct sp_h5_writer *writer, const struct sp_task_row *rows, size_t n,
			   struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_task, rows, n, error);
}

int sp_h5_writer_add_sites(struct sp_h5_writer *writer, const struct sp_site_row *rows, size_t n,
			   struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_site, rows, n, error);
}

int sp_h5_writer_add_modules(struct sp_h5_writer *writer, const struct sp_module_row *rows,
			     size_t n, struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_module, rows, n, error);
}

int sp_h5_writer_add_processes(struct sp_h5_writer *writer, const struct sp_process_row *rows,
			       size_t n, struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_process, rows, n, error);
}

int sp_h5_writer_add_losses(struct sp_h5_writer *writer, const struct sp_loss_row *rows, size_t n,
			    struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_loss, rows, n, error);
}

int sp_h5_writer_add_cuts(struct sp_h5_writer *writer, const struct sp_cut_row *rows, size_t n,
			  struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_cut, rows, n, error);
}

int sp_h5_writer_add_clocks(struct sp_h5_writer *writer, const struct sp_clock_row *rows, size_t n,
			    struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_clock, rows, n, error);
}

int sp_h5_writer_add_rank_facts(struct sp_h5_writer *writer, const struct sp_rank_fact_row *rows,
				size_t n, struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_rank_fact, rows, n, error);
}

int sp_h5_writer_add_kernel_symbols(struct sp_h5_writer *writer,
				    const struct sp_kernel_symbol_row *rows, size_t n,
				    struct sp_error *error)
{
	return add_rows(writer, SP_H5_TABLE_kernel_symbol, rows, n, error);
}

int sp_h5_writer_add_sample(struct sp_h5_writer *writer, const struct sp_sample_row *sample,
			    const uint64_t *frames, size_t n_frames, struct sp_error *error)
{
	struct sp_sample_row row = *sample;
	int r;

	row.stack = writer->n_frames;
	r = add_rows(writer, SP_H5_TABLE_sample, &row, 1, error);
	if (r)
		return r;
	if (!writer->frames.path)
		sp_h5_column_init(&writer->frames, writer->file, "/sp_trace/samples/stack_frames",
				  SP_H5_u64, writer->deflater);
	writer->n_frames += n_frames;
	r = sp_h5_column_append(&writer->frames, frames, n_frames, error);
	return sp_h5_writer_result(writer, r, error);
}

/* The offsets of the samples' stacks are closed by the total, so that each stack has an end. */
static int finish_samples(struct sp_h5_writer *writer, struct sp_error *error)
{
	const struct sp_h5_table_def *def = &sp_h5_tables[SP_H5_TABLE_sample];
	size_t c = 0;
	int r;

	while (def->columns[c].offset != offsetof(struct sp_sample_row, stack))
		c++;
	r = sp_h5_column_append(&writer->tables[SP_H5_TABLE_sample][c], &writer->n_frames, 1,
				error);
	return r ? r : sp_h5_column_finish(&writer->frames, error);
}

int sp_h5_writer_finish_tables(struct sp_h5_writer *writer, struct sp_error *error)
{
	int r = 0;

	if (writer->tables[SP_H5_TABLE_sample])
		r = finish_samples(writer, error);
	for (size_t t = 0; t < SP_H5_N_TABLES; t++)
		for (size_t c = 0; !r && writer->tables[t] && c < sp_h5_tables[t].n_columns; c++)
			r = sp_h5_column_finish(&writer->tables[t][c], error);
	return r;
}

void sp_h5_writer_free_tables(struct sp_h5_writer *writer)
{
	for (size_t t = 0; t < SP_H5_N_TABLES; t++) {
		for (size_t c = 0; writer->tables[t] && c < sp_h5_tables[t].n_columns; c++)
			sp_h5_column_free(&writer->tables[t][c]);
		free(writer->tables[t]);
		writer->tables[t] = NULL;
	}
	sp_h5_column_free(&writer->frames);
}
