/* SPDX-License-Identifier: BSD-2-Clause
 *
 * util.h - small things that the writers and readers of formats/ share. Not installed.
 */
#ifndef SP_FORMATS_UTIL_H
#define SP_FORMATS_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

/* For locals that hold memory: char *name sp_cleanup_free = NULL; */
#define sp_cleanup_free __attribute__((cleanup(sp_free_pointer)))
static inline void sp_free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

/* 0 when all bytes were read or written; -ENODATA when the file ended before. */
int sp_pread_all(int fd, void *data, size_t size, uint64_t offset);
int sp_pwrite_all(int fd, const void *data, size_t size, uint64_t offset);

/* Opens a regular file for reading; never blocks on a FIFO. Gives its size. */
struct sp_error;
int sp_open_regular(const char *path, int *ret_fd, uint64_t *ret_size, struct sp_error *error);

/* A file without a name for what does not fit into memory: in $TMPDIR, else in /var/tmp, which is
 * on disk, else in /tmp. It vanishes when it is closed. */
int sp_temporary_open(int *ret_fd, struct sp_error *error);

/* Makes room for one more element of @size bytes: doubles *@array as needed. */
int sp_array_reserve(void **array, size_t *capacity, size_t used, size_t size);

/* For qsort() and bsearch(). */
static inline int sp_compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static inline int sp_compare_u32(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

static inline void sp_swap_64(void *values, size_t n)
{
	uint64_t *value = values;

	for (size_t i = 0; i < n; i++)
		value[i] = __builtin_bswap64(value[i]);
}

/* Two's complement arithmetic that may wrap: what a hostile file makes of it is a wrong number, not
 * undefined behaviour. */
static inline int64_t sp_wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t sp_wrap_sub(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* A sum of counts that says "something" of whatever a file claims: one that wraps could be 0. */
static inline void sp_add_capped(uint64_t *sum, uint64_t count)
{
	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
}

#endif
