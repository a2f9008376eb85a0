/* SPDX-License-Identifier: BSD-2-Clause
 *
 * losses_test.c - the ledger of a recording and what is said of it: gaps that are joined stay exact
 * and cover what they were made of, in words, and where calls are held against them.
 */
#include <stdlib.h>
#include <unistd.h>

#include "formats/codec.h"
#include "tests/userspace/finalize/read_back.h"
#include "userspace/analysis/gaps.h"
#include "userspace/analysis/recording.h"

#define MOST 8192 /* of a recording: recording_losses.c */
#define MS 1000000ull

static char path[4096];

/* One place: what is close is one gap, what is not are two; of other places it is another. */
static void test_join(void)
{
	struct maker m = maker_open(path);
	struct sp_recording *rec;

	maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 1, 5, 7, 3, 100 * MS, 101 * MS);
	maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 1, 5, 7, 4, 110 * MS, 111 * MS);
	maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 1, 5, 7, 5, 500 * MS, 501 * MS);
	maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 1, 5, 8, 6, 110 * MS, 111 * MS);
	maker_loss_at(&m, SP_LOSS_CALL_RING_FULL, 2, 5, 7, 7, 110 * MS, 111 * MS);
	maker_loss_at(&m, SP_LOSS_DEPTH, 1, 5, 7, 8, 110 * MS, 111 * MS);
	maker_loss_at(&m, SP_LOSS_DEPTH, 1, 5, 7, 0, 110 * MS, 111 * MS); /* nothing */
	maker_loss(&m, SP_LOSS_DISK, -1, UINT64_MAX, 1, 2);
	maker_loss(&m, SP_LOSS_DISK, -1, 9, 1, 2); /* a sum beyond all numbers */
	rec = read_back(&m, path, true);
	CHECK_NUMBER(rec->n_losses, 6);
	if (rec->n_losses == 6) {
		const struct sp_loss *all = rec->losses;

		CHECK_NUMBER(all[0].count, 7);
		CHECK_NUMBER(all[0].first, 100 * MS);
		CHECK_NUMBER(all[0].last, 111 * MS);
		CHECK_NUMBER(all[1].count, 5);
		CHECK_NUMBER(all[2].site, 8);
		CHECK_NUMBER(all[3].cpu, 2);
		CHECK_NUMBER(all[4].cause, SP_LOSS_DEPTH);
		CHECK_NUMBER(all[4].count, 8);
		CHECK(all[5].count == UINT64_MAX);
	}
	sp_recording_free(rec);
}

static bool covers(const struct sp_loss *gap, const struct sp_loss *loss)
{
	return gap->cause == loss->cause && (gap->cpu < 0 || gap->cpu == loss->cpu) &&
	       (!gap->lane || gap->lane == loss->lane) && (!gap->site || gap->site == loss->site) &&
	       gap->first <= loss->first && gap->last >= loss->last;
}

/* Far more gaps than are kept: the sums stay, and each loss lies in a gap. @places: so many
 * different ones; where they are too many themselves, they are forgotten. */
static void test_thin(unsigned n, unsigned places)
{
	static const unsigned causes[] = {SP_LOSS_CALL_RING_FULL, SP_LOSS_SAMPLE_RING_FULL,
					  SP_LOSS_DEPTH};
	struct sp_loss *all = calloc(n, sizeof(*all));
	uint64_t wanted[SP_LOSS_MAX] = {0}, seen[SP_LOSS_MAX] = {0}, random = 1;
	struct maker m = maker_open(path);
	struct sp_recording *rec;
	unsigned outside = 0;

	for (unsigned i = 0; i < n; i++) {
		unsigned place;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		place = (unsigned)(random >> 33) % places;
		all[i] = (struct sp_loss){
			.cause = causes[place % 3],
			.cpu = (int)(place % 4),
			.lane = 1 + place / 7,
			.site = 1 + place % 11,
			.count = 1 + (random >> 50),
			.first = (i + 1) * 1000 * MS,
			.last = (i + 1) * 1000 * MS + (random >> 40) % MS,
		};
		wanted[all[i].cause] += all[i].count;
		maker_loss_at(&m, all[i].cause, all[i].cpu, all[i].lane, all[i].site, all[i].count,
			      all[i].first, all[i].last);
	}
	rec = read_back(&m, path, true);
	CHECK(rec->n_losses > 0 && rec->n_losses <= MOST);
	for (size_t i = 0; i < rec->n_losses; i++)
		seen[rec->losses[i].cause] += rec->losses[i].count;
	for (unsigned cause = 0; cause < SP_LOSS_MAX; cause++)
		CHECK_NUMBER(seen[cause], wanted[cause]);
	for (unsigned i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < rec->n_losses && !found; k++)
			found = covers(&rec->losses[k], &all[i]);
		outside += !found;
	}
	CHECK_NUMBER(outside, 0);
	sp_recording_free(rec);
	free(all);
}

static void check_told(const struct sp_gaps *gaps, const char *cause, size_t input, int64_t start,
		       const char *wanted)
{
	char *told = sp_gaps_tell(gaps, cause, input, start);

	CHECK_TEXT(told, wanted);
	free(told);
}

static void test_words(void)
{
	struct sp_gap items[] = {
		{.name = "a",
		 .thread = "t",
		 .tid = 7,
		 .cpu = 0,
		 .region = "leaf",
		 .count = 40,
		 .rank = 0,
		 .first = 2000 * MS,
		 .last = 2001 * MS},
		{.name = "a",
		 .thread = "t",
		 .tid = 7,
		 .cpu = 1,
		 .region = "outer",
		 .count = 2,
		 .rank = 0,
		 .first = 1500 * MS,
		 .last = 1600 * MS},
		{.name = "a",
		 .input = 1,
		 .tid = -1,
		 .cpu = -1,
		 .count = 5,
		 .rank = UINT32_MAX,
		 .first = 2 * MS,
		 .last = 2 * MS},
		{.name = "b", .tid = -1, .cpu = -1, .count = 5, .rank = UINT32_MAX},
	};
	struct sp_gaps gaps = {.items = items, .n = 4};

	check_told(&gaps, "a", 0, 1000 * (int64_t)MS,
		   "on CPUs 0: 40, 1: 2; in thread t/7; in regions leaf: 40, outer: 2; from "
		   "0.500000 to "
		   "1.001000 s of the run");
	check_told(&gaps, "a", 1, 0, "at 0.002000 s of CLOCK_MONOTONIC");
	/* Who has not all of it has a number. */
	check_told(&gaps, "a", SIZE_MAX, 0,
		   "on CPUs 0: 40, 1: 2; in thread t/7: 42; in regions leaf: 40, outer: 2; from "
		   "0.002000 "
		   "to 2.001000 s of CLOCK_MONOTONIC");
	check_told(&gaps, "b", SIZE_MAX, 0, "");
	check_told(&gaps, "c", SIZE_MAX, 0, "");
}

/* Which calls lie in gaps of no known region, also where there are more than are kept apart. */
static void test_spans(unsigned n)
{
	struct sp_gap *items = calloc(n + 3, sizeof(*items));
	struct sp_gaps gaps = {.items = items, .n = n + 3};
	struct sp_gap_spans *spans = NULL;

	for (unsigned i = 0; i < n; i++)
		items[i] = (struct sp_gap){.cause = SP_LOSS_CALL_RING_FULL,
					   .index = 3,
					   .rank = 2,
					   .count = 1,
					   .first = (n - i) * 100,
					   .last = (n - i) * 100 + 10};
	/* Others': of a known region, of samples, of another recording. */
	for (unsigned i = n; i < n + 3; i++)
		items[i] = (struct sp_gap){.cause = SP_LOSS_CALL_RING_FULL,
					   .index = -1,
					   .rank = UINT32_MAX,
					   .count = 1,
					   .first = 1,
					   .last = 2};
	items[n].region = "known";
	items[n + 1].cause = SP_LOSS_SAMPLE_RING_FULL;
	items[n + 2].input = 1;
	CHECK_NUMBER(sp_gap_spans_new(&gaps, SP_LOSS_OF_CALLS, 0, 0, &spans), 0);
	CHECK(!sp_gap_spans_empty(spans));
	for (unsigned i = 1; i <= n; i++)
		CHECK(sp_gap_spans_touch(spans, 2, 3, i * 100 + 5, i * 100 + 6));
	CHECK(!sp_gap_spans_touch(spans, 2, 3, 0, 99));
	CHECK(!sp_gap_spans_touch(spans, 2, 3, n * 100 + 11, n * 100 + 500));
	CHECK(sp_gap_spans_touch(spans, 2, -1, 0, 100)); /* it may be this thread's */
	CHECK(!sp_gap_spans_touch(spans, 2, 4, 100, 105));
	CHECK(!sp_gap_spans_touch(spans, 1, 3, 100, 105));
	sp_gap_spans_free(spans);
	/* Another file of the recording knows that thread by another number. */
	CHECK_NUMBER(sp_gap_spans_new(&gaps, SP_LOSS_OF_CALLS, 0, 1, &spans), 0);
	CHECK(sp_gap_spans_empty(spans));
	sp_gap_spans_free(spans);
	CHECK_NUMBER(sp_gap_spans_new(&gaps, SP_LOSS_OF_SAMPLES, 0, 0, &spans), 0);
	CHECK(sp_gap_spans_touch(spans, 9, 9, 0, 5) && !sp_gap_spans_touch(spans, 9, 9, 3, 5));
	sp_gap_spans_free(spans);
	free(items);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	snprintf(path, sizeof(path), "%s.spj", argv[1]);
	test_join();
	unlink(path);
	test_thin(12000, 60); /* times are joined */
	unlink(path);
	test_thin(12000, 1000000); /* regions, threads and CPUs are forgotten */
	unlink(path);
	test_words();
	test_spans(3);
	test_spans(1000);
	return check_result();
}
