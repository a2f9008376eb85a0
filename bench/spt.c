// SPDX-License-Identifier: BSD-2-Clause
/*
 * spt.c - writes and reads large native traces by the library, for bench/formats.
 *
 *	spt make FILE RANK REGIONS CALLS	a trace of a program: CALLS in all, properly nested
 *	spt read FILE…				reads every call, and says how fast
 *
 * The traced program has a loop: region 0 encloses one call of each other region, and begins again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/spt.h"

enum { BLOCK = 1 << 17 };

static int64_t starts[BLOCK], ends[BLOCK];

static int fail(const char *path, const char *reason)
{
	fprintf(stderr, "spt: %s: %s\n", path, reason);
	return 1;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* A few hundred ns more or less, always the same for a place. */
static int64_t jitter(uint64_t turn, uint64_t region)
{
	uint64_t x = (turn * 977 + region) * UINT64_C(0x9e3779b97f4a7c15);

	return (int64_t)(x >> 56);
}

/* Call number @turn of a region. A turn takes 1000 ns for each region. */
static void make_call(uint64_t turn, uint64_t region, uint64_t n_regions, int64_t *ret_start,
		      int64_t *ret_end)
{
	int64_t length = (int64_t)n_regions * 1000;
	int64_t begin = INT64_C(1000000000000) + (int64_t)turn * length;

	if (region == 0) {
		*ret_start = begin;
		*ret_end = begin + length - 300 + jitter(turn, 0);
		return;
	}
	*ret_start = begin + (int64_t)(region - 1) * 1000 + 10 + jitter(turn, region);
	*ret_end = *ret_start + 300 + jitter(turn + 1, region);
}

static int make(const char *path, int32_t rank, size_t n_regions, uint64_t calls)
{
	struct sp_spt_region *regions = calloc(n_regions, sizeof(*regions));
	struct sp_spt_writer *writer;
	struct sp_error error = {0};
	int r;

	if (!regions)
		return fail(path, "no memory");
	for (size_t i = 0; i < n_regions; i++) {
		char name[32];

		snprintf(name, sizeof(name), "region %zu", i);
		regions[i] = (struct sp_spt_region){.name = strdup(name),
						    .source_file = "src/solver.c",
						    .source_line = (int32_t)i + 10,
						    .calls = calls / n_regions};
	}
	r = sp_spt_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, SP_SPT_VERSION, rank,
			       regions, n_regions, &writer, &error);
	for (size_t i = 0; !r && i < n_regions; i++)
		for (uint64_t at = 0; !r && at < regions[i].calls; at += BLOCK) {
			size_t some = 0;

			for (; some < BLOCK && at + some < regions[i].calls; some++)
				make_call(at + some, i, n_regions, &starts[some], &ends[some]);
			r = sp_spt_writer_add(writer, i, starts, ends, some, &error);
		}
	if (!r)
		r = sp_spt_writer_commit(writer, &error);
	return r ? fail(path, error.text) : 0;
}

static int read_all(char **paths, int n)
{
	double begin = now();
	uint64_t calls = 0, total = 0;

	for (int k = 0; k < n; k++) {
		struct sp_spt_reader *reader;
		struct sp_error error = {0};
		int r = sp_spt_reader_open(paths[k], &reader, &error);

		if (r)
			return fail(paths[k], error.text);
		for (size_t i = 0; i < sp_spt_reader_n_regions(reader); i++) {
			uint64_t left = sp_spt_reader_region(reader, i)->calls, at = 0;

			for (; !r && left; left -= left < BLOCK ? left : BLOCK, at += BLOCK) {
				size_t some = left < BLOCK ? (size_t)left : BLOCK;

				r = sp_spt_reader_calls(reader, i, at, some, starts, ends, &error);
				for (size_t c = 0; !r && c < some; c++)
					total += (uint64_t)ends[c] - (uint64_t)starts[c];
				calls += some;
			}
			if (r)
				return fail(paths[k], error.text);
		}
		sp_spt_reader_free(reader);
	}
	printf("%llu calls, %llu ns, read in %.6f s\n", (unsigned long long)calls,
	       (unsigned long long)total, now() - begin);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "make") && atoll(argv[4]) > 0)
		return make(argv[2], atoi(argv[3]), (size_t)atoll(argv[4]),
			    strtoull(argv[5], NULL, 10));
	if (argc > 2 && !strcmp(argv[1], "read"))
		return read_all(argv + 2, argc - 2);
	fprintf(stderr, "usage: spt make FILE RANK REGIONS CALLS | spt read FILE…\n");
	return 2;
}
