/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sincelib.c - the library of since.c.
 */
#include <unistd.h>

#include "usdt/sp_region.h"

void since_begin(void), since_end(void), since_scope(void);
int since_is_armed(void);

void since_begin(void)
{
	SP_REGION_BEGIN("library");
}

void since_end(void)
{
	SP_REGION_END("library");
}

/* Begins before its probes are on, and ends after that. */
void since_scope(void)
{
	SP_REGION_SCOPE("scope");

	while (!since_is_armed())
		usleep(1000);
}

int since_is_armed(void)
{
	return SP_REGION_ENABLED();
}
