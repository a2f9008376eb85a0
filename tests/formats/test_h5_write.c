// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_h5_write.c - how HDF5 profiles are stored: compression and its rule, threads, layouts,
 * statistics, misuse, a full disk. What the numbers are is compared with scope-profiler by
 * differential.py.
 *
 *	test_h5_write WORK_DIR
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/h5_util.h"
#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "tests/formats/check.h"

enum { COLUMNS = SP_CALLS_id | SP_CALLS_flags | SP_CALLS_skipped };

static const char *work;
static struct sp_error error;

static uint64_t next_random(void)
{
	static uint64_t state = 42;

	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return state >> 33;
}

static void make_calls(struct sp_calls *calls, size_t n)
{
	int64_t now = 1000000;

	MUST(sp_calls_alloc(calls, n + 1, COLUMNS));
	for (size_t i = 0; i < n; i++) {
		now += (int64_t)(next_random() % 1000) - 100;
		calls->start[i] = now;
		calls->end[i] = now + (int64_t)(next_random() % 5000);
		calls->id[i] = (int64_t)i * 3;
		calls->flags[i] = (uint16_t)next_random();
		calls->skipped[i] = (uint32_t)next_random();
	}
}

/* Adds all, in pieces of changing length. */
static void add_calls(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n)
{
	static const size_t pieces[] = {1, 5000, 40000, 7, 131072, 300000};

	for (size_t at = 0, k = 0; at < n; k++) {
		size_t some = pieces[k % 6] < n - at ? pieces[k % 6] : n - at;
		const struct sp_calls piece = {.start = calls->start + at,
					       .end = calls->end + at,
					       .id = calls->id + at,
					       .flags = calls->flags + at,
					       .skipped = calls->skipped + at};

		MUST(sp_h5_writer_add_calls(writer, &piece, some, &error));
		at += some;
	}
}

static void write_calls(const char *path, struct sp_h5_options options,
			const struct sp_calls *calls, size_t n)
{
	struct sp_h5_writer *writer;
	uint32_t region;

	options.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC;
	options.columns = COLUMNS;
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	MUST(sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.self_ns = -1}, &error));
	add_calls(writer, calls, n);
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
}

static void check_calls(const char *path, const struct sp_calls *calls, size_t n)
{
	struct sp_profile *profile;
	struct sp_calls read;

	MUST(sp_calls_alloc(&read, n + 1, COLUMNS));
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_calls, n);
	MUST(sp_profile_read_calls(profile, 0, 0, n, &read, &error));
	CHECK(!memcmp(read.start, calls->start, n * sizeof(*read.start)));
	CHECK(!memcmp(read.end, calls->end, n * sizeof(*read.end)));
	CHECK(!memcmp(read.id, calls->id, n * sizeof(*read.id)));
	CHECK(!memcmp(read.flags, calls->flags, n * sizeof(*read.flags)));
	CHECK(!memcmp(read.skipped, calls->skipped, n * sizeof(*read.skipped)));
	sp_profile_free(profile);
	sp_calls_free(&read);
}

/* The level with which a data set is compressed, 0 none, -1 not even in chunks. */
static int level_of(const char *path, const char *name)
{
	sp_cleanup_h5 hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
	sp_cleanup_h5 hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
	sp_cleanup_h5 hid_t properties = H5Dget_create_plist(dataset);
	unsigned int flags, config, value;
	size_t n = 1;
	int filters;

	CHECK(properties >= 0);
	if (H5Pget_layout(properties) != H5D_CHUNKED)
		return -1;
	filters = H5Pget_nfilters(properties);
	if (!filters)
		return 0;
	CHECK_INT(filters, 2);
	CHECK_INT(H5Pget_filter2(properties, 0, &flags, &n, &value, 0, NULL, &config),
		  H5Z_FILTER_SHUFFLE);
	n = 1;
	CHECK_INT(H5Pget_filter2(properties, 1, &flags, &n, &value, 0, NULL, &config),
		  H5Z_FILTER_DEFLATE);
	return (int)value;
}

/* Every size at which something changes, plain and compressed, by one thread and by many. */
static void test_storage(void)
{
	static const struct {
		size_t n;
		int plain, nine, automatic; /* of /events/durations */
		int small;		    /* of /sp_trace/calls/flags, 2 bytes each, with 9 */
	} sizes[] = {
		{0, -1, -1, -1, -1},   {1, -1, -1, -1, -1},    {8192, -1, -1, -1, -1},
		{8193, -1, 9, -1, -1}, {16383, -1, 9, -1, -1}, {16384, -1, 9, 4, -1},
		{32767, -1, 9, 4, -1}, {32768, 0, 9, 4, -1},   {32769, 0, 9, 4, 9},
		{131071, 0, 9, 4, 9},  {131072, 0, 9, 4, 9},   {300000, 0, 9, 4, 9},
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const char *path = check_path(work, "storage.h5");
		struct sp_calls calls;
		size_t n = sizes[i].n;

		make_calls(&calls, n);
		write_calls(path, (struct sp_h5_options){0}, &calls, n);
		CHECK_INT(level_of(path, "/events/durations"), sizes[i].plain);
		check_calls(path, &calls, n);
		write_calls(path, (struct sp_h5_options){.schema = 2}, &calls, n);
		CHECK_INT(level_of(path, "/events/end_times"), sizes[i].plain);
		check_calls(path, &calls, n);
		for (unsigned int threads = 0; threads < 4; threads++) {
			write_calls(path, (struct sp_h5_options){.gzip = 9, .threads = threads},
				    &calls, n);
			CHECK_INT(level_of(path, "/events/durations"), sizes[i].nine);
			CHECK_INT(level_of(path, "/sp_trace/calls/flags"), sizes[i].small);
			check_calls(path, &calls, n);
		}
		write_calls(path, (struct sp_h5_options){.gzip = SP_H5_GZIP_AUTO, .threads = 64},
			    &calls, n);
		CHECK_INT(level_of(path, "/events/durations"), sizes[i].automatic);
		check_calls(path, &calls, n);
		sp_calls_free(&calls);
	}
}

/* Whatever the number of threads, the file is the same to the last byte. */
static void test_same_bytes(void)
{
	static char one[1 << 22], other[1 << 22];
	const char *path = check_path(work, "same.h5");
	struct sp_calls calls;
	size_t size;

	make_calls(&calls, 200000);
	write_calls(path, (struct sp_h5_options){.gzip = 1, .threads = 1}, &calls, 200000);
	size = check_read_file(path, one, sizeof(one));
	CHECK(size > 100000 && size < sizeof(one));
	for (unsigned int threads = 2; threads < 20; threads += 5) {
		write_calls(path, (struct sp_h5_options){.gzip = 1, .threads = threads}, &calls,
			    200000);
		CHECK_INT(check_read_file(path, other, sizeof(other)), size);
		CHECK(!memcmp(one, other, size));
	}
	sp_calls_free(&calls);
}

/* ---- statistics ---- */

static void check_stats(const int64_t *starts, const int64_t *ends, size_t n, double tolerance)
{
	struct sp_stats stats = {0};
	long double mean = 0, m2 = 0;
	uint64_t total = 0;
	int64_t minimum = INT64_MAX, maximum = INT64_MIN, first = INT64_MAX, last = INT64_MIN;

	sp_stats_add(&stats, starts, ends, NULL, NULL, n);
	for (size_t i = 0; i < n; i++) {
		int64_t duration = (int64_t)((uint64_t)ends[i] - (uint64_t)starts[i]);

		total += (uint64_t)duration;
		mean += (long double)duration / (long double)n;
		minimum = duration < minimum ? duration : minimum;
		maximum = duration > maximum ? duration : maximum;
		first = starts[i] < first ? starts[i] : first;
		last = ends[i] > last ? ends[i] : last;
	}
	for (size_t i = 0; i < n; i++) {
		long double difference =
			(long double)(int64_t)((uint64_t)ends[i] - (uint64_t)starts[i]) - mean;

		m2 += difference * difference;
	}
	CHECK_INT(stats.calls, n);
	CHECK_INT(stats.total, (int64_t)total);
	CHECK_INT(stats.minimum, minimum);
	CHECK_INT(stats.maximum, maximum);
	CHECK_INT(stats.start_minimum, first);
	CHECK_INT(stats.end_maximum, last);
	CHECK_INT(stats.self, -1);
	check_that(__FILE__, __LINE__,
		   fabsl((long double)stats.mean - mean) <= tolerance * fabsl(mean) + 1e-9L,
		   "mean of %zu: %.17g, not %.17Lg", n, stats.mean, mean);
	check_that(__FILE__, __LINE__, fabsl((long double)stats.m2 - m2) <= tolerance * m2 + 1e-6L,
		   "m2 of %zu: %.17g, not %.17Lg", n, stats.m2, m2);
}

static void test_statistics(void)
{
	enum { N = 5000 };
	static int64_t starts[N], ends[N];
	static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 1023, 1024, 1025, 2048, N};

	for (unsigned int scale = 0; scale < 62; scale++)
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			for (size_t i = 0; i < sizes[k]; i++) {
				uint64_t odd = next_random() << 31 ^ next_random();

				starts[i] = (int64_t)i * 1000 + (int64_t)(next_random() % 5000);
				ends[i] = starts[i] + (int64_t)(odd >> (61 - scale)) / N;
				if (scale % 3 == 2) /* some end before they begin */
					ends[i] -= (int64_t)(UINT64_C(1) << scale) / N / 3;
			}
			check_stats(starts, ends, sizes[k], 1e-11);
		}
	/* A large offset with a small spread: squares of whole durations would cancel out. */
	for (size_t i = 0; i < N; i++) {
		starts[i] = (int64_t)i;
		ends[i] = starts[i] + 3600000000000 + (int64_t)(i % 3);
	}
	check_stats(starts, ends, N, 1e-6);
	for (size_t i = 0; i < N; i++)
		ends[i] = starts[i] + (i % 2 ? INT64_C(3) << 60 : -(INT64_C(3) << 60)) / N;
	check_stats(starts, ends, N, 1e-9);
}

static void test_self(void)
{
	int64_t starts[] = {0, 10, 20}, ends[] = {100, 15, 40}, child[] = {25, 0, 0};
	int64_t gpu[] = {5, -1, 7};
	struct sp_stats stats = {0};

	sp_stats_add(&stats, starts, ends, child, gpu, 3);
	CHECK_INT(stats.self, 100);
	CHECK_INT(stats.gpu_calls, 2);
	CHECK_INT(stats.gpu_total, 12);
	CHECK_INT(stats.first, 100);
	CHECK_INT(stats.last, 20);
	child[1] = -1;
	sp_stats_add(&stats, starts, ends, child, NULL, 3);
	CHECK_INT(stats.self, -1);
	CHECK_INT(stats.calls, 6);
}

/* ---- names and facts ---- */

/* ---- event metadata, aggregates, misuse ---- */

static void test_event_metadata(void)
{
	const char *path = check_path(work, "event_metadata.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.event_metadata = true};
	struct sp_h5_writer *writer;
	struct sp_profile *profile;
	int64_t time = 5;
	const struct sp_calls call = {.start = &time, .end = &time};
	uint32_t region;
	size_t size = 300000;
	char *large = malloc(size), *json;

	snprintf(large, size, "[{\"x\": \"%0*d\"}]", 250000, 0);
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	for (uint32_t i = 0; i < 2000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		MUST(sp_h5_writer_add_region(writer, name, &region, &error));
		MUST(sp_h5_writer_begin_row(
			writer,
			&(struct sp_h5_row){.region = region,
					    .event_metadata = i % 100 == 7  ? large
							      : i % 10 == 1 ? "[{\"y\": 1}]"
							      : i % 10 == 2 ? ""
									    : NULL},
			&error));
		MUST(sp_h5_writer_add_calls(writer, &call, 1, &error));
	}
	MUST(sp_h5_writer_add_region(writer, "without a row", &region, &error));
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->n_rows, 2001);
	for (uint32_t i = 0; i < 2001; i++) {
		MUST(sp_profile_event_metadata(profile, i, &json, &error));
		if (i % 100 == 7)
			CHECK_TEXT(json, large);
		else if (i % 10 == 1 && i < 2000)
			CHECK_TEXT(json, "[{\"y\": 1}]");
		else
			CHECK(!json);
		free(json);
	}
	sp_profile_free(profile);
	free(large);
}

static void test_aggregate(void)
{
	const char *path = check_path(work, "aggregate.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.aggregate = true,
					.columns = COLUMNS};
	const struct sp_stats stats = {
		.calls = 3, .total = 30, .self = 20, .minimum = 5, .maximum = 15};
	struct sp_h5_row row = {.source_file = "f.c", .source_line = 3, .stats = &stats};
	int64_t time = 0;
	struct sp_h5_writer *writer;
	struct sp_profile *profile;
	uint32_t region;

	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	MUST(sp_h5_writer_add_region(writer, "never", &region, &error));
	MUST(sp_h5_writer_begin_row(writer, &row, &error));
	CHECK_INT(sp_h5_writer_add_calls(writer, &(struct sp_calls){.start = &time, .end = &time},
					 1, &error),
		  -EINVAL);
	row.stats = NULL;
	row.rank = 1;
	CHECK_INT(sp_h5_writer_begin_row(writer, &row, &error), -EINVAL);
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	MUST(sp_profile_open(path, &profile, &error));
	CHECK(sp_profile_info(profile)->aggregate);
	CHECK_INT(sp_profile_info(profile)->n_rows, 2);
	CHECK_INT(sp_profile_row(profile, 0)->stats.self, 20);
	CHECK_INT(sp_profile_row(profile, 0)->stats.maximum, 15);
	CHECK_INT(sp_profile_row(profile, 0)->stats.calls, 3);
	CHECK_INT(sp_profile_row(profile, 1)->stats.calls, 0);
	sp_profile_free(profile);
}

static void test_misuse(void)
{
	const char *path = check_path(work, "misuse.h5");
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE, .schema = 1};
	struct sp_h5_writer *writer;
	uint32_t region;

	CHECK_INT(sp_h5_writer_open(path, &options, &writer, &error), -EINVAL);
	options.schema = 4;
	CHECK_INT(sp_h5_writer_open(path, &options, &writer, &error), -EINVAL);
	options.schema = 0;
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	CHECK_INT(sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.event_metadata = "[{}]"},
					 &error),
		  -EINVAL);
	sp_h5_writer_free(writer);
}

/* ---- a full disk, with threads at work ---- */

static void fill_disk(rlim_t limit, unsigned int threads)
{
	const char *path = check_path(work, "full.h5");
	struct sp_h5_options options = {.gzip = 1, .threads = threads, .columns = COLUMNS};
	struct rlimit small;
	struct sp_h5_writer *writer = NULL;
	struct sp_calls calls;
	uint32_t region;
	int r;

	unlink(path);
	make_calls(&calls, 400000);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &small);
	small.rlim_cur = limit;
	setrlimit(RLIMIT_FSIZE, &small);
	r = sp_h5_writer_open(path, &options, &writer, &error);
	if (!r)
		r = sp_h5_writer_add_region(writer, "a", &region, &error);
	if (!r)
		r = sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.region = 0}, &error);
	for (int i = 0; !r && i < 4; i++)
		r = sp_h5_writer_add_calls(writer, &calls, 400000, &error);
	if (!r)
		r = sp_h5_writer_commit(writer, &error);
	check_that(__FILE__, __LINE__, r == -EFBIG && strstr(error.text, "File too large"),
		   "limit %ld: %d %s", (long)limit, r, error.text);
	sp_h5_writer_free(writer);
	CHECK_INT(access(path, F_OK), -1);
	sp_calls_free(&calls);
	exit(check_failed != 0);
}

static void test_full_disk(void)
{
	static const rlim_t limits[] = {0, 2000, 300000, 3000000, 8000000};

	for (size_t i = 0; i < 2 * sizeof(limits) / sizeof(limits[0]); i++) {
		pid_t child = fork();
		int status;

		if (!child)
			fill_disk(limits[i / 2], i % 2 ? 1 : 3);
		CHECK(waitpid(child, &status, 0) == child);
		CHECK_INT(status, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	mkdir(work, 0777);
	test_full_disk(); /* forks, so before there are threads */
	test_statistics();
	test_self();
	test_storage();
	test_same_bytes();
	test_event_metadata();
	test_aggregate();
	test_misuse();
	return check_end();
}
