/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tags.c - see tags.h.
 */
#include "userspace/analysis/tags.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define HIGH_SURROGATE(c) ((c) >= 0xd800 && (c) < 0xdc00)
#define LOW_SURROGATE(c) ((c) >= 0xdc00 && (c) < 0xe000)

void sp_tags_free(struct sp_tags *tags)
{
	for (size_t i = 0; i < tags->n; i++)
		free(tags->items[i]);
	free(tags->items);
	*tags = (struct sp_tags){0};
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

/* Four hexadecimal digits. */
static bool read_unit(const char **at, uint32_t *ret_unit)
{
	*ret_unit = 0;
	for (int i = 0; i < 4; i++, ++*at) {
		static const char digits[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = **at ? strchr(digits, **at) : NULL;

		if (!digit)
			return false;
		*ret_unit = *ret_unit << 4 | (uint32_t)((digit - digits) & 15);
	}
	return true;
}

static void put_code_point(FILE *out, uint32_t c)
{
	if (c < 0x80) {
		putc((int)c, out);
		return;
	}
	if (c < 0x800) {
		putc((int)(0xc0 | c >> 6), out);
	} else {
		if (c < 0x10000) {
			putc((int)(0xe0 | c >> 12), out);
		} else {
			putc((int)(0xf0 | c >> 18), out);
			putc((int)(0x80 | (c >> 12 & 0x3f)), out);
		}
		putc((int)(0x80 | (c >> 6 & 0x3f)), out);
	}
	putc((int)(0x80 | (c & 0x3f)), out);
}

/* What stands after "\u". Halves of a pair that stand alone, and NUL, have no text. */
static bool read_code_point(const char **at, FILE *out)
{
	uint32_t c, low;

	if (!read_unit(at, &c))
		return false;
	if (HIGH_SURROGATE(c) && (*at)[0] == '\\' && (*at)[1] == 'u') {
		*at += 2;
		if (!read_unit(at, &low) || !LOW_SURROGATE(low))
			return false;
		c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
	}
	if (!c || (c >= 0xd800 && c < 0xe000))
		return false;
	put_code_point(out, c);
	return true;
}

/* A string from its opening quote to behind its closing one, into @out. */
static bool read_string(const char **at, FILE *out)
{
	static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

	if (*(*at)++ != '"')
		return false;
	while (**at && **at != '"') {
		const char *escape;
		char c = *(*at)++;

		if (c != '\\') {
			putc(c, out);
			continue;
		}
		c = *(*at)++;
		escape = c ? strchr(escapes, c) : NULL;
		if (escape)
			putc(meanings[escape - escapes], out);
		else if (c != 'u' || !read_code_point(at, out))
			return false;
	}
	return *(*at)++ == '"';
}

/* 1: read, 0: not a list of strings, -ENOMEM. */
static int read_list(const char *at, struct sp_tags *tags)
{
	at = skip_blanks(at);
	if (*at++ != '[')
		return 0;
	at = skip_blanks(at);
	if (*at == ']')
		return !*skip_blanks(at + 1);
	for (;;) {
		char **tag = sp_array_add(&tags->items, &tags->n, &tags->room);
		size_t size;
		FILE *out = tag ? open_memstream(tag, &size) : NULL;
		bool good;

		if (!out)
			return -ENOMEM;
		good = read_string(&at, out);
		if (fclose(out) != 0)
			return -ENOMEM;
		if (!good)
			return 0;
		at = skip_blanks(at);
		if (*at == ']')
			return !*skip_blanks(at + 1);
		if (*at != ',')
			return 0;
		at = skip_blanks(at + 1);
	}
}

int sp_tags_read(const char *json, struct sp_tags *ret_tags)
{
	char **tag;
	int r;

	*ret_tags = (struct sp_tags){0};
	if (!*json)
		return 0;
	r = read_list(json, ret_tags);
	if (r)
		return r < 0 ? r : 0;
	sp_tags_free(ret_tags);
	tag = sp_array_add(&ret_tags->items, &ret_tags->n, &ret_tags->room);
	if (!tag || !(*tag = strdup(json)))
		return -ENOMEM;
	return 0;
}

char *sp_tags_join(const char *json)
{
	sp_cleanup(sp_tags_free) struct sp_tags tags = {0};
	char *text = NULL;
	size_t size;
	FILE *out;

	if (sp_tags_read(json, &tags) < 0)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		return NULL;
	for (size_t i = 0; i < tags.n; i++)
		fprintf(out, "%s%s", i ? ", " : "", tags.items[i]);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}
