/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_losses.c - the ledger of a recording, as gaps.
 *
 * The recorder tells every few milliseconds what was lost since. What belongs to one cause, CPU,
 * thread and region and lies close together is one gap here. Invariants: the sum of the counts is
 * that of the journal, and the gaps are no more than MOST: where there would be more, what lies
 * further apart is joined, at last whatever has one cause.
 */
#include "userspace/analysis/recording.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/wire.h"
#include "userspace/analysis/recording_events.h"
#include "userspace/base/array.h"

#define MOST 8192
#define SLACK_NS 20000000u /* between losses of one gap: the longest that the recorder waits */

#define CPU_BITS 16
#define CAUSE_BITS 8

static void join(struct sp_loss *loss, const struct sp_loss *more)
{
	if (__builtin_add_overflow(loss->count, more->count, &loss->count))
		loss->count = UINT64_MAX;
	if (more->first && (!loss->first || more->first < loss->first))
		loss->first = more->first;
	if (more->last > loss->last)
		loss->last = more->last;
}

/* Of one place, but for time. The same key means the same. */
static int make_key(struct sp_recording *rec, const struct sp_loss *loss, uint64_t *ret_key)
{
	uint64_t place = (uint64_t)loss->lane << 32 | loss->site;
	uint32_t number = sp_idmap_get(&rec->loss_places, place);

	if (number == SP_NONE) {
		number = (uint32_t)rec->loss_places.used;
		if (sp_idmap_set(&rec->loss_places, place, number) < 0)
			return -ENOMEM;
	}
	*ret_key = (uint64_t)number << (CPU_BITS + CAUSE_BITS) |
		   (uint64_t)(uint16_t)loss->cpu << CAUSE_BITS | loss->cause;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct sp_loss *x = a, *y = b;

	if (x->cause != y->cause)
		return x->cause < y->cause ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

static bool is_same_place(const struct sp_loss *x, const struct sp_loss *y)
{
	return x->cause == y->cause && x->cpu == y->cpu && x->lane == y->lane && x->site == y->site;
}

/* Nothing of unknown time is a gap of its own beside one that is known. */
static bool are_close(const struct sp_loss *x, const struct sp_loss *later, uint64_t slack)
{
	return !x->last || !later->last || later->first <= x->last ||
	       later->first - x->last <= slack;
}

/* Makes room: joins neighbours of one place, further and further apart; then forgets regions,
 * threads and CPUs, in this order. */
static int thin_out(struct sp_recording *rec)
{
	for (unsigned step = 0; rec->n_losses > MOST / 2; step++) {
		size_t kept = 0;

		rec->loss_slack =
			rec->loss_slack > UINT64_MAX / 8 ? UINT64_MAX : rec->loss_slack * 8;
		for (size_t i = 0; i < rec->n_losses && step >= 8; i++) {
			rec->losses[i].site = 0;
			rec->losses[i].lane = step >= 9 ? 0 : rec->losses[i].lane;
			rec->losses[i].cpu = step >= 10 ? -1 : rec->losses[i].cpu;
		}
		qsort(rec->losses, rec->n_losses, sizeof(*rec->losses), compare);
		for (size_t i = 1; i < rec->n_losses; i++) {
			if (is_same_place(&rec->losses[kept], &rec->losses[i]) &&
			    are_close(&rec->losses[kept], &rec->losses[i], rec->loss_slack))
				join(&rec->losses[kept], &rec->losses[i]);
			else
				rec->losses[++kept] = rec->losses[i];
		}
		rec->n_losses = kept + 1;
	}
	sp_idmap_clear(&rec->loss_by_key);
	sp_idmap_clear(&rec->loss_places);
	for (size_t i = 0; i < rec->n_losses; i++) {
		uint64_t key;

		if (make_key(rec, &rec->losses[i], &key) < 0 ||
		    sp_idmap_set(&rec->loss_by_key, key, (uint32_t)i) < 0)
			return -ENOMEM;
	}
	return 0;
}

int sp_recording_add_loss(struct sp_recording *rec, const struct sp_event *event)
{
	const struct sp_ev_loss *ev = (const struct sp_ev_loss *)event->head;
	struct sp_loss loss = {
		.cause = ev->cause < SP_LOSS_MAX ? ev->cause : SP_LOSS_NONE,
		.cpu = ev->cpu >= 0 && ev->cpu < UINT16_MAX ? ev->cpu : -1,
		.lane = ev->lane,
		.site = ev->site,
		.count = ev->count,
		.first = ev->first ? ev->first : ev->last,
		.last = ev->last > ev->first ? ev->last : ev->first,
	};
	struct sp_loss *slot;
	uint32_t index;
	uint64_t key;

	if (!ev->count)
		return 0;
	if (!rec->loss_slack)
		rec->loss_slack = SLACK_NS;
	if (rec->n_losses >= MOST && thin_out(rec) < 0)
		return -ENOMEM;
	if (make_key(rec, &loss, &key) < 0)
		return -ENOMEM;
	index = sp_idmap_get(&rec->loss_by_key, key);
	if (index != SP_NONE && are_close(&rec->losses[index], &loss, rec->loss_slack)) {
		join(&rec->losses[index], &loss);
		return 0;
	}
	index = (uint32_t)rec->n_losses;
	slot = sp_array_add(&rec->losses, &rec->n_losses, &rec->losses_room);
	if (!slot || sp_idmap_set(&rec->loss_by_key, key, index) < 0)
		return -ENOMEM;
	*slot = loss;
	return 0;
}
