// SPDX-License-Identifier: BSD-2-Clause
/*
 * json_scan.c - bytes, texts, numbers and words of JSON.
 *
 * Invariant: "at" never passes "used"; a failure is kept, and every later call gives it again.
 */
#include "formats/json_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/utf8.h"
#include "formats/util.h"

enum { MAX_NUMBER = 8192 };

/* ---- bytes ---- */

uint64_t sp_json_scan_place(const struct sp_json_pull *json)
{
	return json->base + json->at;
}

int sp_json_scan_fail(struct sp_json_pull *json, int code, uint64_t offset, const char *words)
{
	return sp_error_set(&json->error, code, offset, "%s", words);
}

/* The next byte, not consumed; -1 at the end of the text or on a failure: then sp_json_scan_ended()
 * says which, where a byte had to come. */
static int peek(struct sp_json_pull *json)
{
	size_t got = 0;
	int r;

	if (json->at < json->used)
		return (unsigned char)json->buffer[json->at];
	if (!json->refill || json->error.code)
		return -1;
	json->base += json->used;
	json->at = json->used = 0;
	r = json->refill(json->refill_data, json->own, SP_JSON_BUFFER, &got, &json->error);
	if (r) {
		json->error.code = r;
		return -1;
	}
	json->used = got;
	return got ? (unsigned char)json->buffer[0] : -1;
}

int sp_json_scan_ended(struct sp_json_pull *json)
{
	if (json->error.code)
		return json->error.code;
	return sp_error_set(&json->error, -SP_E_TRUNCATED, sp_json_scan_place(json),
			    "ends in the middle of its JSON text: it is truncated");
}

int sp_json_scan_consume(struct sp_json_pull *json, size_t n)
{
	int r = 0;

	if (json->sink) {
		r = json->sink(json->sink_data, json->buffer + json->at, n, &json->error);
		if (r)
			json->error.code = r;
	}
	json->at += n;
	return r;
}

int sp_json_scan_skip_blanks(struct sp_json_pull *json)
{
	int c;

	while ((c = peek(json)) == ' ' || c == '\n' || c == '\r' || c == '\t')
		json->at++;
	return c;
}

static int keep(struct sp_json_pull *json, const char *bytes, size_t n)
{
	if (n >= SP_JSON_MAX_TEXT - json->size)
		return sp_json_scan_fail(json, -SP_E_COUNT, sp_json_scan_place(json),
					 "has a text of more than 16 MiB");
	while (json->capacity - json->size <= n) {
		size_t grown = json->capacity ? 2 * json->capacity : 256;
		char *moved = realloc(json->text, grown);

		if (!moved)
			return sp_json_scan_fail(json, -ENOMEM, 0, "no memory");
		json->text = moved;
		json->capacity = grown;
	}
	memcpy(json->text + json->size, bytes, n);
	json->size += n;
	json->text[json->size] = '\0';
	return 0;
}

static int keep_nothing(struct sp_json_pull *json)
{
	json->size = 0;
	return keep(json, "", 0);
}

/* ---- texts ---- */

static int read_hex(struct sp_json_pull *json, uint32_t *ret_unit)
{
	uint32_t unit = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(json), digit, r;

		if (c >= '0' && c <= '9')
			digit = c - '0';
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			digit = (c | 0x20) - 'a' + 10;
		else
			return c < 0 ? sp_json_scan_ended(json)
				     : sp_json_scan_fail(json, -SP_E_DAMAGED,
							 sp_json_scan_place(json),
							 "is not JSON: \\u must have four "
							 "hexadecimal digits");
		unit = unit << 4 | (uint32_t)digit;
		r = sp_json_scan_consume(json, 1);
		if (r)
			return r;
	}
	*ret_unit = unit;
	return 0;
}

static int keep_character(struct sp_json_pull *json, uint32_t c)
{
	char bytes[4];
	size_t n;

	if (c < 0x80) {
		bytes[0] = (char)c;
		n = 1;
	} else if (c < 0x800) {
		bytes[0] = (char)(0xc0 | c >> 6);
		n = 2;
	} else if (c < 0x10000) {
		bytes[0] = (char)(0xe0 | c >> 12);
		n = 3;
	} else {
		bytes[0] = (char)(0xf0 | c >> 18);
		n = 4;
	}
	for (size_t i = 1; i < n; i++)
		bytes[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	return keep(json, bytes, n);
}

/* Behind a backslash. @high is the first half of a surrogate pair whose second may come; what was
 * half a pair only becomes U+FFFD. */
static int read_escape(struct sp_json_pull *json, uint32_t *high)
{
	static const char codes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	int c = peek(json), r;
	const char *code = c > 0 ? strchr(codes, c) : NULL;
	uint32_t unit = code ? (unsigned char)values[code - codes] : 0;

	if (c < 0)
		return sp_json_scan_ended(json);
	if (!code && c != 'u')
		return sp_json_scan_fail(json, -SP_E_DAMAGED, sp_json_scan_place(json),
					 "is not JSON: a text has an escape that does not exist");
	r = sp_json_scan_consume(json, 1);
	if (!r && !code)
		r = read_hex(json, &unit);
	if (r)
		return r;
	if (*high && unit >= 0xdc00 && unit <= 0xdfff) {
		unit = 0x10000 + ((*high - 0xd800) << 10) + (unit - 0xdc00);
		*high = 0;
	} else if (*high) {
		r = keep_character(json, 0xfffd);
		*high = 0;
	}
	if (r)
		return r;
	if (unit >= 0xd800 && unit <= 0xdbff) {
		*high = unit;
		return 0;
	}
	return keep_character(json, unit >= 0xdc00 && unit <= 0xdfff ? 0xfffd : unit);
}

int sp_json_scan_text(struct sp_json_pull *json, struct sp_json_token *token)
{
	uint32_t high = 0;
	bool ascii = true;
	int r = sp_json_scan_consume(json, 1);

	if (!r)
		r = keep_nothing(json);
	while (!r) {
		size_t end = json->at;
		int c = peek(json);

		if (c < 0)
			return sp_json_scan_ended(json);
		end = json->at;
		while (end < json->used) {
			unsigned char byte = (unsigned char)json->buffer[end];

			if (byte == '"' || byte == '\\' || byte < 0x20)
				break;
			ascii &= byte < 0x80;
			end++;
		}
		if (high && (end > json->at || c == '"')) {
			r = keep_character(json, 0xfffd);
			high = 0;
		}
		if (!r)
			r = keep(json, json->buffer + json->at, end - json->at);
		if (!r && end > json->at)
			r = sp_json_scan_consume(json, end - json->at);
		if (r || end == json->used)
			continue;
		c = (unsigned char)json->buffer[end];
		if (c < 0x20)
			return sp_json_scan_fail(
				json, -SP_E_DAMAGED, sp_json_scan_place(json),
				"is not JSON: a text has a control character in it");
		r = sp_json_scan_consume(json, 1);
		if (r || c == '"')
			break;
		r = read_escape(json, &high);
	}
	if (r)
		return r;
	if (!ascii && !sp_utf8_valid(json->text, json->size))
		return sp_json_scan_fail(json, -SP_E_UTF8, token->offset,
					 "has a text that is not UTF-8");
	token->text = json->text;
	token->size = json->size;
	token->has_nul = memchr(json->text, '\0', json->size) != NULL;
	return 0;
}

/* ---- numbers and words ---- */

/* The integer that the digits make, if an int64 can hold it. */
static bool parse_integer(const char *text, int64_t *ret_number)
{
	bool negative = *text == '-';
	int64_t number = 0;

	for (text += negative; *text; text++) {
		int digit = *text - '0';

		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_sub_overflow(number, digit, &number))
			return false;
	}
	if (!negative && number == INT64_MIN)
		return false;
	*ret_number = negative ? number : -number;
	return true;
}

/* RFC 8259's grammar; *ret_whole: neither fraction nor exponent. */
static bool number_is_good(const char *text, bool *ret_whole)
{
	static const char digits[] = "0123456789";
	size_t n;

	text += *text == '-';
	n = strspn(text, digits);
	if (!n || (*text == '0' && n > 1))
		return false;
	text += n;
	*ret_whole = !*text;
	if (*text == '.') {
		n = strspn(++text, digits);
		if (!n)
			return false;
		text += n;
	}
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '+' || *text == '-';
		n = strspn(text, digits);
		if (!n)
			return false;
		text += n;
	}
	return !*text;
}

int sp_json_scan_word(struct sp_json_pull *json, struct sp_json_token *token)
{
	static const struct {
		const char *word;
		enum sp_json_kind kind;
		double real;
		unsigned int flags;
	} words[] = {
		{"true", SP_JSON_BOOL, 1, 0},
		{"false", SP_JSON_BOOL, 0, 0},
		{"null", SP_JSON_NULL, 0, 0},
		{"NaN", SP_JSON_NUMBER, NAN, SP_JSON_CONSTANTS},
		{"Infinity", SP_JSON_NUMBER, INFINITY, SP_JSON_CONSTANTS},
	};
	size_t n = sizeof(words) / sizeof(words[0]), which = 0;
	int c = peek(json), r = 0;

	while (which < n && words[which].word[0] != (char)c)
		which++;
	if (c >= 0 && which < n && words[which].flags & ~json->flags)
		which = n;
	for (size_t i = 0; !r && which < n && words[which].word[i]; i++) {
		c = peek(json);
		if (c != words[which].word[i])
			which = n;
		else
			r = sp_json_scan_consume(json, 1);
	}
	if (r || c < 0)
		return r ? r : sp_json_scan_ended(json);
	if (which == n)
		return sp_json_scan_fail(json, -SP_E_DAMAGED, sp_json_scan_place(json),
					 "is not JSON: there is no value where one must be");
	token->kind = words[which].kind;
	token->real = words[which].real;
	token->number = words[which].real > 0 && token->kind == SP_JSON_BOOL;
	return 0;
}

int sp_json_scan_number(struct sp_json_pull *json, struct sp_json_token *token)
{
	bool whole = false;
	int c = 0, r = keep_nothing(json);

	while (!r && (c = peek(json)) > 0 && strchr("+-.0123456789Ee", c)) {
		char byte = (char)c;

		if (json->size >= MAX_NUMBER)
			return sp_json_scan_fail(json, -SP_E_COUNT, token->offset,
						 "has a number of more than 8192 characters");
		r = keep(json, &byte, 1);
		if (!r)
			r = sp_json_scan_consume(json, 1);
	}
	if (!r)
		r = json->error.code;
	if (r)
		return r;
	if (c == 'I' && json->flags & SP_JSON_CONSTANTS && strcmp(json->text, "-") == 0) {
		r = sp_json_scan_word(json, token);
		token->real = -token->real;
		return r;
	}
	/* At the very end of the text a number may be half of one. */
	if (!number_is_good(json->text, &whole))
		return c < 0 ? sp_json_scan_ended(json)
			     : sp_json_scan_fail(json, -SP_E_DAMAGED, token->offset,
						 "is not JSON: a number is badly written");
	token->text = json->text;
	token->size = json->size;
	token->is_integer = whole && parse_integer(json->text, &token->number);
	if (token->is_integer) {
		token->real = (double)token->number;
		return 0;
	}
	if (!json->c_locale)
		json->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!json->c_locale)
		return sp_json_scan_fail(json, -ENOMEM, 0, "no memory");
	token->real = strtod_l(json->text, NULL, json->c_locale);
	if (!whole && fabs(token->real) <= 0x1p53 && token->real == trunc(token->real)) {
		token->is_integer = true;
		token->number = (int64_t)token->real;
	}
	return 0;
}
