/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_layout.h - where a unit's entries and the tables that they refer to are, with and without
 * split DWARF.
 */
#ifndef SP_ANALYSIS_DEBUG_LAYOUT_H
#define SP_ANALYSIS_DEBUG_LAYOUT_H

#include <elfutils/libdw.h>

#include "userspace/analysis/debug_skim.h"
#include "userspace/analysis/debug_unit.h"

struct sp_debug_layout {
	struct sp_debug_sections sections; /* that the functions are in */
	struct sp_skim_unit unit;	   /* refers to these sections: do not copy */
	Dwarf_CU *cu;			   /* of the functions; NULL: libdw does not have it */
};

/* @sections: of the file that the place's lines are in. False if the unit cannot be skimmed. */
bool sp_debug_lay_out(struct sp_debug_layout *layout, const struct sp_debug_unit_place *place,
		      const struct sp_debug_sections *sections);

/* A number that an entry has as an attribute, or @missing. */
uint64_t sp_debug_number(const Dwarf_Die *die, unsigned int attribute, uint64_t missing);

#endif
