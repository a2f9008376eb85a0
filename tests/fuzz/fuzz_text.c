// SPDX-License-Identifier: BSD-2-Clause
/*
 * fuzz_text.c - any bytes as a text: UTF-8 is told from what is not and repaired, and what is said
 * of a JSON list (tags, event metadata) is what another way of reading it says, too.
 */
#include <string.h>

#include "formats/json_pull.h"
#include "formats/utf8.h"
#include "tests/fuzz/fuzz_file.h"

/* The definition, slowly: Unicode 15, table 3-7. */
static size_t sequence(const uint8_t *text, size_t size)
{
	uint8_t low = 0x80, high = 0xbf;
	size_t n;

	if (text[0] < 0x80)
		return 1;
	if (text[0] < 0xc2 || text[0] > 0xf4)
		return 0;
	n = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	if (text[0] == 0xe0)
		low = 0xa0;
	else if (text[0] == 0xed)
		high = 0x9f;
	else if (text[0] == 0xf0)
		low = 0x90;
	else if (text[0] == 0xf4)
		high = 0x8f;
	if (n > size || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (text[i] < 0x80 || text[i] > 0xbf)
			return 0;
	return n;
}

static bool is_utf8(const uint8_t *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t n = sequence(text + at, size - at);

		if (!n)
			return false;
		at += n;
	}
	return true;
}

static void check_utf8(const char *text, size_t size)
{
	char *repaired = sp_utf8_repair(text);
	size_t length = strlen(text);

	if (!repaired || !sp_utf8_valid(repaired, strlen(repaired)))
		abort();
	if (sp_utf8_valid(text, size) != is_utf8((const uint8_t *)text, size))
		abort();
	if (sp_utf8_valid(text, length) && strcmp(text, repaired))
		abort();
	if (!is_utf8((const uint8_t *)text, length) && !strstr(repaired, "\xef\xbf\xbd"))
		abort();
	free(repaired);
}

/* Counts the elements of the outermost list by its tokens, without skipping anything. */
static void check_list(const char *text, size_t size)
{
	struct sp_error error = {0};
	struct sp_json_token token;
	struct sp_json_pull *json;
	enum sp_json_list_kind kind;
	uint64_t n = 0, listed = 0;
	bool is_list = false, first = true;
	int depth = 0, r, r_list = sp_json_list_length(text, size, &listed, &kind);

	if (sp_json_pull_open_text(text, size, SP_JSON_CONSTANTS, &json, &error))
		abort();
	while (!(r = sp_json_pull_next(json, &token, &error)) && token.kind != SP_JSON_END) {
		bool closes = token.kind == SP_JSON_ARRAY_END || token.kind == SP_JSON_OBJECT_END;
		bool opens = token.kind == SP_JSON_ARRAY || token.kind == SP_JSON_OBJECT;

		if (first)
			is_list = token.kind == SP_JSON_ARRAY;
		first = false;
		n += depth == 1 && is_list && !closes;
		depth += opens - closes;
		if (depth < 0 || depth > SP_JSON_MAX_DEPTH || token.offset > size)
			abort();
		if ((token.kind == SP_JSON_TEXT || token.kind == SP_JSON_KEY) &&
		    (token.text[token.size] || !sp_utf8_valid(token.text, token.size)))
			abort();
	}
	if (r && (r != error.code || !error.text[0]))
		abort();
	if (!r && depth)
		abort();
	if (!!r_list != (r || !is_list) || (!r_list && listed != n))
		abort();
	sp_json_pull_close(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	check_utf8(text, size);
	check_list(text, size);
	free(text);
	return 0;
}
