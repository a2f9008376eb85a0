/* SPDX-License-Identifier: BSD-2-Clause
 *
 * idmap.h - from 64-bit ids to indices of an array.
 *
 * Keys come from files of strangers, so they are mixed with a constant of the process's run: nobody
 * can choose ids that all meet in one slot. 16 bytes an id, at most two thirds full.
 */
#ifndef SP_BASE_IDMAP_H
#define SP_BASE_IDMAP_H

#include <stddef.h>
#include <stdint.h>

#define SP_IDMAP_NONE UINT32_MAX

struct sp_idmap_slot {
	uint64_t key;
	uint32_t value; /* SP_IDMAP_NONE: free */
};

/* Zero it to begin. */
struct sp_idmap {
	struct sp_idmap_slot *slots;
	size_t capacity, used; /* capacity is a power of two */
	uint64_t seed;
};

/* SP_IDMAP_NONE if the key is not there. */
uint32_t sp_idmap_get(const struct sp_idmap *map, uint64_t key);
/* Adds or replaces. @value is not SP_IDMAP_NONE. -ENOMEM. */
int sp_idmap_set(struct sp_idmap *map, uint64_t key, uint32_t value);
/* Forgets the keys, keeps the room. */
void sp_idmap_clear(struct sp_idmap *map);
void sp_idmap_free(struct sp_idmap *map);

#endif
