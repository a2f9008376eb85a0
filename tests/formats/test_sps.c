// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_sps.c - .sps: files made by hand, round trips, every refusal, every truncation; and
 * UTF-8, which names are.
 *
 *	test_sps GOLDEN_DIR WORK_DIR
 */
#include <errno.h>
#include <stdint.h>

#include "formats/sps.h"
#include "formats/utf8.h"
#include "tests/formats/check.h"
#include "tests/formats/image.h"

static const char *work;
static struct sp_error error;

static void make_sps(struct image *image, int big)
{
	*image = (struct image){.big = big};
	memcpy(image->data, "SCOPESMP", 8);
	image->size = 8;
	put(image, 1, 4);
	put(image, 2, 4);
	put(image, 99, 4);
	put(image, 77, 8);
	put(image, 2, 4);
	put_text(image, "solve", 5);
	put_text(image, "io", 2);
	put(image, 1, 4);
	put_text(image, "/bin/x", 6);
	put(image, 0x400000, 8);
	put(image, 2, 8);
	put(image, 1, 4);
	put(image, 0, 4);
	put(image, 0x401234, 8);
	put(image, 0, 4);
	put(image, UINT64_MAX, 4);
	put(image, UINT64_C(0xffffffff81000000), 8);
}

static void test_sps(void)
{
	struct sp_sps_sample samples[2];
	struct sp_sps_reader *reader;
	struct image image;

	for (int big = 0; big <= 1; big++) {
		make_sps(&image, big);
		MUST(sp_sps_reader_open(write_image(&image, work, "made.sps"), &reader, &error));
		CHECK_INT(sp_sps_reader_rank(reader), 2);
		CHECK_INT(sp_sps_reader_hz(reader), 99);
		CHECK_INT(sp_sps_reader_ticks(reader), 77);
		CHECK_INT(sp_sps_reader_big_endian(reader), big);
		CHECK_INT(sp_sps_reader_n_regions(reader), 2);
		CHECK_TEXT(sp_sps_reader_region(reader, 1), "io");
		CHECK_INT(sp_sps_reader_n_modules(reader), 1);
		CHECK_TEXT(sp_sps_reader_module(reader, 0)->path, "/bin/x");
		CHECK_INT(sp_sps_reader_module(reader, 0)->bias, 0x400000);
		CHECK_INT(sp_sps_reader_n_samples(reader), 2);
		MUST(sp_sps_reader_samples(reader, 0, 2, samples, &error));
		CHECK(samples[0].region == 1 && samples[0].module == 0 &&
		      samples[0].ip == 0x401234);
		CHECK(samples[1].region == 0 && samples[1].module == -1);
		CHECK(samples[1].ip == UINT64_C(0xffffffff81000000));
		CHECK_INT(sp_sps_reader_samples(reader, 1, 2, samples, &error), -EINVAL);
		sp_sps_reader_free(reader);
	}
}

/* Offsets: regions 28, first name 32, modules 47, path 51, bias 61, count 69, samples 77 to 109. */
static void test_sps_refusals(void)
{
	static const struct {
		size_t at, size;
		uint64_t value;
		int code;
		uint64_t offset;
	} changes[] = {
		{3, 1, 'x', -SP_E_FORMAT, 0},		{8, 4, 2, -SP_E_VERSION, 8},
		{12, 4, UINT64_MAX, -SP_E_DAMAGED, 12}, {16, 4, UINT64_MAX, -SP_E_COUNT, 16},
		{28, 4, UINT64_MAX, -SP_E_COUNT, 28},	{28, 4, 1 << 21, -SP_E_COUNT, 28},
		{32, 4, UINT64_MAX, -SP_E_COUNT, 32},	{36, 1, 0x80, -SP_E_UTF8, 36},
		{47, 4, UINT64_MAX, -SP_E_COUNT, 47},	{69, 8, UINT64_MAX, -SP_E_COUNT, 69},
		{69, 8, 3, -SP_E_TRUNCATED, 69},	{69, 8, INT64_MAX, -SP_E_TRUNCATED, 69},
		{69, 8, 1, -SP_E_TRAILING, 93},
	};
	struct sp_sps_sample samples[2];
	struct sp_sps_reader *reader;
	struct image image;
	size_t size;

	for (size_t i = 0; i < 2 * sizeof(changes) / sizeof(changes[0]); i++) {
		size_t k = i / 2;

		make_sps(&image, i % 2);
		CHECK_INT(image.size, 109);
		set(&image, changes[k].at, changes[k].value, changes[k].size);
		CHECK_INT(sp_sps_reader_open(write_image(&image, work, "bad.sps"), &reader, &error),
			  changes[k].code);
		check_that(__FILE__, __LINE__, error.offset == changes[k].offset, "change %zu: %s",
			   k, error.text);
	}
	/* Indices are checked sample by sample. */
	for (size_t at = 77; at <= 81; at += 4) {
		make_sps(&image, 0);
		set(&image, at, 2, 4);
		MUST(sp_sps_reader_open(write_image(&image, work, "bad.sps"), &reader, &error));
		CHECK_INT(sp_sps_reader_samples(reader, 0, 2, samples, &error), -SP_E_DAMAGED);
		CHECK_INT(error.offset, 77);
		MUST(sp_sps_reader_samples(reader, 1, 1, samples, &error));
		sp_sps_reader_free(reader);
	}
	make_sps(&image, 0);
	size = image.size;
	for (image.size = 0; image.size < size; image.size++)
		CHECK_INT(sp_sps_reader_open(write_image(&image, work, "cut.sps"), &reader, &error),
			  image.size < 8 ? -SP_E_FORMAT : -SP_E_TRUNCATED);
}

static void test_sps_round_trip(void)
{
	enum { SAMPLES = 10007 };
	static struct sp_sps_sample samples[SAMPLES], got[SAMPLES];
	static const char *const regions[] = {"a", "b\377", ""};
	static const struct sp_sps_module modules[] = {{"/usr/lib/libc.so.6", 0x7f0000000000}};
	const char *path = check_path(work, "round.sps");
	struct sp_sps_writer *writer;
	struct sp_sps_reader *reader;

	for (int i = 0; i < SAMPLES; i++)
		samples[i] = (struct sp_sps_sample){i % 3, i % 2 - 1, (uint64_t)i << 33};
	MUST(sp_sps_writer_open(path, SP_OUTPUT_REPLACE, 1, 997, regions, 3, modules, 1, &writer,
				&error));
	for (size_t at = 0; at < SAMPLES; at += 501)
		MUST(sp_sps_writer_add(writer, samples + at,
				       SAMPLES - at < 501 ? SAMPLES - at : 501, &error));
	CHECK_INT(sp_sps_writer_add(writer, &(struct sp_sps_sample){3, 0, 0}, 1, &error), -EINVAL);
	CHECK_INT(sp_sps_writer_add(writer, &(struct sp_sps_sample){-1, 0, 0}, 1, &error), -EINVAL);
	CHECK_INT(sp_sps_writer_add(writer, &(struct sp_sps_sample){0, 1, 0}, 1, &error), -EINVAL);
	MUST(sp_sps_writer_commit(writer, 5, &error));
	sp_sps_writer_free(writer);
	MUST(sp_sps_reader_open(path, &reader, &error));
	CHECK_INT(sp_sps_reader_ticks(reader), SAMPLES);
	CHECK_TEXT(sp_sps_reader_region(reader, 1), "b\357\277\275");
	CHECK_INT(sp_sps_reader_n_samples(reader), SAMPLES);
	MUST(sp_sps_reader_samples(reader, 0, SAMPLES, got, &error));
	CHECK(!memcmp(samples, got, sizeof(got)));
	sp_sps_reader_free(reader);
}

static void test_utf8(void)
{
	static const char *const good[] = {"",
					   "a",
					   "\302\200",
					   "\337\277",
					   "\340\240\200",
					   "\355\237\277",
					   "\356\200\200",
					   "\360\220\200\200",
					   "\364\217\277\277"};
	static const char *const bad[] = {"\200",
					  "\300\200",
					  "\301\277",
					  "\302",
					  "\340\237\277",
					  "\355\240\200",
					  "\360\217\277\277",
					  "\364\220\200\200",
					  "\365\200\200\200",
					  "\342\202",
					  "a\377"};
	char *repaired;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK(sp_utf8_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!sp_utf8_valid(bad[i], strlen(bad[i])));
		repaired = sp_utf8_repair(bad[i]);
		CHECK(repaired && sp_utf8_valid(repaired, strlen(repaired)));
		free(repaired);
	}
	repaired = sp_utf8_repair("x\342\202y\303\274");
	CHECK_TEXT(repaired, "x\357\277\275\357\277\275y\303\274");
	free(repaired);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	work = argv[2];
	mkdir(work, 0777);
	test_utf8();
	test_sps();
	test_sps_refusals();
	test_sps_round_trip();
	return check_end();
}
