/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_column.h - one growing one-dimensional data set of an HDF5 file. Not installed.
 *
 * Values are collected up to a chunk. A column that never fills one becomes a contiguous data set
 * of its exact size; a longer one a chunked one that grows. So small files stay small, and a long
 * column costs one chunk of memory and no chunk cache.
 */
#ifndef SP_FORMATS_H5_COLUMN_H
#define SP_FORMATS_H5_COLUMN_H

#include "formats/h5_util.h"

struct sp_h5_column {
	hid_t file; /* borrowed */
	const char *path;
	enum sp_h5_type type;
	size_t chunk;	   /* values */
	unsigned int gzip; /* 0 none; numbers only */
	hid_t dataset;	   /* -1 until the first chunk is full */
	uint64_t written;  /* values in the file */
	size_t used;	   /* values in the buffer */
	size_t capacity;   /* of the buffer, values; grows up to chunk */
	void *buffer;
};

/* @path must outlive the column. */
void sp_h5_column_init(struct sp_h5_column *column, hid_t file, const char *path,
		       enum sp_h5_type type, size_t chunk, unsigned int gzip);
/* Appends numbers of the column's memory type. */
int sp_h5_column_append(struct sp_h5_column *column, const void *values, size_t n,
			struct sp_error *error);
/* Appends @n times the same number. */
int sp_h5_column_fill(struct sp_h5_column *column, int64_t number, size_t n,
		      struct sp_error *error);
/* Appends a string, repaired and copied; NULL counts as "". */
int sp_h5_column_append_text(struct sp_h5_column *column, const char *text, struct sp_error *error);
static inline uint64_t sp_h5_column_count(const struct sp_h5_column *column)
{
	return column->written + column->used;
}
/* Writes what is buffered; the data set then exists, even if it is empty. */
int sp_h5_column_finish(struct sp_h5_column *column, struct sp_error *error);
/* Frees; what was not finished is lost. An all-zero column is fine. */
void sp_h5_column_free(struct sp_h5_column *column);

#endif
