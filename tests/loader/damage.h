/* SPDX-License-Identifier: BSD-2-Clause
 *
 * damage.h - a file that is damaged in every way, the same in each run.
 */
#ifndef TESTS_LOADER_DAMAGE_H
#define TESTS_LOADER_DAMAGE_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct damage {
	const char *path;
	uint8_t *bytes; /* of the whole file */
	size_t size;
	int fd; /* of the damaged copy */
};

static uint64_t random_state;

static inline uint64_t random_number(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Reads the file at its path. */
static inline void damage_load(struct damage *d)
{
	int fd = open(d->path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		abort();
	d->size = (size_t)st.st_size;
	d->bytes = malloc(d->size);
	if (!d->bytes || read(fd, d->bytes, d->size) != (ssize_t)d->size)
		abort();
	close(fd);
	d->fd = memfd_create("damaged", 0);
	if (d->fd < 0)
		abort();
}

static inline void damage_free(struct damage *d)
{
	close(d->fd);
	free(d->bytes);
}

/* Makes the copy the first bytes of the file. */
static inline void damage_cut(const struct damage *d, size_t size)
{
	if (ftruncate(d->fd, 0) < 0 || pwrite(d->fd, d->bytes, size, 0) != (ssize_t)size)
		abort();
}

/* Makes the copy the file with some bytes changed, at places that @pick chooses by random numbers.
 */
static inline void damage_flip(const struct damage *d, uint64_t seed, size_t count,
			       size_t (*pick)(const void *arg), const void *arg)
{
	random_state = seed * 0x9e3779b97f4a7c15u;
	damage_cut(d, d->size);
	for (size_t n = 0; n < count; n++) {
		static const uint8_t values[] = {0, 0xff, 0x7f, 0x80, 1};
		uint64_t r = random_number() >> 16;
		size_t at = pick(arg);
		uint8_t byte = r & 8 ? values[r % 5] : d->bytes[at] ^ (uint8_t)(1 << (r & 7));

		if (pwrite(d->fd, &byte, 1, (off_t)at) != 1)
			abort();
	}
}

#endif
