/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json_pull.h - reads JSON (RFC 8259) as it streams by, one token at a time. Not installed.
 *
 * Strict: one value and nothing after it but blanks, UTF-8 checked, no nesting deeper than
 * SP_JSON_MAX_DEPTH, no text longer than SP_JSON_MAX_TEXT. Memory is the buffer and the longest
 * text; there is no recursion. Every failure names the byte of the JSON text where it was seen.
 *
 * Life cycle: open (a stream) or open_text (all of it in memory), next until SP_JSON_END, close.
 * The order of tokens is that of the text and always makes sense: a key comes only in an object and
 * is followed by its value, what is closed was open.
 */
#ifndef SP_FORMATS_JSON_PULL_H
#define SP_FORMATS_JSON_PULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

#define SP_JSON_MAX_DEPTH 64
#define SP_JSON_MAX_TEXT ((size_t)1 << 24)

enum sp_json_kind {
	SP_JSON_END, /* the value is complete, and so is the text */
	SP_JSON_OBJECT,
	SP_JSON_OBJECT_END,
	SP_JSON_ARRAY,
	SP_JSON_ARRAY_END,
	SP_JSON_KEY,
	SP_JSON_TEXT,
	SP_JSON_NUMBER,
	SP_JSON_BOOL,
	SP_JSON_NULL,
};

struct sp_json_token {
	enum sp_json_kind kind;
	uint64_t offset; /* of its first byte */
	/* Of a key and a text: escapes decoded, ended with a NUL that does not count, valid until
	 * the next token. Half a surrogate pair, which is no character, reads as U+FFFD. Of a
	 * number: as it is written, except by sp_json_pull_integers(). */
	const char *text;
	size_t size;
	bool has_nul; /* there is a NUL in the text: it is not a C string */
	/* Of a number: its value as far as a double can hold it; exactly, if it is a whole number
	 * that an int64 can hold (1.0 and 1e3 are whole, too). Of a bool: number is 0 or 1. */
	double real;
	bool is_integer;
	int64_t number;
};

/* Fills @buffer with up to @size bytes that come next; *ret_got 0 is the end. */
typedef int (*sp_json_refill)(void *data, char *buffer, size_t size, size_t *ret_got,
			      struct sp_error *error);
/* Takes bytes of the text; see sp_json_pull_copy(). */
typedef int (*sp_json_sink)(void *data, const char *bytes, size_t size, struct sp_error *error);

enum sp_json_flag {
	/* NaN, Infinity and -Infinity, which Python writes, are numbers. */
	SP_JSON_CONSTANTS = 1 << 0,
};

struct sp_json_pull;

int sp_json_pull_open(sp_json_refill refill, void *data, unsigned int flags,
		      struct sp_json_pull **ret_json, struct sp_error *error);
/* @text must stay as it is until close. */
int sp_json_pull_open_text(const char *text, size_t size, unsigned int flags,
			   struct sp_json_pull **ret_json, struct sp_error *error);
void sp_json_pull_close(struct sp_json_pull *json);

/* -SP_E_TRUNCATED if the text ends before, -SP_E_UTF8, -SP_E_COUNT (a limit), -SP_E_TRAILING, else
 * -SP_E_DAMAGED if it is not JSON; or what the refill or the sink returned. */
int sp_json_pull_next(struct sp_json_pull *json, struct sp_json_token *ret_token,
		      struct sp_error *error);
/* Whether the text was found not to be JSON, or could not be read to its end. */
bool sp_json_pull_failed(const struct sp_json_pull *json);
/* Skips what @token begins: to the end of the object or array, nothing for another value. */
int sp_json_pull_skip(struct sp_json_pull *json, const struct sp_json_token *token,
		      struct sp_error *error);
/* Between SP_JSON_ARRAY and SP_JSON_ARRAY_END: reads up to @max elements that must all be whole
 * numbers. *ret_n less than @max: the array has ended, its end has been read. Fast. */
int sp_json_pull_integers(struct sp_json_pull *json, int64_t *ret_values, size_t max, size_t *ret_n,
			  struct sp_error *error);
/* From now on, what is read (blanks between tokens left out) also goes to @sink, as it stands in
 * the text. NULL: no longer. */
void sp_json_pull_copy(struct sp_json_pull *json, sp_json_sink sink, void *data);

/* Whether @text is one JSON list; how many elements it has and of what kind they all are. The same
 * codes as sp_json_pull_next(); -SP_E_DAMAGED if it is JSON, but not a list. Python's constants are
 * fine. */
enum sp_json_list_kind {
	SP_JSON_LIST_EMPTY,
	SP_JSON_LIST_OBJECTS,
	SP_JSON_LIST_TEXTS,
	SP_JSON_LIST_OTHER, /* something else, or mixed */
};
int sp_json_list_length(const char *text, size_t size, uint64_t *ret_n,
			enum sp_json_list_kind *ret_kind);

#endif
