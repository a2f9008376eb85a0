/* SPDX-License-Identifier: BSD-2-Clause
 *
 * mixedlib.c - the library that mixed.c loads and unloads.
 */
#include "usdt/sp_region.h"

void mixed_call(void);
void mixed_call(void)
{
	SP_REGION_BEGIN("library");
	SP_REGION_END("library");
}
