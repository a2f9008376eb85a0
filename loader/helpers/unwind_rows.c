/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_rows.c - rows and rules of a table, each rule once.
 *
 * Invariant: rows ascend strictly, and no two neighbours have one rule; before the first, and that
 * is rule 0, nothing is known.
 */
#include "loader/helpers/unwind_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"

static uint32_t hash_rule(const struct sp_unwind_rule *rule)
{
	uint32_t words[3], hash = 0;

	memcpy(words, rule, sizeof(words));
	for (size_t i = 0; i < 3; i++)
		hash = (hash ^ words[i]) * 0x9e3779b1u, hash ^= hash >> 15;
	return hash;
}

static int find_rule(struct sp_unwind_rows *rows, const struct sp_unwind_rule *rule,
		     uint16_t *ret_number, struct sp_error *err)
{
	struct sp_unwind_table *table = rows->table;
	uint32_t slot = hash_rule(rule) & (SP_UNWIND_RULE_SLOTS - 1);
	struct sp_unwind_rule *grown;

	for (; rows->slots[slot]; slot = (slot + 1) & (SP_UNWIND_RULE_SLOTS - 1)) {
		if (memcmp(&table->rules_at[rows->slots[slot] - 1], rule, sizeof(*rule)))
			continue;
		*ret_number = (uint16_t)(rows->slots[slot] - 1);
		return 0;
	}
	/* The last one is kept for what finds no place. */
	if (table->rules >= SP_UNWIND_LIMIT_RULES - 1 && rule->kind != SP_UNWIND_UNSUPPORTED) {
		rows->rules_full = true;
		return find_rule(rows, &(struct sp_unwind_rule){.kind = SP_UNWIND_UNSUPPORTED},
				 ret_number, err);
	}
	grown = sp_array_grow(table->rules_at, table->rules, &rows->rules_room, sizeof(*grown));
	if (!grown)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its rows");
	table->rules_at = grown;
	grown[table->rules] = *rule;
	*ret_number = (uint16_t)table->rules;
	rows->slots[slot] = (uint16_t)++table->rules;
	return 0;
}

static int make_room(struct sp_unwind_rows *rows, struct sp_error *err)
{
	struct sp_unwind_table *table = rows->table;
	size_t room = rows->room ? rows->room * 2 : 4096;
	uint64_t *pc;
	uint16_t *rule;

	if (table->rows < rows->room)
		return 0;
	if (table->rows == SP_UNWIND_LIMIT_ROWS)
		return sp_error_set(err, -SP_E_COUNT, 0,
				    "its call frame information has more than %u rows",
				    SP_UNWIND_LIMIT_ROWS);
	pc = realloc(table->pc, room * sizeof(*pc));
	if (!pc)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its rows");
	table->pc = pc;
	rule = realloc(table->rule, room * sizeof(*rule));
	if (!rule)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its rows");
	table->rule = rule;
	rows->room = room;
	return 0;
}

int sp_unwind_rows_add(struct sp_unwind_rows *rows, uint64_t pc, const struct sp_unwind_rule *rule,
		       struct sp_error *err)
{
	struct sp_unwind_table *table = rows->table;
	uint16_t number;
	int r = find_rule(rows, rule, &number, err);

	if (r < 0)
		return r;
	if (table->rows && table->pc[table->rows - 1] == pc)
		table->rows--;
	if ((table->rows ? table->rule[table->rows - 1] : 0) == number)
		return 0;
	r = make_room(rows, err);
	if (r < 0)
		return r;
	table->pc[table->rows] = pc;
	table->rule[table->rows++] = number;
	return 0;
}

int sp_unwind_rows_begin(struct sp_unwind_rows *rows, struct sp_unwind_table *table,
			 struct sp_error *err)
{
	uint16_t number;

	*rows = (struct sp_unwind_rows){.table = table};
	return find_rule(rows, &(struct sp_unwind_rule){.kind = SP_UNWIND_NONE}, &number, err);
}
