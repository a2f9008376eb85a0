/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lanes.h - how much time there was for regions to run: what shares are of.
 *
 * A lane does one thing at a time. Lanes are the threads with calls; where the profile has no
 * threads of a rank, the rank is one lane. A thread's lane is as long as the thread was seen; where
 * its end is not known, until the rank's. A rank's lane is as long as its run: what the metadata
 * say of it (start_time_ns, finalize_time_ns), else from its first call to its last. A rank without
 * a call has no lane.
 *
 * These are the same for a profile in another format, and for the merged profile of several ranks,
 * which keeps what differs in rank_facts; as long as the other format keeps threads and metadata.
 */
#ifndef SP_ANALYSIS_LANES_H
#define SP_ANALYSIS_LANES_H

#include "userspace/analysis/inputs.h"

/* The lanes' time together, ns; never less than the self times in them, which may be of calls that
 * overlap; NAN: it is not known. And the number of threads with calls, 0 if the profile has no
 * threads. Of a completed profile; where the table of threads does not say which have calls, all
 * calls are looked at for it. */
int sp_lanes_measure(const struct sp_given *input, double *ret_ns, uint64_t *ret_threads,
		     struct sp_error *error);

#endif
