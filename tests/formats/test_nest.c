// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_nest.c - who encloses whom: against a search through all calls, and against what a generator
 * knows; rows out of order, many rows, records of one name in native files.
 *
 *	test_nest WORK_DIR
 */
#include <stdbool.h>

#include "formats/h5_write.h"
#include "formats/profile_nest.h"
#include "formats/sps.h"
#include "formats/spt.h"
#include "tests/formats/check.h"

static const char *work;
static struct sp_error error;
static uint64_t state;

/* splitmix64 */
static uint64_t below(uint64_t limit)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % limit;
}

struct call {
	uint32_t row;
	uint64_t index;
	int64_t start, end, thread, task, id;
	/* what is expected */
	int64_t lane, parent, child, number;
	uint32_t depth;
	bool overlaps;
	/* what came */
	bool entered, left;
};

struct calls {
	struct call *all; /* by row, then in order of the file */
	size_t n, capacity;
	uint32_t n_rows;
	size_t *first; /* of each row, and the end */
	uint64_t next, open, unnested;
	bool ids;
};

static struct call *add(struct calls *calls)
{
	if (calls->n == calls->capacity) {
		calls->capacity = calls->capacity * 2 + 64;
		calls->all = realloc(calls->all, calls->capacity * sizeof(*calls->all));
	}
	calls->all[calls->n] = (struct call){.thread = -1, .task = -1, .parent = -1};
	return &calls->all[calls->n++];
}

static int by_row(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Numbers the calls in their rows and finds where rows begin. */
static void arrange(struct calls *calls)
{
	for (size_t i = 0; i < calls->n; i++)
		calls->all[i].index = i;
	qsort(calls->all, calls->n, sizeof(*calls->all), by_row);
	calls->first = calloc(calls->n_rows + 1, sizeof(*calls->first));
	for (size_t i = 0; i < calls->n; i++)
		calls->first[calls->all[i].row + 1] = i + 1;
	for (uint32_t row = 0; row < calls->n_rows; row++)
		if (calls->first[row + 1] < calls->first[row])
			calls->first[row + 1] = calls->first[row];
	for (size_t i = 0; i < calls->n; i++)
		calls->all[i].index = i - calls->first[calls->all[i].row];
}

static void release(struct calls *calls)
{
	free(calls->all);
	free(calls->first);
	*calls = (struct calls){0};
}

/* ---- what is expected, the slow way ---- */

static int in_order(const void *a, const void *b)
{
	const struct call *x = *(struct call *const *)a, *y = *(struct call *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return by_row(x, y);
}

static bool is_open(const struct call *call, int64_t at)
{
	return call->end > at || (call->end == at && call->start == at);
}

static void expect(struct calls *calls)
{
	struct call **order = calloc(calls->n + 1, sizeof(*order));

	for (size_t i = 0; i < calls->n; i++) {
		struct call *call = order[i] = &calls->all[i];

		call->lane = call->task >= 0	 ? call->task
			     : call->thread >= 0 ? -2 - call->thread
						 : -1;
	}
	qsort(order, calls->n, sizeof(*order), in_order);
	for (size_t i = 0; i < calls->n; i++) {
		struct call *call = order[i], *outer = NULL;

		call->number = (int64_t)i;
		for (size_t k = i; k-- > 0 && !outer;)
			if (order[k]->lane == call->lane && order[k]->end >= order[k]->start &&
			    is_open(order[k], call->start))
				outer = order[k];
		call->overlaps = call->end < call->start || (outer && call->end > outer->end);
		calls->unnested += call->overlaps;
		if (!outer || call->overlaps)
			continue;
		call->parent = outer->number;
		call->depth = outer->depth + 1;
		outer->child += call->end - call->start;
	}
	free(order);
}

/* ---- what comes ---- */

static struct call *find(struct calls *calls, const struct sp_nest_call *call)
{
	if (call->row >= calls->n_rows ||
	    call->index >= calls->first[call->row + 1] - calls->first[call->row]) {
		CHECK(!"a call that is not there");
		exit(1);
	}
	return &calls->all[calls->first[call->row] + call->index];
}

/* One wrong call is enough: there may be millions. */
static void must_be(bool good)
{
	CHECK(good);
	if (!good)
		exit(1);
}

static bool same(const struct call *is, const struct sp_nest_call *call)
{
	return is->start == call->start && is->end == call->end && is->lane == call->lane &&
	       is->number == (int64_t)call->number && is->parent == call->parent &&
	       is->depth == call->depth && is->overlaps == call->overlaps;
}

static int enter(void *data, const struct sp_nest_call *call)
{
	struct calls *calls = data;
	struct call *is = find(calls, call);

	must_be(!is->entered && same(is, call));
	must_be(call->number == calls->next++);
	is->entered = true;
	calls->open++;
	return 0;
}

static int leave(void *data, const struct sp_nest_call *call)
{
	struct calls *calls = data;
	struct call *is = find(calls, call);

	must_be(is->entered && !is->left && same(is, call));
	must_be(call->child_ns == is->child);
	is->left = true;
	calls->open--;
	/* Its time is complete only if no child is to come. */
	for (size_t i = 0; calls->n < 400 && i < calls->n; i++)
		CHECK(calls->all[i].parent != is->number || calls->all[i].left);
	return 0;
}

static void compare(struct calls *calls, const char *path)
{
	struct sp_nest_visitor visitor = {enter, leave, calls};
	struct sp_profile *profile;
	uint64_t overlaps;

	MUST(sp_profile_open(path, &profile, &error));
	MUST(sp_profile_nest(profile, 3, &visitor, &overlaps, &error));
	CHECK_INT(calls->next, calls->n);
	CHECK_INT(calls->open, 0);
	CHECK_INT(overlaps, calls->unnested);
	/* Another rank has no calls. */
	MUST(sp_profile_nest(profile, 4, &visitor, &overlaps, &error));
	CHECK_INT(calls->next, calls->n);
	MUST(sp_profile_complete(profile, UINT64_MAX, &error));
	for (uint32_t row = 0; row < calls->n_rows; row++) {
		int64_t self = 0;

		for (size_t i = calls->first[row]; i < calls->first[row + 1]; i++)
			self += calls->all[i].end - calls->all[i].start - calls->all[i].child;
		if (calls->unnested && calls->first[row + 1] > calls->first[row])
			self = -1;
		CHECK_INT(sp_profile_row(profile, row)->stats.self, self);
	}
	sp_profile_free(profile);
	for (size_t i = 0; i < calls->n; i++)
		calls->all[i].entered = calls->all[i].left = false;
	calls->next = 0;
}

/* ---- files ---- */

static const char *name_of(uint32_t row)
{
	static char name[32];

	snprintf(name, sizeof(name), "r%u", row);
	return name;
}

static const char *write_spt(const struct calls *calls, const char *file)
{
	struct sp_spt_region *regions = calloc(calls->n_rows + 1, sizeof(*regions));
	const char *path = check_path(work, file);
	struct sp_spt_writer *writer;

	for (uint32_t i = 0; i < calls->n_rows; i++)
		regions[i] = (struct sp_spt_region){strdup(name_of(i)), NULL, -1,
						    calls->first[i + 1] - calls->first[i]};
	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, 2, 3, regions,
				calls->n_rows, &writer, &error));
	for (size_t i = 0; i < calls->n; i++)
		MUST(sp_spt_writer_add(writer, calls->all[i].row, &calls->all[i].start,
				       &calls->all[i].end, 1, &error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	for (uint32_t i = 0; i < calls->n_rows; i++)
		free((char *)regions[i].name);
	free(regions);
	return path;
}

static const char *write_h5(const struct calls *calls, const char *file, unsigned int gzip)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.columns = SP_CALLS_thread | SP_CALLS_task |
						   (calls->ids ? SP_CALLS_id | SP_CALLS_parent : 0),
					.gzip = gzip};
	const char *path = check_path(work, file);
	struct sp_h5_writer *writer;
	int64_t parent = -1;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (uint32_t row = 0; row < calls->n_rows; row++) {
		struct sp_h5_row begun = {.rank = 3, .source_line = -1, .self_ns = -1};

		MUST(sp_h5_writer_add_region(writer, name_of(row), &begun.region, &error));
		MUST(sp_h5_writer_begin_row(writer, &begun, &error));
		for (size_t i = calls->first[row]; i < calls->first[row + 1]; i++) {
			struct call *call = &calls->all[i];
			struct sp_calls columns = {.start = &call->start,
						   .end = &call->end,
						   .thread = &call->thread,
						   .task = &call->task,
						   .id = &call->id,
						   .parent = &parent};

			MUST(sp_h5_writer_add_calls(writer, &columns, 1, &error));
		}
	}
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	return path;
}

/* ---- tests ---- */

/* Few times and lanes, so that everything coincides: calls without length, equal ones, crossing
 * ones, ends before starts, rows out of order. */
static void test_chaos(void)
{
	for (unsigned int seed = 0; seed < 400; seed++) {
		struct calls calls = {.n_rows = 1 + (uint32_t)(seed % 5), .ids = seed % 2};
		uint64_t times, lanes;
		bool sorted = seed % 3, backwards = seed % 7 == 0;

		state = seed;
		times = 2 + below(60);
		lanes = seed % 4 ? 1 + below(4) : 0;
		for (uint64_t n = below(120); n; n--) {
			struct call *call = add(&calls);

			call->row = (uint32_t)below(calls.n_rows);
			call->start = sorted ? (int64_t)(120 - n) / 4 : (int64_t)below(times);
			call->end = call->start + (int64_t)below(times) - (backwards ? 2 : 0);
			call->thread = lanes ? (int64_t)below(lanes) - 1 : -1;
			call->task = lanes && below(4) == 0 ? (int64_t)below(lanes) : -1;
			call->id = calls.ids ? (int64_t)below(1000) * 1000 + (int64_t)n : 0;
		}
		arrange(&calls);
		expect(&calls);
		compare(&calls, write_h5(&calls, "chaos.h5", 0));
		if (!lanes && !calls.ids)
			compare(&calls, write_spt(&calls, "chaos.spt"));
		release(&calls);
	}
}

/* One call with calls inside; what is expected is known at once. */
static size_t make_call(struct calls *calls, int64_t thread, size_t outer, uint32_t depth,
			int64_t *clock, uint64_t budget)
{
	struct call *call = add(calls);
	size_t index = calls->n - 1;

	/* Of many rows a few have most of the calls. */
	call->row = (uint32_t)below(calls->n_rows > 1000 && below(8) ? 10 : calls->n_rows);
	call->thread = thread;
	call->lane = thread < 0 ? -1 : -2 - thread;
	call->depth = depth;
	call->start = ++*clock;
	call->parent = outer == SIZE_MAX ? -1 : (int64_t)outer;
	while (budget && depth < 40) {
		uint64_t some = 1 + below(budget);
		size_t inside = make_call(calls, thread, index, depth + 1, clock, some - 1);

		calls->all[index].child += calls->all[inside].end - calls->all[inside].start;
		budget -= some;
	}
	calls->all[index].end = ++*clock;
	return index;
}

/* Properly nested: threads take turns, so that the numbers are those of one clock. */
static void make_nested(struct calls *calls, size_t n, int64_t threads)
{
	int64_t clock = 0;

	while (calls->n < n)
		make_call(calls, threads ? (int64_t)below((uint64_t)threads) : -1, SIZE_MAX, 0,
			  &clock, below(200));
	for (size_t i = 0; i < calls->n; i++)
		calls->all[i].number = calls->all[i].id = (int64_t)i;
}

static void test_nested(void)
{
	static const struct {
		uint32_t rows;
		size_t calls;
		int64_t threads;
		unsigned int gzip;
	} shapes[] = {
		{1, 30000, 0, 0},     {7, 60000, 3, 0},	    {100, 60000, 5, 1},
		{3000, 100000, 0, 0}, {3000, 100000, 9, 1},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		struct calls calls = {.n_rows = shapes[i].rows};

		state = i;
		make_nested(&calls, shapes[i].calls, shapes[i].threads);
		arrange(&calls);
		calls.ids = i % 2;
		compare(&calls, write_h5(&calls, "nested.h5", shapes[i].gzip));
		if (!shapes[i].threads)
			compare(&calls, write_spt(&calls, "nested.spt"));
		release(&calls);
	}
}

/* A row that is out of order, longer than what is sorted in memory at once. */
static void test_backwards(void)
{
	struct calls calls = {.n_rows = 2};
	size_t n;

	state = 1;
	make_nested(&calls, 560000, 0);
	n = calls.n;
	for (size_t i = 0; i < n / 2; i++) {
		struct call swap = calls.all[i];

		calls.all[i] = calls.all[n - 1 - i];
		calls.all[n - 1 - i] = swap;
	}
	arrange(&calls);
	compare(&calls, write_spt(&calls, "backwards.spt"));
	compare(&calls, write_h5(&calls, "backwards.h5", 0));
	release(&calls);
}

/* More lanes than are kept in mind: those where nothing is open are forgotten. */
static void test_lanes(void)
{
	struct calls calls = {.n_rows = 1};

	for (int64_t i = 0; i < 20000; i++) {
		struct call *call = add(&calls);

		call->start = i;
		call->end = i % 100 ? i + 1 : 50000;
		call->task = call->lane = i / 2;
		call->number = i;
		call->parent = i % 2 && (i - 1) % 100 == 0 ? i - 1 : -1;
		call->depth = call->parent >= 0;
	}
	for (size_t i = 0; i < calls.n; i++)
		if (calls.all[i].parent >= 0)
			calls.all[calls.all[i].parent].child += 1;
	arrange(&calls);
	compare(&calls, write_h5(&calls, "lanes.h5", 0));
	release(&calls);
}

static int stop(void *data, const struct sp_nest_call *call)
{
	(void)data;
	return call->number == 5 ? 42 : 0;
}

static void test_stop(void)
{
	struct calls calls = {.n_rows = 3};
	struct sp_profile *profile;

	make_nested(&calls, 100, 0);
	arrange(&calls);
	MUST(sp_profile_open(write_spt(&calls, "stop.spt"), &profile, &error));
	CHECK_INT(
		sp_profile_nest(profile, 3, &(struct sp_nest_visitor){.enter = stop}, NULL, &error),
		42);
	CHECK_INT(
		sp_profile_nest(profile, 3, &(struct sp_nest_visitor){.leave = stop}, NULL, &error),
		42);
	MUST(sp_profile_nest(profile, 3, &(struct sp_nest_visitor){0}, NULL, &error));
	sp_profile_free(profile);
	release(&calls);
}

/* ---- records of one name ---- */

static void test_pooled_trace(void)
{
	static const struct sp_spt_region regions[] = {
		{"a", NULL, -1, 3}, {"b", "b.c", 2, 1}, {"a", "a.c", 7, 2},
		{"a", "x.c", 9, 3}, {"", NULL, -1, 0},	{"", NULL, -1, 0},
	};
	static const int64_t starts[] = {10, 30, 50, 5, 10, 40, 10, 20, 60};
	static const int64_t ends[] = {12, 35, 55, 70, 20, 41, 12, 21, 61};
	static const int64_t pooled[][2] = {{10, 20}, {10, 12}, {10, 12}, {20, 21},
					    {30, 35}, {40, 41}, {50, 55}, {60, 61}};
	const char *path = check_path(work, "pooled.spt");
	struct sp_spt_writer *writer;
	struct sp_profile *profile;
	const struct sp_row *row;
	size_t at = 0;

	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, 2, 3, regions, 6,
				&writer, &error));
	for (size_t i = 0; i < 6; i++) {
		MUST(sp_spt_writer_add(writer, i, starts + at, ends + at, regions[i].calls,
				       &error));
		at += regions[i].calls;
	}
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_regions, 3);
	CHECK_INT(sp_profile_info(profile)->n_rows, 3);
	CHECK_INT(sp_profile_info(profile)->n_calls, 9);
	CHECK_TEXT(sp_profile_region(profile, 0), "a");
	CHECK_TEXT(sp_profile_region(profile, 1), "b");
	CHECK_TEXT(sp_profile_region(profile, 2), "");
	row = sp_profile_row(profile, 0);
	CHECK_TEXT(row->source_file, "a.c");
	CHECK_INT(row->source_line, 7);
	CHECK_INT(row->stats.calls, 8);
	CHECK_INT(sp_profile_row(profile, 2)->stats.calls, 0);
	for (unsigned int round = 0; round < 200; round++) {
		int64_t start[8], end[8];
		uint64_t first = below(9);
		size_t n = (size_t)below(9 - first);

		MUST(sp_profile_read_calls(
			profile, 0, first, n,
			&(struct sp_calls){.start = round % 3 ? start : NULL, .end = end}, &error));
		for (size_t i = 0; i < n; i++) {
			CHECK(round % 3 == 0 || start[i] == pooled[first + i][0]);
			CHECK_INT(end[i], pooled[first + i][1]);
		}
	}
	MUST(sp_profile_complete(profile, UINT64_MAX, &error));
	CHECK_INT(row->stats.total, 10 + 2 + 2 + 1 + 5 + 1 + 5 + 1);
	CHECK_INT(row->stats.self, 10 + 1 + 5 + 1 + 5 + 1);
	sp_profile_free(profile);
}

static void test_pooled_samples(void)
{
	static const char *const names[] = {"a", "b", "a", "c"};
	static const int64_t expected[] = {0, 1, 0, 2};
	const char *path = check_path(work, "pooled.sps");
	struct sp_sample_row samples[4];
	struct sp_sps_writer *writer;
	struct sp_profile *profile;

	MUST(sp_sps_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, 3, 99, names, 4, NULL,
				0, &writer, &error));
	for (int32_t i = 0; i < 4; i++)
		MUST(sp_sps_writer_add(writer, &(struct sp_sps_sample){i, -1, 1}, 1, &error));
	MUST(sp_sps_writer_commit(writer, 4, &error));
	sp_sps_writer_free(writer);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_regions, 3);
	CHECK_TEXT(sp_profile_region(profile, 2), "c");
	MUST(sp_profile_read_samples(profile, 0, 4, samples, &error));
	for (size_t i = 0; i < 4; i++)
		CHECK_INT(samples[i].region, expected[i]);
	sp_profile_free(profile);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	test_pooled_trace();
	test_pooled_samples();
	test_chaos();
	test_nested();
	test_backwards();
	test_lanes();
	test_stop();
	return check_end();
}
