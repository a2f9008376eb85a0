/* SPDX-License-Identifier: BSD-2-Clause
 *
 * list.h - `sp-trace --list`: the regions of a file, or of what a process has mapped.
 *
 * Needs no privilege for one's own files and processes; the files are read by the helper sp-elf, as
 * everywhere. Both print to stdout, log to stderr and return the exit status: 0, or 1 where the
 * thing could not be read. A program without regions is no failure: it is told how to add some.
 */
#ifndef SP_LOADER_LIST_H
#define SP_LOADER_LIST_H

#include <sys/types.h>

int sp_list_file(const char *path);
/* Also says for each binary whether its probes are armed, by its semaphores in the process's
 * memory. */
int sp_list_pid(pid_t pid);

#endif
