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

/* @cu: libdw's handle of the unit, or NULL. All must outlive the names. */
int sp_debug_names_new(struct sp_skim *skim, const struct sp_skim_unit *unit, Dwarf_CU *cu,
		       struct sp_debug_names **ret_names);
void sp_debug_names_free(struct sp_debug_names *names); /* NULL is fine */

/* The linker name of the function at an offset in .debug_info, the plain name if it has none, NULL
 * if it has neither. Lives as long as the unit's Dwarf. */
const char *sp_debug_names_find(struct sp_debug_names *names, uint64_t offset);

#endif
