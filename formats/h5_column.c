// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_column.c - a growing data set; see h5_column.h.
 *
 * Invariant: a chunk is written once, whole (the last one partly, with nothing after it), past
 * libhdf5's conversions and caches: numbers in memory are as in the file, little-endian.
 */
#include "formats/h5_column.h"

#include <stdlib.h>
#include <string.h>

#include "formats/h5_create.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	TEXT_BYTES = 1 << 20,	 /* of texts that wait for their chunk to fill */
	CONVERT_BYTES = 1 << 14, /* libhdf5 clears this much for every write of texts; 1 MiB else */
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "chunks are written as they are");

void sp_h5_column_init(struct sp_h5_column *column, hid_t file, const char *path,
		       enum sp_h5_type type, struct sp_h5_deflater *deflater)
{
	bool text = type == SP_H5_str;

	*column = (struct sp_h5_column){
		.file = file,
		.path = path,
		.type = type,
		.chunk = text ? SP_H5_TEXT_CHUNK : SP_H5_CHUNK_BYTES / sp_h5_type_size(type),
		.deflater = text ? NULL : deflater,
		.dataset = -1,
	};
}

/* The group of the column, created if need be. */
static hid_t open_parent(const struct sp_h5_column *column, const char *name)
{
	char path[64];
	size_t size = (size_t)(name - column->path);

	if (size >= sizeof(path))
		return -1;
	memcpy(path, column->path, size);
	path[size] = '\0';
	return sp_h5_open_group(column->file, path);
}

/* True if the chunks of the data set can be what the column makes of them. */
static bool set_chunk(const struct sp_h5_column *column, hid_t properties, hid_t access,
		      hsize_t chunk)
{
	if (H5Pset_chunk(properties, 1, &chunk) < 0 || H5Pset_chunk_cache(access, 0, 0, 1.0) < 0)
		return false;
	if (!column->deflater)
		return true;
	if (sp_h5_type_size(column->type) > 1 && H5Pset_shuffle(properties) < 0)
		return false;
	return H5Pset_deflate(properties, sp_h5_deflater_level(column->deflater)) >= 0;
}

/* Creates the data set with its groups, of @size values for now: contiguous, or in chunks of
 * @chunk. */
static int create(struct sp_h5_column *column, hsize_t size, hsize_t chunk, struct sp_error *error)
{
	bool text = column->type == SP_H5_str;
	const char *name = strrchr(column->path, '/') + 1;
	hsize_t unlimited = H5S_UNLIMITED;
	sp_cleanup_h5 hid_t text_type = text ? sp_h5_string_type() : -1;
	sp_cleanup_h5 hid_t parent = open_parent(column, name);
	sp_cleanup_h5 hid_t properties = sp_h5_untimed(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &size, chunk ? &unlimited : NULL);
	/* A pointer into the heap must not be left as it was; numbers are always written. */
	H5D_fill_time_t fill = text ? H5D_FILL_TIME_IFSET : H5D_FILL_TIME_NEVER;

	errno = 0;
	if (parent >= 0 && properties >= 0 && access >= 0 && space >= 0 &&
	    H5Pset_fill_time(properties, fill) >= 0 &&
	    (!chunk || set_chunk(column, properties, access, chunk)))
		column->dataset =
			H5Dcreate2(parent, name, text ? text_type : sp_h5_file_type(column->type),
				   space, H5P_DEFAULT, properties, access);
	return column->dataset < 0 ? sp_h5_write_failed(error, column->path) : 0;
}

/* Writes @n values as the next ones, the slow way: texts, and what fills no chunk. */
static int write_values(struct sp_h5_column *column, const void *values, size_t n,
			struct sp_error *error)
{
	hsize_t at = column->written, count = n;
	bool text = column->type == SP_H5_str;
	sp_cleanup_h5 hid_t text_type = text ? sp_h5_string_type() : -1;
	sp_cleanup_h5 hid_t memory = H5Screate_simple(1, &count, NULL);
	sp_cleanup_h5 hid_t file = H5Dget_space(column->dataset);
	sp_cleanup_h5 hid_t transfer = H5Pcreate(H5P_DATASET_XFER);

	errno = 0;
	if (memory < 0 || file < 0 || transfer < 0 ||
	    H5Pset_buffer(transfer, CONVERT_BYTES, NULL, NULL) < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0 ||
	    H5Dwrite(column->dataset, text ? text_type : sp_h5_memory_type(column->type), memory,
		     file, transfer, values) < 0)
		return sp_h5_write_failed(error, column->path);
	return 0;
}

/* Makes room in the data set for @n more values, which are to be written next. */
static int extend(struct sp_h5_column *column, size_t n, struct sp_error *error)
{
	hsize_t size = column->written + n;
	int r = column->dataset < 0 ? create(column, 0, column->chunk, error) : 0;

	if (r)
		return r;
	errno = 0;
	return H5Dset_extent(column->dataset, &size) < 0 ? sp_h5_write_failed(error, column->path)
							 : 0;
}

/* Hands the buffer over as a chunk of @bytes. */
static int submit(struct sp_h5_column *column, size_t bytes, struct sp_error *error)
{
	const struct sp_h5_chunk chunk = {.dataset = column->dataset,
					  .path = column->path,
					  .offset = column->written,
					  .bytes = bytes,
					  .size = sp_h5_type_size(column->type),
					  .values = column->buffer};
	void *spare;
	int r = sp_h5_deflater_submit(column->deflater, &chunk, &spare, error);

	if (r)
		return r;
	column->buffer = spare;
	column->capacity = spare ? column->chunk : 0;
	return 0;
}

/* Writes a full chunk, which may be the caller's own if it is not to be compressed. */
static int write_chunk(struct sp_h5_column *column, const void *values, struct sp_error *error)
{
	hsize_t at = column->written;
	int r = extend(column, column->chunk, error);

	if (r)
		return r;
	errno = 0;
	if (H5Dwrite_chunk(column->dataset, H5P_DEFAULT, 0, &at, SP_H5_CHUNK_BYTES, values) < 0)
		return sp_h5_write_failed(error, column->path);
	column->written += column->chunk;
	return 0;
}

static void drop_texts(struct sp_h5_column *column)
{
	char **texts = column->buffer;

	for (size_t i = 0; column->type == SP_H5_str && i < column->used; i++)
		free(texts[i]);
	column->used = 0;
	column->text_bytes = 0;
}

/* Writes the buffer: a full chunk of numbers, or any number of texts. */
static int flush(struct sp_h5_column *column, struct sp_error *error)
{
	size_t n = column->used;
	int r;

	if (column->type == SP_H5_str || n < column->chunk) {
		r = extend(column, n, error);
		if (!r)
			r = write_values(column, column->buffer, n, error);
		drop_texts(column);
		column->written += n;
		return r;
	}
	column->used = 0;
	if (!column->deflater)
		return write_chunk(column, column->buffer, error);
	r = extend(column, n, error);
	if (!r)
		r = submit(column, SP_H5_CHUNK_BYTES, error);
	column->written += n;
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
	if (capacity > column->chunk || column->written)
		capacity = column->chunk;
	moved = realloc(column->buffer, capacity * sp_h5_type_size(column->type));
	if (!moved)
		return sp_error_set(error, -ENOMEM, 0, "%s: no memory", column->path);
	column->buffer = moved;
	column->capacity = capacity;
	return 0;
}

int sp_h5_column_room(struct sp_h5_column *column, size_t n, void **ret_room, size_t *ret_n,
		      struct sp_error *error)
{
	size_t some = column->chunk - column->used;
	int r;

	some = some > n ? n : some;
	r = reserve(column, column->used + some, error);
	if (r)
		return r;
	*ret_room = (char *)column->buffer + column->used * sp_h5_type_size(column->type);
	*ret_n = some;
	return 0;
}

int sp_h5_column_add(struct sp_h5_column *column, size_t n, struct sp_error *error)
{
	column->used += n;
	return column->used == column->chunk ? flush(column, error) : 0;
}

int sp_h5_column_append(struct sp_h5_column *column, const void *values, size_t n,
			struct sp_error *error)
{
	size_t size = sp_h5_type_size(column->type), some;
	const char *from = values;
	int r = 0;

	for (; !r && n; from += some * size, n -= some) {
		void *room;

		if (!column->used && n >= column->chunk && !column->deflater) {
			some = column->chunk;
			r = write_chunk(column, from, error);
			continue;
		}
		r = sp_h5_column_room(column, n, &room, &some, error);
		if (r)
			return r;
		memcpy(room, from, some * size);
		r = sp_h5_column_add(column, some, error);
	}
	return r;
}

int sp_h5_column_fill(struct sp_h5_column *column, int64_t number, size_t n, struct sp_error *error)
{
	size_t size = sp_h5_type_size(column->type);
	int r = 0;

	while (!r && n) {
		size_t some;
		void *room;

		r = sp_h5_column_room(column, n, &room, &some, error);
		if (r)
			return r;
		for (size_t i = 0; i < some; i++)
			memcpy((char *)room + i * size, &number, size);
		r = sp_h5_column_add(column, some, error);
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
	column->text_bytes += strlen(copy);
	return column->used == column->chunk || column->text_bytes >= TEXT_BYTES
		       ? flush(column, error)
		       : 0;
}

/* The last chunk, compressed: whole, as the filters want it. */
static int submit_last(struct sp_h5_column *column, struct sp_error *error)
{
	size_t size = sp_h5_type_size(column->type), n = column->used;
	int r = reserve(column, column->chunk, error);

	if (!r)
		r = extend(column, n, error);
	if (r)
		return r;
	memset((char *)column->buffer + n * size, 0, SP_H5_CHUNK_BYTES - n * size);
	column->used = 0;
	r = submit(column, SP_H5_CHUNK_BYTES, error);
	column->written += n;
	return r;
}

/* A column that never filled a chunk. */
static int finish_short(struct sp_h5_column *column, struct sp_error *error)
{
	size_t bytes = column->used * sp_h5_type_size(column->type);
	bool pack = column->deflater && bytes > SP_H5_PLAIN_BYTES;
	int r = create(column, column->used, pack ? column->used : 0, error);

	if (!r && pack)
		r = submit(column, bytes, error);
	else if (!r && column->used)
		r = write_values(column, column->buffer, column->used, error);
	if (r)
		return r;
	column->written = column->used;
	if (pack)
		column->used = 0;
	else
		drop_texts(column);
	return 0;
}

int sp_h5_column_finish(struct sp_h5_column *column, struct sp_error *error)
{
	if (column->dataset < 0)
		return finish_short(column, error);
	if (!column->used)
		return 0;
	return column->deflater ? submit_last(column, error) : flush(column, error);
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
