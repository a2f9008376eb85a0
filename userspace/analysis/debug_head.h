/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_head.h - a unit's header, and what its own entry says of where its code is.
 *
 * Of thousands of units often few have an address that is asked for: libdw, which needs
 * microseconds for each, is asked for those alone.
 */
#ifndef SP_ANALYSIS_DEBUG_HEAD_H
#define SP_ANALYSIS_DEBUG_HEAD_H

#include "userspace/analysis/debug_skim.h"

/* Reads the header at unit->start; unit->sections is set. *ret_kind: DW_UT_*, before DWARF 5
 * DW_UT_compile for all. False if it is damaged, or of no version that is known. */
bool sp_debug_header_read(struct sp_skim_unit *unit, int *ret_kind);

struct sp_debug_head {
	struct sp_skim_unit unit;
	struct sp_skim_entry entry; /* with its ranges */
	bool compiled;		    /* may have code: neither types nor what units share */
	uint64_t lines;		    /* in .debug_line; UINT64_MAX: none */
};

/* Reads the unit that starts at head->unit.start, with the sections set; the next one starts at its
 * end. -ENOTSUP for what is left to libdw: split DWARF, rare forms, what is damaged. */
int sp_debug_head_read(struct sp_debug_head *head);

#endif
