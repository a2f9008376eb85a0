/* SPDX-License-Identifier: BSD-2-Clause
 *
 * hash.h - finds elements of an array by keys of any size. (idmap.h is for keys of 64 bits.)
 *
 * The table holds the numbers of the elements and 32 bits of their hashes; the elements stay with
 * the caller, who compares. 8 bytes an element, at most two thirds full. Keys may come from files
 * of strangers, so begin every hash with the table's seed: nobody can choose keys that all meet.
 *
 *   size_t at;
 *   uint32_t number = sp_hash_first(&table, hash, &at);
 *
 *   while (number != SP_HASH_NONE && !same(number))
 *           number = sp_hash_next(&table, hash, &at);
 *   if (number == SP_HASH_NONE)
 *           r = sp_hash_add(&table, hash, new_number);
 */
#ifndef SP_BASE_HASH_H
#define SP_BASE_HASH_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define SP_HASH_NONE UINT32_MAX

struct sp_hash_slot {
	uint32_t hash, number; /* SP_HASH_NONE: free */
};

/* Zero it to begin. */
struct sp_hash {
	struct sp_hash_slot *slots;
	size_t capacity, used; /* capacity is a power of two */
};

static inline uint64_t sp_hash_seed(void)
{
	static uint64_t seed;
	const void *random = seed ? NULL : (const void *)getauxval(AT_RANDOM);

	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed |= 1;
}

/* One multiplication with both halves of the product folded. */
static inline uint64_t sp_hash_word(uint64_t hash, uint64_t word)
{
	__uint128_t product = (__uint128_t)(hash ^ word) * 0x9e3779b97f4a7c15u;

	return ((uint64_t)product ^ (uint64_t)(product >> 64)) + 0x2545f4914f6cdd1du;
}

static inline uint32_t sp_hash_next(const struct sp_hash *table, uint64_t hash, size_t *at)
{
	for (;;) {
		const struct sp_hash_slot *slot = &table->slots[*at & (table->capacity - 1)];

		++*at;
		if (slot->number == SP_HASH_NONE || slot->hash == (uint32_t)hash)
			return slot->number;
	}
}

static inline uint32_t sp_hash_first(const struct sp_hash *table, uint64_t hash, size_t *at)
{
	*at = (uint32_t)hash;
	return table->capacity ? sp_hash_next(table, hash, at) : SP_HASH_NONE;
}

static inline void sp_hash_put(struct sp_hash *table, uint32_t hash, uint32_t number)
{
	size_t at = hash;

	while (table->slots[at & (table->capacity - 1)].number != SP_HASH_NONE)
		at++;
	table->slots[at & (table->capacity - 1)] = (struct sp_hash_slot){hash, number};
}

/* @number is not SP_HASH_NONE. -ENOMEM. */
static inline int sp_hash_add(struct sp_hash *table, uint64_t hash, uint32_t number)
{
	if (3 * (table->used + 1) > 2 * table->capacity) {
		struct sp_hash larger = {.capacity = table->capacity ? table->capacity * 2 : 64,
					 .used = table->used};

		larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
		if (!larger.slots)
			return -ENOMEM;
		memset(larger.slots, 0xff, larger.capacity * sizeof(*larger.slots));
		for (size_t i = 0; i < table->capacity; i++)
			if (table->slots[i].number != SP_HASH_NONE)
				sp_hash_put(&larger, table->slots[i].hash, table->slots[i].number);
		free(table->slots);
		*table = larger;
	}
	sp_hash_put(table, (uint32_t)hash, number);
	table->used++;
	return 0;
}

/* Forgets the elements, keeps the room. */
static inline void sp_hash_clear(struct sp_hash *table)
{
	if (table->capacity)
		memset(table->slots, 0xff, table->capacity * sizeof(*table->slots));
	table->used = 0;
}

static inline void sp_hash_free(struct sp_hash *table)
{
	free(table->slots);
	*table = (struct sp_hash){0};
}

#endif
