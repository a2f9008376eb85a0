// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_facts.c - attributes of HDF5 groups as facts.
 *
 * Invariant: an attribute becomes what h5py makes of it; one of a kind that is not understood
 * becomes a fact that says so: it never makes the file unreadable, since metadata is whatever its
 * writer found.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
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

void sp_h5_fact_free(struct sp_fact *fact)
{
	free((char *)fact->key);
	free((char *)fact->text);
	sp_h5_free_texts((char **)(uintptr_t)fact->items, fact->n_items);
}

/* The elements of an attribute, each as text. */
struct elements {
	char **texts;
	size_t n;
	enum sp_fact_kind kind; /* of one: TEXT, NUMBER, REAL, BOOL */
	int64_t number;		/* of the first */
	double real;
};

static void elements_free(struct elements *elements)
{
	sp_h5_free_texts(elements->texts, elements->n);
}
#define cleanup_elements __attribute__((cleanup(elements_free)))

static int read_strings(hid_t attribute, hid_t type, hid_t space, struct elements *elements)
{
	bool variable = H5Tis_variable_str(type) > 0;
	bool spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
	size_t n = elements->n, size = variable ? sizeof(char *) : H5Tget_size(type);
	sp_cleanup_free char *raw = NULL;
	sp_cleanup_free char *text = NULL;
	int r = 0;

	elements->kind = SP_FACT_TEXT;
	if (!size || size > MAX_BYTES / n)
		return -SP_E_COUNT;
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
			size_t used = strnlen(raw + i * size, size);

			while (spaces && used && raw[i * size + used - 1] == ' ')
				used--;
			memcpy(text, raw + i * size, used);
			text[used] = '\0';
		}
		elements->texts[i] = sp_utf8_repair(one ? one : "");
		r = elements->texts[i] ? 0 : -ENOMEM;
	}
	if (variable)
		H5Dvlen_reclaim(type, space, H5P_DEFAULT, raw);
	return r;
}

/* h5py stores a truth value as an enumeration of FALSE and TRUE. */
static bool is_bool(hid_t type)
{
	static const char *const names[] = {"FALSE", "TRUE"};

	if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		signed char value = -1;

		if (H5Tenum_valueof(type, names[i], &value) < 0 || value != (signed char)i) {
			H5Eclear2(H5E_DEFAULT);
			return false;
		}
	}
	return true;
}

static bool is_unsigned(hid_t type)
{
	sp_cleanup_h5 hid_t base =
		H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);

	return base >= 0 && H5Tget_sign(base) == H5T_SGN_NONE;
}

static int read_integers(hid_t attribute, hid_t type, struct elements *elements)
{
	bool is_signed = !is_unsigned(type), truth = is_bool(type);
	sp_cleanup_free int64_t *values = calloc(elements->n, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (H5Aread(attribute, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, values) < 0)
		return -SP_E_DAMAGED;
	elements->kind = truth && elements->n == 1 ? SP_FACT_BOOL : SP_FACT_NUMBER;
	elements->number = values[0];
	for (size_t i = 0; i < elements->n; i++) {
		int made = is_signed
				   ? asprintf(&elements->texts[i], "%" PRId64, values[i])
				   : asprintf(&elements->texts[i], "%" PRIu64, (uint64_t)values[i]);

		if (made < 0) {
			elements->texts[i] = NULL;
			return -ENOMEM;
		}
		if (!is_signed && values[i] < 0) /* beyond int64 */
			elements->kind = SP_FACT_TEXT;
	}
	return 0;
}

static int read_reals(hid_t attribute, struct elements *elements)
{
	sp_cleanup_free double *values = calloc(elements->n, sizeof(*values));

	if (!values)
		return -ENOMEM;
	if (H5Aread(attribute, H5T_NATIVE_DOUBLE, values) < 0)
		return -SP_E_DAMAGED;
	elements->kind = SP_FACT_REAL;
	elements->real = values[0];
	for (size_t i = 0; i < elements->n; i++) {
		int made = isnan(values[i]) ? asprintf(&elements->texts[i], "nan")
					    : asprintf(&elements->texts[i], "%.17g", values[i]);

		if (made < 0) {
			elements->texts[i] = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Texts joined with ", ", to be freed. */
static char *join(char **texts, size_t n)
{
	char *joined = NULL;
	size_t size;
	FILE *stream = open_memstream(&joined, &size);
	bool failed = !stream;

	for (size_t i = 0; stream && i < n; i++)
		failed |= fprintf(stream, "%s%s", i ? ", " : "", texts[i]) < 0;
	if (stream)
		failed |= fclose(stream) != 0;
	if (failed) {
		free(joined);
		return NULL;
	}
	return joined;
}

/* A list, or the one element of a scalar; takes the elements' texts. */
static int make_fact(struct elements *elements, bool scalar, struct sp_fact *ret_fact)
{
	static const enum sp_fact_kind lists[] = {
		[SP_FACT_TEXT] = SP_FACT_TEXTS,
		[SP_FACT_NUMBER] = SP_FACT_NUMBERS,
		[SP_FACT_REAL] = SP_FACT_REALS,
		[SP_FACT_BOOL] = SP_FACT_NUMBERS,
	};
	struct sp_fact fact = {.kind = scalar ? elements->kind : lists[elements->kind]};

	if (scalar && elements->kind == SP_FACT_BOOL)
		fact.text = strdup(elements->number ? "true" : "false");
	else
		fact.text = join(elements->texts, elements->n);
	if (!fact.text)
		return -ENOMEM;
	if (scalar) {
		bool whole = fact.kind == SP_FACT_NUMBER || fact.kind == SP_FACT_BOOL;

		fact.number = whole ? elements->number : 0;
		fact.is_number = fact.kind == SP_FACT_NUMBER;
		fact.real = fact.kind == SP_FACT_REAL ? elements->real : 0;
	} else if (elements->n) {
		fact.items = (const char *const *)elements->texts;
		fact.n_items = elements->n;
		*elements = (struct elements){0};
	}
	*ret_fact = fact;
	return 0;
}

int sp_h5_read_attribute(hid_t attribute, struct sp_fact *ret_fact)
{
	sp_cleanup_h5 hid_t type = H5Aget_type(attribute);
	sp_cleanup_h5 hid_t space = H5Aget_space(attribute);
	H5S_class_t shape = space < 0 ? H5S_NO_CLASS : H5Sget_simple_extent_type(space);
	hssize_t n = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
	H5T_class_t class = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
	cleanup_elements struct elements elements = {0};
	bool small = type >= 0 && H5Tget_size(type) <= 8;
	int r = 0;

	if (type < 0 || n < 0)
		return -SP_E_DAMAGED;
	if (n > MAX_ELEMENTS)
		return -SP_E_COUNT;
	elements.texts = calloc((size_t)n + 1, sizeof(*elements.texts));
	if (!elements.texts)
		return -ENOMEM;
	elements.n = (size_t)n;
	elements.kind = class == H5T_FLOAT			    ? SP_FACT_REAL
			: class == H5T_INTEGER || class == H5T_ENUM ? SP_FACT_NUMBER
								    : SP_FACT_TEXT;
	if (n && class == H5T_STRING)
		r = read_strings(attribute, type, space, &elements);
	else if (n && (class == H5T_INTEGER || class == H5T_ENUM) && small)
		r = read_integers(attribute, type, &elements);
	else if (n && class == H5T_FLOAT)
		r = read_reals(attribute, &elements);
	else if (n) {
		sp_h5_free_texts(elements.texts, elements.n);
		elements = (struct elements){.texts = calloc(2, sizeof(*elements.texts)), .n = 1};
		if (elements.texts)
			elements.texts[0] = strdup("(of a kind that is not shown)");
		else
			elements.n = 0;
		shape = H5S_SCALAR;
		r = elements.texts && elements.texts[0] ? 0 : -ENOMEM;
	}
	/* A null data space has no element, and is nothing rather than a list. */
	if (!r && shape == H5S_NULL)
		elements.kind = SP_FACT_TEXT;
	return r ? r : make_fact(&elements, shape != H5S_SIMPLE, ret_fact);
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
	facts->failure = attribute < 0 ? -SP_E_DAMAGED : sp_h5_read_attribute(attribute, &fact);
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
		sp_h5_fact_free(&fact);
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
