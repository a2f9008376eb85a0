/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_rows.h - a table for unwinding while it grows, row by row.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_ROWS_H
#define SP_LOADER_HELPERS_UNWIND_ROWS_H

#include <stdbool.h>

#include "loader/unwind_scan.h"

#define SP_UNWIND_RULE_SLOTS 16384u /* a power of two, twice SP_UNWIND_LIMIT_RULES */

struct sp_unwind_rows {
	struct sp_unwind_table *table;
	size_t room, rules_room;
	uint16_t slots[SP_UNWIND_RULE_SLOTS]; /* number of the rule + 1 */
	bool rules_full;		      /* some rows say UNSUPPORTED for want of room */
};

/* @table is empty; the caller clears it. */
int sp_unwind_rows_begin(struct sp_unwind_rows *rows, struct sp_unwind_table *table,
			 struct sp_error *err);

/* From @pc on, which is not below the last one's, @rule holds. Neighbours of one rule are joined;
 * of two rows at one address the later one counts. */
int sp_unwind_rows_add(struct sp_unwind_rows *rows, uint64_t pc, const struct sp_unwind_rule *rule,
		       struct sp_error *err);

#endif
