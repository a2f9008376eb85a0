/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_sections.h - the bytes of one file's DWARF, as libdw has mapped and decompressed them.
 *
 * libdw opens, finds and relates files and units, and answers what is rare or intricate. What is
 * asked millions of times (which entries of a unit have code where, which line an address is on) is
 * read here from the same bytes, by debug_skim.c and debug_rows.c, an order of magnitude faster.
 */
#ifndef SP_ANALYSIS_DEBUG_SECTIONS_H
#define SP_ANALYSIS_DEBUG_SECTIONS_H

#include <libelf.h>
#include <stdbool.h>

#include "userspace/analysis/debug_bytes.h"

struct sp_debug_sections {
	struct sp_debug_section info, abbrev, line, line_str, str, str_offsets, addr, ranges,
		rnglists, cu_index;
};

/* Sections that are missing are empty. @split: those that a split unit is in (.debug_info.dwo),
 * which a file may have beside its others. False if the file is big-endian: it is not read. */
bool sp_debug_sections_find(Elf *elf, bool split, struct sp_debug_sections *ret_sections);

#endif
