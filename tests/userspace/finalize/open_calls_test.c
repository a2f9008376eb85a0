/* SPDX-License-Identifier: BSD-2-Clause
 *
 * open_calls_test.c - what a journal without an end tells of the calls that were open: threads run
 * at random, and die somewhere; all that a call or a sample inside names is found, and nothing
 * else.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/codec.h"
#include "tests/lib/check.h"
#include "tests/lib/journal_maker.h"
#include "userspace/analysis/open_calls.h"

#define THREADS 3
#define SITES 6
#define DEPTH SP_MAX_DEPTH

static char path[4096];
static uint64_t seed;

static unsigned draw(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

struct thread {
	uint64_t number; /* of the last call */
	unsigned depth;
	struct {
		uint64_t number;
		uint32_t site;
		bool named, sampled;
	} open[DEPTH + 1];
	struct maker_sample late; /* a sample that the journal gets later than what followed it */
	bool has_late;
};

static void enter(struct thread *t)
{
	t->open[t->depth].number = ++t->number;
	t->open[t->depth].site = 1 + draw(SITES);
	t->open[t->depth].named = t->open[t->depth].sampled = false;
	t->depth++;
}

static void leave(struct thread *t, uint32_t lane, uint64_t time, struct maker *m)
{
	t->depth--;
	maker_call(m, (struct maker_call){.lane = lane,
					  .site = t->open[t->depth].site,
					  .number = t->open[t->depth].number,
					  .parent = t->depth ? t->open[t->depth - 1].number : 0,
					  .start = time - 1,
					  .end = time,
					  .depth = t->depth});
	if (t->depth)
		t->open[t->depth - 1].named = true;
}

static void sample(struct thread *t, uint32_t lane, uint64_t time, struct maker *m)
{
	struct maker_sample s = {.lane = lane, .process = 1, .pid = 1, .tid = lane, .time = time};

	if (t->depth) {
		s.number = t->open[t->depth - 1].number;
		s.site = t->open[t->depth - 1].site;
		t->open[t->depth - 1].sampled = true;
	}
	if (t->has_late)
		maker_sample(m, t->late);
	t->has_late = draw(2);
	if (t->has_late)
		t->late = s;
	else
		maker_sample(m, s);
}

/* By site, 0 unknown, what must be found of a thread. */
static void list_known(const struct thread *t, unsigned wanted[SITES + 1])
{
	unsigned named = 0; /* those that are as deep, or less, are known */

	for (unsigned i = 0; i < t->depth; i++)
		if (t->open[i].named)
			named = i + 1;
	for (unsigned i = 0; i < t->depth; i++)
		if (i < named || t->open[i].sampled)
			wanted[t->open[i].sampled ? t->open[i].site : 0]++;
}

static struct sp_recording *read_back(struct maker *maker, bool ended)
{
	struct sp_recording *rec = sp_recording_new();
	struct sp_journal *journal = NULL;
	const struct sp_event *event;

	maker_close(maker, ended);
	CHECK_NUMBER(sp_journal_open(path, &journal, NULL), 0);
	while (sp_journal_next(journal, &event) == 1)
		CHECK_NUMBER(sp_recording_add(rec, event), 0);
	CHECK_NUMBER(sp_open_calls_find(rec, journal), 0);
	sp_journal_free(journal);
	return rec;
}

static void check_found(const struct sp_recording *rec, uint32_t lane,
			const unsigned wanted[SITES + 1])
{
	unsigned found[SITES + 1] = {0};

	for (size_t i = 0; i < rec->n_losses; i++) {
		const struct sp_loss *loss = &rec->losses[i];

		if (loss->lane != lane)
			continue;
		CHECK_NUMBER(loss->cause, SP_LOSS_UNFINISHED);
		CHECK(loss->first && loss->first <= loss->last && loss->site <= SITES);
		found[loss->site] += (unsigned)loss->count;
	}
	for (unsigned site = 0; site <= SITES; site++)
		CHECK_NUMBER(found[site], wanted[site]);
}

static void test_random(unsigned steps)
{
	struct maker m = maker_open(path);
	struct thread threads[THREADS] = {0};
	struct sp_recording *rec;
	bool exits = draw(2);

	for (uint32_t i = 0; i < THREADS; i++)
		maker_task(&m, i + 1, 1, 0, 1, i + 1, SP_TASK_FOUND, 1, "t");
	for (unsigned time = 10; time < 10 + steps; time++) {
		uint32_t lane = 1 + draw(THREADS);
		struct thread *t = &threads[lane - 1];
		unsigned what = draw(10);

		m.stream = draw(2);
		if (what < 4 && t->depth < DEPTH)
			enter(t);
		else if (what < 8 && t->depth)
			leave(t, lane, time, &m);
		else if (what >= 8)
			sample(t, lane, time, &m);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		if (threads[i].has_late)
			maker_sample(&m, threads[i].late);
	/* What a thread that has ended left open is in the journal, or was lost. */
	if (exits)
		maker_exit(&m, 1, 1, 1, 1, 10 + steps, 5, "t");
	rec = read_back(&m, false);
	for (uint32_t i = 0; i < THREADS; i++) {
		unsigned wanted[SITES + 1] = {0};

		if (i || !exits)
			list_known(&threads[i], wanted);
		check_found(rec, i + 1, wanted);
	}
	sp_recording_free(rec);
	unlink(path);
}

/* Nothing is open in a recording that ended; where calls were lost, what was sampled before may be
 * one of these; of deep ones, and those from before the recording, nothing is made up. */
static void test_nothing(bool ended)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;
	size_t losses = ended ? 0 : 1;

	maker_task(&m, 1, 1, 0, 1, 1, SP_TASK_FOUND, 1, "t");
	maker_call(&m, (struct maker_call){.lane = 1,
					   .site = 1,
					   .number = 9,
					   .start = 1,
					   .end = 20,
					   .flags = SP_CALL_BEGAN_BEFORE});
	maker_sample(&m, (struct maker_sample){
				 .lane = 1, .process = 1, .site = 2, .number = 3, .time = 30});
	if (ended)
		maker_call(&m, (struct maker_call){.lane = 1,
						   .site = 2,
						   .number = 12,
						   .parent = 11,
						   .depth = 1,
						   .start = 41,
						   .end = 42});
	else
		maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 0, 1, 0, 1, 35, 40);
	rec = read_back(&m, ended);
	CHECK_NUMBER(rec->n_losses, losses);
	sp_recording_free(rec);
	unlink(path);
}

int main(int argc, char **argv)
{
	unsigned rounds = getenv("SP_TEST_FULL") ? 20000 : 300;

	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s.spj", argv[1]);
	seed = (uint64_t)getpid();
	printf("seed %llu\n", (unsigned long long)seed);
	for (unsigned i = 0; i < rounds; i++)
		test_random(i % 10 ? draw(200) : draw(20000));
	test_nothing(true);
	test_nothing(false);
	return check_result();
}
