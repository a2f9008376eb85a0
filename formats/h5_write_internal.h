/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_write_internal.h - the writer's inside, shared by h5_write.c (regions, rows, calls, the file),
 * h5_write_index.c, h5_write_tables.c (tables, samples), h5_write_facts.c (attributes) and
 * h5_write_extras.c. Not installed.
 */
#ifndef SP_FORMATS_H5_WRITE_INTERNAL_H
#define SP_FORMATS_H5_WRITE_INTERNAL_H

#include "formats/h5_column.h"
#include "formats/h5_create.h"
#include "formats/h5_sink.h"
#include "formats/h5_write.h"
#include "formats/intern.h"

struct sp_h5_writer_row {
	uint32_t region;
	uint32_t rank;
	int64_t source_line;
	int64_t self_ns;
	uint64_t offset; /* first call */
	char *source_file;
	char *source_text;
	char *tags;
	struct sp_stats stats;
};

struct sp_h5_writer {
	struct sp_output *output;
	struct sp_h5_sink sink;
	hid_t file;
	struct sp_h5_options options;
	struct sp_h5_deflater *deflater; /* NULL without compression */

	struct sp_h5_column starts, ends;	       /* as the schema has them */
	struct sp_h5_column event_metadata;	       /* if options.event_metadata */
	struct sp_h5_column calls[SP_CALLS_N_COLUMNS]; /* those of options.columns */
	uint64_t n_calls;
	int64_t last_start; /* of the row's calls so far, 0 at its beginning */

	struct sp_intern regions; /* names */
	struct sp_h5_writer_row *rows;
	size_t n_rows, rows_capacity;

	struct sp_h5_column *tables[SP_H5_N_TABLES]; /* columns of each, NULL until its first row */
	struct sp_h5_column frames;
	uint64_t n_frames;
};

/* @r, unless writing failed before: then that failure. */
int sp_h5_writer_result(const struct sp_h5_writer *writer, int r, struct sp_error *error);
int sp_h5_writer_write_index(struct sp_h5_writer *writer, struct sp_error *error);
int sp_h5_writer_finish_tables(struct sp_h5_writer *writer, struct sp_error *error);
void sp_h5_writer_free_tables(struct sp_h5_writer *writer);

/* ---- attributes (h5_write_facts.c): created or replaced; texts are repaired, NULL counts as ""
 * ----
 */

int sp_h5_put_text(hid_t object, const char *key, const char *text, struct sp_error *error);
int sp_h5_put_number(hid_t object, const char *key, int64_t number, struct sp_error *error);
int sp_h5_put_real(hid_t object, const char *key, double real, struct sp_error *error);
int sp_h5_put_texts(hid_t object, const char *key, const char *const *texts, size_t n,
		    struct sp_error *error);
/* An attribute of the group at @path; a text is cut after @max bytes. */
int sp_h5_writer_put_fact(struct sp_h5_writer *writer, const char *path, const struct sp_fact *fact,
			  size_t max, struct sp_error *error);

#endif
