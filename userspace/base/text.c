/* SPDX-License-Identifier: BSD-2-Clause
 *
 * text.c - see text.h.
 *
 * Invariant: what sp_text_escape() returns is UTF-8 without anything that a terminal acts upon.
 */
#include "userspace/base/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"

size_t sp_text_decode(const char *text, size_t bytes, uint32_t *ret_code_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const uint8_t *p = (const uint8_t *)text;
	size_t n;
	uint32_t c;

	if (!bytes)
		return 0;
	if (p[0] < 0x80) {
		*ret_code_point = p[0];
		return 1;
	}
	n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
	if (p[0] < 0xc2 || p[0] > 0xf4 || n > bytes)
		return 0;
	c = p[0] & (0xff >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret_code_point = c;
	return n;
}

struct range {
	uint32_t first, last;
};

static bool in_ranges(uint32_t c, const struct range *ranges, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	return false;
}

/* Blocks of the Unicode standard, not each exception in them: enough to keep columns straight. */
static int columns_of(uint32_t c)
{
	static const struct range zero[] = {
		{0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x064b, 0x065f},
		{0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d}, {0x20d0, 0x20ff},
		{0xfe00, 0xfe0f}, {0xfe20, 0xfe2f},
	};
	static const struct range wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0x303e},	{0x3041, 0xa4cf},   {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},	{0xff01, 0xff60},   {0xffe0, 0xffe6},
		{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
	};

	if (c < 0x300)
		return c != 0;
	if (in_ranges(c, zero, sp_array_size(zero)))
		return 0;
	return in_ranges(c, wide, sp_array_size(wide)) ? 2 : 1;
}

bool sp_text_is_active(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x061c || c == 0x200e || c == 0x200f ||
	       (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

char *sp_text_escape(const char *text)
{
	size_t left = strlen(text);
	char *safe = malloc(left * 6 + 1), *out = safe;

	if (!safe)
		return NULL;
	while (left) {
		uint32_t c = 0;
		size_t n = sp_text_decode(text, left, &c);

		if (n && !sp_text_is_active(c)) {
			memcpy(out, text, n);
			out += n;
		} else if (n == 0 || c < 0x80) {
			out += sprintf(out,
				       c == '\n' && n	? "\\n"
				       : c == '\t' && n ? "\\t"
							: "\\x%02x",
				       (unsigned)(uint8_t)*text);
			n = 1;
		} else {
			out += sprintf(out, "\\u%04x", (unsigned)c);
		}
		text += n;
		left -= n;
	}
	*out = 0;
	return safe;
}

size_t sp_text_width(const char *text)
{
	size_t width = 0, left = strlen(text);

	while (left) {
		uint32_t c = 1;
		size_t n = sp_text_decode(text, left, &c);

		width += n ? (size_t)columns_of(c) : 1;
		n += n == 0;
		text += n;
		left -= n;
	}
	return width;
}

size_t sp_text_fit(const char *text, size_t columns)
{
	size_t width = 0, at = 0, bytes = strlen(text);

	while (at < bytes) {
		uint32_t c = 1;
		size_t n = sp_text_decode(text + at, bytes - at, &c);

		width += n ? (size_t)columns_of(c) : 1;
		if (width > columns)
			break;
		at += n ? n : 1;
	}
	return at;
}

void sp_text_print(FILE *out, const char *text)
{
	sp_cleanup(sp_freep) char *safe = sp_text_escape(text);

	fputs(safe ? safe : "(out of memory)", out);
}

unsigned sp_text_distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned d[3][64];

	if (n > 63 || m > 63)
		return 1000;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = d[i % 3], *before = d[(i + 2) % 3], *two = d[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);

			if (before[j] + 1 < best)
				best = before[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two[j - 2] + 1 < best)
				best = two[j - 2] + 1;
			now[j] = best;
		}
	}
	return d[n % 3][m];
}
