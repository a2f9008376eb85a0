/* SPDX-License-Identifier: BSD-2-Clause
 *
 * text.h - showing text that others wrote.
 *
 * Names of regions, files, threads and hosts come from traced programs and may hold anything. What
 * a terminal would act upon (control characters, C1 included, and the marks that turn the direction
 * of writing) and what is not UTF-8 is shown as an escape such as \x1b or \u202e; the rest as it
 * is.
 */
#ifndef SP_BASE_TEXT_H
#define SP_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Decodes one code point of the @bytes at @text: its length in bytes, or 0 if it is not UTF-8. */
size_t sp_text_decode(const char *text, size_t bytes, uint32_t *ret_code_point);

/* Whether a terminal would act upon a code point. */
bool sp_text_is_active(uint32_t code_point);

/* A copy that is safe to print, to free(); NULL without memory. */
char *sp_text_escape(const char *text);
/* Columns of a text that is safe to print. */
size_t sp_text_width(const char *text);
/* Bytes of the longest prefix of a safe text that fits @columns. */
size_t sp_text_fit(const char *text, size_t columns);
/* Writes the safe form of @text. */
void sp_text_print(FILE *out, const char *text);

/* What follows the last slash; all, where nothing does. */
static inline const char *sp_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Edits that make one word of the other (insert, delete, replace, swap neighbours), for "did you
 * mean". Words longer than 63 bytes are never near: returns a large number. */
unsigned sp_text_distance(const char *a, const char *b);

#endif
