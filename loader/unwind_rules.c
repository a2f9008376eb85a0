/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_rules.c - a hash table of the rules by their bytes, and the free places of their array.
 *
 * Invariant: a rule in the hash table is found by going on from the slot of its hash without
 * meeting a free one.
 */
#include "loader/unwind_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * SP_UNWIND_RULES) /* of the hash table, a power of two */

struct place {
	uint32_t users;
	uint16_t next_free;
	struct sp_unwind_share *share;
};

struct sp_unwind_rules {
	struct sp_unwind_rule *array;
	struct place *places;
	uint32_t *slots;  /* numbers, 0 for a free slot */
	size_t used, top; /* from top on no place was ever taken */
	uint16_t first_free;
};

int sp_unwind_rules_new(struct sp_unwind_rule *array, struct sp_unwind_rules **ret_rules)
{
	struct sp_unwind_rules *rules = calloc(1, sizeof(*rules));

	if (!rules)
		return -ENOMEM;
	rules->array = array;
	rules->used = rules->top = 1; /* NONE */
	rules->places = calloc(SP_UNWIND_RULES, sizeof(*rules->places));
	rules->slots = calloc(SLOTS, sizeof(*rules->slots));
	if (!array || !rules->places || !rules->slots) {
		sp_unwind_rules_free(rules);
		return -ENOMEM;
	}
	*ret_rules = rules;
	return 0;
}

void sp_unwind_rules_free(struct sp_unwind_rules *rules)
{
	if (!rules)
		return;
	free(rules->places);
	free(rules->slots);
	free(rules);
}

size_t sp_unwind_rules_used(const struct sp_unwind_rules *rules)
{
	return rules->used;
}

static size_t slot_of(const struct sp_unwind_rule *rule)
{
	const uint8_t *byte = (const uint8_t *)rule;
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < sizeof(*rule); i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return (size_t)(hash ^ hash >> 32) % SLOTS;
}

static uint16_t take_place(struct sp_unwind_rules *rules)
{
	uint16_t number = rules->first_free;

	if (number)
		rules->first_free = rules->places[number].next_free;
	else
		number = (uint16_t)rules->top++;
	rules->used++;
	return number;
}

int sp_unwind_rules_take(struct sp_unwind_rules *rules, const struct sp_unwind_rule *rule,
			 struct sp_unwind_share *share, uint16_t *ret_number)
{
	size_t slot = slot_of(rule);
	uint16_t number;
	int r;

	if (rule->kind == SP_UNWIND_NONE) {
		*ret_number = 0;
		return 0;
	}
	for (; rules->slots[slot]; slot = (slot + 1) % SLOTS) {
		number = (uint16_t)rules->slots[slot];
		if (!memcmp(&rules->array[number], rule, sizeof(*rule))) {
			rules->places[number].users++;
			*ret_number = number;
			return 0;
		}
	}
	if (rules->used >= SP_UNWIND_RULES)
		return -ENOSPC;
	r = sp_unwind_share_take(share, SP_UNWIND_SHARED_RULES, 1);
	if (r < 0)
		return r;
	number = take_place(rules);
	rules->array[number] = *rule;
	rules->places[number] = (struct place){.users = 1, .share = share};
	rules->slots[slot] = number;
	*ret_number = number;
	return 0;
}

/* Whether going on from @home comes by @hole before it comes to @slot. */
static bool comes_by(size_t home, size_t hole, size_t slot)
{
	return (hole - home) % SLOTS < (slot - home) % SLOTS;
}

/* What stands behind it in the hash table moves up, where it would not be found any more. */
static void take_out(struct sp_unwind_rules *rules, uint16_t number)
{
	size_t hole = slot_of(&rules->array[number]);

	while (rules->slots[hole] != number)
		hole = (hole + 1) % SLOTS;
	for (size_t slot = (hole + 1) % SLOTS; rules->slots[slot]; slot = (slot + 1) % SLOTS)
		if (comes_by(slot_of(&rules->array[rules->slots[slot]]), hole, slot)) {
			rules->slots[hole] = rules->slots[slot];
			hole = slot;
		}
	rules->slots[hole] = 0;
}

void sp_unwind_rules_give(struct sp_unwind_rules *rules, uint16_t number)
{
	struct place *place = &rules->places[number];

	if (!number || --place->users)
		return;
	take_out(rules, number);
	sp_unwind_share_give(place->share, SP_UNWIND_SHARED_RULES, 1);
	place->next_free = rules->first_free;
	rules->first_free = number;
	rules->used--;
}
