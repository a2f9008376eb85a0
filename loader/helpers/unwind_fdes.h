/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_fdes.h - entries of call frame information in the order of addresses, so that each address
 * has one at most.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_FDES_H
#define SP_LOADER_HELPERS_UNWIND_FDES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "loader/helpers/unwind_cfi.h"

#define SP_UNWIND_MAX_FDES (4u << 20)

struct sp_unwind_fde {
	uint64_t start, end;
	uint64_t from; /* begins to count, at start or later */
	const struct sp_cfi_cie *cie;
	const uint8_t *program;
	uint32_t bytes;
};

struct sp_unwind_fdes {
	struct sp_unwind_fde *at;
	size_t count, room;
};

int sp_unwind_fdes_add(struct sp_unwind_fdes *fdes, const struct sp_unwind_fde *fde,
		       struct sp_error *err);

/* Sorts them by their start, and makes them disjoint: what two cover belongs to the one that begins
 * first, then to the one that was added first. */
int sp_unwind_fdes_sort(struct sp_unwind_fdes *fdes, struct sp_error *err);

/* Keeps of @fdes what lies wholly in the gaps of @others. Both are sorted. */
void sp_unwind_fdes_keep_in_gaps(struct sp_unwind_fdes *fdes, const struct sp_unwind_fdes *others);

/* Whether none of @fdes, which are sorted, is in the way of [start, end). Costs log n. */
bool sp_unwind_fdes_are_away(const struct sp_unwind_fdes *fdes, uint64_t start, uint64_t end);

/* Leaves of @fde what lies before the first of @fdes that is in its way; perhaps nothing. */
void sp_unwind_fdes_shorten(const struct sp_unwind_fdes *fdes, struct sp_unwind_fde *fde);

#endif
