/* SPDX-License-Identifier: BSD-2-Clause
 *
 * json.c - see json.h.
 */
#include "userspace/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "userspace/base/text.h"

void sp_json_quote(FILE *out, const char *text)
{
	size_t left = strlen(text);

	putc('"', out);
	while (left) {
		uint32_t c = 0;
		size_t n = sp_text_decode(text, left, &c);

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
		} else if (c < 0x20 || c == 0x7f) {
			fprintf(out, "\\u%04" PRIx32, c);
		} else {
			fwrite(text, 1, n, out);
		}
		text += n;
		left -= n;
	}
	putc('"', out);
}

static void begin(struct sp_json *json, const char *key)
{
	if (json->comma)
		putc(',', json->out);
	if (json->compact) {
		if (json->comma)
			putc(' ', json->out);
	} else if (json->depth) {
		fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
	}
	if (key) {
		sp_json_quote(json->out, key);
		fputs(": ", json->out);
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
	begin(json, key);
	fprintf(json->out, "%" PRId64, number);
}

void sp_json_unsigned(struct sp_json *json, const char *key, uint64_t number)
{
	begin(json, key);
	fprintf(json->out, "%" PRIu64, number);
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

void sp_json_end(struct sp_json *json)
{
	putc('\n', json->out);
}
