/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_bytes.h - numbers out of call frame information, never beyond its end.
 *
 * A reader that has met the end stays broken and gives zeros, so callers check once, after several
 * reads. Little-endian, as all files that are accepted.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_BYTES_H
#define SP_LOADER_HELPERS_UNWIND_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_bytes {
	const uint8_t *at, *end;
	bool broken;
};

static inline bool sp_bytes_more(const struct sp_bytes *in)
{
	return !in->broken && in->at < in->end;
}

static inline uint64_t sp_bytes_fixed(struct sp_bytes *in, size_t bytes)
{
	uint64_t value = 0;

	if (in->broken || (size_t)(in->end - in->at) < bytes) {
		in->broken = true;
		return 0;
	}
	memcpy(&value, in->at, bytes);
	in->at += bytes;
	return value;
}

static inline int64_t sp_bytes_signed(struct sp_bytes *in, size_t bytes)
{
	unsigned unused = (unsigned)(64 - 8 * bytes);

	return (int64_t)(sp_bytes_fixed(in, bytes) << unused) >> unused;
}

/* Bits above the 64th are dropped. */
static inline uint64_t sp_bytes_uleb(struct sp_bytes *in)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)sp_bytes_fixed(in, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	return value;
}

static inline int64_t sp_bytes_sleb(struct sp_bytes *in)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)sp_bytes_fixed(in, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (shift < 64 && (byte & 0x40))
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* The next @bytes as a reader of their own. */
static inline struct sp_bytes sp_bytes_block(struct sp_bytes *in, uint64_t bytes)
{
	struct sp_bytes block = {in->at, in->at, true};

	if (in->broken || bytes > (uint64_t)(in->end - in->at)) {
		in->broken = true;
		return block;
	}
	in->at += bytes;
	return (struct sp_bytes){block.at, in->at, false};
}

#endif
