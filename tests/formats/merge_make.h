/* SPDX-License-Identifier: BSD-2-Clause
 *
 * merge_make.h - small random profiles for the test of merging, the same for the same state.
 */
#ifndef SP_TESTS_FORMATS_MERGE_MAKE_H
#define SP_TESTS_FORMATS_MERGE_MAKE_H

#include <stddef.h>
#include <stdint.h>

/* A random number, 0 … limit − 1. */
uint64_t make_below(uint64_t limit);
void make_seed(uint64_t seed);

/* Each writes one file. @recording may be NULL; @tag makes texts of the file tell it from others.
 */
void make_h5(const char *path, const uint32_t *ranks, size_t n_ranks, unsigned int columns,
	     const char *recording, unsigned int tag);
void make_aggregate(const char *path, uint32_t rank);
void make_spt(const char *path, uint32_t rank);
void make_sps(const char *path, uint32_t rank);

#endif
