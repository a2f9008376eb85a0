/* SPDX-License-Identifier: BSD-2-Clause
 *
 * proctree.h - the descendants of a process.
 */
#ifndef SP_LOADER_PROCTREE_H
#define SP_LOADER_PROCTREE_H

#include <stddef.h>
#include <sys/types.h>

/* All descendants of a process, parents before their children, without itself. Looks again until a
 * look finds no new one, so that a child forked meanwhile by one already found is not missed; a
 * child whose parent died before the first look belongs to nobody. Free the array. One look costs
 * about 10 µs for each process of the machine. -ESRCH: the process is gone. */
int sp_proctree_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count);

#endif
