// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_profile_bad.c - HDF5 profiles that are refused: a good file with one thing changed.
 *
 *	test_profile_bad GOLDEN_DIR WORK_DIR
 */
#include <errno.h>

#include "formats/h5_util.h"
#include "formats/profile_read.h"
#include "tests/formats/check.h"
#include "tests/formats/two_ranks.h"

static const char *work;
static struct sp_error error;

static void drop(hid_t file, const char *path)
{
	CHECK(H5Ldelete(file, path, H5P_DEFAULT) >= 0);
}

static void replace_numbers(hid_t file, const char *path, const int64_t *values, hsize_t n)
{
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &n, NULL);
	sp_cleanup_h5 hid_t dataset = -1;

	drop(file, path);
	dataset =
		H5Dcreate2(file, path, H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	CHECK(dataset >= 0 &&
	      H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
}

static void set_schema(hid_t file, int64_t value, hid_t type)
{
	sp_cleanup_h5 hid_t space = H5Screate(H5S_SCALAR);
	sp_cleanup_h5 hid_t attribute = -1;
	double real = (double)value;

	H5Adelete(file, "scope_profiler_schema");
	attribute =
		H5Acreate2(file, "scope_profiler_schema", type, space, H5P_DEFAULT, H5P_DEFAULT);
	CHECK(H5Awrite(attribute, type == H5T_NATIVE_DOUBLE ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64,
		       type == H5T_NATIVE_DOUBLE ? (void *)&real : (void *)&value) >= 0);
}

static void newer_schema(hid_t file)
{
	set_schema(file, 4, H5T_STD_I64LE);
}

static void zero_schema(hid_t file)
{
	set_schema(file, 0, H5T_STD_I8LE);
}

static void real_schema(hid_t file)
{
	set_schema(file, 3, H5T_NATIVE_DOUBLE);
}

static void no_schema(hid_t file)
{
	H5Adelete(file, "scope_profiler_schema");
}

static void no_names(hid_t file)
{
	drop(file, "/region_table/names");
}

static void no_durations(hid_t file)
{
	drop(file, "/events/durations");
}

static void no_tags(hid_t file)
{
	drop(file, "/rank_region_index/tags");
}

static void bad_region(hid_t file)
{
	replace_numbers(file, "/rank_region_index/region_ids", (int64_t[]){0, 1, 1, 3}, 4);
}

static void two_rows(hid_t file)
{
	replace_numbers(file, "/rank_region_index/ranks", (int64_t[]){2, 2, 2, 1}, 4);
}

static void short_column(hid_t file)
{
	replace_numbers(file, "/events/call_ids", (int64_t[]){1, 2}, 2);
}

static void beyond_end(hid_t file)
{
	replace_numbers(file, "/rank_region_index/event_counts", (int64_t[]){2, 2, 0, 0}, 4);
}

static void wrapping(hid_t file)
{
	replace_numbers(file, "/rank_region_index/event_offsets", (int64_t[]){-1, 2, 3, 3}, 4);
}

static void overlapping(hid_t file)
{
	replace_numbers(file, "/rank_region_index/event_offsets", (int64_t[]){0, 1, 3, 3}, 4);
}

static void short_offsets(hid_t file)
{
	replace_numbers(file, "/sp_trace/samples/stack_offsets", (int64_t[]){0, 1}, 2);
}

static void text_ranks(hid_t file)
{
	drop(file, "/rank_region_index/ranks");
	CHECK(H5Lcreate_hard(file, "/rank_region_index/tags", file, "/rank_region_index/ranks",
			     H5P_DEFAULT, H5P_DEFAULT) >= 0);
}

static void external_link(hid_t file)
{
	drop(file, "/region_table/names");
	CHECK(H5Lcreate_external("/etc/passwd", "/x", file, "/region_table/names", H5P_DEFAULT,
				 H5P_DEFAULT) >= 0);
}

static void external_data(hid_t file)
{
	hsize_t n = 3;
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &n, NULL);
	sp_cleanup_h5 hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t dataset = -1;

	drop(file, "/events/durations");
	H5Pset_external(properties, "/etc/passwd", 0, 24);
	dataset = H5Dcreate2(file, "/events/durations", H5T_STD_I64LE, space, H5P_DEFAULT,
			     properties, H5P_DEFAULT);
	CHECK(dataset >= 0);
}

/* Claims 16 million rows and stores none of them. */
static void hollow(hid_t file)
{
	hsize_t n = 1 << 24, chunk = 1 << 16;
	sp_cleanup_h5 hid_t space = H5Screate_simple(1, &n, NULL);
	sp_cleanup_h5 hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
	sp_cleanup_h5 hid_t dataset = -1;

	drop(file, "/rank_region_index/region_ids");
	H5Pset_chunk(properties, 1, &chunk);
	dataset = H5Dcreate2(file, "/rank_region_index/region_ids", H5T_STD_U32LE, space,
			     H5P_DEFAULT, properties, H5P_DEFAULT);
	CHECK(dataset >= 0);
}

static void newer_trace(hid_t file)
{
	sp_cleanup_h5 hid_t group = H5Gopen2(file, "/sp_trace", H5P_DEFAULT);
	sp_cleanup_h5 hid_t attribute = H5Aopen(group, "version", H5P_DEFAULT);
	int64_t version = 2;

	CHECK(H5Awrite(attribute, H5T_NATIVE_INT64, &version) >= 0);
}

static void test_refusals(void)
{
	static const struct {
		void (*change)(hid_t file);
		int code;
		const char *words;
	} changes[] = {
		{newer_schema, -SP_E_VERSION, "has schema 4"},
		{zero_schema, -SP_E_VERSION, "has schema 0"},
		{real_schema, -SP_E_DAMAGED, "scope_profiler_schema is not an integer"},
		{no_schema, -SP_E_MISSING, "no attribute scope_profiler_schema"},
		{no_names, -SP_E_MISSING, "no data set /region_table/names"},
		{no_durations, -SP_E_MISSING, "no data set /events/durations"},
		{no_tags, -SP_E_MISSING, "no data set /rank_region_index/tags"},
		{bad_region, -SP_E_DAMAGED, "row 3 of the index names region 3"},
		{two_rows, -SP_E_DAMAGED, "two rows for region \"b/"},
		{short_column, -SP_E_DAMAGED, "/events/call_ids has 2 elements instead of 3"},
		{beyond_end, -SP_E_TRUNCATED, "row 1 of the index has 2 calls from 2 on"},
		{wrapping, -SP_E_COUNT, "event_offsets has a number that is negative"},
		{overlapping, -SP_E_DAMAGED, "share call 1"},
		{short_offsets, -SP_E_DAMAGED, "stack_offsets has 2 elements instead of 5001"},
		{text_ranks, -SP_E_DAMAGED, "ranks does not hold integers"},
		{external_link, -SP_E_DAMAGED, "is not followed"},
		{external_data, -SP_E_DAMAGED, "has its data in another file"},
		{hollow, -SP_E_COUNT, "claims 16777216 elements"},
		{newer_trace, -SP_E_VERSION, "/sp_trace has version 2"},
	};
	const char *path = check_path(work, "bad.h5");

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct sp_profile *untouched = (void *)&error, *profile = untouched;
		hid_t file;

		write_two_ranks(path, 0);
		file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
		changes[i].change(file);
		H5Fclose(file);
		check_that(__FILE__, __LINE__,
			   sp_profile_open(path, &profile, &error) == changes[i].code,
			   "change %zu (%s): %d %s", i, changes[i].words, error.code, error.text);
		CHECK(profile == untouched);
		check_that(__FILE__, __LINE__, strstr(error.text, changes[i].words) != NULL,
			   "\"%s\" does not say \"%s\"", error.text, changes[i].words);
	}
	check_write_file(path, "just some text", 14);
	struct sp_profile *profile;

	CHECK_INT(sp_profile_open(path, &profile, &error), -SP_E_FORMAT);
	check_write_file(path, "", 0);
	CHECK_INT(sp_profile_open(path, &profile, &error), -SP_E_FORMAT);
	CHECK_TEXT(error.text, "is empty");
	CHECK_INT(sp_profile_open(check_path(work, "not there"), &profile, &error), -ENOENT);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work = argv[2];
	mkdir(work, 0777);
	test_refusals();
	return check_end();
}
