/* SPDX-License-Identifier: BSD-2-Clause
 *
 * pool.h - strings that are kept once each.
 *
 * Equal strings of one pool have one address, and one number, in order of first appearance.
 */
#ifndef SP_BASE_POOL_H
#define SP_BASE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct sp_pool;

struct sp_pool *sp_pool_new(void);
void sp_pool_free(struct sp_pool *pool); /* NULL is fine */

/* The pool's copy of a string, NULL without memory. It lives as long as the pool. */
const char *sp_pool_add(struct sp_pool *pool, const char *text);
/* The same by number. -ENOMEM, or -E2BIG beyond 2^32 - 2 strings. */
int sp_pool_number(struct sp_pool *pool, const char *text, uint32_t *ret_number);
/* The number of a string that is there; -ENOENT. */
int sp_pool_find(const struct sp_pool *pool, const char *text, uint32_t *ret_number);
const char *sp_pool_at(const struct sp_pool *pool, uint32_t number);
uint32_t sp_pool_count(const struct sp_pool *pool);

#endif
