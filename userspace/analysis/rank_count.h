/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rank_count.h - how many ranks a profile tells of. Those of mpirun itself, and of programs without
 * regions, have threads and samples, and no row.
 */
#ifndef SP_ANALYSIS_RANK_COUNT_H
#define SP_ANALYSIS_RANK_COUNT_H

#include <stddef.h>
#include <stdint.h>

#include "formats/profile_read.h"

/* The ranks with a row, a thread or a process, and the @n of @more. */
int sp_rank_count(struct sp_profile *profile, const uint32_t *more, size_t n, uint32_t *ret_count);

#endif
