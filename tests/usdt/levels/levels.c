/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which calls fire when a recorder thins: the skip level, without a tracer. The program raises its
 * own semaphores and level cells, found as a recorder finds them, and stand-ins for the stubs see
 * what fires. What must hold whatever happens: an end fires if and only if its begin did, and fired
 * plus skipped is what was called, to the last call, for each thread and region.
 *
 * Arguments: "calm" leaves the levels alone while threads run, for the thread sanitizer.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "regions.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

struct record {
	int32_t name, file, tags, func;
	uint32_t line;
	int32_t level;
	uint32_t flags, reserved;
};
extern const struct record __start_sp_desc[], __stop_sp_desc[];

static sp_region_t handle[REGIONS];
static const char *const name[REGIONS] = {
#define NAME_ENTRY(k) NAME(k),
	EACH_REGION(NAME_ENTRY)};

/* One thread's tally of each region. What its signal handler did is counted apart. */
struct tally {
	uint64_t called[REGIONS], fired[REGIONS], skipped[REGIONS];
	uint64_t handler_called[REGIONS], handler_fired[REGIONS], handler_skipped[REGIONS];
	uint64_t random;
};
static __thread struct tally *mine;

static void walk(struct tally *t, unsigned depth);

#define BEGIN(k) \
	static void begin_##k(void) \
	{ \
		SP_REGION_BEGIN(NAME(k)); \
	}
#define END(k) \
	static void end_##k(void) \
	{ \
		SP_REGION_END(NAME(k)); \
	}
#define BEGIN_NAME(k) begin_##k,
#define END_NAME(k) end_##k,
#define SCOPE(k) \
	static void scope_##k(struct tally *t, unsigned region, unsigned depth, int *ret_fired) \
	{ \
		SP_REGION_SCOPE(NAME(k)); \
		*ret_fired = began(t, region); \
		if (t->random & 1024) \
			return; \
		walk(t, depth); \
		fired.begins = fired.ends = 0; \
	}
#define SCOPE_NAME(k) scope_##k,

/* Reads what the begin before it fired, and books it. */
static int began(struct tally *t, unsigned region)
{
	unsigned begins = fired.begins;

	CHECK(begins <= 1 && fired.ends == 0);
	t->called[region]++;
	if (begins) {
		CHECK(!strcmp(fired.name, name[region]));
		CHECK(fired.hash == 0 || fired.hash == handle[region]->hash);
		CHECK((fired.hash == 0) == (fired.desc != handle[region]));
		t->fired[region]++;
		t->skipped[region] += fired.skipped;
	}
	fired.begins = fired.ends = 0;
	return (int)begins;
}

static void ended(unsigned region, int begin_fired)
{
	CHECK(fired.begins == 0 && fired.ends == (unsigned)begin_fired);
	CHECK(!begin_fired || !strcmp(fired.name, name[region]));
	fired.ends = 0;
}

/* clang-format off */
EACH_REGION(BEGIN)
EACH_REGION(END)
EACH_REGION(SCOPE)
/* clang-format on */

static const edge_fn near_begin[REGIONS] = {EACH_REGION(BEGIN_NAME)};
static const edge_fn near_end[REGIONS] = {EACH_REGION(END_NAME)};
static void (*const scope[REGIONS])(struct tally *, unsigned, unsigned,
				    int *) = {EACH_REGION(SCOPE_NAME)};

static unsigned any(struct tally *t, unsigned below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (unsigned)(t->random >> 20) % below;
}

static void set_level(unsigned region, uint16_t level)
{
	const struct record *r;

	for (r = __start_sp_desc; r < __stop_sp_desc; r++)
		if (!(r->flags & 4) && !strcmp((const char *)r + r->name, name[region]))
			*(volatile uint16_t *)((char *)(uintptr_t)r + r->level) = level;
	CHECK(handle[region]->level_index < 64);
	sp_level_pool_v1[handle[region]->level_index] = level;
}

static void set_levels(uint16_t level)
{
	unsigned i;

	for (i = 0; i < REGIONS; i++)
		set_level(i, level);
}

static void begin_any(struct tally *t, unsigned region)
{
	switch (any(t, 3)) {
	case 0:
		near_begin[region]();
		break;
	case 1:
		far_begin[region]();
		break;
	default:
		sp_region_begin(handle[region]);
	}
}

static void end_any(struct tally *t, unsigned region)
{
	switch (any(t, 3)) {
	case 0:
		near_end[region]();
		break;
	case 1:
		far_end[region]();
		break;
	default:
		sp_region_end(handle[region]);
	}
}

/* A random tree of calls; the smaller the region's number, the more it is called. */
static void walk(struct tally *t, unsigned depth)
{
	unsigned i, region, n = any(t, 4);
	int fires = 0;

	if (depth > 12)
		return;
	for (i = 0; i < n; i++) {
		region = any(t, any(t, 3) ? 6 : REGIONS);
		if (any(t, 4) == 0) {
			scope[region](t, region, depth + 1, &fires);
			ended(region, fires);
			continue;
		}
		begin_any(t, region);
		fires = began(t, region);
		if (any(t, 2))
			walk(t, depth + 1);
		end_any(t, region);
		ended(region, fires);
	}
}

/* With every level at 0, one call more of each region reports what is pending; then nothing is. */
static void settle(struct tally *t)
{
	unsigned i;
	int fires;

	for (i = 0; i < REGIONS; i++) {
		near_begin[i]();
		fires = began(t, i);
		CHECK(fires == 1);
		far_end[i]();
		ended(i, fires);
		CHECK(t->fired[i] + t->skipped[i] + t->handler_fired[i] + t->handler_skipped[i] ==
		      t->called[i] + t->handler_called[i]);
	}
}

/* Regions in a signal handler, which may come in the middle of the bookkeeping. */
static void on_signal(int signal)
{
	struct fired saved = fired;
	unsigned region, i;

	(void)signal;
	for (i = 0; i < 3; i++) {
		region = i * 2;
		memset(&fired, 0, sizeof(fired));
		near_begin[region]();
		mine->handler_called[region]++;
		mine->handler_fired[region] += fired.begins;
		mine->handler_skipped[region] += fired.begins ? fired.skipped : 0;
		far_end[region]();
		CHECK(fired.ends == fired.begins);
	}
	fired = saved;
}

static volatile int stop;

static void *wander(void *argument)
{
	struct tally *t = argument;

	mine = t;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE))
		walk(t, 0);
	return NULL;
}

/* Threads wander while levels go up and down and signals come in. */
static void test_threads(int calm)
{
	static struct tally tally[3];
	struct tally control = {.random = 99};
	pthread_t thread[3];
	unsigned i, round;

	stop = 0;
	for (i = 0; i < 3; i++) {
		memset(&tally[i], 0, sizeof(tally[i]));
		tally[i].random = 12345 + 77 * i;
		CHECK(!pthread_create(&thread[i], NULL, wander, &tally[i]));
	}
	for (round = 0; round < 600; round++) {
		struct timespec pause = {0, 200000};

		if (!calm)
			set_level(any(&control, REGIONS),
				  (uint16_t)(any(&control, 3) * any(&control, 4)));
		if (!calm && tally[round % 3].called[0])
			pthread_kill(thread[round % 3], SIGUSR1);
		nanosleep(&pause, NULL);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	for (i = 0; i < 3; i++)
		CHECK(!pthread_join(thread[i], NULL));
	for (i = 0; i < 3; i++) {
		uint64_t calls = 0, skipped = 0;
		unsigned k;

		for (k = 0; k < REGIONS; k++) {
			calls += tally[i].called[k] + tally[i].handler_called[k];
			skipped += tally[i].skipped[k] + tally[i].handler_skipped[k];
			/* What is missing is pending: less than one period of the highest level. */
			CHECK(tally[i].called[k] + tally[i].handler_called[k] -
				      (tally[i].fired[k] + tally[i].skipped[k] +
				       tally[i].handler_fired[k] + tally[i].handler_skipped[k]) <
			      64);
		}
		CHECK(calls > 1000 && skipped > calls / 10 && skipped < calls);
	}
}

static void *settle_after_walk(void *argument)
{
	struct tally *t = argument;
	unsigned round;

	mine = t;
	for (round = 0; round < 2000; round++) {
		set_level(any(t, REGIONS), (uint16_t)(any(t, 3) * any(t, 4)));
		if (round % 50 == 0)
			raise(SIGUSR1);
		walk(t, 0);
		if (round % 100 == 99) {
			set_levels(0);
			settle(t);
		}
	}
	return NULL;
}

/* Every 2^L-th call fires, and stands for the 2^L - 1 before it. */
static void test_period(void)
{
	uint16_t level;
	unsigned i, calls;

	for (level = 0; level < 8; level++) {
		struct tally t = {.random = level + 1u};

		set_level(3, level);
		calls = 1000;
		for (i = 1; i <= calls; i++) {
			int fires;

			begin_any(&t, 3);
			fires = began(&t, 3);
			CHECK(fires == (i % (1u << level) == 0));
			CHECK(!fires || fired.skipped == (1u << level) - 1);
			end_any(&t, 3);
			ended(3, fires);
		}
		set_level(3, 0);
		near_begin[3]();
		CHECK(began(&t, 3) == 1 && fired.skipped == calls % (1u << level));
		near_end[3]();
		ended(3, 1);
	}
}

/* Deeper than the bookkeeping reaches, with the level changing underneath. */
static void descend(struct tally *t, unsigned depth)
{
	int fires;

	if (depth == 0)
		return;
	if (depth % 17 == 0)
		set_level(7, (uint16_t)(depth % 5));
	begin_any(t, 7);
	fires = began(t, 7);
	descend(t, depth - 1);
	end_any(t, 7);
	ended(7, fires);
}

/* An end that comes from nowhere fires, and a begin without an end disturbs no other region. */
static void test_unmatched(void)
{
	struct tally t = {.random = 5};
	unsigned i;
	int fires;

	set_level(8, 2);
	set_level(9, 2);
	near_end[8]();
	ended(8, 1);
	for (i = 0; i < 200; i++) {
		near_begin[8]();
		fires = began(&t, 8);
		CHECK(i < 64 || fires);
		near_begin[9]();
		fires = began(&t, 9);
		far_end[9]();
		ended(9, fires);
	}
	CHECK(t.fired[9] == 50 && t.skipped[9] == 150);
}

static void *test_one_thread(void *unused)
{
	struct tally t = {.random = 3};

	(void)unused;
	test_period();
	descend(&t, 300);
	set_levels(0);
	settle(&t);
	test_unmatched();
	return NULL;
}

static void run_thread(void *(*function)(void *), void *argument)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, function, argument));
	CHECK(!pthread_join(thread, NULL));
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};
	struct tally tally = {.random = 42};
	int calm = argc > 1 && !strcmp(argv[1], "calm");
	unsigned i;

	CHECK(!sigaction(SIGUSR1, &action, NULL));
	CHECK(!SP_REGION_ENABLED());
	for (i = 0; i < REGIONS; i++)
		handle[i] = sp_region_intern(name[i]);
	near_begin[0]();
	far_end[0]();
	CHECK(fired.begins == 0 && fired.ends == 0);

	sp_begin_sema_v1 = 1;
	sp_end_sema_v1 = 1;
	CHECK(SP_REGION_ENABLED());
	if (!calm) {
		run_thread(test_one_thread, NULL);
		set_levels(0);
		run_thread(settle_after_walk, &tally);
	}
	set_levels(2);
	test_threads(calm);
	return 0;
}
