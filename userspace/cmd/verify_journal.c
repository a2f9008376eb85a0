/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_journal.c - verifies a journal: every block, every event, and whether it ends as it
 * should.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/journal.h"
#include "formats/util.h"
#include "userspace/analysis/recording.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/verify.h"

SP_DEFINE_CLEANUP(struct sp_journal *, sp_journal_free);
SP_DEFINE_CLEANUP(struct sp_recording *, sp_recording_free);

static void look_at_sample(struct sp_verdict *verdict, const struct sp_event *event)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;

	verdict->frames += event->tail_bytes / 8;
	if (sample->kernel_frames > event->tail_bytes / 8)
		sp_verdict_warn(verdict, SP_FIND_KERNEL_FRAMES, "event %" PRIu64, verdict->events);
	if (sample->stack_end >= SP_STACK_END_MAX)
		sp_verdict_warn(verdict, SP_FIND_STACK_END, "event %" PRIu64 ", %" PRIu32,
				verdict->events, sample->stack_end);
}

static int look_at_loss(struct sp_verdict *verdict, const struct sp_ev_loss *loss)
{
	if (loss->cause && !sp_loss_find(sp_loss_name(loss->cause)))
		sp_verdict_warn(verdict, SP_FIND_LOSS_CAUSE, "event %" PRIu64 ", %" PRIu32,
				verdict->events, loss->cause);
	return sp_verdict_loss(verdict, "loss event", verdict->events, loss->cause, loss->count,
			       loss->first, loss->last);
}

static int read_events(struct sp_verdict *verdict, struct sp_journal *journal,
		       struct sp_recording *recording, bool *ret_ended)
{
	const struct sp_event *event;
	uint64_t good, last = 0;
	const char *reason;
	int r, bad = 0;

	while ((r = bad ? 0 : sp_journal_next_any(journal, &event)) == 1) {
		const struct sp_ev_call *call = (const struct sp_ev_call *)event->head;

		*ret_ended = event->head->type == SP_EV_end;
		if (event->head->type == SP_EV_call && call->end < call->start)
			sp_verdict_warn(verdict, SP_FIND_REVERSED, "event %" PRIu64,
					verdict->events);
		if (event->head->type == SP_EV_sample)
			look_at_sample(verdict, event);
		if (event->head->type == SP_EV_loss)
			bad = look_at_loss(verdict, (const struct sp_ev_loss *)event->head);
		if (!(verdict->events++ & 0xffff)) {
			sp_journal_intact(journal, &good, &verdict->all, &reason);
			sp_verdict_progress(verdict, good - last);
			last = good;
		}
		r = sp_recording_add(recording, event);
		if (r < 0)
			return sp_error_set(&verdict->error, r, 0, "out of memory");
	}
	if (r < 0)
		return sp_error_set(&verdict->error, r, 0, "cannot be read: %s", strerror(-r));
	return bad;
}

/* What makes it a bad one. */
static int judge(struct sp_verdict *verdict, const struct sp_journal *journal,
		 const struct sp_recording *recording, bool ended)
{
	struct sp_journal_state state;
	uint64_t good, bytes;
	const char *reason;
	bool intact = sp_journal_intact(journal, &good, &bytes, &reason);

	sp_journal_state(journal, &state);
	if (!intact && recording->ended && ended)
		return sp_error_set(&verdict->error, -SP_E_TRAILING, good,
				    "has %" PRIu64 " bytes behind its end event: %s", bytes - good,
				    reason);
	if (!intact)
		return sp_error_set(&verdict->error,
				    strstr(reason, "cut") ? -SP_E_TRUNCATED : -SP_E_DAMAGED, good,
				    "%s; recover keeps %" PRIu64 " of %" PRIu64 " bytes", reason,
				    good, bytes);
	if (state.unused)
		return sp_error_set(&verdict->error, -SP_E_TRAILING, state.unused_offset,
				    "has %" PRIu64 " bytes behind the last events of its blocks",
				    state.unused);
	if (!recording->ended)
		return sp_error_set(
			&verdict->error, -SP_E_TRUNCATED, good,
			"has no event that ends the recording: the recorder died, or is "
			"still at work; sp-report recover makes files of what is there");
	if (!ended)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "has events behind the one that ends the recording");
	if (recording->end_calls != recording->calls ||
	    recording->end_samples != recording->samples)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "its end says %" PRIu64 " calls and %" PRIu64
				    " samples, but it has %" PRIu64 " and %" PRIu64,
				    recording->end_calls, recording->end_samples, recording->calls,
				    recording->samples);
	return 0;
}

int sp_verify_journal(struct sp_verdict *verdict, const char *path)
{
	sp_cleanup(sp_journal_freep) struct sp_journal *journal = NULL;
	sp_cleanup(sp_recording_freep) struct sp_recording *recording = sp_recording_new();
	struct sp_journal_state state;
	bool ended = false;
	int r;

	if (!recording)
		return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	verdict->version = 1;
	r = sp_journal_open(path, &journal, &verdict->error);
	if (r == 0)
		r = read_events(verdict, journal, recording, &ended);
	if (r == 0 && sp_recording_resolve(recording) == -ENOMEM)
		r = sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	if (r < 0)
		return r;
	sp_journal_state(journal, &state);
	verdict->blocks = state.block + 1;
	verdict->calls = recording->calls;
	verdict->samples = recording->samples;
	verdict->regions = recording->n_regions;
	verdict->findings[SP_FIND_UNKNOWN_EVENTS].count = state.unknown_events;
	verdict->findings[SP_FIND_UNKNOWN_BLOCKS].count = state.unknown_blocks;
	verdict->findings[SP_FIND_LANES].count = recording->made_up_lanes;
	verdict->findings[SP_FIND_SITES].count = recording->unknown_site_calls;
	for (size_t i = 0; i < recording->n_losses; i++)
		if (sp_loss_is_gap(recording->losses[i].cause))
			sp_add_capped(&verdict->lost, recording->losses[i].count);
	return judge(verdict, journal, recording, ended);
}
