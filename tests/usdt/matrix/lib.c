/* SPDX-License-Identifier: BSD-2-Clause */
/* A shared library of the matrix program, built twice: UNIT is `one` or `two`. */
#include "unit.h"

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define VISIBLE __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif
VISIBLE unsigned CAT(UNIT, _semaphores)(int raise);
VISIBLE unsigned CAT(UNIT, _run)(unsigned x);
#ifdef __cplusplus
}
#else
extern inline unsigned extern_inline(unsigned x);
#endif

VISIBLE unsigned CAT(UNIT, _semaphores)(int raise)
{
	if (raise) {
		sp_begin_sema_v1 = 1;
		sp_end_sema_v1 = 1;
	}
	return (unsigned)(sp_begin_sema_v1 != 0) + (unsigned)(sp_end_sema_v1 != 0);
}

VISIBLE unsigned CAT(UNIT, _run)(unsigned x)
{
	SP_REGION_SCOPE("library");
	count_call("library");
	return extern_inline(x) + static_inline(x);
}
