// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_facts.c - attributes of HDF5 groups as facts.
 *
 * Invariant: an attribute of a kind that is not understood becomes a fact that says so; it never
 * makes the file unreadable, since metadata is whatever its writer found.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/utf8.h"
#include "formats/util.h"

enum {
	MAX_FACTS = 1 << 16,
	MAX_BYTES = 1 << 24, /* of one attribute */
	MAX_ELEMENTS = 1 << 16,
};

/* Adds @text to the list *@joined. */
static int join(char **joined, const char *text)
{
	sp_cleanup_free char *repaired = sp_utf8_repair(text);
	char *longer = NULL;

	if (!repaired)
		return -ENOMEM;
	if (!*joined) {
		*joined = repaired;
		repaired = NULL;
		return 0;
	}
	if (asprintf(&longer, "%s, %s", *joined, repaired) < 0)
		return -ENOMEM;
	free(*joined);
	*joined = longer;
	return 0;
}

/* Joins @n strings of an attribute; NULL if there are none. */
static int read_strings(hid_t attribute, hid_t type, hid_t space, size_t n, char **ret_text)
{
	bool variable = H5Tis_variable_str(type) > 0;
	size_t size = variable ? sizeof(char *) : H5Tget_size(type);
	sp_cleanup_free char *raw = NULL;
	sp_cleanup_free char *text = NULL;
	char *joined = NULL;
	int r = 0;

	if (!n || !size || n > MAX_ELEMENTS || size > MAX_BYTES / n)
		return n ? -SP_E_COUNT : 0;
	raw = calloc(n, size);
	text = malloc(size + 1);
	if (!raw || !text)
		return -ENOMEM;
	if (H5Aread(attribute, type, raw) < 0)
		return -SP_E_DAMAGED;
	for (size_t i = 0; !r && i < n; i++) {
		const char *one = text;

		if (variable) {
			one = ((char **)(void *)raw)[i];
		} else {
			memcpy(text, raw + i * size, size);
			text[size] = '\0';
		}
		r = join(&joined, one ? one : "");
	}
	if (variable)
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
	if (r) {
		free(joined);
		return r;
	}
	*ret_text = joined;
	return 0;
}

static int read_numbers(hid_t attribute, bool real, size_t n, char **ret_text, int64_t *ret_first)
{
	sp_cleanup_free int64_t *values = NULL;
	char *joined = NULL;
	int r = 0;

	if (n > MAX_ELEMENTS)
		return -SP_E_COUNT;
	_Static_assert(sizeof(double) == sizeof(int64_t), "one buffer for both");
	values = calloc(n + 1, sizeof(*values));
	if (!values)
		return -ENOMEM;
	if (H5Aread(attribute, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, values) < 0)
		return -SP_E_DAMAGED;
	for (size_t i = 0; !r && i < n; i++) {
		char text[40];
		double number;

		memcpy(&number, &values[i], sizeof(number));
		if (real)
			snprintf(text, sizeof(text), "%.17g", number);
		else
			snprintf(text, sizeof(text), "%" PRId64, values[i]);
		r = join(&joined, text);
	}
	if (r) {
		free(joined);
		return r;
	}
	*ret_text = joined;
	*ret_first = values[0];
	return 0;
}

/* Reads any attribute; the key is left to the caller. */
static int read_attribute(hid_t attribute, struct sp_fact *ret_fact)
{
	sp_cleanup_h5 hid_t type = H5Aget_type(attribute);
	sp_cleanup_h5 hid_t space = H5Aget_space(attribute);
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	char *text = NULL;
	int64_t first = 0;
	int r;

	if (type < 0 || n < 0)
		return -SP_E_DAMAGED;
	switch (H5Tget_class(type)) {
	case H5T_STRING:
		r = read_strings(attribute, type, space, (size_t)n, &text);
		break;
	case H5T_INTEGER:
		r = read_numbers(attribute, false, (size_t)n, &text, &first);
		break;
	case H5T_FLOAT:
		r = read_numbers(attribute, true, (size_t)n, &text, &first);
		break;
	default:
		text = strdup("(of a kind that is not shown)");
		r = text ? 0 : -ENOMEM;
	}
	if (!r && !text) {
		text = strdup("");
		r = text ? 0 : -ENOMEM;
	}
	if (r)
		return r;
	ret_fact->text = text;
	ret_fact->is_number =
		H5Tget_class(type) == H5T_INTEGER && H5Sget_simple_extent_type(space) == H5S_SCALAR;
	ret_fact->kind = ret_fact->is_number ? SP_FACT_NUMBER : SP_FACT_TEXT;
	ret_fact->number = ret_fact->is_number ? first : 0;
	return 0;
}

struct facts {
	struct sp_fact *facts;
	size_t n, capacity;
	int failure;
};

static herr_t add_fact(hid_t group, const char *key, const H5A_info_t *info, void *data)
{
	struct facts *facts = data;
	sp_cleanup_h5 hid_t attribute = H5Aopen(group, key, H5P_DEFAULT);
	struct sp_fact fact = {0};

	(void)info;
	facts->failure = attribute < 0 ? -SP_E_DAMAGED : read_attribute(attribute, &fact);
	if (!facts->failure && facts->n == MAX_FACTS)
		facts->failure = -SP_E_COUNT;
	if (!facts->failure)
		facts->failure = sp_array_reserve((void **)&facts->facts, &facts->capacity,
						  facts->n, sizeof(fact));
	if (!facts->failure) {
		fact.key = sp_utf8_repair(key);
		facts->failure = fact.key ? 0 : -ENOMEM;
	}
	if (facts->failure) {
		free((char *)fact.text);
		return -1;
	}
	facts->facts[facts->n++] = fact;
	return 0;
}

static int compare_facts(const void *a, const void *b)
{
	return strcmp(((const struct sp_fact *)a)->key, ((const struct sp_fact *)b)->key);
}

int sp_h5_read_facts(hid_t file, const char *path, struct sp_fact **ret_facts, size_t *ret_n,
		     struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	struct facts facts = {0};
	int r = sp_h5_exists(file, path, error);

	if (r < 0)
		return r;
	if (r) {
		hsize_t at = 0;

		group = H5Oopen(file, path, H5P_DEFAULT);
		if (group < 0)
			return sp_h5_read_failed(error, path);
		if (H5Aiterate2(group, H5_INDEX_NAME, H5_ITER_NATIVE, &at, add_fact, &facts) < 0) {
			sp_facts_free(facts.facts, facts.n);
			if (facts.failure && facts.failure != -SP_E_DAMAGED)
				return sp_error_set(
					error, facts.failure, 0,
					"%s has attributes that cannot be read: %s", path,
					facts.failure == -ENOMEM ? "no memory" : "too large");
			return sp_h5_read_failed(error, path);
		}
	}
	if (facts.n)
		qsort(facts.facts, facts.n, sizeof(*facts.facts), compare_facts);
	*ret_facts = facts.facts;
	*ret_n = facts.n;
	return 0;
}

static int read_named(hid_t object, const char *key, bool *ret_found, struct sp_fact *ret_fact,
		      bool *ret_string, struct sp_error *error)
{
	sp_cleanup_h5 hid_t attribute = -1;
	sp_cleanup_h5 hid_t type = -1;
	htri_t exists = H5Aexists(object, key);
	int r;

	if (exists < 0)
		return sp_h5_read_failed(error, key);
	if (exists) {
		attribute = H5Aopen(object, key, H5P_DEFAULT);
		type = attribute < 0 ? -1 : H5Aget_type(attribute);
		if (type < 0)
			return sp_h5_read_failed(error, key);
		*ret_string = H5Tget_class(type) == H5T_STRING;
		r = read_attribute(attribute, ret_fact);
		if (r)
			return sp_error_set(error, r, 0, "the attribute %s cannot be read", key);
	}
	*ret_found = exists;
	return 0;
}

int sp_h5_read_number_attribute(hid_t object, const char *key, bool *ret_found, int64_t *ret_number,
				struct sp_error *error)
{
	struct sp_fact fact = {0};
	bool found, string;
	int r = read_named(object, key, &found, &fact, &string, error);

	if (r)
		return r;
	free((char *)fact.text);
	if (found && !fact.is_number)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "the attribute %s is not an integer",
				    key);
	*ret_found = found;
	if (found)
		*ret_number = fact.number;
	return 0;
}

int sp_h5_read_text_attribute(hid_t object, const char *key, char **ret_text,
			      struct sp_error *error)
{
	struct sp_fact fact = {0};
	bool found, string = false;
	int r = read_named(object, key, &found, &fact, &string, error);

	if (r)
		return r;
	if (found && !string) {
		free((char *)fact.text);
		return sp_error_set(error, -SP_E_DAMAGED, 0, "the attribute %s is not a text", key);
	}
	*ret_text = (char *)fact.text;
	return 0;
}
