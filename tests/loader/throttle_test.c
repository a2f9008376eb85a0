/* SPDX-License-Identifier: BSD-2-Clause
 *
 * throttle_test.c - what is missing in spans that a kernel throttled, told in every order.
 */
#include "loader/throttle.h"
#include "tests/loader/check.h"

#define MS 1000000ull
#define HZ 10000 /* ten a millisecond */

static struct sp_throttle *start(void)
{
	struct sp_throttle *t = NULL;

	CHECK(sp_throttle_new(2, HZ, &t) == 0, "cannot make it");
	return t;
}

static void expect(bool lost, const struct sp_ev_loss *gap, int cpu, uint64_t first, uint64_t last,
		   uint64_t count)
{
	CHECK(lost, "nothing is missing from %llu to %llu", (unsigned long long)first,
	      (unsigned long long)last);
	if (!lost)
		return;
	CHECK(gap->cause == SP_LOSS_SAMPLE_THROTTLED && gap->cpu == cpu, "cause %d of CPU %d",
	      gap->cause, gap->cpu);
	CHECK(gap->first == first && gap->last == last && gap->count == count,
	      "%llu from %llu to %llu, not %llu from %llu to %llu", (unsigned long long)gap->count,
	      (unsigned long long)gap->first, (unsigned long long)gap->last,
	      (unsigned long long)count, (unsigned long long)first, (unsigned long long)last);
}

static void spans(void)
{
	struct sp_throttle *t = start();
	struct sp_ev_loss gap;

	CHECK(!sp_throttle_on(t, 0, 5 * MS, &gap), "a span that has no end yet");
	CHECK(!sp_throttle_on(t, 1, 6 * MS, &gap), "the other CPU's");
	expect(sp_throttle_off(t, 0, 7 * MS, &gap), &gap, 0, 5 * MS, 7 * MS, 20);
	expect(sp_throttle_off(t, 1, 9 * MS, &gap), &gap, 1, 6 * MS, 9 * MS, 30);
	CHECK(!sp_throttle_off(t, 0, 10 * MS, &gap), "an end without a begin");
	CHECK(!sp_throttle_on(t, 2, 10 * MS, &gap) && !sp_throttle_off(t, 2, 11 * MS, &gap),
	      "a CPU that is not there");
	/* The clocks of a machine may differ by a little. */
	sp_throttle_on(t, 0, 20 * MS, &gap);
	expect(sp_throttle_off(t, 0, 19 * MS, &gap), &gap, 0, 20 * MS, 20 * MS, 1);
	sp_throttle_free(t);
}

/* Spans much shorter or longer than a period, or 2.4 of it: the sum is right. */
static void sums(void)
{
	static const uint64_t lengths[] = {240000, 140000, 160000, 90000, 1234567};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct sp_throttle *t = start();
		struct sp_ev_loss gap;
		double wanted = 1000.0 * (double)lengths[i] * HZ / 1e9, sum = 0;

		for (unsigned k = 1; k <= 1000; k++) {
			sp_throttle_on(t, 0, k * 10 * MS, &gap);
			if (sp_throttle_off(t, 0, k * 10 * MS + lengths[i], &gap))
				sum += (double)gap.count;
		}
		if (wanted < 1000)
			wanted = 1000; /* one each */
		CHECK(sum > wanted - 1 && sum < wanted + 1, "spans of %llu ns: %.0f, not %.0f",
		      (unsigned long long)lengths[i], sum, wanted);
		sp_throttle_free(t);
	}
}

static void ends(void)
{
	struct sp_throttle *t = start();
	struct sp_ev_loss gap;

	/* Throttled, and again: the end between was lost. */
	sp_throttle_on(t, 0, 5 * MS, &gap);
	expect(sp_throttle_on(t, 0, 9 * MS, &gap), &gap, 0, 5 * MS, 9 * MS, 1);
	sp_throttle_on(t, 1, 8 * MS, &gap);
	sp_throttle_stop(t, 10 * MS);
	expect(sp_throttle_off(t, 1, 12 * MS, &gap), &gap, 1, 8 * MS, 10 * MS, 20);
	CHECK(!sp_throttle_on(t, 1, 13 * MS, &gap) && !sp_throttle_off(t, 1, 14 * MS, &gap),
	      "a span after the end");
	expect(sp_throttle_finish(t, 0, &gap), &gap, 0, 9 * MS, 10 * MS, 9);
	CHECK(!sp_throttle_finish(t, 0, &gap) && !sp_throttle_finish(t, 1, &gap), "told twice");
	sp_throttle_free(t);

	t = start();
	sp_throttle_on(t, 0, 5 * MS, &gap);
	sp_throttle_forget(t, 0);
	CHECK(!sp_throttle_off(t, 0, 6 * MS, &gap), "what was forgotten");
	sp_throttle_free(t);
	/* A recording without samples. */
	sp_throttle_forget(NULL, 0);
	sp_throttle_stop(NULL, 1);
	CHECK(!sp_throttle_finish(NULL, 0, &gap), "what nobody counts");
	sp_throttle_free(NULL);
}

int main(void)
{
	spans();
	sums();
	ends();
	return check_done();
}
