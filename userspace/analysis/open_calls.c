/* SPDX-License-Identifier: BSD-2-Clause
 *
 * open_calls.c - see open_calls.h.
 *
 * A thread numbers its calls in order of entry, and a call tells its depth and its parent's number.
 * So the call that was named last as a parent at a depth is open, unless one as deep or less deep
 * was entered after it. What is around it, and was never named itself, was entered directly before
 * what it encloses: else that other call would have ended, and named it. Inside of all these there
 * may be more, which samples know: calls that were entered after all that ended.
 */
#include "userspace/analysis/open_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/analysis/recording_events.h"
#include "userspace/base/array.h"

#define LEVELS (SP_MAX_DEPTH + 1)
#define NOT_OPEN (-1)

struct open_call {
	uint64_t number, first; /* ns, 0 unknown */
	uint32_t site;		/* number, 0 unknown */
};

struct lane {
	/* By depth: the highest number of a call that ended there, and of one that was named as a
	 * parent, with the first start of those inside of it. */
	struct level {
		uint64_t ended, named, first;
	} * levels;		 /* NULL: the thread has ended, or there is nothing of it */
	struct open_call *calls; /* those that are open, outermost first */
	size_t n_calls, calls_room;
	uint64_t above; /* calls with higher numbers are open, too */
	uint64_t last;	/* ns: when it was seen last */
	uint64_t lost;	/* ns: when its last call was lost, which may be any before */
	bool ended;
};

static struct lane *lane_of(const struct sp_recording *rec, struct lane *lanes, uint32_t id)
{
	uint32_t index = id ? sp_recording_lane(rec, id) : SP_NONE;

	return index == SP_NONE ? NULL : &lanes[index];
}

static int see_call(struct lane *lane, const struct sp_ev_call *call)
{
	uint32_t depth = SP_CALL_DEPTH(call->head.flags);
	struct level *level;

	lane->last = call->end > lane->last ? call->end : lane->last;
	/* Those from before the recording got their numbers when they ended. */
	if (depth >= LEVELS || SP_CALL_FLAGS(call->head.flags) & SP_CALL_BEGAN_BEFORE)
		return 0;
	if (!lane->levels)
		lane->levels = calloc(LEVELS, sizeof(*lane->levels));
	if (!lane->levels)
		return -ENOMEM;
	level = &lane->levels[depth];
	level->ended = call->number > level->ended ? call->number : level->ended;
	if (!depth || !call->parent)
		return 0;
	level = &lane->levels[depth - 1];
	if (call->parent > level->named)
		*level = (struct level){level->ended, call->parent, call->start};
	else if (call->parent == level->named && call->start < level->first)
		level->first = call->start;
	return 0;
}

/* The depth of the innermost call that was named and is open, or NOT_OPEN. @entered: of each depth
 * the highest number of a call there, or less deep, that ended. */
static int find_innermost(const struct lane *lane, uint64_t entered[LEVELS])
{
	uint64_t ended = 0, around = 0;
	int found = NOT_OPEN;

	for (int depth = 0; depth < LEVELS; depth++) {
		const struct level *level = &lane->levels[depth];

		ended = level->ended > ended ? level->ended : ended;
		entered[depth] = ended;
		if (level->named > ended && level->named > around) {
			found = depth;
			around = level->named;
		} else if (level->named > around) {
			around = level->named;
		}
	}
	return found;
}

static int list_named(struct lane *lane)
{
	uint64_t entered[LEVELS], inner = 0;
	int innermost = find_innermost(lane, entered);

	lane->above = entered[LEVELS - 1];
	if (innermost == NOT_OPEN)
		return 0;
	lane->calls = calloc((size_t)innermost + 1, sizeof(*lane->calls));
	if (!lane->calls)
		return -ENOMEM;
	lane->n_calls = lane->calls_room = (size_t)innermost + 1;
	for (int depth = innermost; depth >= 0; depth--) {
		const struct level *level = &lane->levels[depth];
		bool named = level->named > entered[depth] && (!inner || level->named < inner);

		inner = named ? level->named : inner > 1 ? inner - 1 : 0;
		lane->calls[depth] = (struct open_call){inner, named ? level->first : 0, 0};
	}
	inner = lane->calls[innermost].number;
	lane->above = inner > lane->above ? inner : lane->above;
	return 0;
}

static int see_sample(struct lane *lane, const struct sp_ev_sample *sample)
{
	struct open_call *call = NULL;

	lane->last = sample->time > lane->last ? sample->time : lane->last;
	if (!sample->number || lane->ended)
		return 0;
	for (size_t i = 0; i < lane->n_calls && !call; i++)
		if (lane->calls[i].number == sample->number)
			call = &lane->calls[i];
	if (!call && (sample->number <= lane->above || sample->time <= lane->lost ||
		      lane->n_calls >= 2 * LEVELS))
		return 0;
	if (!call) {
		call = sp_array_add(&lane->calls, &lane->n_calls, &lane->calls_room);
		if (!call)
			return -ENOMEM;
		*call = (struct open_call){.number = sample->number};
	}
	call->site = sample->site;
	if (!call->first || sample->time < call->first)
		call->first = sample->time;
	return 0;
}

static void note_lost(const struct sp_recording *rec, struct lane *lanes)
{
	for (size_t i = 0; i < rec->n_losses; i++) {
		struct lane *lane = lane_of(rec, lanes, rec->losses[i].lane);

		if (lane && sp_loss_of(rec->losses[i].cause) == SP_LOSS_OF_CALLS &&
		    rec->losses[i].last > lane->lost)
			lane->lost = rec->losses[i].last;
	}
}

static int read_all(const struct sp_recording *rec, struct sp_journal *journal, struct lane *lanes,
		    unsigned type)
{
	const struct sp_event *event;
	int r = 0, got;

	sp_journal_rewind(journal);
	while ((got = sp_journal_next(journal, &event)) == 1) {
		struct lane *lane = lane_of(rec, lanes, event->head->lane);

		if (!lane)
			continue;
		if (event->head->type == SP_EV_task_exit)
			lane->ended = true;
		if (event->head->type != type || r < 0)
			continue;
		r = type == SP_EV_call ? see_call(lane, (const struct sp_ev_call *)event->head)
				       : see_sample(lane, (const struct sp_ev_sample *)event->head);
	}
	return got < 0 ? got : r;
}

static int add_losses(struct sp_recording *rec, const struct lane *lane, uint32_t id)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < lane->n_calls && !lane->ended; i++) {
		struct sp_ev_loss loss = {
			.head = {.type = SP_EV_loss},
			.first = lane->calls[i].first ? lane->calls[i].first : lane->last,
			.last = lane->last,
			.count = 1,
			.cause = SP_LOSS_UNFINISHED,
			.cpu = -1,
			.lane = id,
			.site = lane->calls[i].site,
		};
		struct sp_event event = {.head = &loss.head, .id = SP_EV_loss};

		r = sp_recording_add_loss(rec, &event);
	}
	return r;
}

int sp_open_calls_find(struct sp_recording *rec, struct sp_journal *journal)
{
	struct lane *lanes;
	int r;

	if (rec->ended)
		return 0;
	lanes = calloc(rec->n_lanes + 1, sizeof(*lanes));
	r = lanes ? read_all(rec, journal, lanes, SP_EV_call) : -ENOMEM;
	if (r == 0)
		note_lost(rec, lanes);
	for (size_t i = 0; r == 0 && i < rec->n_lanes; i++)
		r = lanes[i].levels && !lanes[i].ended ? list_named(&lanes[i]) : 0;
	if (r == 0)
		r = read_all(rec, journal, lanes, SP_EV_sample);
	for (size_t i = 0; r == 0 && i < rec->n_lanes; i++)
		r = add_losses(rec, &lanes[i], rec->lanes[i].id);
	for (size_t i = 0; lanes && i < rec->n_lanes; i++) {
		free(lanes[i].levels);
		free(lanes[i].calls);
	}
	free(lanes);
	return r;
}
