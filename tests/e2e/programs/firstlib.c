/* SPDX-License-Identifier: BSD-2-Clause
 *
 * firstlib.c - a shared library with regions in its constructor and destructor, and one to call.
 */
#include "usdt/sp_region.h"

void firstlib_call(void);

__attribute__((constructor)) static void begin(void)
{
	SP_REGION_FUNCTION();
	SP_REGION_BEGIN("library constructor");
	SP_REGION_END("library constructor");
}

__attribute__((destructor)) static void end(void)
{
	SP_REGION_BEGIN("library destructor");
	SP_REGION_END("library destructor");
}

void firstlib_call(void)
{
	SP_REGION_BEGIN("library call");
	SP_REGION_END("library call");
}
