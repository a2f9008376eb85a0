// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_facts.c - objects of a JSON profile whose keys anybody may choose, as facts.
 *
 * Invariant: every JSON value becomes a fact. What no kind of fact fits (objects, lists of lists or
 * of different kinds) is a text: the JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

static int no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "no memory");
}

/* 1 is an integer here, 1.0 is not: a writer meant a real number. */
static bool is_integer(const struct sp_json_token *token)
{
	return token->kind == SP_JSON_NUMBER && token->is_integer && !strpbrk(token->text, ".eE");
}

/* A number or null as text; NULL without memory. */
static char *number_text(const struct sp_json_token *token)
{
	char text[40];

	if (is_integer(token))
		snprintf(text, sizeof(text), "%" PRId64, token->number);
	else
		snprintf(text, sizeof(text), "%.17g",
			 token->kind == SP_JSON_NULL ? NAN : token->real);
	return strdup(text);
}

/* ---- lists ---- */

enum element { ELEMENT_TEXT = 1, ELEMENT_INTEGER = 2, ELEMENT_REAL = 4, ELEMENT_OTHER = 8 };

static enum element element_kind(const struct sp_json_token *token)
{
	switch (token->kind) {
	case SP_JSON_TEXT:
		return ELEMENT_TEXT;
	case SP_JSON_NUMBER:
		return is_integer(token) ? ELEMENT_INTEGER : ELEMENT_REAL;
	case SP_JSON_NULL:
		return ELEMENT_REAL;
	default:
		return ELEMENT_OTHER;
	}
}

/* Reads a list's elements; *ret_kinds has a bit for each kind that was met. */
static int read_elements(struct sp_json_profile *json, struct sp_json_texts *items,
			 unsigned int *ret_kinds, struct sp_error *error)
{
	unsigned int kinds = 0;

	for (;;) {
		struct sp_json_token value;
		enum element kind;
		int r = sp_json_pull_next(json->json, &value, error);

		if (r)
			return r;
		if (value.kind == SP_JSON_ARRAY_END)
			break;
		kind = element_kind(&value);
		kinds |= kind;
		if (kind == ELEMENT_OTHER) {
			r = sp_json_pull_skip(json->json, &value, error);
			if (r)
				return r;
			continue;
		}
		if (sp_array_reserve((void **)&items->values, &items->capacity, items->n,
				     sizeof(*items->values)))
			return no_memory(error);
		items->values[items->n] = NULL;
		if (kind == ELEMENT_TEXT)
			r = sp_json_read_text(json, &value, &items->values[items->n], error);
		else if (!(items->values[items->n] = number_text(&value)))
			r = no_memory(error);
		items->n++;
		if (r)
			return r;
	}
	*ret_kinds = kinds;
	return 0;
}

static char *join(const struct sp_json_texts *items)
{
	size_t size = 1;
	char *text, *at;

	for (size_t i = 0; i < items->n; i++)
		size += strlen(items->values[i]) + 2;
	text = at = malloc(size);
	if (!text)
		return NULL;
	*at = '\0';
	for (size_t i = 0; i < items->n; i++)
		at = stpcpy(stpcpy(at, i ? ", " : ""), items->values[i]);
	return text;
}

/* A list is texts, integers or real numbers, or else the JSON as it stands. */
static int read_list(struct sp_json_profile *json, struct sp_fact *fact, struct sp_error *error)
{
	struct sp_json_texts items = {0};
	unsigned int kinds = 0;
	int r = read_elements(json, &items, &kinds, error);

	if (!r && (kinds & ELEMENT_OTHER || (kinds & ELEMENT_TEXT && kinds != ELEMENT_TEXT))) {
		sp_json_free_texts(&items);
		fact->kind = SP_FACT_TEXT;
		return 0;
	}
	if (!r && !(fact->text = join(&items)))
		r = no_memory(error);
	if (r) {
		sp_json_free_texts(&items);
		return r;
	}
	fact->kind = kinds & ELEMENT_REAL      ? SP_FACT_REALS
		     : kinds & ELEMENT_INTEGER ? SP_FACT_NUMBERS
					       : SP_FACT_TEXTS;
	fact->items = (const char *const *)items.values;
	fact->n_items = items.n;
	return 0;
}

/* ---- facts ---- */

/* A list or an object: read while it is copied, for the case that it becomes a text. */
static int read_compound(struct sp_json_profile *json, const struct sp_json_token *token,
			 struct sp_fact *fact, struct sp_error *error)
{
	struct sp_json_raw raw = {0};
	bool list = token->kind == SP_JSON_ARRAY;
	int r = sp_json_raw_append(&raw, list ? "[" : "{", 1, error);

	if (!r) {
		sp_json_pull_copy(json->json, sp_json_raw_append, &raw);
		r = list ? read_list(json, fact, error)
			 : sp_json_pull_skip(json->json, token, error);
		sp_json_pull_copy(json->json, NULL, NULL);
	}
	if (!r && !fact->text) {
		fact->text = raw.text;
		raw.text = NULL;
	}
	free(raw.text);
	return r;
}

static int read_fact(struct sp_json_profile *json, struct sp_fact *fact, struct sp_error *error)
{
	struct sp_json_token token;
	int r = sp_json_pull_next(json->json, &token, error);

	if (r)
		return r;
	switch (token.kind) {
	case SP_JSON_ARRAY:
	case SP_JSON_OBJECT:
		return read_compound(json, &token, fact, error);
	case SP_JSON_TEXT:
		return sp_json_read_text(json, &token, &fact->text, error);
	case SP_JSON_BOOL:
		fact->kind = SP_FACT_BOOL;
		fact->number = token.number;
		fact->text = strdup(token.number ? "true" : "false");
		break;
	default:
		fact->is_number = is_integer(&token);
		fact->kind = fact->is_number ? SP_FACT_NUMBER : SP_FACT_REAL;
		fact->number = fact->is_number ? token.number : 0;
		fact->real = token.kind == SP_JSON_NULL ? NAN : token.real;
		fact->text = number_text(&token);
	}
	return fact->text ? 0 : no_memory(error);
}

static int compare_facts(const void *a, const void *b)
{
	return strcmp(((const struct sp_fact *)a)->key, ((const struct sp_fact *)b)->key);
}

static int read_all(struct sp_json_profile *json, struct sp_profile_facts *facts, size_t *capacity,
		    struct sp_error *error)
{
	for (;;) {
		struct sp_json_token key;
		struct sp_fact *fact;
		int r = sp_json_pull_next(json->json, &key, error);

		if (r || key.kind == SP_JSON_OBJECT_END)
			return r;
		if (key.has_nul)
			return sp_json_refuse(json, -SP_E_UTF8, key.offset, error,
					      "has a key with a NUL character");
		if (sp_array_reserve((void **)&facts->facts, capacity, facts->n,
				     sizeof(*facts->facts)))
			return no_memory(error);
		fact = &facts->facts[facts->n++];
		*fact = (struct sp_fact){.key = strdup(key.text)};
		if (!fact->key)
			return no_memory(error);
		r = read_fact(json, fact, error);
		if (r)
			return r;
	}
}

int sp_json_read_facts(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	struct sp_profile_facts *facts = target;
	size_t capacity = 0;
	int r;

	if (token->kind != SP_JSON_OBJECT)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "must be an object");
	r = read_all(json, facts, &capacity, error);
	if (r)
		return r;
	if (facts->n)
		qsort(facts->facts, facts->n, sizeof(*facts->facts), compare_facts);
	for (size_t i = 1; i < facts->n; i++)
		if (strcmp(facts->facts[i].key, facts->facts[i - 1].key) == 0)
			return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
					      "the key \"%.60s\" comes twice", facts->facts[i].key);
	return 0;
}
