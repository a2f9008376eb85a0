/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind.h - keeps the kernel's tables for unwinding up to date with what traced processes map.
 *
 * Tables are keyed by device, inode, size, modification and change time, never by name or build-id;
 * made once by sp-unwind, a helper without rights (unwind_scan.h), shared between processes, and
 * thrown out again, those unused longest first, when the room is used up. The address spaces follow
 * mappings as they come; what a new mapping covers is gone. In between, an image has ranges that
 * say PENDING.
 *
 * Life cycle: new; file, map, fork, exec, exit as things happen; commit once a round; free.
 */
#ifndef SP_LOADER_UNWIND_H
#define SP_LOADER_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/bpf.h"
#include "loader/recorder.h"

struct sp_unwind;

/* @recorder gets an unwind_table event for each image. Makes the table of the vDSO, which is the
 * same in all processes. */
int sp_unwind_new(struct sp_bpf *bpf, struct sp_recorder *recorder, struct sp_unwind **ret_unwind);

/* A file that is mapped, or soon will be (found before the program starts): makes its table at the
 * next commit, if there is none. @image is its number in the recording. Duplicates @fd. */
int sp_unwind_add_file(struct sp_unwind *unwind, int fd, const char *path, uint32_t image);

/* An executable mapping of the image @process. @inode 0: not a file (vdso by its name, else code
 * made at run time). The device and inode are those of stat(2) of the file. */
struct sp_unwind_map {
	uint64_t start, end, file_offset, device, inode;
	const char *path;
};
int sp_unwind_map(struct sp_unwind *unwind, uint32_t process, const struct sp_unwind_map *map);
/* A new image: a copy of its parent's address space (fork), or an empty one (exec, or unknown:
 * @parent 0). */
int sp_unwind_add_process(struct sp_unwind *unwind, uint32_t process, uint32_t parent);
void sp_unwind_remove_process(struct sp_unwind *unwind, uint32_t process);

/* Makes the tables that are wanted, and hands all changes to the kernel. Blocks for as long as the
 * helper takes (a millisecond, and some 10 ms for a file like libc), never longer than its limits.
 */
int sp_unwind_commit(struct sp_unwind *unwind);

struct sp_unwind_stats {
	size_t tables, rows, rules, chunks, ranges, evicted, failed;
};
void sp_unwind_stats(const struct sp_unwind *unwind, struct sp_unwind_stats *ret_stats);
void sp_unwind_free(struct sp_unwind *unwind);

#endif
