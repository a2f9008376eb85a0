/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_table.h - names of functions where there is no DWARF.
 */
#ifndef SP_ANALYSIS_SYMBOL_TABLE_H
#define SP_ANALYSIS_SYMBOL_TABLE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

struct sp_symbol_table;

/* Reads .symtab and .dynsym, also of separate debug files and .gnu_debugdata. A module without any
 * gives an empty table, but for stubs of its PLT. The names are libdwfl's: the table must not outlive the module. */
int sp_symbol_table_read(Dwfl_Module *module, struct sp_symbol_table **ret_table);
/* NULL is fine. */
void sp_symbol_table_free(struct sp_symbol_table *table);
/* Nothing is known but stubs. */
bool sp_symbol_table_is_empty(const struct sp_symbol_table *table);
/* Linker name of the function at an address in libdwfl's terms, NULL if there is none. */
const char *sp_symbol_table_find(const struct sp_symbol_table *table, uint64_t address);
/* The same for addresses that ascend; *at, 0 at first, goes along with them. */
const char *sp_symbol_table_next(const struct sp_symbol_table *table, uint64_t address, size_t *at);

#endif
