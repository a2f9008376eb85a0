/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json.c - see json.h.
 */
#include "userspace/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "userspace/base/text.h"

/* Bytes at the beginning of a text that stand for themselves: most names are nothing else. */
static size_t plain_bytes(const char *text)
{
	size_t n = 0;

	while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

void sp_json_quote(FILE *out, const char *text)
{
	size_t left = strlen(text);

	putc_unlocked('"', out);
	while (left) {
		uint32_t c = 0;
		size_t n = plain_bytes(text);

		if (n) {
			fwrite_unlocked(text, 1, n, out);
			text += n;
			left -= n;
			continue;
		}
		n = sp_text_decode(text, left, &c);
		if (!n) {
			fputs("\xef\xbf\xbd", out);
			n = 1;
		} else if (c == '"' || c == '\\') {
			putc('\\', out);
			putc((int)c, out);
		} else if (c == '\n') {
			fputs("\\n", out);
		} else if (c == '\t') {
			fputs("\\t", out);
		} else if (sp_text_is_active(c)) {
			fprintf(out, "\\u%04" PRIx32, c);
		} else {
			fwrite(text, 1, n, out);
		}
		text += n;
		left -= n;
	}
	putc_unlocked('"', out);
}

static void begin(struct sp_json *json, const char *key)
{
	if (json->comma)
		putc_unlocked(',', json->out);
	if (json->compact) {
		if (json->comma)
			putc_unlocked(' ', json->out);
	} else if (json->depth) {
		fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
	}
	if (key) {
		sp_json_quote(json->out, key);
		fputs_unlocked(": ", json->out);
	}
	json->comma = true;
}

static void open_level(struct sp_json *json, const char *key, char bracket)
{
	begin(json, key);
	putc(bracket, json->out);
	json->depth++;
	json->comma = false;
}

static void close_level(struct sp_json *json, char bracket)
{
	json->depth--;
	if (json->comma && !json->compact)
		fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
	putc(bracket, json->out);
	json->comma = true;
}

void sp_json_open_object(struct sp_json *json, const char *key)
{
	open_level(json, key, '{');
}

void sp_json_close_object(struct sp_json *json)
{
	close_level(json, '}');
}

void sp_json_open_array(struct sp_json *json, const char *key)
{
	open_level(json, key, '[');
}

void sp_json_close_array(struct sp_json *json)
{
	close_level(json, ']');
}

void sp_json_text(struct sp_json *json, const char *key, const char *text)
{
	begin(json, key);
	if (text)
		sp_json_quote(json->out, text);
	else
		fputs("null", json->out);
}

void sp_json_signed(struct sp_json *json, const char *key, int64_t number)
{
	if (number >= 0) {
		sp_json_unsigned(json, key, (uint64_t)number);
		return;
	}
	begin(json, key);
	fprintf(json->out, "%" PRId64, number);
}

void sp_json_unsigned(struct sp_json *json, const char *key, uint64_t number)
{
	char digits[24], *at = digits + sizeof(digits);

	begin(json, key);
	do
		*--at = (char)('0' + number % 10);
	while (number /= 10);
	fwrite_unlocked(at, 1, (size_t)(digits + sizeof(digits) - at), json->out);
}

void sp_json_real(struct sp_json *json, const char *key, double number)
{
	begin(json, key);
	if (isfinite(number))
		fprintf(json->out, "%.17g", number);
	else
		fputs("null", json->out);
}

void sp_json_bool(struct sp_json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->out);
}

void sp_json_null(struct sp_json *json, const char *key)
{
	begin(json, key);
	fputs("null", json->out);
}

void sp_json_raw(struct sp_json *json, const char *key, const char *value)
{
	begin(json, key);
	fputs(value, json->out);
}

void sp_json_end(struct sp_json *json)
{
	putc('\n', json->out);
}
