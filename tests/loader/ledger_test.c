/* SPDX-License-Identifier: BSD-2-Clause
 *
 * ledger_test.c - what is read from the kernel side's ledger, and what a full disk refused: every
 * sum is exact, and no gap reaches out of the time that it can be of. The maps are this test's own
 * memory.
 */
#include <stdlib.h>

#include "formats/journal.h"
#include "loader/ledger.h"
#include "loader/unwritten.h"
#include "tests/lib/check.h"

#define CPUS 3

struct sp_bpf {
	struct sp_loss_count causes[CPUS * SP_LOSS_MAX];
	struct sp_loss_place places[SP_LOSS_PLACES];
	bool lost;
};

unsigned sp_bpf_cpus(const struct sp_bpf *bpf)
{
	(void)bpf;
	return CPUS;
}

struct sp_bpf_ledger sp_bpf_ledger(const struct sp_bpf *bpf)
{
	struct sp_bpf *b = (struct sp_bpf *)bpf;

	return (struct sp_bpf_ledger){b->causes, b->places};
}

bool sp_bpf_has_lost(struct sp_bpf *bpf)
{
	bool lost = bpf->lost;

	bpf->lost = false;
	return lost;
}

static struct sp_ev_loss got[20000];
static size_t n_got;

static void take(void *arg, struct sp_ev_loss *gap)
{
	CHECK(arg == got && n_got < 20000);
	got[n_got++] = *gap;
}

static uint64_t read_now(struct sp_ledger *ledger, struct sp_bpf *bpf, uint64_t now, bool all)
{
	uint64_t sum = 0;

	n_got = 0;
	sp_ledger_read(ledger, bpf, now, all, take, got);
	for (size_t i = 0; i < n_got; i++) {
		CHECK(got[i].head.type == SP_EV_loss && got[i].count &&
		      got[i].first <= got[i].last);
		sum += got[i].count;
	}
	return sum;
}

/* As bpf/losses.bpf.h does it. */
static void lose(struct sp_bpf *bpf, struct sp_loss_count *loss, uint64_t count, uint64_t now)
{
	loss->first = loss->first ? loss->first : now;
	loss->last = now;
	loss->count += count;
	bpf->lost = true;
}

static struct sp_loss_place *place(struct sp_bpf *bpf, unsigned at, unsigned cause, unsigned cpu,
				   uint32_t lane, uint32_t site)
{
	bpf->places[at].where = (uint64_t)lane << 32 | site;
	bpf->places[at].what = SP_LOSS_WHAT(cause, cpu);
	return &bpf->places[at];
}

static void test_ledger(void)
{
	static struct sp_bpf bpf;
	struct sp_loss_count *full = &bpf.causes[2 * SP_LOSS_MAX + SP_LOSS_CALL_RING_FULL];
	const uint64_t s = 1000000000;
	struct sp_ledger *ledger;

	CHECK_NUMBER(sp_ledger_new(CPUS, &ledger), 0);
	CHECK_NUMBER(read_now(ledger, &bpf, 1 * s, false), 0);
	lose(&bpf, full, 5, 1 * s + 10);
	lose(&bpf, &place(&bpf, 77, SP_LOSS_DEPTH, 1, 9, 4)->loss, 3, 1 * s + 20);
	bpf.places[78].what = SP_LOSS_CLAIMED; /* being made: nothing to be read */
	bpf.places[78].loss.count = 1;
	CHECK_NUMBER(read_now(ledger, &bpf, 2 * s, false), 8);
	CHECK_NUMBER(n_got, 2);
	CHECK(got[0].cause == SP_LOSS_CALL_RING_FULL && got[0].cpu == 2 && !got[0].lane &&
	      !got[0].site);
	CHECK(got[0].first == 1 * s + 10 && got[0].last == 1 * s + 10);
	CHECK(got[1].cause == SP_LOSS_DEPTH && got[1].cpu == 1 && got[1].lane == 9 &&
	      got[1].site == 4);
	CHECK_NUMBER(read_now(ledger, &bpf, 3 * s, true), 0); /* once */
	/* More of it begins no earlier than what was read. */
	lose(&bpf, full, 2, 3 * s + 7);
	CHECK_NUMBER(read_now(ledger, &bpf, 4 * s, false), 2);
	CHECK(got[0].first == 3 * s && got[0].last == 3 * s + 7);
	/* Soon after, not again; but it is not forgotten. */
	lose(&bpf, full, 1, 4 * s + 100);
	CHECK_NUMBER(read_now(ledger, &bpf, 4 * s + 1000, false), 0);
	CHECK_NUMBER(read_now(ledger, &bpf, 4 * s + 2000, false), 0);
	CHECK_NUMBER(read_now(ledger, &bpf, 5 * s, false), 1);
	CHECK(got[0].first == 4 * s && got[0].last == 4 * s + 100);
	lose(&bpf, full, 1, 5 * s + 1);
	CHECK_NUMBER(read_now(ledger, &bpf, 5 * s + 2, true), 1);
	/* Counted with a time that was taken before the last reading. */
	full->count += 4;
	bpf.lost = true;
	CHECK_NUMBER(read_now(ledger, &bpf, 6 * s, true), 4);
	/* The place that was being made. */
	place(&bpf, 78, SP_LOSS_STORAGE, 0, 1, 0)->loss.last = 6 * s;
	bpf.lost = true;
	CHECK_NUMBER(read_now(ledger, &bpf, 7 * s, false), 1);
	sp_ledger_free(ledger);
	/* Before anything is recorded: all of a cause, from both maps. */
	lose(&bpf, &place(&bpf, 79, SP_LOSS_CALL_RING_FULL, 0, 3, 3)->loss, 10, 8 * s);
	CHECK_NUMBER(sp_ledger_take(&bpf, SP_LOSS_CALL_RING_FULL), 5 + 2 + 1 + 1 + 4 + 10);
	CHECK_NUMBER(sp_ledger_take(&bpf, SP_LOSS_CALL_RING_FULL), 0);
	CHECK_NUMBER(sp_ledger_take(&bpf, SP_LOSS_DEPTH), 3);
}

/* All places of the table at once, over and over: the account does not fill the disk, and is exact.
 */
static void test_many(void)
{
	static struct sp_bpf bpf;
	const uint64_t s = 1000000000;
	uint64_t fired = 0, seen = 0, readings = 0, now = s;
	struct sp_ledger *ledger;

	CHECK_NUMBER(sp_ledger_new(CPUS, &ledger), 0);
	for (unsigned round = 0; round < 100; round++, now += s / 100) {
		for (unsigned i = 0; i < SP_LOSS_PLACES; i++)
			lose(&bpf,
			     &place(&bpf, i, SP_LOSS_CALL_RING_FULL, i % CPUS, 1 + i, 1)->loss,
			     1 + i % 3, now),
				fired += 1 + i % 3;
		seen += read_now(ledger, &bpf, now + 1, false);
		readings += n_got != 0;
	}
	CHECK(readings >= 1 && readings <= 2); /* of a second: 5,000 gaps are allowed in one */
	seen += read_now(ledger, &bpf, now, true);
	CHECK_NUMBER(seen, fired);
	sp_ledger_free(ledger);
}

static void refuse(struct sp_unwritten *u, unsigned stream, const struct sp_head *head,
		   uint64_t now)
{
	struct sp_event event = {.head = head};

	sp_unwritten_add(u, stream, &event, now);
}

static uint64_t take_all(struct sp_unwritten *u, uint64_t by_cause[SP_LOSS_MAX])
{
	uint64_t sum = 0;

	n_got = 0;
	sp_unwritten_take(u, take, got);
	for (size_t i = 0; i < n_got; i++) {
		by_cause[got[i].cause] += got[i].count;
		sum += got[i].count;
	}
	return sum;
}

static void test_unwritten(void)
{
	struct sp_ev_call call = {
		.head = {.type = SP_EV_call, .lane = 3}, .site = 5, .start = 100, .end = 200};
	struct sp_ev_sample sample = {
		.head = {.type = SP_EV_sample, .lane = 3}, .site = 5, .time = 150};
	struct sp_ev_stack_copy copy = {.head = {.type = SP_EV_stack_copy, .lane = 3}, .time = 160};
	struct sp_ev_task task = {.head = {.type = SP_EV_task, .lane = 3}, .time = 1};
	struct sp_ev_loss loss = {.head = {.type = SP_EV_loss},
				  .cause = SP_LOSS_DEPTH,
				  .cpu = 1,
				  .lane = 4,
				  .site = 6,
				  .count = 9,
				  .first = 10,
				  .last = 20};
	uint64_t by_cause[SP_LOSS_MAX] = {0};
	struct sp_unwritten *u;

	CHECK_NUMBER(sp_unwritten_new(&u), 0);
	CHECK_NUMBER(take_all(u, by_cause), 0);
	refuse(u, 2, &call.head, 999);
	call.start = 50;
	refuse(u, 2, &call.head, 999);
	refuse(u, 2, &sample.head, 999);
	refuse(u, 2, &copy.head, 999);
	refuse(u, SP_STREAM_RECORDER, &task.head, 999);
	refuse(u, SP_STREAM_RECORDER, &loss.head, 999);
	CHECK_NUMBER(take_all(u, by_cause), 2 + 1 + 1 + 1 + 9);
	CHECK_NUMBER(n_got, 5);
	CHECK(by_cause[SP_LOSS_DISK] == 2 && by_cause[SP_LOSS_DISK_SAMPLES] == 1 &&
	      by_cause[SP_LOSS_STACK_COPY] == 1 && by_cause[SP_LOSS_DISK_FACTS] == 1 &&
	      by_cause[SP_LOSS_DEPTH] == 9);
	CHECK(got[0].first == 50 && got[0].last == 200 && got[0].cpu == 2 && got[0].lane == 3 &&
	      got[0].site == 5);
	CHECK(got[3].first == 999 && got[3].cpu == -1);
	CHECK(got[4].first == 10 && got[4].last == 20 && got[4].cpu == 1 && got[4].lane == 4 &&
	      got[4].site == 6);
	CHECK_NUMBER(take_all(u, by_cause), 0);
	/* More places than are kept apart: the rest is one, without CPU, thread and region. */
	memset(by_cause, 0, sizeof(by_cause));
	for (unsigned i = 0; i < 30000; i++) {
		call.head.lane = 1 + i % 10000;
		call.site = 1 + i % 7;
		call.start = 1000 + i;
		call.end = 2000 + i;
		refuse(u, i % 3, &call.head, 0);
	}
	CHECK_NUMBER(take_all(u, by_cause), 30000);
	CHECK_NUMBER(by_cause[SP_LOSS_DISK], 30000);
	CHECK(n_got > 1000 && n_got <= 4096 + 1);
	CHECK(got[n_got - 1].cpu == -1 && !got[n_got - 1].lane && !got[n_got - 1].site);
	CHECK_NUMBER(got[n_got - 1].last, 2000 + 29999);
	CHECK_NUMBER(take_all(u, by_cause), 0);
	/* Or of one place, more CPUs. */
	for (unsigned i = 0; i < 10000; i++)
		refuse(u, i % 5000, &call.head, 0);
	CHECK_NUMBER(take_all(u, by_cause), 10000);
	CHECK_NUMBER(n_got, 4096 + 1);
	sp_unwritten_free(u);
	sp_unwritten_free(NULL);
}

int main(void)
{
	test_ledger();
	test_many();
	test_unwritten();
	return check_result();
}
