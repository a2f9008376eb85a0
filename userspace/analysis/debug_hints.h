/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_hints.h - what a unit's debug information says of a function's name beyond its linker name.
 *
 * Costs nothing but a look at the language until it is needed: for functions of Fortran, and for
 * outlined ones (OpenMP), when the unit is walked once more; and for those of C++ that have no
 * linker name (debug_scope.h).
 */
#ifndef SP_ANALYSIS_DEBUG_HINTS_H
#define SP_ANALYSIS_DEBUG_HINTS_H

#include <elfutils/libdw.h>

#include "userspace/analysis/debug_names.h"
#include "userspace/analysis/names.h"

struct sp_debug_hints;

/* @unit: the entry of the unit that has the functions. It must outlive the hints. */
int sp_debug_hints_new(const Dwarf_Die *unit, struct sp_debug_hints **ret_hints);
/* NULL is fine. */
void sp_debug_hints_free(struct sp_debug_hints *hints);

/* Hints for the function of @die, a subprogram or an inlined call, whose name is @name (NULL:
 * none). All zero where there are none, or no memory; texts live as long as the hints. */
void sp_debug_hints_find(struct sp_debug_hints *hints, const Dwarf_Die *die,
			 const struct sp_debug_name *name, struct sp_name_hints *ret_names);

#endif
