// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write_facts.c - the HDF5 writer: facts, and attributes of every kind that h5py knows.
 *
 * Invariant: texts and names in the file are UTF-8; an attribute that is set again is replaced.
 * Lists may be longer than the 64 KiB that an object header holds: the 1.10 format stores them
 * elsewhere.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/h5_write_internal.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	METADATA_MAX = 60000, /* bytes of a text, scope-profiler's own limit */
	KEY_MAX = 1024,	      /* bytes; longer names have no place in an object header */
};

/* Creates or replaces an attribute; @n is NULL for a scalar. */
static int put(hid_t object, const char *key, hid_t file_type, hid_t memory_type, const hsize_t *n,
	       const void *values, struct sp_error *error)
{
	sp_cleanup_h5 hid_t properties = H5Pcreate(H5P_ATTRIBUTE_CREATE);
	sp_cleanup_h5 hid_t attribute = -1;
	sp_cleanup_h5 hid_t space = -1;
	htri_t exists;

	errno = 0;
	space = n ? H5Screate_simple(1, n, NULL) : H5Screate(H5S_SCALAR);
	exists = H5Aexists(object, key);
	if (space < 0 || properties < 0 || file_type < 0 || exists < 0 ||
	    H5Pset_char_encoding(properties, H5T_CSET_UTF8) < 0 ||
	    (exists && H5Adelete(object, key) < 0))
		return sp_h5_write_failed(error, key);
	attribute = H5Acreate2(object, key, file_type, space, properties, H5P_DEFAULT);
	if (attribute < 0 || ((!n || *n) && H5Awrite(attribute, memory_type, values) < 0))
		return sp_h5_write_failed(error, key);
	return 0;
}

int sp_h5_put_text(hid_t object, const char *key, const char *text, struct sp_error *error)
{
	sp_cleanup_free char *good = sp_utf8_repair(text ? text : "");
	sp_cleanup_h5 hid_t type = sp_h5_string_type();

	if (!good)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	return put(object, key, type, type, NULL, &good, error);
}

int sp_h5_put_number(hid_t object, const char *key, int64_t number, struct sp_error *error)
{
	return put(object, key, H5T_STD_I64LE, H5T_NATIVE_INT64, NULL, &number, error);
}

int sp_h5_put_real(hid_t object, const char *key, double real, struct sp_error *error)
{
	return put(object, key, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, NULL, &real, error);
}

/* An enumeration, as h5py writes and knows it. */
static int put_bool(hid_t object, const char *key, bool value, struct sp_error *error)
{
	sp_cleanup_h5 hid_t type = H5Tenum_create(H5T_STD_I8LE);
	int8_t number = 0;

	if (type < 0 || H5Tenum_insert(type, "FALSE", &number) < 0)
		return sp_h5_write_failed(error, key);
	number = 1;
	if (H5Tenum_insert(type, "TRUE", &number) < 0)
		return sp_h5_write_failed(error, key);
	number = value;
	return put(object, key, type, type, NULL, &number, error);
}

int sp_h5_put_texts(hid_t object, const char *key, const char *const *texts, size_t n,
		    struct sp_error *error)
{
	sp_cleanup_h5 hid_t type = sp_h5_string_type();
	char **good = calloc(n + 1, sizeof(*good));
	hsize_t size = n;
	int r = 0;

	for (size_t i = 0; good && i < n; i++) {
		good[i] = sp_utf8_repair(texts[i] ? texts[i] : "");
		if (!good[i])
			r = -ENOMEM;
	}
	if (!good || r)
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	else
		r = put(object, key, type, type, &size, good, error);
	for (size_t i = 0; good && i < n; i++)
		free(good[i]);
	free(good);
	return r;
}

/* A list of numbers, which stands in @fact as texts. One that cannot be a number (a uint64 beyond
 * int64, say) makes it a list of texts: so nothing is lost. */
static int put_numbers(hid_t object, const char *key, const struct sp_fact *fact,
		       struct sp_error *error)
{
	sp_cleanup_free int64_t *numbers = calloc(fact->n_items + 1, sizeof(*numbers));
	sp_cleanup_free double *reals = calloc(fact->n_items + 1, sizeof(*reals));
	bool whole = fact->kind == SP_FACT_NUMBERS;
	hsize_t n = fact->n_items;

	if (!numbers || !reals)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; i < fact->n_items; i++) {
		const char *item = fact->items[i];
		char *end;

		errno = 0;
		if (whole)
			numbers[i] = strtoll(item, &end, 10);
		else
			reals[i] = strtod(item, &end);
		if (end == item || *end || (whole && errno))
			return sp_h5_put_texts(object, key, fact->items, fact->n_items, error);
	}
	if (whole)
		return put(object, key, H5T_STD_I64LE, H5T_NATIVE_INT64, &n, numbers, error);
	return put(object, key, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &n, reals, error);
}

static int put_fact(hid_t object, const char *key, const struct sp_fact *fact,
		    struct sp_error *error)
{
	switch (fact->kind) {
	case SP_FACT_TEXT:
		return sp_h5_put_text(object, key, fact->text, error);
	case SP_FACT_NUMBER:
		return sp_h5_put_number(object, key, fact->number, error);
	case SP_FACT_REAL:
		return sp_h5_put_real(object, key, fact->real, error);
	case SP_FACT_BOOL:
		return put_bool(object, key, fact->number != 0, error);
	case SP_FACT_TEXTS:
		return sp_h5_put_texts(object, key, fact->items, fact->n_items, error);
	case SP_FACT_NUMBERS:
	case SP_FACT_REALS:
		return put_numbers(object, key, fact, error);
	}
	return sp_error_set(error, -EINVAL, 0, "%s: unknown kind of fact", key);
}

/* Cuts a valid text to at most @max bytes, at the beginning of a character. */
static void cut(char *text, size_t max)
{
	if (strlen(text) <= max)
		return;
	while (max && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	text[max] = '\0';
}

int sp_h5_writer_put_fact(struct sp_h5_writer *writer, const char *path, const struct sp_fact *fact,
			  size_t max, struct sp_error *error)
{
	sp_cleanup_free char *key = sp_utf8_repair(fact->key);
	sp_cleanup_free char *text = NULL;
	sp_cleanup_h5 hid_t group = -1;
	struct sp_fact good = *fact;
	int r;

	if (!key)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (!*key || strlen(key) > KEY_MAX)
		return sp_error_set(error, -EINVAL, 0,
				    "a fact has no key, or one of more than %d bytes", KEY_MAX);
	if (fact->kind == SP_FACT_TEXT && fact->text && strlen(fact->text) > max) {
		good.text = text = sp_utf8_repair(fact->text);
		if (!text)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		cut(text, max);
	}
	errno = 0;
	group = sp_h5_open_group(writer->file, path);
	r = group < 0 ? sp_h5_write_failed(error, path) : put_fact(group, key, &good, error);
	return sp_h5_writer_result(writer, r, error);
}

int sp_h5_writer_set_metadata_fact(struct sp_h5_writer *writer, const struct sp_fact *fact,
				   struct sp_error *error)
{
	return sp_h5_writer_put_fact(writer, "/metadata", fact, METADATA_MAX, error);
}

int sp_h5_writer_set_meta_fact(struct sp_h5_writer *writer, const struct sp_fact *fact,
			       struct sp_error *error)
{
	return sp_h5_writer_put_fact(writer, "/sp_trace/meta", fact, SIZE_MAX, error);
}

int sp_h5_writer_set_metadata(struct sp_h5_writer *writer, const char *key, const char *text,
			      struct sp_error *error)
{
	return sp_h5_writer_set_metadata_fact(
		writer, &(struct sp_fact){.key = key, .kind = SP_FACT_TEXT, .text = text}, error);
}

int sp_h5_writer_set_metadata_number(struct sp_h5_writer *writer, const char *key, int64_t number,
				     struct sp_error *error)
{
	return sp_h5_writer_set_metadata_fact(
		writer, &(struct sp_fact){.key = key, .kind = SP_FACT_NUMBER, .number = number},
		error);
}

int sp_h5_writer_set_meta(struct sp_h5_writer *writer, const char *key, const char *text,
			  struct sp_error *error)
{
	return sp_h5_writer_set_meta_fact(
		writer, &(struct sp_fact){.key = key, .kind = SP_FACT_TEXT, .text = text}, error);
}

int sp_h5_writer_set_meta_number(struct sp_h5_writer *writer, const char *key, int64_t number,
				 struct sp_error *error)
{
	return sp_h5_writer_set_meta_fact(
		writer, &(struct sp_fact){.key = key, .kind = SP_FACT_NUMBER, .number = number},
		error);
}
