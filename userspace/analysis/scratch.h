/* SPDX-License-Identifier: BSD-2-Clause
 *
 * scratch.h - bytes that do not fit into memory: an unnamed file that vanishes with its user.
 *
 * The file is made in the directory of the output, which is where room for such an amount is
 * expected, never in /tmp, which is memory on many machines. Append, then read at any place.
 */
#ifndef SP_ANALYSIS_SCRATCH_H
#define SP_ANALYSIS_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

struct sp_scratch;

/* -errno of creating a file in @directory; @buffer_bytes are gathered before each write. */
int sp_scratch_new(const char *directory, size_t buffer_bytes, struct sp_scratch **ret_scratch);
void sp_scratch_free(struct sp_scratch *scratch); /* NULL is fine */

/* Bytes appended so far: the offset of what comes next. */
uint64_t sp_scratch_bytes(const struct sp_scratch *scratch);
int sp_scratch_append(struct sp_scratch *scratch, const void *data, size_t bytes);
/* Room for up to @bytes (not above the buffer's) in the buffer itself, of which sp_scratch_used()
 * then says how much was filled. NULL: a write failed, *ret_error has -errno. */
void *sp_scratch_room(struct sp_scratch *scratch, size_t bytes, int *ret_error);
void sp_scratch_used(struct sp_scratch *scratch, size_t bytes);

/* Reads what was appended, all of @bytes or -ENODATA. */
int sp_scratch_read(struct sp_scratch *scratch, uint64_t offset, void *data, size_t bytes);
/* Gives the disk space of a part that is no longer needed back, where the file system can. */
void sp_scratch_forget(struct sp_scratch *scratch, uint64_t offset, uint64_t bytes);

#endif
