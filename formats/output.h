/* SPDX-License-Identifier: BSD-2-Clause
 *
 * output.h - a file that appears complete or not at all.
 *
 * An output is written under a temporary name in the directory of its final one, created
 * exclusively and never through a link; commit syncs it, gives it its name, and syncs the
 * directory. An output that is freed without a commit is removed; what a killed process left of it
 * is removed by the next output of that name. The directory is held open, so it may be renamed
 * meanwhile.
 */
#ifndef SP_FORMATS_OUTPUT_H
#define SP_FORMATS_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include "formats/api.h"
#include "formats/error.h"

SP_API_BEGIN

enum sp_output_flag {
	SP_OUTPUT_REPLACE = 1 << 0, /* take the place of an existing regular file; else -EEXIST */
	SP_OUTPUT_NO_SYNC = 1 << 1, /* for tests and scratch files: no fsync */
};

struct sp_output;

/* Creates the temporary file for @path. */
int sp_output_open(const char *path, unsigned int flags, struct sp_output **ret_output,
		   struct sp_error *error);
/* The path of the temporary file, and its descriptor, open for reading and writing. */
const char *sp_output_temporary(const struct sp_output *output);
int sp_output_fd(const struct sp_output *output);
/* Writes all of @size bytes at @offset. */
int sp_output_write(struct sp_output *output, uint64_t offset, const void *data, size_t size,
		    struct sp_error *error);
/* Publishes the file. On failure the output is still there, and is to be freed. */
int sp_output_commit(struct sp_output *output, struct sp_error *error);
/* Frees the output; one not committed is removed. NULL is fine. */
void sp_output_free(struct sp_output *output);

SP_API_END

#endif
