/* SPDX-License-Identifier: BSD-2-Clause */
/* The second place of every region. */
#include "regions.h"

#define BEGIN(k) \
	static void begin_##k(void) \
	{ \
		SP_REGION_BEGIN_TAGGED(NAME(k), "far"); \
	}
#define END(k) \
	static void end_##k(void) \
	{ \
		SP_REGION_END(NAME(k)); \
	}
#define BEGIN_NAME(k) begin_##k,
#define END_NAME(k) end_##k,

/* clang-format off */
EACH_REGION(BEGIN)
EACH_REGION(END)
/* clang-format on */

const edge_fn far_begin[REGIONS] = {EACH_REGION(BEGIN_NAME)};
const edge_fn far_end[REGIONS] = {EACH_REGION(END_NAME)};
