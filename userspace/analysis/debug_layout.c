/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_layout.c - see debug_layout.h.
 */
#include "userspace/analysis/debug_layout.h"

#include <dwarf.h>

#include "userspace/analysis/debug_head.h"

uint64_t sp_debug_number(const Dwarf_Die *die, unsigned int attribute, uint64_t missing)
{
	Dwarf_Die copy = *die;
	Dwarf_Attribute found;
	Dwarf_Word value;

	return dwarf_attr(&copy, attribute, &found) && dwarf_formudata(&found, &value) == 0
		       ? value
		       : missing;
}

/* With split DWARF functions are in another file, but their addresses are in the first one. */
static void lay_out_split(struct sp_debug_layout *unit, const struct sp_debug_unit_place *place,
			  const struct sp_debug_sections *sections)
{
	struct sp_skim_unit *layout = &unit->unit;

	unit->sections.addr = sections->addr;
	layout->addr_base =
		sp_debug_number(&place->lines, DW_AT_addr_base,
				sp_debug_number(&place->lines, DW_AT_GNU_addr_base, UINT64_MAX));
	if (layout->version >= 5) {
		/* Behind the only header of their sections. */
		layout->str_offsets_base = layout->offset_size == 8 ? 16 : 8;
		layout->rnglists_base = layout->offset_size == 8 ? 20 : 12;
	} else {
		unit->sections.ranges = sections->ranges;
		layout->ranges_base = sp_debug_number(&place->lines, DW_AT_GNU_ranges_base, 0);
		layout->str_offsets_base = 0;
	}
}

bool sp_debug_lay_out(struct sp_debug_layout *unit, const struct sp_debug_unit_place *place,
		      const struct sp_debug_sections *sections)
{
	struct sp_skim_unit *layout = &unit->unit;
	Dwarf_Die lines = place->lines, functions = place->functions;
	bool split = place->packaged || functions.cu != lines.cu;
	Dwarf_Addr low;
	int kind;

	layout->sections = &unit->sections;
	layout->low_pc = dwarf_lowpc(&lines, &low) == 0 ? low : 0;
	if (place->packaged) {
		unit->sections = place->package;
	} else if (!split) {
		unit->sections = *sections;
	} else if (!sp_debug_sections_find(dwarf_getelf(dwarf_cu_getdwarf(functions.cu)), true,
					   &unit->sections)) {
		return false;
	}
	if (!place->packaged) {
		unit->cu = functions.cu;
		layout->start = dwarf_dieoffset(&functions) - dwarf_cuoffset(&functions);
	}
	if (!sp_debug_header_read(layout, &kind))
		return false;
	if (split) {
		lay_out_split(unit, place, sections);
	} else {
		layout->addr_base = sp_debug_number(&lines, DW_AT_addr_base, UINT64_MAX);
		layout->str_offsets_base =
			sp_debug_number(&lines, DW_AT_str_offsets_base, UINT64_MAX);
		layout->rnglists_base = sp_debug_number(&lines, DW_AT_rnglists_base, UINT64_MAX);
	}
	/* That libdw's entry lies where ours begin shows that both have the same bytes. */
	return place->packaged || functions.addr == unit->sections.info.data + layout->entries;
}
