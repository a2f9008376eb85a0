/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pool.c - see pool.h. Chunks of bytes, an array of addresses, and a hash table of numbers.
 */
#include "userspace/base/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "userspace/base/block.h"

#define CHUNK_BYTES (64 * 1024)

struct chunk {
	struct chunk *next;
	char text[];
};

struct slot {
	uint32_t number; /* + 1; 0 is free */
	uint32_t hash;	 /* so that neither growing nor other strings take a look at the text */
};

struct sp_pool {
	struct chunk *chunks;
	size_t left; /* bytes at the end of the newest chunk */
	size_t chunk_bytes, all_bytes;
	const char **strings;
	uint32_t count, room;
	struct slot *table;
	size_t capacity; /* of the table, a power of two */
	uint64_t seed;
};

struct sp_pool *sp_pool_new(void)
{
	struct sp_pool *pool = calloc(1, sizeof(*pool));
	const void *random = (const void *)getauxval(AT_RANDOM);

	if (pool && random)
		memcpy(&pool->seed, random, sizeof(pool->seed));
	return pool;
}

void sp_pool_free(struct sp_pool *pool)
{
	if (!pool)
		return;
	while (pool->chunks) {
		struct chunk *next = pool->chunks->next;

		free(pool->chunks);
		pool->chunks = next;
	}
	free(pool->strings);
	free(pool->table);
	free(pool);
}

/* Eight bytes at a time: names of C++ functions have hundreds. */
static uint32_t hash(const struct sp_pool *pool, const char *text)
{
	size_t left = strlen(text);
	uint64_t h = pool->seed ^ left;

	while (left) {
		size_t part = left < sizeof(h) ? left : sizeof(h);
		uint64_t word = 0;

		memcpy(&word, text, part);
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
		text += part;
		left -= part;
	}
	return (uint32_t)(h ^ h >> 32);
}

/* The slot of a text, or a free one for it. */
static struct slot *find(const struct sp_pool *pool, const char *text, uint32_t text_hash)
{
	size_t at = text_hash & (pool->capacity - 1);

	while (pool->table[at].number && (pool->table[at].hash != text_hash ||
					  strcmp(pool->strings[pool->table[at].number - 1], text)))
		at = (at + 1) & (pool->capacity - 1);
	return &pool->table[at];
}

static void move_slots(struct sp_pool *pool, const struct slot *old, size_t old_capacity)
{
	for (size_t i = 0; i < old_capacity; i++) {
		size_t at = old[i].hash & (pool->capacity - 1);

		if (!old[i].number)
			continue;
		while (pool->table[at].number)
			at = (at + 1) & (pool->capacity - 1);
		pool->table[at] = old[i];
	}
}

static int grow(struct sp_pool *pool)
{
	size_t old_capacity = pool->capacity, capacity = old_capacity ? old_capacity * 2 : 128;
	uint32_t room = (uint32_t)(capacity / 2);
	const char **strings = realloc(pool->strings, room * sizeof(*strings));
	struct slot *table, *old = pool->table;

	if (!strings)
		return -ENOMEM;
	pool->strings = strings;
	pool->room = room;
	table = calloc(capacity, sizeof(*table));
	if (!table)
		return -ENOMEM;
	pool->table = table;
	pool->capacity = capacity;
	move_slots(pool, old, old_capacity);
	free(old);
	return 0;
}

static char *take(struct sp_pool *pool, size_t bytes)
{
	if (bytes > pool->left) {
		/* A pool that has become large gets larger chunks. */
		size_t room = pool->all_bytes < SP_BLOCK_HUGE ? CHUNK_BYTES : SP_BLOCK_HUGE;
		size_t size = bytes > CHUNK_BYTES / 4 ? bytes : room - sizeof(struct chunk);
		struct chunk *chunk = sp_block_alloc(sizeof(*chunk) + size);

		if (!chunk)
			return NULL;
		pool->all_bytes += size;
		if (size == bytes && pool->chunks) {
			/* A long string gets a chunk of its own behind the one that is being
			 * filled. */
			chunk->next = pool->chunks->next;
			pool->chunks->next = chunk;
			return chunk->text;
		}
		chunk->next = pool->chunks;
		pool->chunks = chunk;
		pool->left = pool->chunk_bytes = size;
	}
	pool->left -= bytes;
	return pool->chunks->text + (pool->chunk_bytes - pool->left - bytes);
}

int sp_pool_number(struct sp_pool *pool, const char *text, uint32_t *ret_number)
{
	size_t bytes = strlen(text) + 1;
	uint32_t text_hash = hash(pool, text);
	struct slot *slot;
	char *copy;

	if (pool->count == UINT32_MAX - 1)
		return -E2BIG;
	if (pool->count == pool->room) {
		int r = grow(pool);

		if (r < 0)
			return r;
	}
	slot = find(pool, text, text_hash);
	if (!slot->number) {
		copy = take(pool, bytes);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, text, bytes);
		pool->strings[pool->count++] = copy;
		*slot = (struct slot){pool->count, text_hash};
	}
	*ret_number = slot->number - 1;
	return 0;
}

const char *sp_pool_add(struct sp_pool *pool, const char *text)
{
	uint32_t number;

	return sp_pool_number(pool, text, &number) < 0 ? NULL : pool->strings[number];
}

int sp_pool_find(const struct sp_pool *pool, const char *text, uint32_t *ret_number)
{
	uint32_t slot = pool->count ? find(pool, text, hash(pool, text))->number : 0;

	if (!slot)
		return -ENOENT;
	*ret_number = slot - 1;
	return 0;
}

const char *sp_pool_at(const struct sp_pool *pool, uint32_t number)
{
	return pool->strings[number];
}

uint32_t sp_pool_count(const struct sp_pool *pool)
{
	return pool->count;
}
