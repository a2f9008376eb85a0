// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_texts.c - strings of HDF5 data sets, of variable or fixed length, as UTF-8.
 *
 * Invariant: what libhdf5 allocates for a block of strings is counted, bounded, and freed with the
 * block. A few bytes of a file can name the same long text a million times.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	BLOCK = 1024,	      /* strings read at once */
	MAX_BLOCK = 64 << 20, /* their bytes */
	MAX_KEPT = 512 << 20, /* bytes of a column that is kept in memory */
	FIXED_BLOCK = 1 << 20,
};
#define MAX_TEXT ((size_t)1 << 30) /* bytes of one string that is read on its own */

/* What libhdf5 allocated for one block. */
struct pool {
	struct piece {
		struct piece *next;
		char data[];
	} * pieces;
	size_t left;
};

static void *pool_allocate(size_t size, void *data)
{
	struct pool *pool = data;
	struct piece *piece;

	if (size > pool->left)
		return NULL;
	piece = malloc(sizeof(*piece) + size);
	if (!piece)
		return NULL;
	pool->left -= size;
	piece->next = pool->pieces;
	pool->pieces = piece;
	return piece->data;
}

/* All are freed together. */
static void pool_release(void *memory, void *data)
{
	(void)memory;
	(void)data;
}

static void pool_free(struct pool *pool)
{
	while (pool->pieces) {
		struct piece *next = pool->pieces->next;

		free(pool->pieces);
		pool->pieces = next;
	}
}
#define cleanup_pool __attribute__((cleanup(pool_free)))

static int hand_over(const char *raw, sp_h5_text_fn take, void *data, uint64_t index,
		     struct sp_error *error)
{
	sp_cleanup_free char *repaired = NULL;

	if (sp_utf8_valid(raw, strlen(raw)))
		return take(data, index, raw, error);
	repaired = sp_utf8_repair(raw);
	if (!repaired)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return take(data, index, repaired, error);
}

static int read_variable(hid_t dataset, const char *path, hid_t type, uint64_t first, uint64_t n,
			 sp_h5_text_fn take, void *data, struct sp_error *error)
{
	hsize_t at = first, count = n;
	cleanup_pool struct pool pool = {.left = n == 1 ? MAX_TEXT : MAX_BLOCK};
	sp_cleanup_free char **raw = calloc(n, sizeof(*raw));
	sp_cleanup_h5 hid_t memory = H5Screate_simple(1, &count, NULL);
	sp_cleanup_h5 hid_t file = H5Dget_space(dataset);
	sp_cleanup_h5 hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
	int r = 0;

	if (!raw)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (memory < 0 || file < 0 || transfer < 0 ||
	    H5Pset_vlen_mem_manager(transfer, pool_allocate, &pool, pool_release, &pool) < 0 ||
	    H5Sselect_hyperslab(file, H5S_SELECT_SET, &at, NULL, &count, NULL) < 0)
		return sp_h5_read_failed(error, path);
	/* The type of the file keeps the character set: no conversion. */
	if (H5Dread(dataset, type, memory, file, transfer, raw) < 0) {
		if (n == 1)
			return sp_h5_dataset_failed(dataset, path, error);
		/* Too long together, or one of them is damaged. */
		H5Eclear2(H5E_DEFAULT);
		for (uint64_t i = 0; !r && i < n; i++)
			r = read_variable(dataset, path, type, first + i, 1, take, data, error);
		return r;
	}
	for (uint64_t i = 0; !r && i < n; i++)
		r = hand_over(raw[i] ? raw[i] : "", take, data, first + i, error);
	return r;
}

/* Strings of a fixed size, whatever pads them. */
static int read_fixed(hid_t dataset, const char *path, hid_t type, uint64_t first, uint64_t n,
		      sp_h5_text_fn take, void *data, struct sp_error *error)
{
	size_t size = H5Tget_size(type);
	bool spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
	sp_cleanup_free char *raw = calloc(n, size);
	sp_cleanup_free char *text = malloc(size + 1);
	int r;

	if (!raw || !text)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_h5_read_slab(dataset, path, type, first, n, raw, error);
	for (uint64_t i = 0; !r && i < n; i++) {
		size_t used = strnlen(raw + i * size, size);

		while (spaces && used && raw[i * size + used - 1] == ' ')
			used--;
		memcpy(text, raw + i * size, used);
		text[used] = '\0';
		r = hand_over(text, take, data, first + i, error);
	}
	return r;
}

int sp_h5_open_texts(hid_t file, const char *path, bool required, uint64_t length,
		     hid_t *ret_dataset, uint64_t *ret_length, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	sp_cleanup_h5 hid_t type = -1;
	uint64_t found;
	int r = sp_h5_open_dataset(file, path, required, &dataset, &found, error);

	if (!r && dataset >= 0) {
		type = H5Dget_type(dataset);
		if (type < 0)
			return sp_h5_read_failed(error, path);
		if (H5Tget_class(type) != H5T_STRING)
			return sp_error_set(error, -SP_E_DAMAGED, 0, "%s does not hold strings",
					    path);
		r = sp_h5_check_length(path, found, length, error);
		if (!r)
			r = sp_h5_check_storage(dataset, path, found, error);
	}
	if (r)
		return r;
	*ret_dataset = dataset;
	dataset = -1;
	if (ret_length)
		*ret_length = found;
	return 0;
}

int sp_h5_each_text(hid_t dataset, const char *path, uint64_t first, uint64_t n, sp_h5_text_fn take,
		    void *data, struct sp_error *error)
{
	sp_cleanup_h5 hid_t type = H5Dget_type(dataset);
	htri_t variable = type < 0 ? -1 : H5Tis_variable_str(type);
	uint64_t block;
	int r = 0;

	if (variable < 0)
		return sp_h5_read_failed(error, path);
	block = variable ? BLOCK : FIXED_BLOCK / H5Tget_size(type) + 1;
	for (uint64_t at = 0; !r && at < n; at += block) {
		uint64_t some = n - at < block ? n - at : block;

		r = variable ? read_variable(dataset, path, type, first + at, some, take, data,
					     error)
			     : read_fixed(dataset, path, type, first + at, some, take, data, error);
	}
	return r;
}

struct column {
	char **texts;
	size_t left;
	const char *path;
};

static int keep(void *data, uint64_t index, const char *text, struct sp_error *error)
{
	struct column *column = data;
	size_t size = strlen(text) + 1;

	if (size > column->left)
		return sp_error_set(error, -SP_E_COUNT, 0, "%s has more than %d MiB of text",
				    column->path, MAX_KEPT >> 20);
	column->left -= size;
	column->texts[index] = strdup(text);
	return column->texts[index] ? 0 : sp_error_set(error, -ENOMEM, 0, "no memory");
}

int sp_h5_read_texts(hid_t file, const char *path, bool required, uint64_t length,
		     char ***ret_texts, uint64_t *ret_length, struct sp_error *error)
{
	sp_cleanup_h5 hid_t dataset = -1;
	struct column column = {.left = MAX_KEPT, .path = path};
	uint64_t found;
	int r = sp_h5_open_texts(file, path, required, length, &dataset, &found, error);

	if (r)
		return r;
	if (dataset >= 0) {
		column.texts = calloc(found + 1, sizeof(*column.texts));
		if (!column.texts)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		r = sp_h5_each_text(dataset, path, 0, found, keep, &column, error);
		if (r) {
			sp_h5_free_texts(column.texts, found);
			return r;
		}
	}
	*ret_texts = column.texts;
	if (ret_length)
		*ret_length = found;
	return 0;
}

static int keep_one(void *data, uint64_t index, const char *text, struct sp_error *error)
{
	(void)index;
	*(char **)data = strdup(text);
	return *(char **)data ? 0 : sp_error_set(error, -ENOMEM, 0, "no memory");
}

int sp_h5_read_text(hid_t dataset, const char *path, uint64_t index, char **ret_text,
		    struct sp_error *error)
{
	return sp_h5_each_text(dataset, path, index, 1, keep_one, ret_text, error);
}

void sp_h5_free_texts(char **texts, uint64_t n)
{
	for (uint64_t i = 0; texts && i < n; i++)
		free(texts[i]);
	free(texts);
}
