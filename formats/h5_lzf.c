// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_lzf.c - reads what h5py's filter "lzf" (32000) has compressed, since few HDF5 libraries can.
 *
 * The stream is a row of instructions. A byte below 32: as many bytes and one more follow, and are
 * copied. Else its upper three bits are a length, and the lower five the upper bits of a distance;
 * the length 7 is continued by the next byte; the next byte is the rest of the distance. As many
 * bytes and two more are copied from so far back, and one more. Invariant: the first pass has seen
 * that every instruction is whole and copies what exists; the second fits in what the first
 * counted.
 */
#include <stdbool.h>
#include <string.h>

#include "formats/h5_util.h"

enum {
	FILTER_LZF = 32000,
	MAX_OUT = 1 << 30, /* bytes of a chunk */
	CHUNK_BYTES = 2,   /* index of the chunk's size in the filter's parameters */
};

struct instruction {
	size_t size; /* of what it makes */
	size_t back; /* distance, 0: from the input */
};

/* Decodes the instruction at *@io_at and moves behind it, but not behind what it copies. */
static bool decode(const unsigned char *in, size_t n, size_t *io_at, struct instruction *ret)
{
	size_t at = *io_at;
	unsigned int first = in[at++];

	if (first < 32) {
		*ret = (struct instruction){.size = first + 1};
		*io_at = at;
		return ret->size <= n - at;
	}
	ret->size = first >> 5;
	if (ret->size == 7) {
		if (at == n)
			return false;
		ret->size += in[at++];
	}
	if (at == n)
		return false;
	ret->size += 2;
	ret->back = ((size_t)(first & 31) << 8 | in[at++]) + 1;
	*io_at = at;
	return true;
}

/* Bytes that @in makes, SIZE_MAX if it is damaged. */
static size_t count(const unsigned char *in, size_t n)
{
	size_t made = 0;

	for (size_t at = 0; at < n;) {
		struct instruction one;

		if (!decode(in, n, &at, &one) || one.back > made || one.size > MAX_OUT - made)
			return SIZE_MAX;
		made += one.size;
		at += one.back ? 0 : one.size;
	}
	return made;
}

static void expand(const unsigned char *in, size_t n, unsigned char *out)
{
	for (size_t at = 0; at < n;) {
		struct instruction one;

		decode(in, n, &at, &one);
		if (one.back) {
			/* Source and destination may overlap: it is how runs are written. */
			for (size_t i = 0; i < one.size; i++)
				out[i] = out[i - one.back];
		} else {
			memcpy(out, in + at, one.size);
			at += one.size;
		}
		out += one.size;
	}
}

/* libhdf5's callback: 0 is failure. */
static size_t filter(unsigned int flags, size_t n_values, const unsigned int values[], size_t n,
		     size_t *io_size, void **io_buffer)
{
	size_t made, size;
	unsigned char *out;

	if (!(flags & H5Z_FLAG_REVERSE))
		return 0;
	made = count(*io_buffer, n);
	if (made == SIZE_MAX || !made)
		return 0;
	/* A short chunk would have libhdf5 read beyond it. */
	size = n_values > CHUNK_BYTES && values[CHUNK_BYTES] > made && values[CHUNK_BYTES] < MAX_OUT
		       ? values[CHUNK_BYTES]
		       : made;
	out = H5allocate_memory(size, false);
	if (!out)
		return 0;
	expand(*io_buffer, n, out);
	memset(out + made, 0, size - made);
	H5free_memory(*io_buffer);
	*io_buffer = out;
	*io_size = size;
	return size;
}

void sp_h5_register_lzf(void)
{
	static const H5Z_class2_t class = {
		.version = H5Z_CLASS_T_VERS,
		.id = FILTER_LZF,
		.decoder_present = 1,
		.name = "lzf",
		.filter = filter,
	};
	static bool tried;

	if (tried)
		return;
	tried = true;
	/* A plugin that can write it, too, is better. */
	if (H5Zfilter_avail(FILTER_LZF) <= 0)
		H5Zregister(&class);
	H5Eclear2(H5E_DEFAULT);
}
