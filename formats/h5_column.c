// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_column.c - a growing data set; see h5_column.h.
 *
 * Invariant: a chunk is written once, whole (the last one partly, with nothing after it), so that
 * libhdf5 needs no cache and never reads back what it wrote.
 */
#include "formats/h5_column.h"

#include <stdlib.h>
#include <string.h>

#include "formats/utf8.h"
#include "formats/util.h"

void sp_h5_column_init(struct sp_h5_column *column, hid_t file, const char *path,
		       enum sp_h5_type type, size_t chunk, unsigned int gzip)
{
	*column = (struct sp_h5_column){.file = file,
					.path = path,
					.type = type,
					.chunk = chunk,
					.gzip = type == SP_H5_str ? 0 : gzip,
					.dataset = -1};
}

/* Creates the data set with its groups: contiguous with @size values, or chunked if @size is 0 and
 * more than one chunk is to come. */
static hid_t create(struct sp_h5_column *column, hid_t type, bool chunked, hsize_t size)
{
	hsize_t unlimited = H5S_UNLIMITED, chunk = column->chunk;
	sp_cleanup_h5 hid_t links = H5Pcreate(H5P_LINK_CREATE);
	sp_cleanup_h5 hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &size, chunked ? &unlimited : NULL);

	if (links < 0 || properties < 0 || access < 0 || space < 0)
		return -1;
	if (H5Pset_create_intermediate_group(links, 1) < 0 ||
	    H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) < 0)
		return -1;
	if (column->type == SP_H5_str && H5Pset_fill_time(properties, H5D_FILL_TIME_IFSET) < 0)
		return -1; /* a pointer into the heap must not be left as it was */
	if (chunked) {
		if (H5Pset_chunk(properties, 1, &chunk) < 0)
			return -1;
		if (column->gzip && (H5Pset_shuffle(properties) < 0 ||
				     H5Pset_deflate(properties, column->gzip) < 0))
			return -1;
		if (H5Pset_chunk_cache(access, 0, 0, 1.0) < 0)
			return -1;
	}
	return H5Dcreate2(column->file, column->path, type, space, links, properties, access);
}

/* Writes @n values as the next ones. */
static int write_values(struct sp_h5_column *column, hid_t type, const void *values, size_t n)
{
	hsize_t at = column->written, count = n, size = at + n;
	sp_cleanup_h5 hid_t memory = H5Screate_simple(1, &count, NULL);
	sp_cleanup_h5 hid_t file = -1;

	if (H5Dset_extent(column->dataset, &size) < 0)
		return -1;
	file = H5Dget_space(column->dataset);
	if (memory < 0 || file < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0 ||
	    H5Dwrite(column->dataset, type, memory, file, H5P_DEFAULT, values) < 0)
		return -1;
	column->written += n;
	return 0;
}

static void drop_texts(struct sp_h5_column *column)
{
	char **texts = column->buffer;

	for (size_t i = 0; column->type == SP_H5_str && i < column->used; i++)
		free(texts[i]);
	column->used = 0;
}

/* Writes a chunk's worth, or less at the end. */
static int write_chunk(struct sp_h5_column *column, const void *values, size_t n,
		       struct sp_error *error)
{
	sp_cleanup_h5 hid_t text_type = column->type == SP_H5_str ? sp_h5_string_type() : -1;
	bool text = column->type == SP_H5_str;
	hid_t file_type = text ? text_type : sp_h5_file_type(column->type);
	hid_t memory_type = text ? text_type : sp_h5_memory_type(column->type);
	int r = 0;

	errno = 0;
	if (column->dataset < 0)
		column->dataset = create(column, file_type, true, 0);
	if (column->dataset < 0 || write_values(column, memory_type, values, n))
		r = sp_h5_write_failed(error, column->path);
	return r;
}

static int flush(struct sp_h5_column *column, struct sp_error *error)
{
	int r = write_chunk(column, column->buffer, column->used, error);

	drop_texts(column);
	return r;
}

/* Makes the buffer hold at least @n values, at most a chunk. */
static int reserve(struct sp_h5_column *column, size_t n, struct sp_error *error)
{
	size_t capacity = column->capacity ? column->capacity : 16;
	void *moved;

	if (n <= column->capacity)
		return 0;
	while (capacity < n)
		capacity *= 2;
	if (capacity > column->chunk)
		capacity = column->chunk;
	moved = realloc(column->buffer, capacity * sp_h5_type_size(column->type));
	if (!moved)
		return sp_error_set(error, -ENOMEM, 0, "%s: no memory", column->path);
	column->buffer = moved;
	column->capacity = capacity;
	return 0;
}

int sp_h5_column_append(struct sp_h5_column *column, const void *values, size_t n,
			struct sp_error *error)
{
	size_t size = sp_h5_type_size(column->type);
	const char *from = values;

	while (n) {
		size_t some = column->chunk - column->used;
		int r;

		if (!column->used && n >= column->chunk) {
			r = write_chunk(column, from, column->chunk, error);
			some = column->chunk;
		} else {
			some = some > n ? n : some;
			r = reserve(column, column->used + some, error);
			if (r)
				return r;
			memcpy((char *)column->buffer + column->used * size, from, some * size);
			column->used += some;
			if (column->used == column->chunk)
				r = flush(column, error);
		}
		if (r)
			return r;
		from += some * size;
		n -= some;
	}
	return 0;
}

int sp_h5_column_fill(struct sp_h5_column *column, int64_t number, size_t n, struct sp_error *error)
{
	enum { BLOCK = 512 };
	size_t size = sp_h5_type_size(column->type);
	union {
		uint8_t u8[BLOCK];
		uint16_t u16[BLOCK];
		uint32_t u32[BLOCK];
		uint64_t u64[BLOCK];
	} block;
	int r = 0;

	for (size_t i = 0; i < BLOCK && i < n; i++) {
		switch (size) {
		case 1:
			block.u8[i] = (uint8_t)number;
			break;
		case 2:
			block.u16[i] = (uint16_t)number;
			break;
		case 4:
			block.u32[i] = (uint32_t)number;
			break;
		default:
			block.u64[i] = (uint64_t)number;
		}
	}
	while (n && !r) {
		size_t some = n < BLOCK ? n : BLOCK;

		r = sp_h5_column_append(column, &block, some, error);
		n -= some;
	}
	return r;
}

int sp_h5_column_append_text(struct sp_h5_column *column, const char *text, struct sp_error *error)
{
	int r = reserve(column, column->used + 1, error);
	char *copy;

	if (r)
		return r;
	copy = sp_utf8_repair(text ? text : "");
	if (!copy)
		return sp_error_set(error, -ENOMEM, 0, "%s: no memory", column->path);
	((char **)column->buffer)[column->used++] = copy;
	return column->used == column->chunk ? flush(column, error) : 0;
}

int sp_h5_column_finish(struct sp_h5_column *column, struct sp_error *error)
{
	sp_cleanup_h5 hid_t text_type = -1;
	hid_t file_type, memory_type;

	if (column->dataset >= 0)
		return column->used ? flush(column, error) : 0;
	errno = 0;
	if (column->type == SP_H5_str)
		text_type = sp_h5_string_type();
	file_type = text_type >= 0 ? text_type : sp_h5_file_type(column->type);
	memory_type = text_type >= 0 ? text_type : sp_h5_memory_type(column->type);
	column->dataset = create(column, file_type, false, column->used);
	if (column->dataset < 0 ||
	    (column->used && H5Dwrite(column->dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT,
				      column->buffer) < 0))
		return sp_h5_write_failed(error, column->path);
	column->written = column->used;
	drop_texts(column);
	return 0;
}

void sp_h5_column_free(struct sp_h5_column *column)
{
	if (!column->path)
		return;
	drop_texts(column);
	free(column->buffer);
	sp_h5_close(&column->dataset);
	column->buffer = NULL;
}
