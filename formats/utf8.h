/* SPDX-License-Identifier: BSD-2-Clause
 *
 * utf8.h - names in the files are UTF-8; names in programs are whatever their authors typed.
 */
#ifndef SP_FORMATS_UTF8_H
#define SP_FORMATS_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if the @size bytes at @text are well-formed UTF-8 (no overlong form, no surrogate, nothing
 * above U+10FFFF). A NUL byte is well-formed; callers that want C strings check for it themselves.
 */
bool sp_utf8_valid(const char *text, size_t size);

/* Copies the string @text with every byte that is not part of well-formed UTF-8 replaced by U+FFFD,
 * as scope-profiler does when it has to. Returns a string to free(), or NULL without memory. The
 * writers of this library repair what they are given; a caller that compares names for equality
 * repairs them before, so that two bad names cannot become one. */
char *sp_utf8_repair(const char *text);

#endif
