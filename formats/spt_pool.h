/* SPDX-License-Identifier: BSD-2-Clause
 *
 * spt_pool.h - several records of one name in a trace, read as one region. Not installed.
 *
 * Their calls are merged in order of entry: by start; of two with one start the longer first, then
 * the one of the earlier record. The calls of a record keep their order.
 */
#ifndef SP_FORMATS_SPT_POOL_H
#define SP_FORMATS_SPT_POOL_H

#include "formats/spt.h"

struct sp_spt_pool;

/* @records are indices of regions of the reader's, ascending, all with calls or not; copied. */
int sp_spt_pool_new(struct sp_spt_reader *reader, const uint32_t *records, size_t n,
		    struct sp_spt_pool **ret_pool, struct sp_error *error);
void sp_spt_pool_free(struct sp_spt_pool *pool); /* NULL is fine */
/* Reads calls @first … @first + @n − 1 of all of them; there must be as many. Forward is fast, a
 * step back begins again. Either array may be NULL. */
int sp_spt_pool_calls(struct sp_spt_pool *pool, uint64_t first, size_t n, int64_t *ret_starts,
		      int64_t *ret_ends, struct sp_error *error);

#endif
