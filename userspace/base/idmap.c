/* SPDX-License-Identifier: BSD-2-Clause
 *
 * idmap.c - see idmap.h. Open addressing with linear probing.
 */
#include "userspace/base/idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <string.h>

/* One multiplication with both halves of the product folded; odd multiplier of the golden ratio. */
static size_t slot_of(const struct sp_idmap *map, uint64_t key)
{
	__uint128_t product = (__uint128_t)(key ^ map->seed) * 0x9e3779b97f4a7c15u;

	return (size_t)((uint64_t)product ^ (uint64_t)(product >> 64)) & (map->capacity - 1);
}

static struct sp_idmap_slot *find(const struct sp_idmap *map, uint64_t key)
{
	size_t at = slot_of(map, key);

	while (map->slots[at].value != SP_IDMAP_NONE && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

uint32_t sp_idmap_get(const struct sp_idmap *map, uint64_t key)
{
	return map->capacity ? find(map, key)->value : SP_IDMAP_NONE;
}

static int grow(struct sp_idmap *map)
{
	struct sp_idmap larger = {.capacity = map->capacity ? map->capacity * 2 : 64,
				  .seed = map->seed};
	uint64_t random[2] = {0};
	const void *bytes = (const void *)getauxval(AT_RANDOM);

	if (!map->capacity && bytes) {
		memcpy(random, bytes, sizeof(random));
		larger.seed = random[0] ^ random[1];
	}
	larger.slots = malloc(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < larger.capacity; i++)
		larger.slots[i].value = SP_IDMAP_NONE;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value != SP_IDMAP_NONE)
			*find(&larger, map->slots[i].key) = map->slots[i];
	larger.used = map->used;
	free(map->slots);
	*map = larger;
	return 0;
}

int sp_idmap_set(struct sp_idmap *map, uint64_t key, uint32_t value)
{
	struct sp_idmap_slot *slot;

	if (3 * (map->used + 1) > 2 * map->capacity) {
		int r = grow(map);

		if (r < 0)
			return r;
	}
	slot = find(map, key);
	map->used += slot->value == SP_IDMAP_NONE;
	*slot = (struct sp_idmap_slot){key, value};
	return 0;
}

void sp_idmap_clear(struct sp_idmap *map)
{
	for (size_t i = 0; map->used && i < map->capacity; i++)
		map->slots[i].value = SP_IDMAP_NONE;
	map->used = 0;
}

void sp_idmap_free(struct sp_idmap *map)
{
	free(map->slots);
	*map = (struct sp_idmap){0};
}
