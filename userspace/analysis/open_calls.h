/* SPDX-License-Identifier: BSD-2-Clause
 *
 * open_calls.h - calls that were open when a journal ends that its recorder did not end.
 *
 * A call is recorded at its end, so a recorder that dies leaves nothing of those that are open but
 * what names them: calls inside of them, and samples. Each that is found is a loss of a call
 * (SP_LOSS_UNFINISHED) of its thread, of its region if a sample knows that, from when it was first
 * seen to when the thread was last.
 */
#ifndef SP_ANALYSIS_OPEN_CALLS_H
#define SP_ANALYSIS_OPEN_CALLS_H

#include "formats/journal.h"
#include "userspace/analysis/recording.h"

/* Reads the journal anew, once all of its events were added to the recording, which is not resolved
 * yet. Does nothing for one that ended in good order. Memory grows with threads, and the depth of
 * their calls. -ENOMEM, or what reading failed with. */
int sp_open_calls_find(struct sp_recording *recording, struct sp_journal *journal);

#endif
