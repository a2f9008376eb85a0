/* SPDX-License-Identifier: BSD-2-Clause
 *
 * seccomp.h - a helper locks itself in.
 */
#ifndef SP_LOADER_HELPERS_SECCOMP_H
#define SP_LOADER_HELPERS_SECCOMP_H

/* From now on this process can read and seek in the descriptors that it has, write to 1 (and 2),
 * get and return plain memory, and exit; any other system call kills it at once. Nothing can be
 * opened, connected, started, signalled or made executable. Not to be undone. -errno where the
 * kernel refuses, and then nothing hostile must be read. */
int sp_seccomp_lock(void);

#endif
