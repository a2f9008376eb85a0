/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_space.h - what processes have mapped that can be run, and the kernel's ranges for it.
 *
 * A new mapping takes the place of what it covers, wholly or in part; what was unmapped stays until
 * then, which does no harm, since nothing runs there. A fork has its parent's ranges, the very
 * same, until either of the two maps something. New ranges are written to a fresh place, then the
 * kernel is told of it, and the old place is left alone for SP_UNWIND_GRACE_NS.
 */
#ifndef SP_LOADER_UNWIND_SPACE_H
#define SP_LOADER_UNWIND_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include "loader/bpf.h"
#include "loader/unwind_pieces.h"

struct sp_unwind_spaces;

int sp_unwind_spaces_new(struct sp_bpf *bpf, struct sp_unwind_spaces **ret_spaces);

/* An address space for the process image: its parent's as it was at @time (ns), or an empty one
 * (@parent 0). -ENOENT: the parent is not known, so it is empty. -EEXIST, -ENOMEM. */
int sp_unwind_spaces_add(struct sp_unwind_spaces *spaces, uint32_t process, uint32_t parent,
			 uint64_t time);
void sp_unwind_spaces_remove(struct sp_unwind_spaces *spaces, uint32_t process, uint64_t now);

/* Maps a piece at @time (ns), also in the processes that were forked from this one after that.
 * -ENOENT: no such process; -E2BIG: it has too many mappings; -ENOMEM. */
int sp_unwind_spaces_map(struct sp_unwind_spaces *spaces, uint32_t process,
			 const struct sp_unwind_piece *piece, uint64_t time);
/* What is mapped at an address; NULL: nothing. */
const struct sp_unwind_piece *sp_unwind_spaces_find(const struct sp_unwind_spaces *spaces,
						    uint32_t process, uint64_t address);

/* The file's table has come. */
void sp_unwind_spaces_changed(struct sp_unwind_spaces *spaces, const struct sp_unwind_file *file);
/* Hands to the kernel what changed. A space that does not fit keeps what it has, is counted, and is
 * tried again. A large space that changes all the time is handed over some ten times a second. */
void sp_unwind_spaces_commit(struct sp_unwind_spaces *spaces, uint64_t now);

struct sp_unwind_spaces_stats {
	size_t spaces, ranges;
	uint64_t unfit; /* spaces that did not fit, each counted once */
};
void sp_unwind_spaces_stats(const struct sp_unwind_spaces *spaces,
			    struct sp_unwind_spaces_stats *ret_stats);
void sp_unwind_spaces_free(struct sp_unwind_spaces *spaces);

#endif
