/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json.h - writes JSON to a stream, two spaces a level.
 *
 * In an object every value has a key, in an array the key is NULL. Strings that are not UTF-8 have
 * the bad bytes replaced; numbers that JSON cannot hold (not a number, infinite) become null.
 */
#ifndef SP_BASE_JSON_H
#define SP_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct sp_json {
	FILE *out;
	unsigned depth;
	bool comma;   /* something stands before the next value of this level */
	bool compact; /* all on one line */
};

/* A quoted JSON string. */
void sp_json_quote(FILE *out, const char *text);

void sp_json_open_object(struct sp_json *json, const char *key);
void sp_json_close_object(struct sp_json *json);
void sp_json_open_array(struct sp_json *json, const char *key);
void sp_json_close_array(struct sp_json *json);
void sp_json_text(struct sp_json *json, const char *key, const char *text); /* NULL: null */
void sp_json_signed(struct sp_json *json, const char *key, int64_t number);
void sp_json_unsigned(struct sp_json *json, const char *key, uint64_t number);
void sp_json_real(struct sp_json *json, const char *key, double number);
void sp_json_bool(struct sp_json *json, const char *key, bool value);
void sp_json_null(struct sp_json *json, const char *key);
/* @value is one JSON value already. */
void sp_json_raw(struct sp_json *json, const char *key, const char *value);
/* A newline after the outermost value. */
void sp_json_end(struct sp_json *json);

#endif
