/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_known.h - code that the kernel puts into every process, and that is no file.
 */
#ifndef SP_LOADER_UNWIND_KNOWN_H
#define SP_LOADER_UNWIND_KNOWN_H

#include <stdint.h>

#include "loader/unwind_scan.h"

/* The names that mappings have; the kernel cuts them to 15 bytes where it tells of them. */
#define SP_UNWIND_TRAMPOLINE "[uprobes-trampo"

/* How many bytes of the page that patched probes call (Linux 6.18, x86-64) are compared. */
#define SP_UNWIND_TRAMPOLINE_BYTES 20
/* The table of that page, if its bytes, as the self-test has seen them, are those that we know;
 * else -ENODATA. Clear it. */
int sp_unwind_known_trampoline(const uint8_t bytes[SP_UNWIND_TRAMPOLINE_BYTES],
			       struct sp_unwind_table *ret_table);

#endif
