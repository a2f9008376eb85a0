/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_units.h - the units of one file's DWARF by address, and addresses by unit.
 */
#ifndef SP_ANALYSIS_DEBUG_UNITS_H
#define SP_ANALYSIS_DEBUG_UNITS_H

#include "userspace/analysis/debug_unit.h"

#define SP_DEBUG_NO_UNIT UINT32_MAX

struct sp_debug_units;

/* @files: beside which a package of split DWARF may lie; NULL: none. They and all else must outlive
 * the units. */
int sp_debug_units_load(Dwarf *dwarf, const struct sp_debug_sections *sections,
			const char *const files[2], struct sp_debug_units **ret_units);
void sp_debug_units_free(struct sp_debug_units *units); /* NULL is fine */

/* NULL: libdw cannot read it. */
const struct sp_debug_unit_place *sp_debug_units_place(struct sp_debug_units *units, uint32_t unit);
/* Whose functions are in a file that is not there. */
size_t sp_debug_units_n_lost(const struct sp_debug_units *units);

/* Addresses of one unit, or of none (SP_DEBUG_NO_UNIT). */
struct sp_debug_chunk {
	uint32_t unit;
	uint32_t first, n; /* in the division's list */
	uint64_t cost;	   /* about, in nanoseconds */
};

struct sp_debug_division {
	uint32_t *indices; /* of addresses, by unit, in each ascending */
	struct sp_debug_chunk *chunks;
	size_t n_chunks;
};

/* Divides addresses among their units; @shift is to be added to each. They ascend. The same
 * addresses and file give the same chunks in the same order, the longest first. @units may be
 * NULL. @processes: so many will work on them. To be freed also after a failure. */
int sp_debug_units_divide(const struct sp_debug_units *units, const uint64_t *addresses, uint32_t n,
			  uint64_t shift, unsigned int processes,
			  struct sp_debug_division *ret_division);
void sp_debug_division_done(struct sp_debug_division *division);

#endif
