// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_json_bad.c - JSON profiles that are none: every refusal; every truncation and every flipped
 * bit of a small one, plain and packed.
 *
 *	test_json_bad GOLDEN_DIR WORK_DIR
 */
#include <errno.h>
#include <fcntl.h>

#include "tests/formats/json_text.h"

/* ---- what is refused ---- */

static void refuse(const char *path, int code, const char *words)
{
	struct sp_profile *untouched = (void *)&error, *profile = untouched;
	int r = sp_profile_open(path, &profile, &error);

	CHECK_INT(r, code);
	CHECK_INT(error.code, code);
	check_that(__FILE__, __LINE__, strstr(error.text, words) != NULL,
		   "\"%s\" does not say \"%s\"", error.text, words);
	CHECK(profile == untouched);
	if (!r)
		sp_profile_free(profile);
}

static void refuse_text(const char *text, int code, const char *words)
{
	refuse(json_write("bad.json", text, strlen(text)), code, words);
}

#define ROW(more) HEAD "\"regions\": [{\"name\": \"a\", \"rank\": 0" more "}]}"

static void test_not_json(void)
{
	refuse_text("{", -SP_E_TRUNCATED, "truncated (at byte 1)");
	refuse_text("{\"format\": \"scope-profiler-profile\"", -SP_E_TRUNCATED, "(at byte 35)");
	refuse_text("{\"a\": 01}", -SP_E_DAMAGED, "(at byte 6)");
	refuse_text("{\"a\": tru}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": NaN}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": -Infinity}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": +1}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": 1.}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": .5}", -SP_E_DAMAGED, "is not JSON");
	refuse_text("{\"a\": 1,}", -SP_E_DAMAGED, "must be a key (at byte 8)");
	refuse_text("{\"a\": [1 2]}", -SP_E_DAMAGED, "must be , or ] (at byte 9)");
	refuse_text("{\"a\": 1]", -SP_E_DAMAGED, "must be , or }");
	refuse_text("{\"a\" 1}", -SP_E_DAMAGED, "no colon");
	refuse_text("{a: 1}", -SP_E_DAMAGED, "must be a key");
	refuse_text("{'a': 1}", -SP_E_DAMAGED, "must be a key");
	refuse_text("{\"a\": \"\x01\"}", -SP_E_DAMAGED, "control character");
	refuse_text("{\"a\": \"\\x\"}", -SP_E_DAMAGED, "escape");
	refuse_text("{\"a\": \"\\u12g4\"}", -SP_E_DAMAGED, "hexadecimal");
	refuse_text("{\"a\": \"\xff\"}", -SP_E_UTF8, "not UTF-8 (at byte 6)");
	refuse_text("{\"a\": \"\xc0\x80\"}", -SP_E_UTF8, "not UTF-8");
	refuse_text("{\"a\": \"\xed\xa0\x80\"}", -SP_E_UTF8, "not UTF-8");
	refuse_text(HEAD "\"regions\": []} x", -SP_E_TRAILING, "goes on after the end");
	refuse_text("[]", -SP_E_FORMAT, "is neither a profile");
	refuse_text("{}", -SP_E_FORMAT, "no profile");
	refuse_text("{\"regions\": 1}", -SP_E_FORMAT, "no profile");
}

static void test_not_a_profile(void)
{
	refuse_text("{\"format\": \"speedscope\", \"regions\": []}", -SP_E_FORMAT,
		    "\"speedscope\"");
	refuse_text("{\"format\": 1}", -SP_E_FORMAT, "no text");
	refuse_text("{\"format\": \"scope-profiler-profile\", \"format_version\": 2}",
		    -SP_E_VERSION, "newer sp-report");
	refuse_text("{\"format\": \"scope-profiler-profile\", \"format_version\": 0}",
		    -SP_E_VERSION, "version 1 is known");
	refuse_text(HEAD "\"format\": \"scope-profiler-profile\"}", -SP_E_DAMAGED, "comes twice");
	refuse_text(HEAD "\"regions\": {}}", -SP_E_DAMAGED, "\"regions\": must be a list");
	refuse_text(HEAD "\"regions\": [1]}", -SP_E_DAMAGED,
		    "element 0 of \"regions\": must be an object");
	refuse_text(HEAD "\"num_ranks\": -1}", -SP_E_COUNT, "negative");
	refuse_text(HEAD "\"metadata\": []}", -SP_E_DAMAGED, "\"metadata\": must be an object");
	refuse_text(HEAD "\"metadata\": {\"a\": 1, \"a\": 1}}", -SP_E_DAMAGED, "\"a\" comes twice");
	refuse_text(HEAD "\"metadata\": {\"a\": \"\\u0000\"}}", -SP_E_UTF8, "NUL");
	refuse_text(HEAD "\"metadata\": {\"a\\u0000\": 1}}", -SP_E_UTF8, "NUL");
	refuse_text(HEAD "\"threads\": {\"-1\": []}}", -SP_E_DAMAGED, "no rank");
	refuse_text(HEAD "\"threads\": {\"4294967296\": []}}", -SP_E_DAMAGED, "no rank");
	refuse_text(HEAD "\"threads\": {\"1\": [], \"1\": []}}", -SP_E_DAMAGED, "rank 1 twice");
	refuse_text(HEAD "\"threads\": {\"1\": [{\"index\": 0}]}}", -SP_E_MISSING,
		    "has no \"name\"");
	refuse_text(HEAD "\"sp_trace\": {\"version\": 2}}", -SP_E_VERSION, "newer sp-report");
	refuse_text(HEAD "\"sp_trace\": {}}", -SP_E_MISSING, "has no \"version\"");
}

static void test_bad_rows(void)
{
	refuse_text(HEAD "\"regions\": [{\"rank\": 0}]}", -SP_E_MISSING, "has no \"name\"");
	refuse_text(HEAD "\"regions\": [{\"name\": \"a\"}]}", -SP_E_MISSING, "has no \"rank\"");
	refuse_text(HEAD "\"regions\": [{\"name\": null, \"rank\": 0}]}", -SP_E_MISSING,
		    "\"name\"");
	refuse_text(HEAD "\"regions\": [{\"name\": \"a\", \"rank\": -1}]}", -SP_E_COUNT, "rank -1");
	refuse_text(HEAD "\"regions\": [{\"name\": \"a\", \"rank\": 0.5}]}", -SP_E_COUNT,
		    "element 0 of \"regions\", \"rank\": must be a whole number");
	refuse_text(HEAD "\"regions\": [{\"name\": \"a\\u0000b\", \"rank\": 0}]}", -SP_E_UTF8,
		    "NUL");
	refuse_text(
		HEAD
		"\"regions\": [{\"name\": \"a\", \"rank\": 0}, {\"rank\": 0, \"name\": \"a\"}]}",
		-SP_E_DAMAGED, "region \"a\" twice on rank 0");
	refuse_text(ROW(", \"rank\": 0"), -SP_E_DAMAGED, "\"rank\" comes twice");
	refuse_text(ROW(", \"start_times_ns\": [1, 2], \"end_times_ns\": [3]"), -SP_E_DAMAGED,
		    "different lengths: 2 and 1");
	refuse_text(ROW(", \"start_times_ns\": [1]"), -SP_E_DAMAGED, "different lengths");
	refuse_text(ROW(", \"call_ids\": [1]"), -SP_E_DAMAGED, "different lengths: 0 and 1");
	refuse_text(ROW(", \"start_times_ns\": [1.5]"), -SP_E_COUNT, "no 64-bit integer");
	refuse_text(ROW(", \"start_times_ns\": [9223372036854775808]"), -SP_E_COUNT, "64-bit");
	refuse_text(ROW(", \"start_times_ns\": [99999999999999999999]"), -SP_E_COUNT, "64-bit");
	refuse_text(ROW(", \"start_times_ns\": [-9223372036854775809]"), -SP_E_COUNT, "64-bit");
	refuse_text(ROW(", \"start_times_ns\": [1, null]"), -SP_E_DAMAGED, "whole numbers");
	refuse_text(ROW(", \"start_times_ns\": [[1]]"), -SP_E_DAMAGED, "whole numbers");
	refuse_text(ROW(", \"start_times_ns\": 1"), -SP_E_DAMAGED, "a list of whole numbers");
	refuse_text(ROW(", \"event_metadata\": [{}]"), -SP_E_DAMAGED, "metadata of 1 calls, and 0");
	refuse_text(ROW(", \"event_metadata\": [1]"), -SP_E_DAMAGED, "a list of objects");
	refuse_text(ROW(", \"tags\": [1]"), -SP_E_DAMAGED, "a list of texts");
	refuse_text(ROW(", \"tags\": \"a\""), -SP_E_DAMAGED, "must be a list");
	refuse_text(ROW(", \"source_lineno\": \"7\""), -SP_E_DAMAGED, "a whole number");
	refuse_text(ROW(", \"aggregate\": {\"count\": 1}"), -SP_E_MISSING, "has no \"total\"");
	refuse_text(ROW(", \"aggregate\": {\"count\": -1, \"total\": 1, \"minimum\": 1, "
			"\"maximum\": 1}"),
		    -SP_E_COUNT, "negative number of calls");
	refuse_text(ROW(", \"start_times_ns\": [], \"aggregate\": {\"count\": 0, \"total\": 0, "
			"\"minimum\": 0, \"maximum\": 0}"),
		    -SP_E_DAMAGED, "statistics and calls");
	refuse_text(
		ROW("}, {\"name\": \"b\", \"rank\": 0, \"aggregate\": {\"count\": 0, \"total\": 0, "
		    "\"minimum\": 0, \"maximum\": 0}"),
		-SP_E_DAMAGED, "statistics only");
}

static void test_bad_extras(void)
{
#define LIKWID(more) HEAD "\"likwid\": {\"0\": {\"t\": {\"cpus\": [0], \"times\": [1], " more "}}}}"
	refuse_text(LIKWID("\"call_counts\": []"), -SP_E_DAMAGED, "0 call counts");
	refuse_text(LIKWID("\"call_counts\": [1], \"event_names\": [\"e\"], \"events\": []"),
		    -SP_E_DAMAGED, "size is not that");
	refuse_text(LIKWID("\"call_counts\": [1], \"metrics\": [\"1\"]"), -SP_E_DAMAGED,
		    "list of numbers");
	refuse_text(LIKWID("\"call_counts\": [1]}, \"u\": {\"tag\": \"t\""), -SP_E_DAMAGED,
		    "\"t\" comes twice");
	refuse_text(HEAD "\"line_profile\": {\"0\": [{\"line_numbers\": [1]}]}}", -SP_E_DAMAGED,
		    "1 lines, 0 hits");
#define PERF(values) \
	HEAD "\"sp_trace\": {\"version\": 1, \"perf_events\": {\"0\": [{\"region\": \"a\", " \
	     "\"calls\": 1, " \
	     "\"names\": [\"c\"], \"values\": [" values "]}]}}}"
	refuse_text(PERF(""), -SP_E_DAMAGED, "1 events and 0 values");
	refuse_text(PERF("-1"), -SP_E_COUNT, "not negative");
	refuse_text(PERF("1.5"), -SP_E_COUNT, "64 bits");
	refuse_text(PERF("18446744073709551616"), -SP_E_COUNT, "64 bits");
	refuse_text(PERF("\"1\""), -SP_E_COUNT, "64 bits");
}

static void test_limits(void)
{
	char text[400] = HEAD "\"x\": ";
	size_t n = strlen(text);
	struct sp_profile *profile;

	/* The document is a level, too. */
	memset(text + n, '[', 63);
	memset(text + n + 63, ']', 63);
	strcpy(text + n + 126, "}");
	MUST(sp_profile_open(json_write("deep.json", text, strlen(text)), &profile, &error));
	sp_profile_free(profile);
	memset(text + n, '[', 64);
	memset(text + n + 64, ']', 64);
	strcpy(text + n + 128, "}");
	refuse_text(text, -SP_E_COUNT, "64 levels");
}

static void test_gzip(void)
{
	static const char text[] = HEAD "\"regions\": []}";
	unsigned char packed[1000];
	size_t half = sizeof(text) / 2, first, size;
	struct sp_profile *profile;

	size = json_pack(text, sizeof(text) - 1, packed, sizeof(packed));
	memcpy(packed + size, "x", 1);
	refuse(json_write("bad.gz", packed, size + 1), -SP_E_TRAILING, "after the end of its gzip");
	memset(packed + size, 0, 8);
	refuse(json_write("bad.gz", packed, size + 8), -SP_E_TRAILING, "after the end of its gzip");
	memcpy(packed + size, "\x1f\x8b", 2);
	refuse(json_write("bad.gz", packed, size + 2), -SP_E_TRUNCATED, "its gzip data");
	packed[size - 8] ^= 1; /* the check sum */
	refuse(json_write("bad.gz", packed, size), -SP_E_DAMAGED, "damaged gzip data");
	/* Several members are one text. */
	first = json_pack(text, half, packed, sizeof(packed));
	size = first + json_pack(text + half, sizeof(text) - 1 - half, packed + first,
				 sizeof(packed) - first);
	MUST(sp_profile_open(json_write("two.gz", packed, size), &profile, &error));
	sp_profile_free(profile);
	/* Packed, but something else. */
	size = json_pack("hello", 5, packed, sizeof(packed));
	refuse(json_write("bad.gz", packed, size), -SP_E_DAMAGED, "is not JSON");
}

/* A few hundred kilobytes that would grow without end. */
static void test_bomb(void)
{
	static const char head[] = HEAD "\"regions\": ";
	enum { SPACES = 1 << 20, TIMES = 320 };
	const char *path = check_path(work, "bomb.json.gz");
	char *spaces = malloc(SPACES);
	gzFile file = gzopen(path, "wb9");

	if (!file || !spaces)
		exit(1);
	memset(spaces, ' ', SPACES);
	gzputs(file, head);
	for (int i = 0; i < TIMES; i++)
		gzwrite(file, spaces, SPACES);
	gzputs(file, "[]}");
	gzclose(file);
	free(spaces);
	refuse(path, -SP_E_COUNT, "500 times their size");
}

/* ---- damage ---- */

/* Reads all that there is; what open has taken must be readable. */
static void consume(struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);

	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		struct sp_calls calls;
		char *json = NULL;

		CHECK(row->region < info->n_regions);
		if (info->aggregate)
			continue;
		if (sp_calls_alloc(&calls, row->stats.calls + 1, info->columns))
			exit(1);
		MUST(sp_profile_read_calls(profile, i, 0, row->stats.calls, &calls, &error));
		sp_calls_free(&calls);
		MUST(sp_profile_event_metadata(profile, i, &json, &error));
		free(json);
	}
	MUST(sp_profile_complete(profile, UINT64_MAX, &error));
}

static void test_truncation(const void *data, size_t size, const char *name)
{
	const char *path = json_write(name, data, size);

	for (size_t n = size; n-- > 0;) {
		struct sp_profile *profile;
		int r;

		if (truncate(path, (off_t)n))
			exit(1);
		r = sp_profile_open(path, &profile, &error);
		check_that(__FILE__, __LINE__, r && r == error.code && error.text[0],
			   "%s cut to %zu bytes was taken", name, n);
		check_that(__FILE__, __LINE__, r == -SP_E_TRUNCATED || n < 3,
			   "%s cut to %zu bytes: %s", name, n, error.text);
		if (!r)
			sp_profile_free(profile);
	}
}

/* Bytes change in place: a file that is written anew waits for the disk. */
static void test_flips(const unsigned char *data, size_t size, const char *name)
{
	const char *path = json_write(name, data, size);
	int fd = open(path, O_WRONLY);

	for (size_t bit = 0; bit < 8 * size; bit++) {
		unsigned char flipped = data[bit / 8] ^ (unsigned char)(1 << bit % 8);
		struct sp_profile *profile;
		int r;

		if (pwrite(fd, &flipped, 1, (off_t)(bit / 8)) != 1)
			exit(1);
		r = sp_profile_open(path, &profile, &error);
		if (pwrite(fd, &data[bit / 8], 1, (off_t)(bit / 8)) != 1)
			exit(1);
		check_that(__FILE__, __LINE__, !r || (r == error.code && error.text[0]),
			   "%s, bit %zu: no words", name, bit);
		if (!r) {
			consume(profile);
			sp_profile_free(profile);
		}
	}
	close(fd);
}

static void test_damage(void)
{
	unsigned char packed[sizeof(json_full) + 100];
	size_t size = json_pack(json_full, sizeof(json_full) - 1, packed, sizeof(packed));

	test_truncation(json_full, sizeof(json_full) - 1, "cut.json");
	test_truncation(packed, size, "cut.json.gz");
	test_flips((const unsigned char *)json_full, sizeof(json_full) - 1, "flipped.json");
	test_flips(packed, size, "flipped.json.gz");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work = argv[2];
	test_not_json();
	test_not_a_profile();
	test_bad_rows();
	test_bad_extras();
	test_limits();
	test_gzip();
	test_bomb();
	test_damage();
	return check_end();
}
