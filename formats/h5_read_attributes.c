// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_attributes.c - one attribute of an HDF5 object that must be of a certain kind.
 *
 * Invariant: what is returned is exactly what the file says; a value of another kind is refused, never
 * converted.
 */
#include <stdlib.h>

#include "formats/h5_read.h"

#define cleanup_fact __attribute__((cleanup(sp_h5_fact_free)))

static int read_named(hid_t object, const char *key, bool *ret_found, struct sp_fact *ret_fact,
		      struct sp_error *error)
{
	sp_cleanup_h5 hid_t attribute = -1;
	htri_t exists = H5Aexists(object, key);
	int r;

	if (exists < 0)
		return sp_h5_read_failed(error, key);
	if (exists) {
		attribute = H5Aopen(object, key, H5P_DEFAULT);
		if (attribute < 0)
			return sp_h5_read_failed(error, key);
		r = sp_h5_read_attribute(attribute, ret_fact);
		if (r)
			return sp_error_set(error, r, 0, "the attribute %s cannot be read", key);
	}
	*ret_found = exists;
	return 0;
}

/* True for an integer beyond int64. */
static bool is_too_large(hid_t object, const char *key)
{
	sp_cleanup_h5 hid_t attribute = H5Aopen(object, key, H5P_DEFAULT);
	sp_cleanup_h5 hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);

	return type >= 0 && H5Tget_class(type) == H5T_INTEGER;
}

int sp_h5_read_number_attribute(hid_t object, const char *key, bool *ret_found, int64_t *ret_number,
				struct sp_error *error)
{
	cleanup_fact struct sp_fact fact = {0};
	bool found;
	int r = read_named(object, key, &found, &fact, error);

	if (r)
		return r;
	if (found && fact.kind == SP_FACT_TEXT && is_too_large(object, key))
		return sp_error_set(error, -SP_E_COUNT, 0, "the attribute %s is too large: %.32s",
				    key, fact.text);
	if (found && fact.kind != SP_FACT_NUMBER)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "the attribute %s is not an integer",
				    key);
	*ret_found = found;
	if (found)
		*ret_number = fact.number;
	return 0;
}

int sp_h5_read_real_attribute(hid_t object, const char *key, bool *ret_found, double *ret_number,
			      struct sp_error *error)
{
	cleanup_fact struct sp_fact fact = {0};
	bool found;
	int r = read_named(object, key, &found, &fact, error);

	if (r)
		return r;
	if (found && fact.kind != SP_FACT_NUMBER && fact.kind != SP_FACT_REAL)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "the attribute %s is not a number",
				    key);
	*ret_found = found;
	if (found)
		*ret_number = fact.kind == SP_FACT_REAL ? fact.real : (double)fact.number;
	return 0;
}

static bool holds_strings(hid_t object, const char *key)
{
	sp_cleanup_h5 hid_t attribute = H5Aopen(object, key, H5P_DEFAULT);
	sp_cleanup_h5 hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);

	return type >= 0 && H5Tget_class(type) == H5T_STRING;
}

int sp_h5_read_text_attribute(hid_t object, const char *key, char **ret_text,
			      struct sp_error *error)
{
	cleanup_fact struct sp_fact fact = {0};
	bool found;
	int r = read_named(object, key, &found, &fact, error);

	if (r)
		return r;
	if (found && (fact.kind != SP_FACT_TEXT || !holds_strings(object, key)))
		return sp_error_set(error, -SP_E_DAMAGED, 0, "the attribute %s is not a text", key);
	*ret_text = (char *)fact.text;
	fact.text = NULL;
	return 0;
}

int sp_h5_read_texts_attribute(hid_t object, const char *key, char ***ret_texts, size_t *ret_n,
			       struct sp_error *error)
{
	cleanup_fact struct sp_fact fact = {0};
	bool found;
	int r = read_named(object, key, &found, &fact, error);

	if (r)
		return r;
	/* Python's empty list comes as a list of no reals, or as nothing. */
	if (found && fact.text[0] && (fact.kind != SP_FACT_TEXTS || !holds_strings(object, key)))
		return sp_error_set(error, -SP_E_DAMAGED, 0,
				    "the attribute %s is not a list of texts", key);
	*ret_texts = (char **)(uintptr_t)fact.items;
	*ret_n = fact.n_items;
	fact.items = NULL;
	fact.n_items = 0;
	return 0;
}
