/* SPDX-License-Identifier: BSD-2-Clause */
/* The second file of the matrix program: ends what app.c begins, and owns the inline function. */
#include "unit.h"

#ifndef __cplusplus
extern inline unsigned extern_inline(unsigned x);
#endif

unsigned part_semaphores(int raise)
{
	if (raise) {
		sp_begin_sema_v1 = 1;
		sp_end_sema_v1 = 1;
	}
	return (unsigned)(sp_begin_sema_v1 != 0) + (unsigned)(sp_end_sema_v1 != 0);
}

void part_end_elsewhere(void)
{
	SP_REGION_END("ends elsewhere");
}

/* Through the address of a function, as a table of callbacks would. */
static unsigned by_address(unsigned x)
{
	void (*edge[2])(sp_region_t);
	sp_region_t region = sp_region_intern_at("by address", __FILE__, __LINE__, "tag");

	edge[0] = sp_region_begin;
	edge[1] = sp_region_end;
	edge[0](region);
	count_call("by address");
	edge[1](region);
	edge[0](NULL);
	edge[1](NULL);
	return x + 7;
}

unsigned part_run(unsigned x)
{
	SP_REGION_SCOPE("part");
	count_call("part");
	if (sp_region_intern("interned") != sp_region_intern("interned"))
		return 0;
	return static_inline(x) ^ extern_inline(x) ^ by_address(x);
}
