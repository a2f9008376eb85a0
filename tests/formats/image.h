// SPDX-License-Identifier: BSD-2-Clause
/*
 * image.h - a binary file that is put together by hand, byte by byte.
 */
#ifndef TESTS_FORMATS_IMAGE_H
#define TESTS_FORMATS_IMAGE_H

#include <stdint.h>

#include "tests/formats/check.h"

/* In either byte order. */
struct image {
	unsigned char data[4096];
	size_t size;
	int big;
};

static inline void put(struct image *image, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t shift = 8 * (image->big ? size - 1 - i : i);

		image->data[image->size++] = (unsigned char)(value >> shift);
	}
}

static inline void put_text(struct image *image, const char *text, size_t size)
{
	put(image, size, 4);
	memcpy(image->data + image->size, text, size);
	image->size += size;
}

/* Overwrites @size bytes at @at. */
static inline void set(struct image *image, size_t at, uint64_t value, size_t size)
{
	size_t kept = image->size;

	image->size = at;
	put(image, value, size);
	image->size = kept;
}

static inline const char *write_image(const struct image *image, const char *work, const char *name)
{
	const char *path = check_path(work, name);

	check_write_file(path, image->data, image->size);
	return path;
}

#endif
