/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_pieces.h - what one process has mapped that can be run, by address.
 *
 * Invariant: pieces are sorted by address and do not overlap; each holds its file, and neighbours
 * that continue each other are one.
 */
#ifndef SP_LOADER_UNWIND_PIECES_H
#define SP_LOADER_UNWIND_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/unwind_cache.h"

#define SP_UNWIND_MOST_PIECES 8192 /* mappings of one process */

/* A mapping: of a file, or, with @file NULL, one without a table (@flags: enum
 * sp_unwind_range_flag). */
struct sp_unwind_piece {
	uint64_t start, end;
	uint64_t offset; /* in the file, of start */
	struct sp_unwind_file *file;
	uint32_t flags;
};

/* All zero is empty. */
struct sp_unwind_pieces {
	struct sp_unwind_piece *list;
	size_t count, room;
};

/* Whether the piece is mapped already: the kernel tells of a mapping again when its protection is
 * changed. */
bool sp_unwind_pieces_has(const struct sp_unwind_pieces *pieces,
			  const struct sp_unwind_piece *piece);
/* Puts it in the place of what it covers. -ENOMEM: nothing is changed; -E2BIG: there are too many,
 * and what it covers is gone. */
int sp_unwind_pieces_add(struct sp_unwind_pieces *pieces, const struct sp_unwind_piece *piece,
			 uint64_t now);
/* The piece at an address; NULL: none. */
const struct sp_unwind_piece *sp_unwind_pieces_find(const struct sp_unwind_pieces *pieces,
						    uint64_t address);
/* Makes empty ones the same as others. -ENOMEM. */
int sp_unwind_pieces_copy(struct sp_unwind_pieces *pieces, const struct sp_unwind_pieces *from);
void sp_unwind_pieces_free(struct sp_unwind_pieces *pieces, uint64_t now);

#endif
