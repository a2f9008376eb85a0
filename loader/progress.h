/* SPDX-License-Identifier: BSD-2-Clause
 *
 * progress.h - the line on the terminal while recording.
 */
#ifndef SP_LOADER_PROGRESS_H
#define SP_LOADER_PROGRESS_H

#include <stdint.h>

#include "loader/recorder.h"

struct sp_progress {
	uint64_t shown_at, events; /* ns since the start; events then */
	double rate;
};

/* Rewrites the line, at most twice a second, if stderr is a terminal. @elapsed: ns since the start.
 */
void sp_progress_show(struct sp_progress *progress, uint64_t elapsed,
		      struct sp_recorder_counts counts);

#endif
