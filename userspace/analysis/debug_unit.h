/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_unit.h - one compilation unit's debug information, prepared for many lookups.
 *
 * Reading walks every entry of the unit once and costs time in proportion to its size; a lookup is
 * a few binary searches. Only symbols' libdw half (debug_info.c) uses this.
 */
#ifndef SP_ANALYSIS_DEBUG_UNIT_H
#define SP_ANALYSIS_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/analysis/debug_info.h"

struct sp_debug_unit;

/* @lines is the unit's own entry, which has the line table; @functions is the same, or with split
 * DWARF the entry of the unit in the .dwo file. Both must outlive the unit, as must their Dwarf. */
int sp_debug_unit_read(const Dwarf_Die *lines, const Dwarf_Die *functions,
		       struct sp_debug_unit **ret_unit);
/* NULL is fine. */
void sp_debug_unit_free(struct sp_debug_unit *unit);

/* The chain of functions at an address (in the DWARF file's terms), innermost inlined one first.
 * Returns the number of frames; 0 if the unit knows neither function nor line. Texts live as long
 * as the Dwarf; a function may be NULL where only the line is known, and the other way round. */
size_t sp_debug_unit_find(const struct sp_debug_unit *unit, uint64_t address,
			  struct sp_debug_frame frames[SP_DEBUG_MAX_INLINED]);

#endif
