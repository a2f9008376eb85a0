// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_spt.c - .spt: golden files, round trips, every refusal, every truncation.
 *
 *	test_spt GOLDEN_DIR WORK_DIR
 */
#include <errno.h>
#include <stdint.h>

#include "formats/spt.h"
#include "tests/formats/check.h"
#include "tests/formats/image.h"

static const char *golden, *work;
static struct sp_error error;

/* Two regions: "solve" with three calls, "zwei" with none. */
static void make_spt(struct image *image, int version, int big)
{
	static const int64_t times[] = {10, 20, 40, 15, 33, 55};

	*image = (struct image){.big = big};
	memcpy(image->data, "SCOPEPRF", 8);
	image->size = 8;
	put(image, (uint64_t)version, 4);
	put(image, 3, 4);
	put(image, 2, 8);
	for (int i = 0; i < 2; i++) {
		put_text(image, i ? "zwei" : "solve", i ? 4 : 5);
		if (version == 2) {
			put_text(image, "a.c", i ? 0 : 3);
			put(image, i ? UINT64_MAX : 7, 4);
		}
		put(image, i ? 0 : 3, 8);
		for (int k = 0; !i && k < 6; k++)
			put(image, (uint64_t)times[k], 8);
	}
}

static void check_spt(const char *path, int version, int big, int rank, size_t n_regions)
{
	const struct sp_spt_region *region;
	struct sp_spt_reader *reader;
	int64_t starts[3], ends[3];

	MUST(sp_spt_reader_open(path, &reader, &error));
	CHECK_INT(sp_spt_reader_version(reader), version);
	CHECK_INT(sp_spt_reader_rank(reader), rank);
	CHECK_INT(sp_spt_reader_big_endian(reader), big);
	CHECK_INT(sp_spt_reader_n_regions(reader), n_regions);
	region = sp_spt_reader_region(reader, 0);
	CHECK_TEXT(region->name, "solve");
	CHECK_INT(region->calls, 3);
	CHECK_INT(region->source_line, version == 2 ? 7 : -1);
	MUST(sp_spt_reader_calls(reader, 0, 0, 3, starts, ends, &error));
	CHECK(starts[0] == 10 && starts[1] == 20 && starts[2] == 40);
	CHECK(ends[0] == 15 && ends[1] == 33 && ends[2] == 55);
	MUST(sp_spt_reader_calls(reader, 0, 1, 2, NULL, ends, &error));
	CHECK(ends[0] == 33 && ends[1] == 55);
	CHECK_INT(sp_spt_reader_calls(reader, 0, 1, 3, starts, ends, &error), -EINVAL);
	CHECK_INT(sp_spt_reader_calls(reader, n_regions, 0, 0, starts, ends, &error), -EINVAL);
	sp_spt_reader_free(reader);
}

static void test_spt_golden(void)
{
	char path[4096];
	struct image image;

	snprintf(path, sizeof(path), "%s/native-v1.spt", golden);
	check_spt(path, 1, 0, 0, 1);
	snprintf(path, sizeof(path), "%s/native-v2.spt", golden);
	check_spt(path, 2, 0, 0, 1);
	for (int version = 1; version <= 2; version++) {
		for (int big = 0; big <= 1; big++) {
			make_spt(&image, version, big);
			check_spt(write_image(&image, work, "made.spt"), version, big, 3, 2);
		}
	}
}

/* A refusal has its code, its place, and words about the reason. */
static void refuse_spt(const struct image *image, int code, uint64_t offset, const char *words)
{
	struct sp_spt_reader *untouched = (void *)&error, *reader = untouched;
	int r = sp_spt_reader_open(write_image(image, work, "bad.spt"), &reader, &error);

	CHECK_INT(r, code);
	CHECK(reader == untouched);
	CHECK_INT(error.code, code);
	check_that(__FILE__, __LINE__, error.offset == offset,
		   "%s: offset %" PRIu64 " instead of %" PRIu64, words, error.offset, offset);
	check_that(__FILE__, __LINE__, strstr(error.text, words) != NULL,
		   "\"%s\" does not say \"%s\"", error.text, words);
	if (!r)
		sp_spt_reader_free(reader);
}

/* Offsets in the version 2 image: name length 24, name 28, path length 33, path 37, line 40, calls
 * 44, arrays 52 to 100, second record 100. */
static void test_spt_refusals(void)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		int code;
		uint64_t offset;
		const char *words;
	} changes[] = {
		{0, 1, 'X', -SP_E_FORMAT, 0, "does not begin with SCOPEPRF"},
		{8, 4, 3, -SP_E_VERSION, 8, "unknown version 3"},
		{8, 4, 0, -SP_E_VERSION, 8, "unknown version 0"},
		{12, 4, 0xffffffff, -SP_E_DAMAGED, 12, "has the rank -1"},
		{16, 8, UINT64_MAX, -SP_E_COUNT, 16, "claims -1 regions"},
		{16, 8, 1 << 21, -SP_E_COUNT, 16, "claims 2097152 regions"},
		{16, 8, 3, -SP_E_TRUNCATED, 124, "ends inside region record 2"},
		{16, 8, 1, -SP_E_TRAILING, 100, "24 bytes after its last region"},
		{24, 4, 0xffffffff, -SP_E_COUNT, 24, "has the length -1"},
		{24, 4, 0x7fffffff, -SP_E_TRUNCATED, 28, "ends inside region record 0"},
		{28, 1, 0xff, -SP_E_UTF8, 28, "not valid UTF-8"},
		{29, 1, 0, -SP_E_UTF8, 28, "NUL byte"},
		{37, 1, 0xc0, -SP_E_UTF8, 37, "not valid UTF-8"},
		{44, 8, UINT64_MAX, -SP_E_COUNT, 44, "claims -1 calls"},
		{44, 8, 5, -SP_E_TRUNCATED, 44, "claims 5 calls, and the file has room for 4"},
		{44, 8, INT64_MAX, -SP_E_TRUNCATED, 44, "room for 4"},
		{44, 8, UINT64_C(1) << 60, -SP_E_TRUNCATED, 44, "room for 4"},
		{116, 8, 1, -SP_E_TRUNCATED, 116, "claims 1 calls"},
	};
	struct image image;

	for (int big = 0; big <= 1; big++) {
		for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
			make_spt(&image, 2, big);
			CHECK_INT(image.size, 124);
			set(&image, changes[i].at, changes[i].value, changes[i].size);
			refuse_spt(&image, changes[i].code, changes[i].offset, changes[i].words);
		}
	}
	make_spt(&image, 2, 0);
	image.size++;
	refuse_spt(&image, -SP_E_TRAILING, 124, "1 bytes after its last region");
}

/* Every proper prefix is refused, whatever part it ends in. */
static void test_spt_truncation(void)
{
	struct sp_spt_reader *reader;
	struct image image;

	for (int version = 1; version <= 2; version++) {
		size_t size;

		make_spt(&image, version, version == 2);
		size = image.size;
		for (image.size = 0; image.size < size; image.size++) {
			int r = sp_spt_reader_open(write_image(&image, work, "cut.spt"), &reader,
						   &error);

			check_that(__FILE__, __LINE__,
				   r == (image.size < 8 ? -SP_E_FORMAT : -SP_E_TRUNCATED),
				   "version %d cut at %zu: %d %s", version, image.size, r,
				   error.text);
			if (!r)
				sp_spt_reader_free(reader);
		}
	}
}

/* More calls than the buffers hold, added in pieces of odd sizes, over several regions. */
static void test_spt_round_trip(void)
{
	enum { CALLS = 30011 };
	static int64_t starts[CALLS], ends[CALLS], got_starts[CALLS], got_ends[CALLS];
	const struct sp_spt_region regions[] = {
		{"empty", NULL, -1, 0}, {"large", "src/l.f90", 12, CALLS},
		{"bad\377", "", 0, 1},	{"", "x", 1, 9000},
		{"none", NULL, -5, 0},
	};
	const char *path = check_path(work, "round.spt");
	struct sp_spt_writer *writer;
	struct sp_spt_reader *reader;

	for (int64_t i = 0; i < CALLS; i++) {
		starts[i] = i * 1000000007;
		ends[i] = starts[i] + i % 3;
	}
	starts[5] = INT64_MIN;
	ends[6] = INT64_MAX;
	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE, SP_SPT_VERSION, 4, regions, 5, &writer,
				&error));
	for (size_t at = 0; at < CALLS; at += 777)
		MUST(sp_spt_writer_add(writer, 1, starts + at, ends + at,
				       CALLS - at < 777 ? CALLS - at : 777, &error));
	MUST(sp_spt_writer_add(writer, 2, starts, ends, 1, &error));
	MUST(sp_spt_writer_add(writer, 3, starts, ends, 9000, &error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	MUST(sp_spt_reader_open(path, &reader, &error));
	CHECK_INT(sp_spt_reader_n_regions(reader), 5);
	CHECK_TEXT(sp_spt_reader_region(reader, 2)->name, "bad\357\277\275");
	CHECK_TEXT(sp_spt_reader_region(reader, 1)->source_file, "src/l.f90");
	CHECK_INT(sp_spt_reader_region(reader, 1)->source_line, 12);
	CHECK_INT(sp_spt_reader_region(reader, 2)->source_line, 0);
	CHECK_INT(sp_spt_reader_region(reader, 4)->source_line, -1);
	MUST(sp_spt_reader_calls(reader, 1, 0, CALLS, got_starts, got_ends, &error));
	CHECK(!memcmp(starts, got_starts, sizeof(starts)) && !memcmp(ends, got_ends, sizeof(ends)));
	MUST(sp_spt_reader_calls(reader, 3, 0, 9000, got_starts, got_ends, &error));
	CHECK(!memcmp(starts, got_starts, 9000 * 8) && !memcmp(ends, got_ends, 9000 * 8));
	sp_spt_reader_free(reader);
}

/* Version 1 has no places; what it has is the same. */
static void test_spt_version_1(void)
{
	static const struct sp_spt_region regions[] = {{"outer", "a.c", 3, 2}, {"in", NULL, -1, 1}};
	static const int64_t starts[] = {10, 20}, ends[] = {90, 30};
	unsigned char image[256];
	const char *path = check_path(work, "one.spt");
	struct sp_spt_writer *writer;
	struct sp_spt_reader *reader;
	int64_t start, end;

	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE, 1, 7, regions, 2, &writer, &error));
	MUST(sp_spt_writer_add(writer, 0, starts, ends, 2, &error));
	MUST(sp_spt_writer_add(writer, 1, starts + 1, ends + 1, 1, &error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	CHECK_INT(check_read_file(path, image, sizeof(image)),
		  24 + (4 + 5 + 8 + 2 * 16) + (4 + 2 + 8 + 16));
	MUST(sp_spt_reader_open(path, &reader, &error));
	CHECK_INT(sp_spt_reader_version(reader), 1);
	CHECK_INT(sp_spt_reader_rank(reader), 7);
	CHECK_TEXT(sp_spt_reader_region(reader, 0)->name, "outer");
	CHECK(!sp_spt_reader_region(reader, 0)->source_file);
	CHECK_INT(sp_spt_reader_region(reader, 0)->source_line, -1);
	MUST(sp_spt_reader_calls(reader, 1, 0, 1, &start, &end, &error));
	CHECK_INT(start, 20);
	CHECK_INT(end, 30);
	sp_spt_reader_free(reader);
}

static int count_files(void)
{
	char command[4200];
	FILE *list;
	int n = 0;

	snprintf(command, sizeof(command), "ls -A '%s/atomic' | wc -l", work);
	list = popen(command, "r");
	if (!list || fscanf(list, "%d", &n) != 1)
		n = -1;
	if (list)
		pclose(list);
	return n;
}

/* A file that is not finished is not there; one that is there is not replaced unasked. */
static void test_spt_misuse(void)
{
	const struct sp_spt_region regions[] = {{"a", NULL, -1, 2}, {"b", NULL, -1, 1}};
	const int64_t times[] = {1, 2, 3};
	char directory[4096], path[4200];
	struct sp_spt_writer *writer;
	struct sp_spt_reader *reader;

	snprintf(directory, sizeof(directory), "%s/atomic", work);
	mkdir(directory, 0777);
	snprintf(path, sizeof(path), "%s/x.spt", directory);
	unlink(path);
	MUST(sp_spt_writer_open(path, 0, SP_SPT_VERSION, 0, regions, 2, &writer, &error));
	CHECK_INT(count_files(), 1);
	CHECK_INT(access(path, F_OK), -1);
	CHECK_INT(sp_spt_writer_commit(writer, &error), -EINVAL);
	CHECK_INT(sp_spt_writer_add(writer, 1, times, times, 1, &error), -EINVAL);
	MUST(sp_spt_writer_add(writer, 0, times, times, 1, &error));
	CHECK_INT(sp_spt_writer_add(writer, 0, times, times, 2, &error), -EINVAL);
	CHECK_INT(sp_spt_writer_add(writer, 2, times, times, 1, &error), -EINVAL);
	sp_spt_writer_free(writer);
	CHECK_INT(count_files(), 0);

	MUST(sp_spt_writer_open(path, 0, SP_SPT_VERSION, 0, regions, 0, &writer, &error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	CHECK_INT(count_files(), 1);
	MUST(sp_spt_reader_open(path, &reader, &error));
	CHECK_INT(sp_spt_reader_n_regions(reader), 0);
	sp_spt_reader_free(reader);
	CHECK_INT(sp_spt_writer_open(path, 0, SP_SPT_VERSION, 0, regions, 2, &writer, &error),
		  -EEXIST);

	/* A link in its place is replaced, not followed. */
	unlink(path);
	CHECK_INT(symlink("/nowhere/else", path), 0);
	CHECK_INT(sp_spt_writer_open(path, 0, SP_SPT_VERSION, 0, regions, 0, &writer, &error),
		  -EEXIST);
	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE, SP_SPT_VERSION, 0, regions, 0, &writer,
				&error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
	MUST(sp_spt_reader_open(path, &reader, &error));
	sp_spt_reader_free(reader);

	/* One that appears meanwhile is not replaced either. */
	unlink(path);
	MUST(sp_spt_writer_open(path, 0, SP_SPT_VERSION, 0, regions, 0, &writer, &error));
	check_write_file(path, "precious", 8);
	CHECK_INT(sp_spt_writer_commit(writer, &error), -EEXIST);
	sp_spt_writer_free(writer);
	CHECK_INT(count_files(), 1);
	CHECK_INT(sp_spt_reader_open(path, &reader, &error), -SP_E_FORMAT);
	unlink(path);
	CHECK_INT(sp_spt_writer_open("/nowhere/x.spt", 0, SP_SPT_VERSION, 0, regions, 0, &writer,
				     &error),
		  -ENOENT);
	CHECK_INT(sp_spt_reader_open("/", &reader, &error), -EISDIR);
	CHECK_INT(sp_spt_reader_open("/dev/null", &reader, &error), -SP_E_FORMAT);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	golden = argv[1];
	work = argv[2];
	mkdir(work, 0777);
	test_spt_golden();
	test_spt_refusals();
	test_spt_truncation();
	test_spt_round_trip();
	test_spt_version_1();
	test_spt_misuse();
	return check_end();
}
