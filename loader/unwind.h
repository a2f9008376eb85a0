/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind.h - keeps the kernel's tables for unwinding up to date with what traced processes map.
 *
 * Tables are keyed by device, inode, size, modification and change time, never by name or build-id;
 * made once by sp-unwind, a helper without rights (unwind_scan.h), beside the recording
 * (unwind_worker.h), shared between processes, and thrown out again, those unused longest first,
 * when the room is used up (unwind_cache.h). The address spaces follow mappings as they come; what
 * a new mapping covers is gone (unwind_space.h). Until its table is there, a file's ranges say
 * PENDING.
 *
 * Life cycle: new; file, map, fork, exec, exit as things happen; commit once a round; free.
 */
#ifndef SP_LOADER_UNWIND_H
#define SP_LOADER_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/bpf.h"
#include "loader/recorder.h"

struct sp_unwind;

/* @recorder gets an unwind_table event for each image. Asks for the table of the vDSO, which is the
 * same in all processes. -ENOENT, logged with the remedy: the helper is not installed. */
int sp_unwind_new(struct sp_bpf *bpf, struct sp_recorder *recorder, struct sp_unwind **ret_unwind);
/* The first bytes of the page that patched probes call, as the self-test has seen them
 * (unwind_known.h). */
void sp_unwind_set_trampoline(struct sp_unwind *unwind, const uint8_t *bytes);

/* A file that is mapped, or soon will be (found before the program starts): asks for its table, if
 * there is none. @system: as below. @image is its number in the recording. Duplicates @fd. */
void sp_unwind_add_file(struct sp_unwind *unwind, int fd, long system, const char *path,
			uint32_t image);

/* An executable mapping. */
struct sp_unwind_map {
	uint64_t time; /* ns */
	uint64_t start, end, file_offset;
	int fd; /* the file; -1: it could not be opened, or it is none */
	long system; /* the kind of file system that it is on, f_type of statfs(2) */
	bool is_file;
	const char *path; /* of the file, or of what is none */
};
/* In the image @process. Asks for the file's table, if there is none. Duplicates map->fd. */
void sp_unwind_map(struct sp_unwind *unwind, uint32_t process, const struct sp_unwind_map *map);
/* A new image: a copy of its parent's address space at @time (fork), or an empty one (exec, or
 * found: @parent 0). -ENOENT: the parent is not known, so it is empty, too. */
int sp_unwind_add_process(struct sp_unwind *unwind, uint32_t process, uint32_t parent,
			  uint64_t time);
void sp_unwind_remove_process(struct sp_unwind *unwind, uint32_t process);

/* Hands all changes, and the tables that were made, to the kernel. Does not wait. */
void sp_unwind_commit(struct sp_unwind *unwind);
/* Whether tables are being made; readable, for poll(2), when one was: then commit. */
bool sp_unwind_is_busy(const struct sp_unwind *unwind);
int sp_unwind_fd(const struct sp_unwind *unwind);

/* A stack of the process ended at an address that is not its thread's start: remembers the file.
 * @end: why (SP_STACK_*). */
void sp_unwind_blame(struct sp_unwind *unwind, uint32_t process, uint64_t address, unsigned end);
/* The files in which most stacks ended so, most first; the names are valid until something is
 * mapped. Returns how many there are, at most @most. */
size_t sp_unwind_worst(const struct sp_unwind *unwind, unsigned end, const char **ret_names,
		       size_t most);

struct sp_unwind_stats {
	size_t tables, rows, rules, chunks, ranges, evicted, failed;
	size_t over_share; /* of those that failed: their owner had all of a user's share */
	uint64_t unfit; /* address spaces that did not fit */
};
void sp_unwind_stats(const struct sp_unwind *unwind, struct sp_unwind_stats *ret_stats);
void sp_unwind_free(struct sp_unwind *unwind);

#endif
