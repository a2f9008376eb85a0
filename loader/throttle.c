/* SPDX-License-Identifier: BSD-2-Clause
 *
 * throttle.c - see throttle.h.
 *
 * While an event was throttled its next samples fell due a period apart. A span is seldom a whole
 * number of periods: what is left over goes to the CPU's next span, so that the sum stays right
 * however short they are. No span counts as none, since the kernel says that it left something out.
 */
#include "loader/throttle.h"

#include <errno.h>
#include <stdlib.h>

#define SECOND 1000000000.0

struct cpu {
	uint64_t since; /* ns: throttled since then; 0: it is not */
	double rest; /* of a sample that the spans so far lack, less than 0 if they have too much */
};

struct sp_throttle {
	unsigned cpus;
	double hz;
	uint64_t stop; /* ns */
	struct cpu by_cpu[];
};

int sp_throttle_new(unsigned cpus, unsigned hz, struct sp_throttle **ret_throttle)
{
	struct sp_throttle *t = calloc(1, sizeof(*t) + cpus * sizeof(t->by_cpu[0]));

	if (!t)
		return -ENOMEM;
	t->cpus = cpus;
	t->hz = hz;
	t->stop = UINT64_MAX;
	*ret_throttle = t;
	return 0;
}

static bool end_span(struct sp_throttle *t, unsigned cpu, uint64_t time, struct sp_ev_loss *ret_gap)
{
	struct cpu *c = &t->by_cpu[cpu];
	uint64_t since = c->since, last = time < t->stop ? time : t->stop, count = 1;
	double missing;

	c->since = 0;
	if (!since || since >= t->stop)
		return false;
	if (last < since)
		last = since;
	missing = (double)(last - since) * t->hz / SECOND + c->rest;
	if (missing >= 1.5)
		count = (uint64_t)(missing + 0.5);
	c->rest = missing - (double)count;
	*ret_gap = (struct sp_ev_loss){
		.first = since,
		.last = last,
		.count = count,
		.cause = SP_LOSS_SAMPLE_THROTTLED,
		.cpu = (int)cpu,
	};
	return true;
}

bool sp_throttle_on(struct sp_throttle *t, unsigned cpu, uint64_t time, struct sp_ev_loss *ret_gap)
{
	uint64_t since;
	bool lost;

	if (cpu >= t->cpus)
		return false;
	since = t->by_cpu[cpu].since;
	/* One at least; samples came again before it was throttled once more, who knows since when.
	 */
	lost = since && end_span(t, cpu, since, ret_gap);
	t->by_cpu[cpu].since = time;
	if (lost)
		ret_gap->last = time < t->stop ? time : t->stop;
	return lost;
}

bool sp_throttle_off(struct sp_throttle *t, unsigned cpu, uint64_t time, struct sp_ev_loss *ret_gap)
{
	return cpu < t->cpus && end_span(t, cpu, time, ret_gap);
}

void sp_throttle_forget(struct sp_throttle *t, unsigned cpu)
{
	if (t && cpu < t->cpus)
		t->by_cpu[cpu] = (struct cpu){0};
}

void sp_throttle_stop(struct sp_throttle *t, uint64_t time)
{
	if (t)
		t->stop = time;
}

bool sp_throttle_finish(struct sp_throttle *t, unsigned cpu, struct sp_ev_loss *ret_gap)
{
	return t && cpu < t->cpus && end_span(t, cpu, t->stop, ret_gap);
}

void sp_throttle_free(struct sp_throttle *t)
{
	free(t);
}
