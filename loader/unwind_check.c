/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_check.c - what a table for unwinding must look like, whoever made it.
 *
 * Invariant: a table that passes can be used without looking at any of its values again.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "formats/search.h"
#include "loader/unwind_scan.h"

#define MAX_OFFSET (1 << 30)

void sp_unwind_table_clear(struct sp_unwind_table *table)
{
	free(table->pc);
	free(table->rule);
	free(table->rules_at);
	*table = (struct sp_unwind_table){0};
}

ptrdiff_t sp_unwind_table_find(const struct sp_unwind_table *table, uint64_t address)
{
	return (ptrdiff_t)sp_search(table->rows, i, table->pc[i] <= address) - 1;
}

static bool is_empty(const struct sp_unwind_rule *rule)
{
	return !rule->offset && !rule->reg && !rule->flags && !rule->addend && !rule->fp &&
	       !rule->ra && !rule->bx && !rule->link;
}

static bool rule_is_good(const struct sp_unwind_rule *rule)
{
	if (rule->reserved)
		return false;
	switch (rule->kind) {
	case SP_UNWIND_OUTERMOST:
	case SP_UNWIND_UNSUPPORTED:
		return is_empty(rule);
	case SP_UNWIND_REG:
	case SP_UNWIND_DEREF:
	case SP_UNWIND_PLT:
	case SP_UNWIND_SIGNAL:
		break;
	default:
		return false;
	}
	if (rule->reg >= SP_UNWIND_REGS || rule->link >= SP_UNWIND_REGS ||
	    (rule->link && rule->ra != SP_UNWIND_SAME) || rule->offset > MAX_OFFSET ||
	    rule->offset < -MAX_OFFSET || rule->ra == SP_UNWIND_UNDEFINED ||
	    (rule->addend && rule->kind != SP_UNWIND_DEREF))
		return false;
	if (rule->kind == SP_UNWIND_PLT && (rule->offset < 0 || rule->offset > 15))
		return false;
	if (rule->kind == SP_UNWIND_SIGNAL)
		return rule->flags == SP_UNWIND_BY_REG && rule->ra != SP_UNWIND_SAME;
	return !rule->flags || rule->flags == SP_UNWIND_FP_BY_FP ||
	       ((rule->flags == SP_UNWIND_BY_REG || rule->flags == SP_UNWIND_UNLESS_0) &&
		rule->kind == SP_UNWIND_REG);
}

static bool segments_are_good(const struct sp_unwind_table *table, uint64_t file_size)
{
	if (table->segments > SP_UNWIND_LIMIT_SEGMENTS)
		return false;
	for (size_t i = 0; i < table->segments; i++) {
		const struct sp_unwind_segment *s = &table->segment[i];

		if (s->file_offset > file_size || s->file_size > file_size - s->file_offset ||
		    s->file_size > UINT64_MAX - s->address)
			return false;
	}
	return true;
}

/* A row that ends something may stand behind the last byte. */
static bool is_in(const struct sp_unwind_segment *s, uint64_t pc, bool ends)
{
	return pc >= s->address &&
	       (pc - s->address < s->file_size || (ends && pc - s->address == s->file_size));
}

int sp_unwind_table_check(const struct sp_unwind_table *table, uint64_t file_size)
{
	size_t hit = 0;

	if (!table->rows || table->rows > SP_UNWIND_LIMIT_ROWS || !table->rules ||
	    table->rules > SP_UNWIND_LIMIT_RULES || !table->segments ||
	    !segments_are_good(table, file_size))
		return -EPROTO;
	for (size_t i = 0; i < table->rules; i++)
		if (i ? !rule_is_good(&table->rules_at[i])
		      : table->rules_at[0].kind != SP_UNWIND_NONE || !is_empty(&table->rules_at[0]))
			return -EPROTO;
	for (size_t i = 0; i < table->rows; i++) {
		bool ends = table->rule[i] == 0;

		if (table->rule[i] >= table->rules || (i && (table->pc[i - 1] >= table->pc[i] ||
							     table->rule[i - 1] == table->rule[i])))
			return -EPROTO;
		if (is_in(&table->segment[hit], table->pc[i], ends))
			continue;
		for (hit = 0; hit < table->segments; hit++)
			if (is_in(&table->segment[hit], table->pc[i], ends))
				break;
		if (hit == table->segments)
			return -EPROTO;
	}
	/* What comes behind the last entry is not known. */
	return table->rule[table->rows - 1] == 0 ? 0 : -EPROTO;
}
