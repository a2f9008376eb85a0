/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_bytes.h - reads numbers and texts out of a section's bytes, never beyond their end.
 *
 * What does not fit reads as 0, ends the bytes and sets bad: callers check once in a while, and
 * every loop over bytes ends. Little-endian, as all machines are that sp-trace records on.
 */
#ifndef SP_ANALYSIS_DEBUG_BYTES_H
#define SP_ANALYSIS_DEBUG_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct sp_bytes {
	const unsigned char *at, *end;
	bool bad;
};

/* A section, or a part of one. */
struct sp_debug_section {
	const unsigned char *data;
	size_t size;
};

static inline struct sp_bytes sp_bytes_from(struct sp_debug_section section, uint64_t offset)
{
	if (offset > section.size || !section.data)
		return (struct sp_bytes){NULL, NULL, true};
	return (struct sp_bytes){section.data + offset, section.data + section.size, false};
}

static inline bool sp_bytes_skip(struct sp_bytes *bytes, uint64_t n)
{
	if (__builtin_expect(n > (size_t)(bytes->end - bytes->at), 0)) {
		bytes->at = bytes->end;
		bytes->bad = true;
		return false;
	}
	bytes->at += n;
	return true;
}

/* Of 0 to 8 bytes, which are there. */
static inline uint64_t sp_bytes_fixed(const unsigned char *at, unsigned int size)
{
	uint64_t value = 0;

	switch (size) {
	case 1:
		return *at;
	case 2:
		memcpy(&value, at, 2);
		return value;
	case 4:
		memcpy(&value, at, 4);
		return value;
	case 8:
		memcpy(&value, at, 8);
		return value;
	default:
		memcpy(&value, at, size);
		return value;
	}
}

/* Of 1 to 8 bytes. */
static inline uint64_t sp_bytes_number(struct sp_bytes *bytes, unsigned int size)
{
	const unsigned char *at = bytes->at;

	return sp_bytes_skip(bytes, size) ? sp_bytes_fixed(at, size) : 0;
}

static inline uint64_t sp_bytes_uleb(struct sp_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; bytes->at < bytes->end; shift += 7) {
		unsigned char byte = *bytes->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	bytes->bad = true;
	return 0;
}

static inline int64_t sp_bytes_sleb(struct sp_bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; bytes->at < bytes->end;) {
		unsigned char byte = *bytes->at++;

		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (!(byte & 0x80)) {
			if (byte & 0x40 && shift < 64)
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
	bytes->bad = true;
	return 0;
}

/* A text that ends within the bytes; NULL if it does not. */
static inline const char *sp_bytes_text(struct sp_bytes *bytes)
{
	const unsigned char *start = bytes->at;
	const unsigned char *nul =
		start < bytes->end ? memchr(start, 0, (size_t)(bytes->end - start)) : NULL;

	if (!nul) {
		bytes->at = bytes->end;
		bytes->bad = true;
		return NULL;
	}
	bytes->at = nul + 1;
	return (const char *)start;
}

static inline const char *sp_section_text(struct sp_debug_section section, uint64_t offset)
{
	struct sp_bytes bytes = sp_bytes_from(section, offset);

	return sp_bytes_text(&bytes);
}

#endif
