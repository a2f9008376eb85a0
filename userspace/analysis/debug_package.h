/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_package.h - split DWARF of a whole program in one file beside it (PROGRAM.dwp).
 *
 * Old libdw knows only the single files (.dwo) of the units. A package has their sections one after
 * the other, and an index by the units' ids, of GNU's format (version 2) or DWARF 5's.
 */
#ifndef SP_ANALYSIS_DEBUG_PACKAGE_H
#define SP_ANALYSIS_DEBUG_PACKAGE_H

#include "userspace/analysis/debug_sections.h"

struct sp_debug_package;

/* Opens @file with ".dwp" behind its name. -ENOENT if there is none that can be used, -ENOMEM. */
int sp_debug_package_open(const char *file, struct sp_debug_package **ret_package);
void sp_debug_package_free(struct sp_debug_package *package); /* NULL is fine */

/* The unit's part of the sections; false if it is not in the package. */
bool sp_debug_package_find(const struct sp_debug_package *package, uint64_t id,
			   struct sp_debug_sections *ret_sections);

#endif
