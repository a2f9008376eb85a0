/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_ranges.h - the kernel's ranges for a list of mappings.
 */
#ifndef SP_LOADER_UNWIND_RANGES_H
#define SP_LOADER_UNWIND_RANGES_H

#include "loader/unwind_space.h"

struct sp_unwind_ranges {
	struct sp_unwind_range *list; /* to be freed */
	size_t count, room;
};

/* Fills @ranges, sorted and not overlapping whatever the files say, for pieces that are so.
 * -ENOMEM.
 */
int sp_unwind_ranges_make(struct sp_unwind_ranges *ranges, const struct sp_unwind_piece *pieces,
			  size_t count);

/* Tells the kernel side where the rows of a file are, so that it finds them in mappings of which we
 * have yet to hear. @ready false: its table is about to be thrown out. A file in many pieces is not
 * shown. */
void sp_unwind_ranges_show(struct sp_bpf *bpf, const struct sp_unwind_file *file, bool ready);

#endif
