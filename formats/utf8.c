// SPDX-License-Identifier: BSD-2-Clause
/*
 * utf8.c - checks and repairs UTF-8. Invariant: what repair returns is valid.
 */
#include "formats/utf8.h"

#include <stdlib.h>
#include <string.h>

/* Length of the well-formed sequence at @text, of which @size bytes are there; 0 if there is none.
 * The second byte's range is what excludes overlong forms, surrogates and everything above
 * U+10FFFF. */
static size_t sequence_length(const unsigned char *text, size_t size)
{
	unsigned char first = text[0], low = 0x80, high = 0xbf;
	size_t length;

	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first <= 0xdf)
		length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		length = 4;
	else
		return 0;
	if (size < length)
		return 0;
	if (first == 0xe0)
		low = 0xa0;
	else if (first == 0xed)
		high = 0x9f;
	else if (first == 0xf0)
		low = 0x90;
	else if (first == 0xf4)
		high = 0x8f;
	if (text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

bool sp_utf8_valid(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;

	while (size) {
		size_t length = sequence_length(at, size);

		if (!length)
			return false;
		at += length;
		size -= length;
	}
	return true;
}

char *sp_utf8_repair(const char *text)
{
	static const char replacement[3] = {(char)0xef, (char)0xbf, (char)0xbd};
	size_t size = strlen(text), used = 0;
	char *copy;

	if (sp_utf8_valid(text, size))
		return strdup(text);
	if (size > SIZE_MAX / 4)
		return NULL;
	copy = malloc(size * sizeof(replacement) + 1);
	if (!copy)
		return NULL;
	while (size) {
		size_t length = sequence_length((const unsigned char *)text, size);

		if (length) {
			memcpy(copy + used, text, length);
			used += length;
		} else {
			memcpy(copy + used, replacement, sizeof(replacement));
			used += sizeof(replacement);
			length = 1;
		}
		text += length;
		size -= length;
	}
	copy[used] = '\0';
	return copy;
}
