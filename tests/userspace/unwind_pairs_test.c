/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_pairs_test.c - samples find the copies of their stacks, which come apart from them.
 */
#include <errno.h>

#include "tests/lib/check.h"
#include "userspace/analysis/unwind_pairs.h"

struct seen {
	unsigned pairs, alone;
	uint64_t last;
};

static int on_pair(void *context, const struct sp_event *event, const struct sp_event *copy)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	struct seen *seen = context;

	CHECK_NUMBER(event->tail_bytes, 16);
	CHECK_NUMBER(((const uint64_t *)event->tail)[1], sample->time * 2);
	if (copy)
		CHECK_NUMBER(((const struct sp_ev_stack_copy *)copy->head)->time, sample->time);
	seen->pairs += copy != NULL;
	seen->alone += copy == NULL;
	seen->last = sample->time;
	return sample->time == 666 ? -EINTR : 0;
}

static int give(struct sp_unwind_pairs *pairs, unsigned stream, unsigned type, uint32_t lane,
		uint64_t time)
{
	struct sp_ev_sample sample = {.head = {SP_EV_sample, 0, lane}, .time = time};
	struct sp_ev_stack_copy copy = {.head = {SP_EV_stack_copy, 0, lane}, .time = time};
	uint64_t tail[2] = {time, time * 2};
	struct sp_event event = {.head = type == SP_EV_sample ? &sample.head : &copy.head,
				 .tail = (const uint8_t *)tail,
				 .tail_bytes = sizeof(tail)};

	return sp_unwind_pairs_add(pairs, stream, &event);
}

static void test_pairs(void)
{
	struct seen seen = {0};
	struct sp_unwind_pairs pairs = {.found = on_pair, .context = &seen};

	give(&pairs, 0, SP_EV_sample, 1, 100);
	give(&pairs, 1, SP_EV_sample, 2, 100);
	give(&pairs, 0, SP_EV_stack_copy, 1, 100);
	give(&pairs, 1, SP_EV_stack_copy, 2, 100);
	CHECK_NUMBER(seen.pairs, 2);
	give(&pairs, 0, SP_EV_sample, 1, 200); /* its copy is lost */
	give(&pairs, 0, SP_EV_sample, 1, 300);
	CHECK_NUMBER(seen.last, 200);
	give(&pairs, 0, SP_EV_stack_copy, 1, 300);
	give(&pairs, 0, SP_EV_stack_copy, 1, 300); /* twice */
	give(&pairs, 0, SP_EV_sample, 1, 400);
	give(&pairs, 0, SP_EV_stack_copy, 3, 400); /* of another lane */
	give(&pairs, 5, SP_EV_stack_copy, 1, 400); /* of another stream */
	CHECK_NUMBER(sp_unwind_pairs_finish(&pairs), 0);
	CHECK_NUMBER(seen.pairs, 3);
	CHECK_NUMBER(seen.alone, 2);
	CHECK_NUMBER(pairs.alone, 3);
	give(&pairs, 7, SP_EV_sample, 1, 666);
	CHECK_NUMBER(give(&pairs, 7, SP_EV_stack_copy, 1, 666), -EINTR);
	sp_unwind_pairs_free(&pairs);
}

int main(void)
{
	test_pairs();
	return check_result();
}
