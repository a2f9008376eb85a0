/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_rules.h - the kernel's one array of rules, where equal rules of all files are one.
 *
 * A rule has as many users as tables that name it, and is charged to the share of the table that
 * brought it. Without users its place is free at once: a table is taken apart only when the kernel
 * has stopped reading it (unwind_cache.h).
 */
#ifndef SP_LOADER_UNWIND_RULES_H
#define SP_LOADER_UNWIND_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "formats/unwind.h"
#include "loader/unwind_share.h"

struct sp_unwind_rules;

/* @array has SP_UNWIND_RULES places, and stays the caller's. -ENOMEM. */
int sp_unwind_rules_new(struct sp_unwind_rule *array, struct sp_unwind_rules **ret_rules);
/* The number of a rule, which has one user more now. -ENOSPC: all places are taken; -EDQUOT: the
 * share is used up. */
int sp_unwind_rules_take(struct sp_unwind_rules *rules, const struct sp_unwind_rule *rule,
			 struct sp_unwind_share *share, uint16_t *ret_number);
void sp_unwind_rules_give(struct sp_unwind_rules *rules, uint16_t number);
/* How many there are, NONE included. */
size_t sp_unwind_rules_used(const struct sp_unwind_rules *rules);
void sp_unwind_rules_free(struct sp_unwind_rules *rules);

#endif
