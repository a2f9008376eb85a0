/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json_scan.h - what json_pull.c is made of: bytes, texts, numbers and words. Not installed.
 *
 * Each function returns 0 or a failure, which is also kept in the reader.
 */
#ifndef SP_FORMATS_JSON_SCAN_H
#define SP_FORMATS_JSON_SCAN_H

#include <locale.h>

#include "formats/json_pull.h"

enum { SP_JSON_BUFFER = 1 << 16 };

enum sp_json_state {
	SP_JSON_STATE_VALUE, /* a value must come */
	SP_JSON_STATE_FIRST, /* behind [ or {: a value or key, or the end */
	SP_JSON_STATE_KEY,   /* a key must come */
	SP_JSON_STATE_AFTER, /* behind a value: a comma or the end */
	SP_JSON_STATE_DONE,  /* behind the outermost value */
};

struct sp_json_pull {
	sp_json_refill refill;
	void *refill_data;
	sp_json_sink sink;
	void *sink_data;
	unsigned int flags;
	const char *buffer;
	char *own; /* the buffer, if it is ours */
	size_t at, used;
	uint64_t base; /* offset of the buffer's first byte */
	enum sp_json_state state;
	unsigned int depth;
	uint64_t objects; /* bit i: level i is an object */
	char *text;
	size_t size, capacity;
	locale_t c_locale;
	struct sp_error error; /* its code is the failure, if there was one */
};

/* Offset of the next byte. */
uint64_t sp_json_scan_place(const struct sp_json_pull *json);
int sp_json_scan_fail(struct sp_json_pull *json, int code, uint64_t offset, const char *words);
/* Fails: a byte had to come, and none did. */
int sp_json_scan_ended(struct sp_json_pull *json);
int sp_json_scan_skip_blanks(struct sp_json_pull *json);
/* Moves on over @n bytes that are in the buffer. */
int sp_json_scan_consume(struct sp_json_pull *json, size_t n);
/* Each fills @token with what begins at the next byte. */
int sp_json_scan_text(struct sp_json_pull *json, struct sp_json_token *token);
int sp_json_scan_number(struct sp_json_pull *json, struct sp_json_token *token);
int sp_json_scan_word(struct sp_json_pull *json, struct sp_json_token *token);

#endif
