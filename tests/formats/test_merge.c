// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_merge.c - a merged profile holds what its inputs hold, with every reference moved; what it
 * refuses, what it takes once, and merging merged ones.
 *
 *	test_merge WORK_DIR
 */
#include <errno.h>
#include <stdbool.h>

#include "formats/h5_write.h"
#include "formats/profile_merge.h"
#include "tests/formats/check.h"
#include "tests/formats/merge_lines.h"
#include "tests/formats/merge_make.h"

enum { MOST = 6 };

static const char *work;
static struct sp_error error;

static struct sp_profile *open_profile(const char *path)
{
	struct sp_profile *profile;

	MUST(sp_profile_open(path, &profile, &error));
	return profile;
}

static struct sp_profile *merge(struct sp_profile *const *profiles, size_t n)
{
	struct sp_merge_input inputs[MOST] = {{0}};
	struct sp_profile *merged;

	for (size_t i = 0; i < n; i++)
		inputs[i].profile = profiles[i];
	MUST(sp_profile_merge(inputs, n, &merged, &error));
	return merged;
}

static int merge_fails(struct sp_profile *const *profiles, size_t n)
{
	struct sp_merge_input inputs[MOST] = {{0}};
	struct sp_profile *merged = NULL;
	int r;

	for (size_t i = 0; i < n; i++)
		inputs[i].profile = profiles[i];
	r = sp_profile_merge(inputs, n, &merged, &error);
	CHECK(merged == NULL);
	return r;
}

/* ---- random inputs ---- */

struct inputs {
	struct sp_profile *profiles[MOST];
	uint32_t ranks[MOST][MOST]; /* new ones, if renumbered */
	struct sp_merge_input merge[MOST];
	size_t n;
};

static unsigned int random_columns(void)
{
	static const unsigned int sets[] = {
		0,
		SP_CALLS_thread,
		SP_CALLS_id | SP_CALLS_parent,
		SP_CALLS_id | SP_CALLS_parent | SP_CALLS_thread | SP_CALLS_gpu_ns,
		SP_CALLS_TRACE,
		SP_CALLS_TRACE | SP_CALLS_await_ns,
		SP_CALLS_child_ns | SP_CALLS_depth | SP_CALLS_site,
	};

	return sets[make_below(sizeof(sets) / sizeof(sets[0]))];
}

/* Files of ranks that nobody else has, in any order. */
static void make_inputs(struct inputs *inputs, bool renumber)
{
	uint32_t next = (uint32_t)make_below(3);

	*inputs = (struct inputs){.n = 1 + (size_t)make_below(MOST)};
	for (size_t i = 0; i < inputs->n; i++) {
		uint32_t ranks[3] = {next, next + 1 + (uint32_t)make_below(2), next + 3};
		size_t n_ranks = 1 + (size_t)make_below(3);
		uint64_t kind = make_below(5);
		char name[32];
		const char *path;

		snprintf(name, sizeof(name), "input%zu", i);
		path = check_path(work, name);
		if (kind == 0)
			make_sps(path, next);
		else if (kind == 1)
			make_spt(path, next);
		else
			make_h5(path, ranks, n_ranks, random_columns(), make_below(2) ? "R" : NULL,
				(unsigned int)i + 1);
		next += 4;
		inputs->profiles[i] = inputs->merge[i].profile = open_profile(path);
		if (!renumber || make_below(2))
			continue;
		for (uint32_t k = 0; k < MOST; k++)
			inputs->ranks[i][k] = 1000 - 10 * (uint32_t)i + k;
		inputs->merge[i].ranks = inputs->ranks[i];
	}
}

static void free_inputs(struct inputs *inputs)
{
	for (size_t i = 0; i < inputs->n; i++)
		sp_profile_free(inputs->profiles[i]);
}

/* What the metadata say, else the earliest call. */
static int64_t origin_of(struct sp_profile *profile)
{
	const struct sp_fact *facts, *start;
	int64_t origin = INT64_MAX, first;
	size_t n;

	MUST(sp_profile_metadata(profile, &facts, &n, &error));
	start = sp_fact_find(facts, n, "start_time_ns");
	if (start)
		return start->number;
	for (uint32_t i = 0; i < sp_profile_info(profile)->n_rows; i++) {
		if (!sp_profile_row(profile, i)->stats.calls)
			continue;
		MUST(sp_profile_read_calls(profile, i, 0, 1, &(struct sp_calls){.start = &first},
					   &error));
		origin = first < origin ? first : origin;
	}
	return origin;
}

static void check_origin(const struct inputs *inputs, struct sp_profile *merged)
{
	const struct sp_fact *facts, *start;
	int64_t origin = INT64_MAX;
	size_t n;

	for (size_t i = 0; i < inputs->n; i++) {
		int64_t own = origin_of(inputs->profiles[i]);

		origin = own < origin ? own : origin;
	}
	if (origin == INT64_MAX)
		origin = 0;
	CHECK_INT(sp_profile_info(merged)->start_time_ns, origin);
	MUST(sp_profile_metadata(merged, &facts, &n, &error));
	start = sp_fact_find(facts, n, "start_time_ns");
	CHECK(!n || (start && start->number == origin && atoll(start->text) == origin));
}

static void check_info(const struct inputs *inputs, struct sp_profile *merged)
{
	const struct sp_profile_info *info = sp_profile_info(merged);
	uint64_t calls = 0, samples = 0, rows = 0, ranks = 0;
	unsigned int columns = 0;

	for (size_t i = 0; i < inputs->n; i++) {
		const struct sp_profile_info *input = sp_profile_info(inputs->profiles[i]);

		calls += input->n_calls;
		samples += input->n_samples;
		rows += input->n_rows;
		ranks += input->n_ranks;
		columns |= input->columns;
	}
	CHECK_INT(info->n_calls, calls);
	CHECK_INT(info->n_samples, samples);
	CHECK_INT(info->n_rows, rows);
	CHECK_INT(info->n_ranks, ranks);
	CHECK_INT(info->columns, columns);
	check_origin(inputs, merged);
	for (uint32_t i = 1; i < info->n_rows; i++)
		CHECK(sp_profile_row(merged, i - 1)->rank <= sp_profile_row(merged, i)->rank);
	for (uint32_t i = 1; i < info->n_ranks; i++)
		CHECK(sp_profile_rank(merged, i - 1) < sp_profile_rank(merged, i));
	for (uint32_t i = 0; i < info->n_regions; i++)
		for (uint32_t k = 0; k < i; k++)
			CHECK(strcmp(sp_profile_region(merged, i), sp_profile_region(merged, k)));
}

static void test_random(void)
{
	size_t compared = 0;

	for (unsigned int seed = 0; seed < 60; seed++) {
		struct lines is = {0}, should = {0};
		struct sp_profile *merged;
		struct inputs inputs;
		unsigned int columns;
		char what[32];

		make_seed(seed);
		make_inputs(&inputs, seed % 3 == 0);
		MUST(sp_profile_merge(inputs.merge, inputs.n, &merged, &error));
		check_info(&inputs, merged);
		columns = sp_profile_info(merged)->columns;
		lines_of(&is, merged, NULL, columns, false);
		for (size_t i = 0; i < inputs.n; i++)
			lines_of(&should, inputs.profiles[i], inputs.merge[i].ranks, columns,
				 false);
		lines_sort(&is);
		lines_sort(&should);
		snprintf(what, sizeof(what), "seed %u", seed);
		lines_compare(&is, &should, what);
		compared += is.n;
		lines_free(&is);
		lines_free(&should);
		sp_profile_free(merged);
		free_inputs(&inputs);
	}
	CHECK(compared > 10000);
}

/* Merging in two steps gives what merging at once does. */
static void test_again(void)
{
	for (unsigned int seed = 500; seed < 530; seed++) {
		struct sp_profile *once, *first, *second, *twice;
		struct lines is = {0}, should = {0};
		struct inputs inputs;
		size_t n;

		make_seed(seed);
		do {
			make_inputs(&inputs, false);
			if (inputs.n < 2)
				free_inputs(&inputs);
		} while (inputs.n < 2);
		n = 1 + (size_t)make_below(inputs.n - 1);
		once = merge(inputs.profiles, inputs.n);
		first = merge(inputs.profiles, n);
		second = merge(inputs.profiles + n, inputs.n - n);
		twice = merge((struct sp_profile *[]){first, second}, 2);
		lines_of(&is, twice, NULL, sp_profile_info(once)->columns, false);
		lines_of(&should, once, NULL, sp_profile_info(once)->columns, false);
		lines_sort(&is);
		lines_sort(&should);
		lines_compare(&is, &should, "merged twice");
		CHECK_INT(sp_profile_info(twice)->start_time_ns,
			  sp_profile_info(once)->start_time_ns);
		lines_free(&is);
		lines_free(&should);
		sp_profile_free(twice);
		sp_profile_free(first);
		sp_profile_free(second);
		sp_profile_free(once);
		free_inputs(&inputs);
	}
}

/* ---- facts, losses, clocks ---- */

static size_t count_lines(const struct lines *lines, const char *start)
{
	size_t n = 0;

	for (size_t i = 0; i < lines->n; i++)
		n += strncmp(lines->text[i], start, strlen(start)) == 0;
	return n;
}

static bool has_line(const struct lines *lines, const char *text)
{
	bool found = count_lines(lines, text) == 1;

	if (!found)
		fprintf(stderr, "no line, or several: %s\n", text);
	return found;
}

/* Three files of one recording, one of another, one of none; merged at once, and in two steps. */
static void test_facts(void)
{
	static const char *const recordings[] = {"A", "A", "B", NULL, "A"};
	struct sp_profile *profiles[MOST], *once, *first, *twice;
	struct lines lines = {0}, again = {0};

	make_seed(7);
	for (uint32_t i = 0; i < 5; i++) {
		uint32_t rank = 4 - i;
		char name[32];

		snprintf(name, sizeof(name), "facts%u.h5", i);
		make_h5(check_path(work, name), &rank, 1, SP_CALLS_TRACE, recordings[i], i + 1);
		profiles[i] = open_profile(check_path(work, name));
	}
	once = merge(profiles, 5);
	lines_of(&lines, once, NULL, 0, true);
	/* The lowest rank's, which is the last file's; where others differ, theirs. */
	CHECK(has_line(&lines, "fact 0 hostname 0 host2"));
	CHECK(has_line(&lines, "fact 1 only 1 5"));
	CHECK(has_line(&lines, "fact 1 recording_id 0 A"));
	CHECK(has_line(&lines, "fact of 4 metadata hostname 0 host1"));
	CHECK(!count_lines(&lines, "fact of 3 metadata hostname")); /* host2, too */
	CHECK(has_line(&lines, "fact of 2 metadata hostname 0 host0"));
	CHECK(has_line(&lines, "fact of 2 meta recording_id 0 B"));
	CHECK(has_line(&lines, "fact of 4 meta only 1 1"));
	CHECK_INT(count_lines(&lines, "fact of 0 meta"), 0);
	CHECK_INT(count_lines(&lines, "fact 1 sample_hz 1 99"), 1);
	CHECK(!count_lines(&lines, "fact of 4 meta sample_hz"));
	/* Each recording's once, with a rank that tells which: of A the first file's. */
	CHECK_INT(count_lines(&lines, "loss"), 6);
	CHECK(has_line(&lines, "loss ring full 0 (none) 65 65 4"));
	CHECK(has_line(&lines, "loss ring full 1 (none) 66 66 2"));
	CHECK(has_line(&lines, "loss ring full 1 1/0/worker 4 0 4 4 1"));
	CHECK_INT(count_lines(&lines, "clock"), 3);
	CHECK(has_line(&lines, "clock 66 4 2"));

	first = merge(profiles, 3);
	twice = merge((struct sp_profile *[]){first, profiles[3], profiles[4]}, 3);
	lines_of(&again, twice, NULL, 0, true);
	CHECK_INT(count_lines(&again, "loss"), 6);
	CHECK_INT(count_lines(&again, "clock"), 3);
	CHECK(has_line(&again, "fact 0 hostname 0 host2"));
	CHECK(has_line(&again, "fact of 4 meta only 1 1"));
	CHECK(has_line(&again, "fact of 2 meta recording_id 0 B"));
	lines_free(&lines);
	lines_free(&again);
	sp_profile_free(twice);
	sp_profile_free(first);
	sp_profile_free(once);

	/* One recording alone: its losses need no rank. */
	once = merge((struct sp_profile *[]){profiles[0], profiles[1], profiles[4]}, 3);
	lines_of(&lines, once, NULL, 0, true);
	CHECK(has_line(&lines, "loss ring full 0 (none) 65 65 4294967295"));
	CHECK_INT(count_lines(&lines, "loss"), 2);
	CHECK_INT(count_lines(&lines, "clock"), 1);
	lines_free(&lines);
	sp_profile_free(once);
	for (size_t i = 0; i < 5; i++)
		sp_profile_free(profiles[i]);
}

/* ---- facts of every kind ---- */

static void test_kinds(void)
{
	static const char *const texts[] = {"a \"b\"\n", ""}, *const reals[] = {"0.5", "nan"};
	static const char *const numbers[] = {"1", "2"};
	const struct sp_fact facts[] = {
		{.key = "bool", .kind = SP_FACT_BOOL, .text = "true", .number = 1},
		{.key = "real", .kind = SP_FACT_REAL, .text = "0.5", .real = 0.5},
		{.key = "texts", .kind = SP_FACT_TEXTS, .text = "", .items = texts, .n_items = 2},
		{.key = "reals", .kind = SP_FACT_REALS, .text = "", .items = reals, .n_items = 2},
		{.key = "numbers",
		 .kind = SP_FACT_NUMBERS,
		 .text = "",
		 .items = numbers,
		 .n_items = 2},
	};
	struct sp_profile *profiles[2], *merged;
	struct lines lines = {0};

	for (uint32_t i = 0; i < 2; i++) {
		struct sp_h5_options options = {.output_flags =
							SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
		struct sp_h5_row row = {.rank = i, .source_line = -1, .self_ns = -1};
		struct sp_h5_writer *writer;
		const char *path = check_path(work, i ? "kinds1.h5" : "kinds0.h5");

		MUST(sp_h5_writer_open(path, &options, &writer, &error));
		MUST(sp_h5_writer_add_region(writer, "r", &row.region, &error));
		MUST(sp_h5_writer_begin_row(writer, &row, &error));
		for (size_t k = 0; i && k < sizeof(facts) / sizeof(facts[0]); k++)
			MUST(sp_h5_writer_set_metadata_fact(writer, &facts[k], &error));
		MUST(sp_h5_writer_commit(writer, &error));
		sp_h5_writer_free(writer);
		profiles[i] = open_profile(path);
	}
	merged = merge(profiles, 2);
	lines_of(&lines, merged, NULL, 0, true);
	CHECK(has_line(&lines, "fact of 1 metadata bool 3 true"));
	CHECK(has_line(&lines, "fact of 1 metadata real 2 0.5"));
	CHECK(has_line(&lines, "fact of 1 metadata texts 4 [\"a \\\"b\\\"\\u000a\", \"\"]"));
	CHECK(has_line(&lines, "fact of 1 metadata reals 6 [0.5, \"nan\"]"));
	CHECK(has_line(&lines, "fact of 1 metadata numbers 5 [1, 2]"));
	lines_free(&lines);
	sp_profile_free(merged);
	sp_profile_free(profiles[0]);
	sp_profile_free(profiles[1]);
}

/* ---- samples that join ---- */

static void test_samples(void)
{
	const uint32_t ranks[] = {0, 1};
	struct sp_profile *h5, *spt, *sps[3], *merged, *samples;
	struct lines lines = {0};
	uint64_t n;

	make_seed(3);
	make_h5(check_path(work, "s.h5"), ranks, 2, 0, NULL, 1);
	make_spt(check_path(work, "s5.spt"), 5);
	make_sps(check_path(work, "s0.sps"), 0);
	make_sps(check_path(work, "s5.sps"), 5);
	make_sps(check_path(work, "s9.sps"), 9);
	h5 = open_profile(check_path(work, "s.h5"));
	spt = open_profile(check_path(work, "s5.spt"));
	sps[0] = open_profile(check_path(work, "s0.sps"));
	sps[1] = open_profile(check_path(work, "s5.sps"));
	sps[2] = open_profile(check_path(work, "s9.sps"));
	n = sp_profile_info(h5)->n_samples;
	CHECK(n > 0);

	/* Rank 0 has samples in the profile: those of the .sps file are the same. */
	merged = merge((struct sp_profile *[]){sps[0], h5, spt, sps[1], sps[2]}, 5);
	CHECK_INT(sp_profile_info(merged)->n_samples,
		  n + sp_profile_info(sps[1])->n_samples + sp_profile_info(sps[2])->n_samples);
	CHECK_INT(sp_profile_info(merged)->n_ranks, 4);
	CHECK_INT(sp_profile_rank(merged, 3), 9);
	CHECK_INT(sp_profile_info(merged)->hz, -1);
	lines_of(&lines, merged, NULL, 0, true);
	CHECK(has_line(&lines, "fact of 9 meta sample_ticks 1 77"));
	lines_free(&lines);
	sp_profile_free(merged);

	/* Samples alone are fine, and can be merged again. */
	samples = merge(sps, 3);
	CHECK_INT(sp_profile_info(samples)->n_rows, 0);
	CHECK_INT(sp_profile_info(samples)->format, SP_FORMAT_SPS);
	CHECK_INT(sp_profile_info(samples)->ticks, 3 * 77);
	CHECK_INT(sp_profile_info(samples)->hz, 99);
	merged = merge((struct sp_profile *[]){samples, spt}, 2);
	CHECK_INT(sp_profile_info(merged)->n_samples, sp_profile_info(samples)->n_samples);
	sp_profile_free(merged);
	/* Some of them are in the profile, others are not: nobody can say what is meant. */
	CHECK_INT(merge_fails((struct sp_profile *[]){samples, h5}, 2), -EEXIST);
	sp_profile_free(samples);
	CHECK_INT(merge_fails((struct sp_profile *[]){sps[0], sps[0]}, 2), -EEXIST);
	sp_profile_free(h5);
	sp_profile_free(spt);
	for (size_t i = 0; i < 3; i++)
		sp_profile_free(sps[i]);
}

/* ---- refusals ---- */

static void test_refusals(void)
{
	const uint32_t ranks[] = {2, 3};
	struct sp_profile *h5, *spt, *aggregates[2], *merged;
	uint32_t renumbered[] = {8, 8};
	const struct sp_row *row;

	make_seed(11);
	make_h5(check_path(work, "first.h5"), ranks, 2, 0, NULL, 1);
	make_spt(check_path(work, "second.spt"), 3);
	make_aggregate(check_path(work, "aggregate0.h5"), 0);
	make_aggregate(check_path(work, "aggregate1.h5"), 1);
	h5 = open_profile(check_path(work, "first.h5"));
	spt = open_profile(check_path(work, "second.spt"));
	aggregates[0] = open_profile(check_path(work, "aggregate0.h5"));
	aggregates[1] = open_profile(check_path(work, "aggregate1.h5"));

	CHECK_INT(merge_fails((struct sp_profile *[]){h5, spt}, 2), -EEXIST);
	CHECK(strstr(error.text, "first.h5") && strstr(error.text, "second.spt") &&
	      strstr(error.text, "rank 3"));
	CHECK_INT(sp_profile_merge(&(struct sp_merge_input){h5, renumbered}, 1, &merged, &error),
		  -EINVAL);
	CHECK(strstr(error.text, "first.h5") && strstr(error.text, "rank 8"));
	CHECK_INT(merge_fails((struct sp_profile *[]){h5, aggregates[0]}, 2), -EINVAL);
	CHECK(strstr(error.text, "aggregate0.h5") && strstr(error.text, "statistics"));
	CHECK_INT(sp_profile_merge(NULL, 0, &merged, &error), -EINVAL);
	renumbered[1] = 2;
	MUST(sp_profile_merge((struct sp_merge_input[]){{h5, renumbered}, {spt, NULL}}, 2, &merged,
			      &error));
	CHECK_INT(sp_profile_info(merged)->n_ranks, 3);
	CHECK_INT(sp_profile_rank(merged, 0), 2);
	CHECK_INT(sp_profile_rank(merged, 2), 8);
	sp_profile_free(merged);

	merged = merge(aggregates, 2);
	CHECK(sp_profile_info(merged)->aggregate);
	CHECK_INT(sp_profile_info(merged)->n_regions, 1);
	CHECK_INT(sp_profile_info(merged)->n_rows, 2);
	row = sp_profile_row(merged, 1);
	CHECK_INT(row->rank, 1);
	CHECK_INT(row->stats.self, 6);
	sp_profile_free(merged);
	sp_profile_free(h5);
	sp_profile_free(spt);
	sp_profile_free(aggregates[0]);
	sp_profile_free(aggregates[1]);
}

/* An input that is damaged where it is not read at once: the sentence names the file. */
static void test_blame(void)
{
	struct sp_profile *profiles[2], *merged;
	int64_t start;
	int r = 0;

	make_seed(13);
	for (uint32_t i = 0; i < 2; i++) {
		const char *path = check_path(work, i ? "blame1.spt" : "blame0.spt");

		do
			make_spt(path, i);
		while (profiles[i] = open_profile(path),
		       sp_profile_info(profiles[i])->n_calls < 100 &&
			       (sp_profile_free(profiles[i]), 1));
	}
	merged = merge(profiles, 2);
	CHECK_INT(truncate(check_path(work, "blame1.spt"), 100), 0);
	for (uint32_t i = 0; !r && i < sp_profile_info(merged)->n_rows; i++)
		if (sp_profile_row(merged, i)->stats.calls)
			r = sp_profile_read_calls(merged, i,
						  sp_profile_row(merged, i)->stats.calls - 1, 1,
						  &(struct sp_calls){.end = &start}, &error);
	CHECK(r < 0 && strstr(error.text, "blame1.spt") && !strstr(error.text, "blame0.spt"));
	sp_profile_free(merged);
	sp_profile_free(profiles[0]);
	sp_profile_free(profiles[1]);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	test_random();
	test_again();
	test_facts();
	test_kinds();
	test_samples();
	test_refusals();
	test_blame();
	CHECK_INT(lines_failures(), 0);
	return check_end();
}
