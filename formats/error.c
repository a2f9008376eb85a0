// SPDX-License-Identifier: BSD-2-Clause
/*
 * error.c - puts a failure into words. Invariant: the text is one printable line.
 */
#include "formats/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sp_error_set(struct sp_error *error, int code, uint64_t offset, const char *format, ...)
{
	size_t length;
	va_list args;

	if (!error)
		return code;
	error->code = code;
	error->offset = offset;
	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	length = strlen(error->text);
	if (offset) {
		char place[40];
		size_t size =
			(size_t)snprintf(place, sizeof(place), " (at byte %" PRIu64 ")", offset);

		/* A long name in the text must not push the place out. */
		if (length + size >= sizeof(error->text))
			length = sizeof(error->text) - size - 1;
		memcpy(error->text + length, place, size + 1);
	}
	for (char *c = error->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return code;
}
