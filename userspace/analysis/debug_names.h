/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_names.h - linker names of a unit's functions, each looked for once.
 *
 * The name of an inlined call stands in the function that was inlined, which may be in another unit
 * or file; that of a method in its class. What is within the unit is read here, the rest by libdw.
 */
#ifndef SP_ANALYSIS_DEBUG_NAMES_H
#define SP_ANALYSIS_DEBUG_NAMES_H

#include <elfutils/libdw.h>

#include "userspace/analysis/debug_skim.h"

struct sp_debug_names;

struct sp_debug_name {
	const char *text; /* lives as long as the unit's Dwarf */
	uint32_t number;  /* the user's, who finds 0 at first */
	bool cut_out;	  /* of an outlined function of OpenMP, perhaps */
};

/* @cu: libdw's handle of the unit, or NULL. All must outlive the names. */
int sp_debug_names_new(struct sp_skim *skim, const struct sp_skim_unit *unit, Dwarf_CU *cu,
		       struct sp_debug_names **ret_names);
void sp_debug_names_free(struct sp_debug_names *names); /* NULL is fine */

/* The linker name of the function at an offset in .debug_info, the plain name if it has none, NULL
 * if it has neither (or there is no memory). Lives as long as the names. *ret_entry becomes what
 * stands at the offset itself. */
struct sp_debug_name *sp_debug_names_find(struct sp_debug_names *names, uint64_t offset,
					  struct sp_skim_entry *ret_entry);

#endif
