/* SPDX-License-Identifier: BSD-2-Clause
 *
 * slice.h - how soon this process gets a CPU.
 */
#ifndef SP_LOADER_SLICE_H
#define SP_LOADER_SLICE_H

#include <stdbool.h>

/* Nice value; and with @hurry, a short time slice: a thread that has one runs at once when it wakes
 * up (Linux 6.12). Where the kernel knows none, the nice value alone. */
void sp_slice_set(int nice, bool hurry);
/* Tries it. */
bool sp_slice_is_known(void);

#endif
