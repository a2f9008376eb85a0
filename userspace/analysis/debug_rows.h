/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_rows.h - which source line each of some addresses is on, by a unit's line-number program.
 *
 * The program is run once, and its rows are held against the addresses as they come: nothing is
 * stored for the other millions of rows. DWARF 2 to 5.
 */
#ifndef SP_ANALYSIS_DEBUG_ROWS_H
#define SP_ANALYSIS_DEBUG_ROWS_H

#include "userspace/analysis/debug_sections.h"
#include "userspace/base/pool.h"

#define SP_DEBUG_NO_FILE UINT32_MAX

struct sp_debug_row {
	uint32_t file; /* SP_DEBUG_NO_FILE: no row at this address */
	uint32_t line; /* 0 unknown */
};

struct sp_debug_rows;

/* @offset: of the program in .debug_line. @directory: where the compiler ran, or NULL.
 * @addresses ascend; @rows gets a row for each. Paths are kept in @paths. Fails only without
 * memory; a damaged program has fewer rows. */
int sp_debug_rows_read(const struct sp_debug_sections *sections, uint64_t offset,
		       uint8_t address_size, const char *directory, const uint64_t *addresses,
		       size_t n, struct sp_debug_row *rows, struct sp_pool *paths,
		       struct sp_debug_rows **ret_table);
void sp_debug_rows_free(struct sp_debug_rows *table); /* NULL is fine */

/* Path of a file of the program's list, joined to its directory; NULL if there is no such file. */
const char *sp_debug_rows_file(struct sp_debug_rows *table, uint64_t number);

/* Called for every sequence of rows, code that lies together. Nonzero stops, and is returned. */
typedef int (*sp_debug_sequence)(void *context, uint64_t low, uint64_t high);
int sp_debug_rows_sequences(const struct sp_debug_sections *sections, uint64_t offset,
			    uint8_t address_size, sp_debug_sequence sequence, void *context);

#endif
