/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calls.c - calls of regions, nested and recursive, of literal and run-time names, on several
 *threads, each stamped with the time around its begin and around its end.
 *
 *	calls LOG THREADS CALLS WORK [wait]
 *
 * CALLS for each thread, or 0: until LOG's `stop` is set from outside. WORK is a number of rounds
 *of arithmetic in each call; the result is in LOG and printed. With `wait`, nothing is called
 *before LOG's `go` is set.
 */
#include <pthread.h>
#include <string.h>

#include "stamps.h"
#include "usdt/sp_region.h"

#define NAMES 16 /* run-time names, numbered from FIRST_NAME in the log */
#define FIRST_NAME 8

enum region { OUTER, MIDDLE, LEAF, RECURSE, LITERALS };

struct thread {
	struct stamp_log *log;
	struct stamp *slots;
	struct stamp_lane *lane;
	uint64_t calls, capacity, state;
	unsigned number, work;
	pthread_t id;
};

static sp_region_t names[NAMES];

static void compute(struct thread *t)
{
	for (unsigned i = 0; i < t->work; i++)
		t->state = t->state * 6364136223846793005u + 1442695040888963407u;
	t->state ^= t->state >> 29;
}

static int is_over(const struct thread *t)
{
	return t->calls ? t->lane->used >= t->calls
			: t->lane->used + 64 > t->capacity ||
				  __atomic_load_n(&t->log->stop, __ATOMIC_RELAXED);
}

/* One call: @BEGIN and @END with nothing between them and their stamps. */
#define CALL(number, up, BEGIN, END, body) \
	do { \
		uint64_t slot_ = t->lane->used++, before_, after_; \
		struct stamp *s_ = &t->slots[slot_]; \
		uint32_t self = (uint32_t)slot_ + 1; \
		(void)self; \
		s_->region = (number); \
		s_->parent = (up); \
		before_ = stamp_now(); \
		BEGIN; \
		after_ = stamp_now(); \
		s_->before_begin = before_; \
		s_->after_begin = after_; \
		body; \
		before_ = stamp_now(); \
		END; \
		after_ = stamp_now(); \
		s_->before_end = before_; \
		s_->after_end = after_; \
	} while (0)

static void recurse(struct thread *t, uint32_t up, unsigned depth)
{
	CALL(RECURSE, up, SP_REGION_BEGIN("recurse"), SP_REGION_END("recurse"), {
		compute(t);
		if (depth)
			recurse(t, self, depth - 1);
	});
}

static void leaf(struct thread *t, uint32_t up)
{
	CALL(LEAF, up, SP_REGION_BEGIN_TAGGED("leaf", "a,b"), SP_REGION_END("leaf"), compute(t));
}

static void named(struct thread *t, uint32_t up, unsigned which)
{
	CALL(FIRST_NAME + which, up, sp_region_begin(names[which]), sp_region_end(names[which]), {
		compute(t);
		if (which & 1)
			leaf(t, self);
	});
}

static void middle(struct thread *t, uint32_t up, unsigned round)
{
	CALL(MIDDLE, up, SP_REGION_BEGIN("middle: 100 %, {a|b}"),
	     SP_REGION_END("middle: 100 %, {a|b}"), {
		     leaf(t, self);
		     named(t, self, round % NAMES);
		     leaf(t, self);
	     });
}

static void *run(void *arg)
{
	struct thread *t = arg;

	stamp_lane_open(t->log, t->number);
	while (!__atomic_load_n(&t->log->go, __ATOMIC_RELAXED))
		usleep(1000);
	for (unsigned round = t->number; !is_over(t); round++) {
		CALL(OUTER, 0, SP_REGION_BEGIN("outer"), SP_REGION_END("outer"), {
			middle(t, self, round);
			if (round % 5 == 0)
				recurse(t, self, round % 13);
		});
		t->lane->checksum = t->state;
	}
	t->lane->checksum = t->state;
	return NULL;
}

static int number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*end || end == text || n < 0) {
		fprintf(stderr, "calls: '%s' is not a number\n", text);
		exit(9);
	}
	return (int)n;
}

int main(int argc, char **argv)
{
	static struct thread threads[STAMPS_THREADS];
	struct stamp_log *log;
	unsigned count, work;
	uint64_t calls, capacity;

	if (argc < 5) {
		fprintf(stderr, "usage: calls LOG THREADS CALLS WORK [wait]\n");
		return 9;
	}
	count = (unsigned)number(argv[2]);
	calls = (uint64_t)number(argv[3]);
	work = (unsigned)number(argv[4]);
	if (count < 1 || count > STAMPS_THREADS)
		return 9;
	capacity = calls ? calls + 64 : 2u << 20;
	log = stamp_log_make(argv[1], count, capacity);
	for (unsigned i = 0; i < NAMES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name \"%u\" \xc3\xa4", i);
		names[i] = sp_region_intern_at(name, __FILE__, __LINE__, i & 1 ? "odd" : NULL);
		if (!names[i])
			return 9;
	}
	if (argc < 6)
		log->go = 1;
	for (unsigned i = 0; i < count; i++) {
		threads[i] = (struct thread){
			.log = log,
			.slots = stamp_slots(log, i),
			.lane = &log->lanes[i],
			.calls = calls,
			.capacity = capacity,
			.state = i + 1,
			.number = i,
			.work = work,
		};
		if (i && pthread_create(&threads[i].id, NULL, run, &threads[i]))
			return 9;
	}
	run(&threads[0]);
	for (unsigned i = 1; i < count; i++)
		pthread_join(threads[i].id, NULL);
	for (unsigned i = 0; i < count; i++)
		printf("lane %u: %llu calls, checksum %016llx\n", i,
		       (unsigned long long)threads[i].lane->used,
		       (unsigned long long)threads[i].lane->checksum);
	return 0;
}
