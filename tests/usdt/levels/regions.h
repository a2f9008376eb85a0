/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forty regions, each of which can be begun and ended at several places: by name in two files, by
 * handle, as a scope. And the stubs' stand-ins, which note what fired.
 */
#ifndef TESTS_USDT_LEVELS_REGIONS_H
#define TESTS_USDT_LEVELS_REGIONS_H

#include "usdt/sp_region.h"

#define REGIONS 40
#define EACH_TEN(x, t) \
	x(t##0) x(t##1) x(t##2) x(t##3) x(t##4) x(t##5) x(t##6) x(t##7) x(t##8) x(t##9)
#define EACH_REGION(x) EACH_TEN(x, 1) EACH_TEN(x, 2) EACH_TEN(x, 3) EACH_TEN(x, 4)
#define NAME(k) "r" #k

typedef void (*edge_fn)(void);
extern const edge_fn far_begin[REGIONS], far_end[REGIONS];

/* What the last call of a stub by this thread was given; `begins` and `ends` count them. */
struct fired {
	unsigned begins, ends;
	const void *desc;
	const char *name;
	uint64_t hash, skipped;
};
extern __thread struct fired fired;

#endif
