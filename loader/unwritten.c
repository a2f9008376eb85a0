/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwritten.c - see unwritten.h.
 */
#include "loader/unwritten.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/journal.h"
#include "userspace/base/array.h"
#include "userspace/base/idmap.h"

#define MOST 4096 /* that are kept apart: what they take must fit into the journal's reserve */

struct sp_unwritten {
	struct sp_ev_loss rest[SP_LOSS_MAX]; /* by cause: what is not kept apart */
	struct sp_ev_loss *gaps;
	size_t n, room;
	struct sp_idmap where; /* lane and site: their number */
	struct sp_idmap gap;   /* that number, CPU and cause: index in gaps */
};

int sp_unwritten_new(struct sp_unwritten **ret_unwritten)
{
	*ret_unwritten = calloc(1, sizeof(**ret_unwritten));
	return *ret_unwritten ? 0 : -ENOMEM;
}

static struct sp_ev_loss *find(struct sp_unwritten *u, const struct sp_ev_loss *like)
{
	uint64_t place = (uint64_t)like->lane << 32 | like->site, key;
	uint32_t number = sp_idmap_get(&u->where, place), index;
	struct sp_ev_loss *gap = NULL;

	if (number == SP_IDMAP_NONE) {
		number = (uint32_t)u->where.used;
		if (u->n >= MOST || sp_idmap_set(&u->where, place, number) < 0)
			return &u->rest[like->cause];
	}
	key = (uint64_t)number << 32 | (uint64_t)(like->cpu & 0xffff) << 8 | like->cause;
	index = sp_idmap_get(&u->gap, key);
	if (index != SP_IDMAP_NONE)
		return &u->gaps[index];
	index = (uint32_t)u->n;
	if (u->n < MOST && sp_idmap_set(&u->gap, key, index) == 0)
		gap = sp_array_add(&u->gaps, &u->n, &u->room);
	return gap ? gap : &u->rest[like->cause];
}

static void add(struct sp_unwritten *u, const struct sp_ev_loss *like)
{
	struct sp_ev_loss *gap = find(u, like);
	bool apart = gap != &u->rest[like->cause];

	if (!gap->count) {
		*gap = *like;
		if (!apart) {
			gap->cpu = -1;
			gap->lane = gap->site = 0;
		}
		return;
	}
	gap->count += like->count;
	gap->first = like->first < gap->first ? like->first : gap->first;
	gap->last = like->last > gap->last ? like->last : gap->last;
}

void sp_unwritten_add(struct sp_unwritten *u, unsigned stream, const struct sp_event *event,
		      uint64_t now)
{
	const struct sp_ev_call *call = (const struct sp_ev_call *)event->head;
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	const struct sp_ev_loss *loss = (const struct sp_ev_loss *)event->head;
	struct sp_ev_loss gap = {
		.first = now,
		.last = now,
		.count = 1,
		.cause = SP_LOSS_DISK_FACTS,
		.cpu = stream == SP_STREAM_RECORDER ? -1 : (int32_t)stream,
		.lane = event->head->lane,
	};

	switch (event->head->type) {
	case SP_EV_call:
		gap.cause = SP_LOSS_DISK;
		gap.first = call->start;
		gap.last = call->end;
		gap.site = call->site;
		break;
	case SP_EV_sample:
		gap.cause = SP_LOSS_DISK_SAMPLES;
		gap.first = gap.last = sample->time;
		gap.site = sample->site;
		break;
	case SP_EV_stack_copy:
		gap.cause = SP_LOSS_STACK_COPY;
		gap.first = gap.last = ((const struct sp_ev_stack_copy *)event->head)->time;
		break;
	case SP_EV_loss:
		if (loss->cause < SP_LOSS_MAX)
			gap = *loss;
		break;
	default:
		break;
	}
	add(u, &gap);
}

void sp_unwritten_take(struct sp_unwritten *u, void (*cb)(void *arg, struct sp_ev_loss *gap),
		       void *arg)
{
	for (size_t i = 0; i < u->n; i++)
		cb(arg, &u->gaps[i]);
	for (unsigned cause = 0; cause < SP_LOSS_MAX; cause++) {
		if (u->rest[cause].count)
			cb(arg, &u->rest[cause]);
		u->rest[cause] = (struct sp_ev_loss){0};
	}
	u->n = 0;
	sp_idmap_clear(&u->gap);
	sp_idmap_clear(&u->where);
}

void sp_unwritten_free(struct sp_unwritten *u)
{
	if (!u)
		return;
	free(u->gaps);
	sp_idmap_free(&u->where);
	sp_idmap_free(&u->gap);
	free(u);
}
