/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ledger.c - see ledger.h.
 *
 * Nothing is ever taken out of the kernel's maps, so they are read without stopping anybody; what
 * is new is what exceeds the number seen last. That number is read before the times: what comes in
 * between is counted next time.
 */
#include "loader/ledger.h"

#include <errno.h>
#include <stdlib.h>

#define LEAST_NS 4000000u /* between two readings */
#define A_GAP_NS 200000u  /* … for each gap of the first: 5,000 a second */

struct sp_ledger {
	unsigned cpus;
	bool left;	      /* something was lost, and is not handed out yet */
	uint64_t since, next; /* ns: nothing older is to come; when to read again */
	uint64_t places[SP_LOSS_PLACES];
	uint64_t causes[]; /* by CPU, then cause */
};

int sp_ledger_new(unsigned cpus, struct sp_ledger **ret_ledger)
{
	struct sp_ledger *ledger =
		calloc(1, sizeof(*ledger) + (size_t)cpus * SP_LOSS_MAX * sizeof(ledger->causes[0]));

	if (!ledger)
		return -ENOMEM;
	ledger->cpus = cpus;
	*ret_ledger = ledger;
	return 0;
}

/* Whether there is more than was seen, which it then is. */
static bool take_gap(const struct sp_ledger *ledger, const struct sp_loss_count *loss,
		     uint64_t *seen, struct sp_ev_loss *gap)
{
	uint64_t count = __atomic_load_n(&loss->count, __ATOMIC_ACQUIRE);

	if (count == *seen)
		return false;
	gap->head = (struct sp_head){.type = SP_EV_loss};
	gap->first = __atomic_load_n(&loss->first, __ATOMIC_RELAXED);
	gap->last = __atomic_load_n(&loss->last, __ATOMIC_RELAXED);
	gap->count = count - *seen;
	if (*seen && gap->first < ledger->since)
		gap->first = ledger->since;
	/* Its time was taken, and then it was preempted before it counted. */
	if (gap->first > gap->last)
		gap->first = gap->last;
	*seen = count;
	return true;
}

void sp_ledger_read(struct sp_ledger *ledger, struct sp_bpf *bpf, uint64_t now, bool all,
		    sp_ledger_cb cb, void *arg)
{
	struct sp_bpf_ledger map = sp_bpf_ledger(bpf);
	uint64_t n = 0;

	ledger->left |= sp_bpf_has_lost(bpf);
	if (!ledger->left && !all) {
		ledger->since = now;
		return;
	}
	if (now < ledger->next && !all)
		return;
	for (unsigned i = 0; i < ledger->cpus * SP_LOSS_MAX; i++) {
		struct sp_ev_loss gap = {.cause = i % SP_LOSS_MAX, .cpu = (int)(i / SP_LOSS_MAX)};

		if (take_gap(ledger, &map.causes[i], &ledger->causes[i], &gap)) {
			cb(arg, &gap);
			n++;
		}
	}
	for (unsigned i = 0; i < SP_LOSS_PLACES; i++) {
		const struct sp_loss_place *place = &map.places[i];
		uint64_t what = __atomic_load_n(&place->what, __ATOMIC_ACQUIRE);
		struct sp_ev_loss gap = {
			.cause = SP_LOSS_WHAT_CAUSE(what),
			.cpu = (int)SP_LOSS_WHAT_CPU(what),
			.lane = (uint32_t)(place->where >> 32),
			.site = (uint32_t)place->where,
		};

		if (what <= SP_LOSS_CLAIMED)
			continue;
		if (take_gap(ledger, &place->loss, &ledger->places[i], &gap)) {
			cb(arg, &gap);
			n++;
		}
	}
	ledger->left = false;
	ledger->since = now;
	ledger->next = now + (n * A_GAP_NS > LEAST_NS ? n * A_GAP_NS : LEAST_NS);
}

uint64_t sp_ledger_take(struct sp_bpf *bpf, unsigned cause)
{
	struct sp_bpf_ledger map = sp_bpf_ledger(bpf);
	uint64_t sum = 0;

	for (unsigned cpu = 0; cpu < sp_bpf_cpus(bpf); cpu++) {
		sum += map.causes[cpu * SP_LOSS_MAX + cause].count;
		map.causes[cpu * SP_LOSS_MAX + cause] = (struct sp_loss_count){0};
	}
	for (unsigned i = 0; i < SP_LOSS_PLACES; i++) {
		struct sp_loss_place *place = &map.places[i];

		if (!place->what || SP_LOSS_WHAT_CAUSE(place->what) != cause)
			continue;
		sum += place->loss.count;
		*place = (struct sp_loss_place){0};
	}
	return sum;
}

void sp_ledger_free(struct sp_ledger *ledger)
{
	free(ledger);
}
