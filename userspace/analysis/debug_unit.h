/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_unit.h - what one compilation unit's debug information says of some addresses.
 *
 * Reading skims every entry of the unit once and keeps the functions and inlined calls that contain
 * one of the addresses; it costs time in proportion to the unit's size (some 10 ns an entry),
 * memory in proportion to the addresses. Only symbols' libdw half (debug_info.c) uses this.
 */
#ifndef SP_ANALYSIS_DEBUG_UNIT_H
#define SP_ANALYSIS_DEBUG_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/debug_sections.h"
#include "userspace/base/pool.h"

/* Where a unit is. */
struct sp_debug_unit_place {
	/* The unit's own entry, which has the line table, and that of its functions: the same, or
	 * with split DWARF the entry of the unit in another file. Their Dwarf must outlive the
	 * unit. */
	Dwarf_Die lines, functions;
	/* With split DWARF in a package (.dwp), of which libdw may know nothing: the unit's part of
	 * it. @functions is then not used. */
	bool packaged;
	struct sp_debug_sections package;
};

struct sp_debug_unit;

/* Whether the symbol table has a function at an address, in the DWARF file's terms; true if there
 * is no table to tell. */
typedef bool (*sp_debug_is_function)(void *context, uint64_t address);

/* @sections: of the file that @lines is in. @addresses ascend, and must outlive the unit, as must
 * @paths, where names of files are kept. */
int sp_debug_unit_read(const struct sp_debug_unit_place *place,
		       const struct sp_debug_sections *sections, const uint64_t *addresses,
		       size_t n, struct sp_pool *paths, sp_debug_is_function is_function,
		       void *context, struct sp_debug_unit **ret_unit);
/* NULL is fine. */
void sp_debug_unit_free(struct sp_debug_unit *unit);

/* From now on links have no hints for readable names, which take time. */
void sp_debug_unit_use_raw_names(struct sp_debug_unit *unit);

/* The place of addresses[index] (in the DWARF file's terms). @symbol: the function there by the
 * symbol table, or NULL; one pointer for one symbol. Without a link where the unit knows no
 * function there, without a file where it knows no line. Links live as long as the unit, texts as
 * long as the Dwarf and the paths. -ENOMEM. */
int sp_debug_unit_find(struct sp_debug_unit *unit, size_t index, const char *symbol,
		       struct sp_debug_place *ret_place);

#endif
