/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_deflate.h - compresses the chunks of an HDF5 file on several CPUs. Not installed.
 *
 * Chunks are handed over one after the other, and written in that order by the thread that hands
 * them over: libhdf5 is used by one thread alone. What comes out is what HDF5's own filters shuffle
 * and deflate make, so every reader has the filters. Memory: a bounded ring of chunks.
 */
#ifndef SP_FORMATS_H5_DEFLATE_H
#define SP_FORMATS_H5_DEFLATE_H

#include "formats/h5_util.h"

enum { SP_H5_CHUNK_BYTES = 1 << 18 }; /* of every column of numbers */

struct sp_h5_deflater;

/* @threads that compress, 0 for as many as there are CPUs; 1 is the caller itself. They start with
 * the first chunk. */
int sp_h5_deflater_new(unsigned int level, unsigned int threads, struct sp_h5_deflater **ret_new,
		       struct sp_error *error);
/* Ends the threads and drops what was not written. NULL is fine. */
void sp_h5_deflater_free(struct sp_h5_deflater *deflater);
unsigned int sp_h5_deflater_level(const struct sp_h5_deflater *deflater);

/* A chunk: where it goes, and its @bytes of numbers of @size bytes each. */
struct sp_h5_chunk {
	hid_t dataset; /* open until the chunk is drained */
	const char *path;
	hsize_t offset; /* first value */
	size_t bytes;	/* at most SP_H5_CHUNK_BYTES */
	size_t size;
	void *values; /* from malloc(); belongs to the deflater from here on, if all is well */
};

/* Hands a chunk over. May write another. Gives a buffer of SP_H5_CHUNK_BYTES for the next one, or
 * NULL if it has none to spare. */
int sp_h5_deflater_submit(struct sp_h5_deflater *deflater, const struct sp_h5_chunk *chunk,
			  void **ret_spare, struct sp_error *error);
/* Writes all that was handed over. To be called before a data set is closed. */
int sp_h5_deflater_drain(struct sp_h5_deflater *deflater, struct sp_error *error);

#endif
