/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the matrix program share: a table of the calls it makes, which outside judges
 * compare with what they saw, and inline functions with regions, which every file gets a copy of.
 */
#ifndef TESTS_USDT_MATRIX_UNIT_H
#define TESTS_USDT_MATRIX_UNIT_H

#include "usdt/sp_region.h"

/* Every kind of character that a compiler, an assembler or its operands could take for its own. */
#define ODD_NAME "odd \"q\" 'a' 100%s %d %[x] {a|b} {} \\n \\ $0 #1 ; /* // @x \xc3\xa4\xe2\x82\xac"

#ifdef __cplusplus
extern "C" {
#endif

/* Note one call of a region, for the table that the program prints. */
__attribute__((visibility("default"))) void count_call(const char *name);

/* Each link unit: how many of its two semaphores are up, if so wanted after raising both. */
unsigned part_semaphores(int raise);
unsigned one_semaphores(int raise);
unsigned two_semaphores(int raise);

/* Run all regions, return a checksum. */
unsigned part_run(unsigned x);
unsigned cxx_run(unsigned x);
unsigned one_run(unsigned x);
unsigned two_run(unsigned x);
void part_end_elsewhere(void);

static inline unsigned static_inline(unsigned x)
{
	SP_REGION_FUNCTION();
	count_call("static_inline");
	return x * 3 + 1;
}

/* External linkage: where C99 compilers warn of whatever is static. part.c has the definition. */
inline unsigned extern_inline(unsigned x)
{
	sp_region_t region = sp_region_intern("interned");

	SP_REGION_SCOPE("extern inline");
	SP_REGION_BEGIN_TAGGED("inline pair", "io,inline");
	count_call("extern inline");
	count_call("inline pair");
	count_call("interned");
	sp_region_begin(region);
	x = x * 5 + 2;
	sp_region_end(region);
	SP_REGION_END("inline pair");
	return x;
}

#ifdef __cplusplus
}
#endif
#endif
