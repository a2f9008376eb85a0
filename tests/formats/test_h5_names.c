// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_h5_names.c - how HDF5 profiles are stored: names of links, and attributes of every kind.
 *
 *	test_h5_names WORK_DIR
 */
#include <errno.h>
#include <math.h>

#include "formats/h5_util.h"
#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "tests/formats/check.h"

static const char *work;
static struct sp_error error;

static void check_attribute_text(hid_t object, const char *key, const char *should)
{
	sp_cleanup_h5 hid_t attribute = H5Aopen(object, key, H5P_DEFAULT);
	sp_cleanup_h5 hid_t type = sp_h5_string_type();
	char *text = NULL;

	CHECK(attribute >= 0 && H5Aread(attribute, type, &text) >= 0);
	CHECK_TEXT(text, should);
	H5free_memory(text);
}

static void test_links(void)
{
	static char lengthy[3000], lengthy_too[3000];
	const char *const names[] = {"a|b", "a/b",   "/",	  "",	   ".",	       "..",
				     "|",   "x\377", "\303\274/", lengthy, lengthy_too};
	enum { N = sizeof(names) / sizeof(names[0]) };
	const char *path = check_path(work, "links.h5"), *const event = "cycles";
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	const struct sp_extras *extras;
	struct sp_h5_writer *writer;
	struct sp_profile *profile;
	bool seen[N] = {0};

	memset(lengthy, 'l', sizeof(lengthy) - 1);
	memset(lengthy_too, 'l', sizeof(lengthy) - 2);
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (size_t i = 0; i < N; i++) {
		uint64_t value = i;
		struct sp_likwid likwid = {.rank = 3, .tag = names[i], .group_id = (int64_t)i};

		MUST(sp_h5_writer_add_perf_events(writer,
						  &(struct sp_perf_events){.rank = 3,
									   .region = names[i],
									   .n = 1,
									   .names = &event,
									   .values = &value},
						  &error));
		MUST(sp_h5_writer_add_likwid(writer, &likwid, &error));
	}
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);

	MUST(sp_profile_open(path, &profile, &error));
	MUST(sp_profile_extras(profile, &extras, &error));
	CHECK_INT(extras->n_perf_events, N);
	CHECK_INT(extras->n_likwid, N);
	for (size_t i = 0; i < extras->n_perf_events; i++) {
		const struct sp_perf_events *events = &extras->perf_events[i];
		uint64_t which = events->n == 1 ? events->values[0] : N;

		CHECK(which < N && !seen[which] && events->rank == 3);
		if (which < N)
			CHECK_TEXT(events->region, which == 7 ? "x\357\277\275" : names[which]);
		seen[which % N] = true;
	}
	for (size_t i = 0; i < extras->n_likwid; i++)
		if (extras->likwid[i].group_id != 7)
			CHECK_TEXT(extras->likwid[i].tag, names[extras->likwid[i].group_id]);
	sp_profile_free(profile);

	sp_cleanup_h5 hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	sp_cleanup_h5 hid_t group = H5Gopen2(file, "/rank3/perf_events/||", H5P_DEFAULT);
	sp_cleanup_h5 hid_t tag = H5Gopen2(file, "/rank3/likwid/regions/|", H5P_DEFAULT);

	CHECK(group < 0);
	check_attribute_text(tag, "tag", "/");
	/* A link that says it all needs no attribute. */
	sp_cleanup_h5 hid_t plain = H5Gopen2(file, "/rank3/perf_events/a|b", H5P_DEFAULT);

	CHECK_INT(H5Aexists(plain, "region"), 0);
}

static void test_twice(void)
{
	const char *path = check_path(work, "twice.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	struct sp_perf_events slash = {.region = "a/b"}, bar = {.region = "a|b"};
	struct sp_h5_writer *writer;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_perf_events(writer, &slash, &error));
	MUST(sp_h5_writer_add_perf_events(writer, &bar, &error));
	slash.rank = 1;
	MUST(sp_h5_writer_add_perf_events(writer, &slash, &error));
	CHECK_INT(sp_h5_writer_add_perf_events(writer, &slash, &error), -EINVAL);
	CHECK_TEXT(error.text, "region \"a/b\" comes twice");
	bar.rank = 0;
	CHECK_INT(sp_h5_writer_add_perf_events(writer, &bar, &error), -EINVAL);
	sp_h5_writer_free(writer);
}

static void test_facts(void)
{
	enum { MANY = 20000 };
	static const char *items[MANY];
	static char text[70001];
	const char *path = check_path(work, "facts.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC};
	const struct sp_fact facts[] = {
		{.key = "real", .kind = SP_FACT_REAL, .real = 0.1},
		{.key = "nan", .kind = SP_FACT_REAL, .real = NAN},
		{.key = "yes", .kind = SP_FACT_BOOL, .number = 1},
		{.key = "no", .kind = SP_FACT_BOOL},
		{.key = "many", .kind = SP_FACT_TEXTS, .items = items, .n_items = MANY},
		{.key = "none", .kind = SP_FACT_TEXTS, .items = items, .n_items = 0},
		{.key = "numbers",
		 .kind = SP_FACT_NUMBERS,
		 .items = (const char *[]){"-1", "9223372036854775807"},
		 .n_items = 2},
		{.key = "large",
		 .kind = SP_FACT_NUMBERS,
		 .items = (const char *[]){"-1", "9223372036854775808"},
		 .n_items = 2},
		{.key = "reals",
		 .kind = SP_FACT_REALS,
		 .items = (const char *[]){"0.10000000000000001", "-inf", "nan"},
		 .n_items = 3},
		{.key = "long", .kind = SP_FACT_TEXT, .text = text},
	};
	enum { N = sizeof(facts) / sizeof(facts[0]) };
	struct sp_h5_writer *writer;
	struct sp_profile *profile;
	const struct sp_fact *read;
	size_t n;

	for (size_t i = 0; i < MANY; i++)
		items[i] = i % 2 ? "odd" : "even, or so";
	memset(text, 't', sizeof(text) - 1);
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (size_t i = 0; i < N; i++) {
		MUST(sp_h5_writer_set_metadata_fact(writer, &facts[i], &error));
		MUST(sp_h5_writer_set_meta_fact(writer, &facts[i], &error));
	}
	MUST(sp_h5_writer_set_metadata_fact(writer, &facts[0], &error)); /* again */
	CHECK_INT(sp_h5_writer_set_meta_fact(
			  writer, &(struct sp_fact){.key = "x", .kind = (enum sp_fact_kind)77},
			  &error),
		  -EINVAL);
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);

	MUST(sp_profile_open(path, &profile, &error));
	MUST(sp_profile_metadata(profile, &read, &n, &error));
	CHECK_INT(n, N + 1); /* and start_time_ns */
	CHECK(sp_fact_find(read, n, "real")->real == 0.1);
	CHECK(isnan(sp_fact_find(read, n, "nan")->real));
	CHECK_INT(sp_fact_find(read, n, "yes")->kind, SP_FACT_BOOL);
	CHECK_TEXT(sp_fact_find(read, n, "yes")->text, "true");
	CHECK_TEXT(sp_fact_find(read, n, "no")->text, "false");
	CHECK_INT(sp_fact_find(read, n, "many")->n_items, MANY);
	CHECK_TEXT(sp_fact_find(read, n, "many")->items[MANY - 2], "even, or so");
	CHECK_INT(sp_fact_find(read, n, "none")->n_items, 0);
	CHECK_INT(sp_fact_find(read, n, "numbers")->kind, SP_FACT_NUMBERS);
	CHECK_TEXT(sp_fact_find(read, n, "numbers")->items[1], "9223372036854775807");
	CHECK_INT(sp_fact_find(read, n, "large")->kind, SP_FACT_TEXTS);
	CHECK_TEXT(sp_fact_find(read, n, "large")->items[1], "9223372036854775808");
	CHECK_INT(sp_fact_find(read, n, "reals")->kind, SP_FACT_REALS);
	CHECK_TEXT(sp_fact_find(read, n, "reals")->items[0], "0.10000000000000001");
	CHECK_INT(strlen(sp_fact_find(read, n, "long")->text), 60000);
	MUST(sp_profile_meta(profile, &read, &n, &error));
	CHECK_INT(n, N);
	CHECK_INT(strlen(sp_fact_find(read, n, "long")->text), 70000);
	sp_profile_free(profile);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	mkdir(work, 0777);
	test_links();
	test_twice();
	test_facts();
	return check_end();
}
