// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_memory.c - writing and reading take the same memory, however long the recording is.
 *
 *	test_memory WORK_DIR
 *
 * Built without the sanitizers, whose own memory would be all that is seen. Each size runs in a
 *child of its own, since a process's peak never falls.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/h5_write.h"
#include "formats/profile_read.h"
#include "formats/spt.h"
#include "tests/formats/check.h"

enum { CHUNK = 4096, LIMIT = 40 << 10 /* KiB */, SLACK = 4 << 10 };

static const char *work;
static struct sp_error error;

static void write_h5(const char *path, size_t n, unsigned int gzip)
{
	struct sp_h5_options options = {.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
					.columns = SP_CALLS_TRACE,
					.gzip = gzip};
	struct sp_h5_writer *writer;
	struct sp_calls calls;
	uint64_t frames[30];
	uint32_t region;

	MUST(sp_calls_alloc(&calls, CHUNK, SP_CALLS_TRACE));
	memset(frames, 7, sizeof(frames));
	MUST(sp_h5_writer_open(path, &options, &writer, &error));
	MUST(sp_h5_writer_add_region(writer, "a", &region, &error));
	MUST(sp_h5_writer_begin_row(writer, &(struct sp_h5_row){.region = region}, &error));
	for (size_t i = 0; i < n; i += CHUNK) {
		for (size_t k = 0; k < CHUNK; k++) {
			calls.start[k] = (int64_t)((i + k) * 100);
			calls.end[k] = calls.start[k] + 1 + (int64_t)k % 50;
			calls.id[k] = (int64_t)(i + k);
		}
		MUST(sp_h5_writer_add_calls(writer, &calls, CHUNK, &error));
		for (size_t k = 0; k < CHUNK / 32; k++)
			MUST(sp_h5_writer_add_sample(writer, &(struct sp_sample_row){.time_ns = i},
						     frames, 30, &error));
	}
	MUST(sp_h5_writer_commit(writer, &error));
	sp_h5_writer_free(writer);
	sp_calls_free(&calls);
}

static void read_h5(const char *path, size_t n)
{
	struct sp_profile *profile;
	struct sp_calls calls;
	int64_t total = 0;

	MUST(sp_calls_alloc(&calls, CHUNK, SP_CALLS_id));
	MUST(sp_profile_open(path, &profile, &error));
	for (size_t i = 0; i < n; i += CHUNK) {
		MUST(sp_profile_read_calls(profile, 0, i, CHUNK, &calls, &error));
		for (size_t k = 0; k < CHUNK; k++)
			total += calls.end[k] - calls.start[k];
	}
	CHECK_INT(total, sp_profile_row(profile, 0)->stats.total);
	sp_profile_free(profile);
	sp_calls_free(&calls);
}

static void write_spt(const char *path, size_t n)
{
	struct sp_spt_writer *writer;
	int64_t times[CHUNK] = {0};

	MUST(sp_spt_writer_open(path, SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, SP_SPT_VERSION, 0,
				&(struct sp_spt_region){"a", NULL, -1, n}, 1, &writer, &error));
	for (size_t i = 0; i < n; i += CHUNK)
		MUST(sp_spt_writer_add(writer, 0, times, times, CHUNK, &error));
	MUST(sp_spt_writer_commit(writer, &error));
	sp_spt_writer_free(writer);
}

/* Peak memory of a child that does it all with @n calls, KiB. */
static long peak(size_t n, unsigned int gzip)
{
	const char *path = check_path(work, "large.h5"), *spt = check_path(work, "large.spt");
	struct rusage usage;
	pid_t child;
	int status;

	fflush(NULL); /* or the child prints it again */
	child = fork();
	if (!child) {
		write_h5(path, n, gzip);
		read_h5(path, n);
		write_spt(spt, n);
		unlink(path);
		unlink(spt);
		exit(check_failed != 0);
	}
	CHECK(wait4(child, &status, 0, &usage) == child && status == 0);
	return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	mkdir(work, 0777);
	for (unsigned int gzip = 0; gzip <= 1; gzip++) {
		long small = peak(CHUNK * 128, gzip), large = peak(CHUNK * 512, gzip);

		printf("gzip %u: %ld KiB at %d calls, %ld KiB at %d\n", gzip, small, CHUNK * 128,
		       large, CHUNK * 512);
		CHECK(large < LIMIT);
		CHECK(large < small + SLACK);
	}
	return check_end();
}
