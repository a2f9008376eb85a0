/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_column.h - one growing one-dimensional data set of an HDF5 file. Not installed.
 *
 * Values are collected up to a chunk. A column that never fills one becomes a contiguous data set
 * of its exact size, or, compressed and of more than SP_H5_PLAIN_BYTES, one chunk of it; a longer
 * one is chunked and grows. So small files stay small, and a long column costs one chunk of memory
 * and no chunk cache.
 */
#ifndef SP_FORMATS_H5_COLUMN_H
#define SP_FORMATS_H5_COLUMN_H

#include "formats/h5_deflate.h"

enum {
	SP_H5_PLAIN_BYTES = 1 << 16, /* not worth compressing: scope-profiler's limit */
	SP_H5_TEXT_CHUNK = 1 << 9,   /* texts */
};

struct sp_h5_column {
	hid_t file; /* borrowed */
	const char *path;
	enum sp_h5_type type;
	size_t chunk;			 /* values; a power of two */
	struct sp_h5_deflater *deflater; /* borrowed; NULL plain, as texts always are */
	hid_t dataset;			 /* -1 until the first chunk is full */
	uint64_t written;		 /* values in the file, or with the deflater */
	size_t used;			 /* values in the buffer */
	size_t capacity;		 /* of the buffer, values; grows up to chunk */
	size_t text_bytes;		 /* in the buffer */
	void *buffer;
};

/* @path must outlive the column. */
void sp_h5_column_init(struct sp_h5_column *column, hid_t file, const char *path,
		       enum sp_h5_type type, struct sp_h5_deflater *deflater);
/* Appends numbers of the column's memory type. */
int sp_h5_column_append(struct sp_h5_column *column, const void *values, size_t n,
			struct sp_error *error);
/* The same without a copy: gives room for up to @n values, at least 1, to be filled and added. */
int sp_h5_column_room(struct sp_h5_column *column, size_t n, void **ret_room, size_t *ret_n,
		      struct sp_error *error);
int sp_h5_column_add(struct sp_h5_column *column, size_t n, struct sp_error *error);
/* Appends @n times the same number. */
int sp_h5_column_fill(struct sp_h5_column *column, int64_t number, size_t n,
		      struct sp_error *error);
/* Appends a string, repaired and copied; NULL counts as "". */
int sp_h5_column_append_text(struct sp_h5_column *column, const char *text, struct sp_error *error);
static inline uint64_t sp_h5_column_count(const struct sp_h5_column *column)
{
	return column->written + column->used;
}
/* Writes what is buffered; the data set then exists, even if it is empty. What is compressed is in
 * the file only once the deflater is drained. */
int sp_h5_column_finish(struct sp_h5_column *column, struct sp_error *error);
/* Frees; what was not finished and drained is lost. An all-zero column is fine. */
void sp_h5_column_free(struct sp_h5_column *column);

#endif
