/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stats.h - statistics of calls, and their encoding in the same pass. Not installed; profile.h has
 * the rest.
 */
#ifndef SP_FORMATS_STATS_H
#define SP_FORMATS_STATS_H

#include "formats/profile.h"

/* sp_stats_add(), and the calls as HDF5 schema 3 stores them: each start as the difference to the
 * one before it (the first one's: @before), each end as the duration. */
void sp_stats_add_encoding(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
			   const int64_t *child_ns, const int64_t *gpu_ns, size_t n, int64_t before,
			   int64_t *ret_deltas, int64_t *ret_durations);

#endif
