// SPDX-License-Identifier: BSD-2-Clause
/*
 * json_pull.c - the JSON reader: bytes in, tokens out.
 *
 * Invariant: tokens come in an order that makes sense, whatever the bytes.
 */
#include "formats/json_pull.h"

#include <stdlib.h>

#include "formats/json_scan.h"

/* ---- tokens ---- */

static bool in_object(const struct sp_json_pull *json)
{
	return json->depth && json->objects >> (json->depth - 1) & 1;
}

static int open_level(struct sp_json_pull *json, bool object, struct sp_json_token *token)
{
	uint64_t bit;

	if (json->depth == SP_JSON_MAX_DEPTH)
		return sp_json_scan_fail(json, -SP_E_COUNT, token->offset,
					 "is nested more than 64 levels deep");
	bit = UINT64_C(1) << json->depth++;
	json->objects = object ? json->objects | bit : json->objects & ~bit;
	json->state = SP_JSON_STATE_FIRST;
	token->kind = object ? SP_JSON_OBJECT : SP_JSON_ARRAY;
	return sp_json_scan_consume(json, 1);
}

static int close_level(struct sp_json_pull *json, struct sp_json_token *token)
{
	token->kind = in_object(json) ? SP_JSON_OBJECT_END : SP_JSON_ARRAY_END;
	json->depth--;
	json->state = json->depth ? SP_JSON_STATE_AFTER : SP_JSON_STATE_DONE;
	return sp_json_scan_consume(json, 1);
}

static int read_key(struct sp_json_pull *json, struct sp_json_token *token)
{
	int c, r;

	token->kind = SP_JSON_KEY;
	r = sp_json_scan_text(json, token);
	if (r)
		return r;
	c = sp_json_scan_skip_blanks(json);
	if (c != ':')
		return c < 0 ? sp_json_scan_ended(json)
			     : sp_json_scan_fail(json, -SP_E_DAMAGED, sp_json_scan_place(json),
						 "is not JSON: there is no colon behind a key");
	json->state = SP_JSON_STATE_VALUE;
	return sp_json_scan_consume(json, 1);
}

static int read_value(struct sp_json_pull *json, int c, struct sp_json_token *token)
{
	if (c == '{' || c == '[')
		return open_level(json, c == '{', token);
	json->state = json->depth ? SP_JSON_STATE_AFTER : SP_JSON_STATE_DONE;
	if (c == '"') {
		token->kind = SP_JSON_TEXT;
		return sp_json_scan_text(json, token);
	}
	if (c == '-' || (c >= '0' && c <= '9')) {
		token->kind = SP_JSON_NUMBER;
		return sp_json_scan_number(json, token);
	}
	return sp_json_scan_word(json, token);
}

static int next(struct sp_json_pull *json, struct sp_json_token *token)
{
	int c, r;

	if (json->error.code)
		return json->error.code;
	c = sp_json_scan_skip_blanks(json);
	if (json->state == SP_JSON_STATE_DONE) {
		if (c >= 0)
			return sp_json_scan_fail(json, -SP_E_TRAILING, sp_json_scan_place(json),
						 "goes on after the end of its JSON text");
		token->kind = SP_JSON_END;
		token->offset = sp_json_scan_place(json);
		return json->error.code;
	}
	if (c < 0)
		return sp_json_scan_ended(json);
	token->offset = sp_json_scan_place(json);
	if ((json->state == SP_JSON_STATE_AFTER || json->state == SP_JSON_STATE_FIRST) &&
	    c == (in_object(json) ? '}' : ']'))
		return close_level(json, token);
	if (json->state == SP_JSON_STATE_AFTER) {
		if (c != ',')
			return sp_json_scan_fail(json, -SP_E_DAMAGED, sp_json_scan_place(json),
						 in_object(json)
							 ? "is not JSON: there must be , or }"
							 : "is not JSON: there must be , or ]");
		r = sp_json_scan_consume(json, 1);
		if (r)
			return r;
		c = sp_json_scan_skip_blanks(json);
		if (c < 0)
			return sp_json_scan_ended(json);
		token->offset = sp_json_scan_place(json);
		json->state = in_object(json) ? SP_JSON_STATE_KEY : SP_JSON_STATE_VALUE;
	} else if (json->state == SP_JSON_STATE_FIRST) {
		json->state = in_object(json) ? SP_JSON_STATE_KEY : SP_JSON_STATE_VALUE;
	}
	if (json->state == SP_JSON_STATE_VALUE)
		return read_value(json, c, token);
	if (c != '"')
		return sp_json_scan_fail(json, -SP_E_DAMAGED, sp_json_scan_place(json),
					 "is not JSON: there must be a key");
	return read_key(json, token);
}

int sp_json_pull_next(struct sp_json_pull *json, struct sp_json_token *ret_token,
		      struct sp_error *error)
{
	struct sp_json_token token = {0};
	int r = next(json, &token);

	if (!r)
		*ret_token = token;
	else if (error)
		*error = json->error;
	return r;
}

bool sp_json_pull_failed(const struct sp_json_pull *json)
{
	return json->error.code;
}

int sp_json_pull_skip(struct sp_json_pull *json, const struct sp_json_token *token,
		      struct sp_error *error)
{
	struct sp_json_token inner;
	unsigned int depth = json->depth;
	int r = 0;

	if (token->kind != SP_JSON_OBJECT && token->kind != SP_JSON_ARRAY)
		return 0;
	while (!r && json->depth >= depth)
		r = sp_json_pull_next(json, &inner, error);
	return r;
}

/* The next element, if it is an integer of at most 18 digits that stands in the buffer as a whole:
 * most are. */
static bool quick_integer(struct sp_json_pull *json, int64_t *ret_number)
{
	const char *at = json->buffer + json->at, *digits;
	bool negative, first = json->state == SP_JSON_STATE_FIRST;
	int64_t number = 0;

	if (json->used - json->at < 32 || json->sink || json->error.code ||
	    (!first && json->state != SP_JSON_STATE_AFTER))
		return false;
	if (!first) {
		if (*at != ',')
			return false;
		at++;
		at += *at == ' ';
	}
	negative = *at == '-';
	at += negative;
	digits = at;
	while (*at >= '0' && *at <= '9' && at - digits < 18)
		number = 10 * number + (*at++ - '0');
	if (at == digits || (*digits == '0' && at - digits > 1) || (*at != ',' && *at != ']'))
		return false;
	*ret_number = negative ? -number : number;
	json->at = (size_t)(at - json->buffer);
	json->state = SP_JSON_STATE_AFTER;
	return true;
}

int sp_json_pull_integers(struct sp_json_pull *json, int64_t *ret_values, size_t max, size_t *ret_n,
			  struct sp_error *error)
{
	size_t n = 0;

	while (n < max) {
		struct sp_json_token token;
		int r;

		if (quick_integer(json, &ret_values[n])) {
			n++;
			continue;
		}
		r = sp_json_pull_next(json, &token, error);
		if (r)
			return r;
		if (token.kind == SP_JSON_ARRAY_END)
			break;
		if (token.kind != SP_JSON_NUMBER)
			r = sp_json_scan_fail(json, -SP_E_DAMAGED, token.offset,
					      "has something else where only whole numbers may be");
		else if (!token.is_integer)
			r = sp_json_scan_fail(
				json, -SP_E_COUNT, token.offset,
				"has a number that is no 64-bit integer, where one must be");
		if (r) {
			if (error)
				*error = json->error;
			return r;
		}
		ret_values[n++] = token.number;
	}
	*ret_n = n;
	return 0;
}

void sp_json_pull_copy(struct sp_json_pull *json, sp_json_sink sink, void *data)
{
	json->sink = sink;
	json->sink_data = data;
}

/* ---- opening ---- */

static struct sp_json_pull *create(unsigned int flags, struct sp_error *error)
{
	struct sp_json_pull *json = calloc(1, sizeof(*json));

	if (json)
		json->flags = flags;
	else
		sp_error_set(error, -ENOMEM, 0, "no memory");
	return json;
}

int sp_json_pull_open(sp_json_refill refill, void *data, unsigned int flags,
		      struct sp_json_pull **ret_json, struct sp_error *error)
{
	struct sp_json_pull *json = create(flags, error);

	if (!json)
		return -ENOMEM;
	json->refill = refill;
	json->refill_data = data;
	json->buffer = json->own = malloc(SP_JSON_BUFFER);
	if (!json->own) {
		sp_json_pull_close(json);
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	*ret_json = json;
	return 0;
}

int sp_json_pull_open_text(const char *text, size_t size, unsigned int flags,
			   struct sp_json_pull **ret_json, struct sp_error *error)
{
	struct sp_json_pull *json = create(flags, error);

	if (!json)
		return -ENOMEM;
	json->buffer = text;
	json->used = size;
	*ret_json = json;
	return 0;
}

void sp_json_pull_close(struct sp_json_pull *json)
{
	if (!json)
		return;
	if (json->c_locale)
		freelocale(json->c_locale);
	free(json->text);
	free(json->own);
	free(json);
}
