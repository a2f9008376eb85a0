/* SPDX-License-Identifier: BSD-2-Clause
 *
 * input.h - bounded, buffered reading of a binary file in either byte order. Not installed.
 *
 * Invariant: no read passes the size that the file had when it was opened, every failure names its
 * offset, and nothing is allocated before the bytes for it are known to exist.
 */
#ifndef SP_FORMATS_INPUT_H
#define SP_FORMATS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"

struct sp_input {
	int fd;
	uint64_t size;
	uint64_t at; /* where the next read happens; never above size */
	bool big;    /* byte order of the file */
	uint64_t buffer_at;
	size_t buffer_used;
	unsigned char buffer[16384];
};

int sp_input_open(struct sp_input *input, const char *path, struct sp_error *error);
void sp_input_close(struct sp_input *input);
static inline uint64_t sp_input_left(const struct sp_input *input)
{
	return input->size - input->at;
}
/* Each moves on; -SP_E_TRUNCATED if the file ends before. @what names what is read, for the error.
 */
int sp_input_s32(struct sp_input *input, int32_t *ret_value, const char *what,
		 struct sp_error *error);
int sp_input_s64(struct sp_input *input, int64_t *ret_value, const char *what,
		 struct sp_error *error);
/* An int32 length and that many bytes of UTF-8 without a NUL, at most @max. Allocated, and ended
 * with a NUL. */
int sp_input_text(struct sp_input *input, uint32_t max, char **ret_text, const char *what,
		  struct sp_error *error);
/* Skips; -SP_E_TRUNCATED if that many are not there. */
int sp_input_skip(struct sp_input *input, uint64_t size, const char *what, struct sp_error *error);
/* Checks the 8-byte magic, and finds the byte order by the version after it: the one in which it is
 * from 1 to @newest. */
int sp_input_magic(struct sp_input *input, const char *magic, const char *kind, int32_t newest,
		   int32_t *ret_version, struct sp_error *error);
/* Reads @n 8-byte integers at @offset into @ret_values, in native order, past the buffer. */
int sp_input_array_64(struct sp_input *input, uint64_t offset, size_t n, void *ret_values,
		      struct sp_error *error);

#endif
