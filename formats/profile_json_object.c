// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_object.c - objects with known keys, lists, and the values in them.
 *
 * Invariant: a reader leaves behind it exactly the value that it was given, so that what follows is
 * read from the right place.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

int sp_json_refuse(const struct sp_json_profile *json, int code, uint64_t offset,
		   struct sp_error *error, const char *format, ...)
{
	char words[160], place[120] = "";
	size_t used = 0;
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (json->part && json->index != SP_JSON_NO_INDEX)
		used = (size_t)snprintf(place, sizeof(place), "element %" PRIu64 " of \"%s\"%s",
					json->index, json->part, json->key ? ", " : ": ");
	else if (json->part && json->part != json->key)
		used = (size_t)snprintf(place, sizeof(place), "\"%s\"%s", json->part,
					json->key ? ", " : ": ");
	if (json->key)
		snprintf(place + used, sizeof(place) - used, "\"%s\": ", json->key);
	return sp_error_set(error, code, offset, "%s%s", place, words);
}

/* ---- objects ---- */

static int read_field(struct sp_json_profile *json, const struct sp_json_field *field, void *target,
		      bool *ret_there, struct sp_error *error)
{
	const char *outer = json->key;
	struct sp_json_token token;
	int r = sp_json_pull_next(json->json, &token, error);

	*ret_there = !r && token.kind != SP_JSON_NULL;
	if (!*ret_there)
		return r;
	json->key = field->key;
	r = field->read(json, &token, (char *)target + field->offset, error);
	json->key = outer;
	return r;
}

int sp_json_read_object(struct sp_json_profile *json, const struct sp_json_token *token,
			const struct sp_json_field *fields, size_t n, void *target,
			uint64_t *ret_seen, struct sp_error *error)
{
	uint64_t met = 0, seen = 0, begin = token->offset;
	int r = 0;

	if (token->kind != SP_JSON_OBJECT)
		return sp_json_refuse(json, -SP_E_DAMAGED, begin, error, "must be an object");
	for (;;) {
		struct sp_json_token key;
		bool there = false;
		size_t i;

		r = sp_json_pull_next(json->json, &key, error);
		if (r || key.kind == SP_JSON_OBJECT_END)
			break;
		for (i = 0; i < n && strcmp(fields[i].key, key.text) != 0; i++)
			;
		if (i == n || key.has_nul) {
			r = sp_json_pull_next(json->json, &key, error);
			if (!r)
				r = sp_json_pull_skip(json->json, &key, error);
		} else if (met >> i & 1) {
			r = sp_json_refuse(json, -SP_E_DAMAGED, key.offset, error,
					   "the key \"%s\" comes twice", fields[i].key);
		} else {
			met |= UINT64_C(1) << i;
			r = read_field(json, &fields[i], target, &there, error);
			seen |= (uint64_t)there << i;
		}
		if (r)
			break;
	}
	for (size_t i = 0; !r && i < n; i++)
		if (fields[i].required && !(seen >> i & 1))
			r = sp_json_refuse(json, -SP_E_MISSING, begin, error, "has no \"%s\"",
					   fields[i].key);
	if (!r && ret_seen)
		*ret_seen = seen;
	return r;
}

/* ---- values ---- */

static int wrong(struct sp_json_profile *json, const struct sp_json_token *token, int code,
		 const char *what, struct sp_error *error)
{
	return sp_json_refuse(json, code, token->offset, error, "must be %s", what);
}

int sp_json_read_text(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	char **text = target;
	char *copy;

	if (token->kind != SP_JSON_TEXT)
		return wrong(json, token, -SP_E_DAMAGED, "a text", error);
	if (token->has_nul)
		return wrong(json, token, -SP_E_UTF8, "a text without NUL characters", error);
	copy = strdup(token->text);
	if (!copy)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	free(*text);
	*text = copy;
	return 0;
}

int sp_json_read_integer(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error)
{
	if (token->kind != SP_JSON_NUMBER)
		return wrong(json, token, -SP_E_DAMAGED, "a whole number", error);
	if (!token->is_integer)
		return wrong(json, token, -SP_E_COUNT, "a whole number of 64 bits", error);
	*(int64_t *)target = token->number;
	return 0;
}

int sp_json_read_bool(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	if (token->kind != SP_JSON_BOOL)
		return wrong(json, token, -SP_E_DAMAGED, "true or false", error);
	*(bool *)target = token->number;
	return 0;
}

int sp_json_read_real(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	if (token->kind != SP_JSON_NUMBER)
		return wrong(json, token, -SP_E_DAMAGED, "a number", error);
	*(double *)target = token->real;
	return 0;
}

/* ---- lists ---- */

int sp_json_read_list(struct sp_json_profile *json, const struct sp_json_token *token,
		      sp_json_value element, void *target, struct sp_error *error)
{
	uint64_t outer = json->index;
	int r = 0;

	if (token->kind != SP_JSON_ARRAY)
		return wrong(json, token, -SP_E_DAMAGED, "a list", error);
	for (json->index = 0;; json->index++) {
		struct sp_json_token value;

		r = sp_json_pull_next(json->json, &value, error);
		if (!r && value.kind != SP_JSON_ARRAY_END)
			r = element(json, &value, target, error);
		if (r || value.kind == SP_JSON_ARRAY_END)
			break;
	}
	json->index = outer;
	return r;
}

int sp_json_read_integers(struct sp_json_profile *json, const struct sp_json_token *token,
			  void *target, struct sp_error *error)
{
	struct sp_json_integers *integers = target;
	size_t room, got;
	int r;

	if (token->kind != SP_JSON_ARRAY)
		return wrong(json, token, -SP_E_DAMAGED, "a list of whole numbers", error);
	do {
		if (sp_array_reserve((void **)&integers->values, &integers->capacity, integers->n,
				     sizeof(*integers->values)))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		room = integers->capacity - integers->n;
		r = sp_json_pull_integers(json->json, integers->values + integers->n, room, &got,
					  error);
		if (r)
			return r;
		integers->n += got;
	} while (got == room);
	return 0;
}

int sp_json_read_reals(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	struct sp_json_reals *reals = target;
	unsigned int depth = 1;

	if (token->kind != SP_JSON_ARRAY)
		return wrong(json, token, -SP_E_DAMAGED, "a list of numbers", error);
	while (depth) {
		struct sp_json_token value;
		int r = sp_json_pull_next(json->json, &value, error);

		if (r)
			return r;
		if (value.kind == SP_JSON_ARRAY) {
			depth++;
			continue;
		}
		if (value.kind == SP_JSON_ARRAY_END) {
			depth--;
			continue;
		}
		if (value.kind != SP_JSON_NUMBER && value.kind != SP_JSON_NULL)
			return wrong(json, &value, -SP_E_DAMAGED, "a list of numbers", error);
		if (sp_array_reserve((void **)&reals->values, &reals->capacity, reals->n,
				     sizeof(*reals->values)))
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		reals->values[reals->n++] = value.kind == SP_JSON_NULL ? NAN : value.real;
	}
	return 0;
}

static int add_text(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		    struct sp_error *error)
{
	struct sp_json_texts *texts = target;

	if (sp_array_reserve((void **)&texts->values, &texts->capacity, texts->n,
			     sizeof(*texts->values)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	texts->values[texts->n] = NULL;
	return sp_json_read_text(json, token, &texts->values[texts->n++], error);
}

int sp_json_read_texts(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	return sp_json_read_list(json, token, add_text, target, error);
}

void sp_json_free_texts(struct sp_json_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++)
		free(texts->values[i]);
	free(texts->values);
	*texts = (struct sp_json_texts){0};
}

int sp_json_raw_append(void *data, const char *bytes, size_t size, struct sp_error *error)
{
	struct sp_json_raw *raw = data;

	while (raw->capacity - raw->size <= size) {
		size_t grown = raw->capacity ? 2 * raw->capacity : 64;
		char *moved = realloc(raw->text, grown);

		if (!moved)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		raw->text = moved;
		raw->capacity = grown;
	}
	memcpy(raw->text + raw->size, bytes, size);
	raw->size += size;
	raw->text[raw->size] = '\0';
	return 0;
}

/* ---- ranks ---- */

static int parse_rank(const struct sp_json_token *key, uint32_t *ret_rank)
{
	uint64_t rank = 0;

	if (!key->size || key->size > 10 || (key->text[0] == '0' && key->size > 1))
		return -SP_E_DAMAGED;
	for (size_t i = 0; i < key->size; i++) {
		if (key->text[i] < '0' || key->text[i] > '9')
			return -SP_E_DAMAGED;
		rank = 10 * rank + (uint64_t)(key->text[i] - '0');
	}
	if (rank > UINT32_MAX)
		return -SP_E_DAMAGED;
	*ret_rank = (uint32_t)rank;
	return 0;
}

int sp_json_read_ranks(struct sp_json_profile *json, const struct sp_json_token *token,
		       sp_json_rank_value value, struct sp_error *error)
{
	struct sp_intern ranks = {0};
	int r = 0;

	if (token->kind != SP_JSON_OBJECT)
		return wrong(json, token, -SP_E_DAMAGED, "an object with a key for each rank",
			     error);
	while (!r) {
		struct sp_json_token next;
		uint32_t rank = 0, number;
		bool new = false;

		r = sp_json_pull_next(json->json, &next, error);
		if (r || next.kind == SP_JSON_OBJECT_END)
			break;
		if (parse_rank(&next, &rank))
			r = sp_json_refuse(json, -SP_E_DAMAGED, next.offset, error,
					   "has the key \"%.40s\", which is no rank", next.text);
		else if (sp_intern_add(&ranks, next.text, &number, &new))
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
		else if (!new)
			r = sp_json_refuse(json, -SP_E_DAMAGED, next.offset, error,
					   "has rank %" PRIu32 " twice", rank);
		if (!r)
			r = sp_json_pull_next(json->json, &next, error);
		if (!r)
			r = value(json, &next, rank, error);
	}
	sp_intern_free(&ranks);
	return r;
}
