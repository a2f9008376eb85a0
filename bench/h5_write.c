// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_write.c - how fast calls are written to an HDF5 profile, against a bare H5Dwrite of the same
 * arrays.
 *
 *	h5_write [-n CALLS] [-r ROUNDS] [-b BLOCK] [-z LEVEL] [-t THREADS] [-c] DIR
 *
 * Every round runs every variant once, in an order that turns, on new files in DIR: our writer, fed
 * with BLOCK calls at a time; a bare H5Dwrite of each whole column (contiguous data sets of the
 * default format); and one of 1 MiB at a time. With the columns of a recording and with the times
 * alone, left in the page cache and synced. Shown are medians, in ns a call, and the median of the
 * ratios round by round: 0.7 is what our writer has to reach. With -z ours compresses (255: by
 * scope-profiler's rule), which the bare writing never does. With -c it is processor time that is
 * shown, which a busy machine changes less.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/h5_write.h"

enum { MAX_COLUMNS = SP_CALLS_N_COLUMNS + 2, MAX_ROUNDS = 101 };

struct column {
	const char *name;
	const void *values;
	size_t size;
	hid_t type;
};

static size_t n_calls = 10 << 20, block = 65536, rounds = 7;
static clockid_t clock_used = CLOCK_MONOTONIC;
static struct sp_h5_options options;
static struct sp_calls calls;
static const char *directory;
static char path[4096];

static void fail(const char *what)
{
	fprintf(stderr, "h5_write: %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(clock_used, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Calls like those of a program: a few hundred ns each, 12 % of them with calls inside. */
static void make_calls(void)
{
	uint64_t state = 1;

	if (sp_calls_alloc(&calls, n_calls, SP_CALLS_TRACE))
		fail("no memory");
	for (size_t i = 0; i < n_calls; i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		calls.start[i] = (int64_t)(1000000000000 + i * 700 + (state >> 40) % 300);
		calls.end[i] = calls.start[i] + 200 + (int64_t)((state >> 33) % 300);
		calls.id[i] = (int64_t)i;
		calls.parent[i] = i % 8 ? (int64_t)(i - i % 8) : -1;
		calls.thread[i] = (int64_t)(i >> 20);
		calls.flags[i] = 0;
		calls.depth[i] = i % 8 != 0;
		calls.child_ns[i] = i % 8 ? 0 : 100;
		calls.skipped[i] = 0;
		calls.site[i] = (uint32_t)i % 3;
	}
}

static void ours(unsigned int columns, bool sync)
{
	struct sp_h5_writer *writer;
	struct sp_error error;
	uint32_t region;
	int r;

	options.output_flags = SP_OUTPUT_REPLACE | (sync ? 0 : SP_OUTPUT_NO_SYNC);
	options.columns = columns;
	r = sp_h5_writer_open(path, &options, &writer, &error);
	if (!r)
		r = sp_h5_writer_add_region(writer, "region", &region, &error);
	if (!r)
		r = sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.region = region}, &error);
	for (size_t at = 0; !r && at < n_calls; at += block) {
		struct sp_calls some = {
			.start = calls.start + at,
			.end = calls.end + at,
			.id = calls.id + at,
			.parent = calls.parent + at,
			.thread = calls.thread + at,
			.flags = calls.flags + at,
			.depth = calls.depth + at,
			.child_ns = calls.child_ns + at,
			.skipped = calls.skipped + at,
			.site = calls.site + at,
		};

		r = sp_h5_writer_add_calls(writer, &some,
					   n_calls - at < block ? n_calls - at : block, &error);
	}
	if (!r)
		r = sp_h5_writer_commit(writer, &error);
	if (r)
		fail(error.text);
	sp_h5_writer_free(writer);
}

/* The @size bytes of a column, @step at a time. */
static void bare_column(hid_t file, const struct column *column, hsize_t step)
{
	hsize_t n = n_calls;
	hid_t space = H5Screate_simple(1, &n, NULL);
	hid_t dataset = H5Dcreate2(file, column->name, column->type, space, H5P_DEFAULT,
				   H5P_DEFAULT, H5P_DEFAULT);

	for (hsize_t at = 0; at < n; at += step) {
		hsize_t some = n - at < step ? n - at : step;
		hid_t memory = H5Screate_simple(1, &some, NULL);

		H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &some, NULL);
		if (H5Dwrite(dataset, column->type, memory, space, H5P_DEFAULT,
			     (const char *)column->values + at * column->size) < 0)
			fail("H5Dwrite failed");
		H5Sclose(memory);
	}
	H5Dclose(dataset);
	H5Sclose(space);
}

static void bare(unsigned int columns, bool sync, size_t step_bytes)
{
	struct column all[MAX_COLUMNS] = {{"start", calls.start, 8, H5T_NATIVE_INT64},
					  {"end", calls.end, 8, H5T_NATIVE_INT64}};
	size_t n = 2;
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

#define SP_CALL_COLUMN(type, field, where, default, doc) \
	if (columns & SP_CALLS_##field) \
		all[n++] = (struct column){#field, calls.field, sizeof(*calls.field), \
					   sizeof(*calls.field) == 2   ? H5T_NATIVE_UINT16 \
					   : sizeof(*calls.field) == 4 ? H5T_NATIVE_UINT32 \
								       : H5T_NATIVE_INT64};
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
	if (file < 0)
		fail("H5Fcreate failed");
	for (size_t i = 0; i < n; i++)
		bare_column(file, &all[i], step_bytes ? step_bytes / all[i].size : n_calls);
	H5Fclose(file);
	if (sync) {
		int fd = open(path, O_RDWR);

		if (fd < 0 || fsync(fd))
			fail("fsync failed");
		close(fd);
	}
}

/* What the variant before left in the page cache is not this one's to write. */
static void sync_all(void)
{
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd))
		fail("DIR cannot be synced");
	close(fd);
}

/* The variants: 0 ours, 1 bare and whole, 2 bare in blocks. */
static double run(int variant, unsigned int columns, bool sync)
{
	double begin;

	unlink(path);
	if (sync)
		sync_all();
	begin = now();
	if (variant == 0)
		ours(columns, sync);
	else
		bare(columns, sync, variant == 1 ? 0 : 1 << 20);
	return (now() - begin) * 1e9 / (double)n_calls;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *values)
{
	qsort(values, rounds, sizeof(*values), compare);
	return values[rounds / 2];
}

static void measure(const char *name, unsigned int columns, bool sync)
{
	double times[3][MAX_ROUNDS], whole[MAX_ROUNDS], blocks[MAX_ROUNDS];

	run(0, columns, sync); /* warms up */
	for (size_t round = 0; round < rounds; round++) {
		for (size_t k = 0; k < 3; k++) {
			size_t variant = (round + k) % 3;

			times[variant][round] = run((int)variant, columns, sync);
		}
		whole[round] = times[1][round] / times[0][round];
		blocks[round] = times[2][round] / times[0][round];
	}
	printf("%-10s %-7s ours %6.2f  bare, whole columns %6.2f: ratio %.2f  bare, 1 MiB blocks "
	       "%6.2f: ratio %.2f\n",
	       name, sync ? "synced" : "cached", median(times[0]), median(times[1]), median(whole),
	       median(times[2]), median(blocks));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:r:b:z:t:c")) > 0) {
		unsigned long number = strtoul(optarg ? optarg : "", NULL, 10);

		switch (option) {
		case 'n':
			n_calls = number;
			break;
		case 'r':
			rounds = number;
			break;
		case 'b':
			block = number;
			break;
		case 'z':
			options.gzip = (unsigned int)number;
			break;
		case 't':
			options.threads = (unsigned int)number;
			break;
		case 'c':
			clock_used = CLOCK_PROCESS_CPUTIME_ID;
			break;
		default:
			return 2;
		}
	}
	if (optind + 1 != argc || !n_calls || !block || !rounds || rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: h5_write [-n CALLS] [-r ROUNDS] [-b BLOCK] [-z LEVEL] "
				"[-t THREADS] [-c] DIR\n");
		return 2;
	}
	directory = argv[optind];
	snprintf(path, sizeof(path), "%s/bench.h5", directory);
	make_calls();
	printf("%zu calls, %zu at a time, %zu rounds; ns a call\n", n_calls, block, rounds);
	for (int sync = 0; sync < 2; sync++) {
		measure("times", 0, sync);
		measure("recording", SP_CALLS_TRACE, sync);
	}
	unlink(path);
	sp_calls_free(&calls);
	return 0;
}
