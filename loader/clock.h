/* SPDX-License-Identifier: BSD-2-Clause
 *
 * clock.h - the machine's clocks, as the kernel's programs see them.
 */
#ifndef SP_LOADER_CLOCK_H
#define SP_LOADER_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC, CLOCK_BOOTTIME or CLOCK_REALTIME in ns, whatever time namespace we are in: the
 * clocks of the events that come from the kernel. */
int64_t sp_clock(clockid_t clock);
/* CLOCK_MONOTONIC, the same way. */
uint64_t sp_now(void);

#endif
