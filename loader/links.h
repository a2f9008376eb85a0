/* SPDX-License-Identifier: BSD-2-Clause
 *
 * links.h - the kernel's links of programs to probes: while one is open, its probes are on.
 *
 * They are made and closed in the keeper alone (keep.h): a process that gets SIGKILL while it does
 * either leaves probes and raised semaphores behind.
 */
#ifndef SP_LOADER_LINKS_H
#define SP_LOADER_LINKS_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/bpf.h"
#include "loader/elf_limits.h"

/* The programs that run at the begin and at the end of a region, as descriptors. */
struct sp_link_programs {
	int begin, end;
	bool multi; /* they are for uprobe_multi links */
};

/* Puts programs on the probes of the file open as @file, in all processes, raising semaphores. All
 * of them or none; @ret_links has room for @count. -errno of the kernel. */
int sp_links_make(const struct sp_link_programs *programs, int file,
		  const struct sp_bpf_probe *probes, size_t count, int *ret_links,
		  size_t *ret_link_count);
/* Takes them off again; slow. */
void sp_links_close(const int *links, size_t count);

/* Whether the kernel has links to many probes at once (Linux 6.6). */
bool sp_links_have_multi(void);

/* BPF_TRACE_UPROBE_MULTI. Not in the headers of Linux 6.1, which Debian 12 has; the value is the
 * kernel's ABI. */
#define SP_LINK_UPROBE_MULTI 48

#endif
