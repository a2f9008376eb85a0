// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_hostile.c - one file, cut at every byte and with every bit flipped.
 *
 *	test_hostile FILE WORK_DIR [STEP]
 *
 * The file is read to its end as a command would read it. Cut, it must be refused (a journal: be
 * found to be cut); flipped, it is read or refused with a sentence; either within seconds. With
 * STEP, only at every STEP-th byte, and every STEP-th bit, unless SP_TEST_FULL=1.
 *
 * Our own parsers must survive that in this very process, under the sanitizers. libhdf5 does not
 * survive all of its own damaged files: cut files are read through the guard, as commands do it;
 * flipped ones in children of the test, each of which goes on until it dies, because a guard for
 * each of them takes too long; what it died of goes through the guard then.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "formats/journal.h"
#include "formats/profile_guard.h"
#include "tests/formats/check.h"

enum { MAX = 1 << 20, SECONDS = 5, LIBHDF5_DIED = 98 };

static struct sp_error error;
static unsigned char data[MAX];
static size_t size;
static const char *damaged;
static enum sp_format format;

/* ---- reading everything ---- */

static int read_rows(struct sp_profile *profile)
{
	enum { SOME = 257 };
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_calls calls;
	uint64_t all = 0;
	int r = sp_calls_alloc(&calls, SOME, (1u << SP_CALLS_N_COLUMNS) - 1);

	for (uint32_t i = 0; !r && i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		uint64_t n = info->aggregate ? 0 : row->stats.calls;
		char *json = NULL;

		CHECK(row->region < info->n_regions && sp_profile_region(profile, row->region));
		for (uint64_t at = 0; !r && at < n; at += SOME)
			r = sp_profile_read_calls(profile, i, at,
						  n - at < SOME ? (size_t)(n - at) : SOME, &calls,
						  &error);
		if (!r)
			r = sp_profile_event_metadata(profile, i, &json, &error);
		free(json);
		all += n;
	}
	if (!r && !info->aggregate)
		CHECK(all == info->n_calls);
	sp_calls_free(&calls);
	return r;
}

static int read_samples(struct sp_profile *profile)
{
	uint64_t n = sp_profile_info(profile)->n_samples;
	int r = 0;

	for (uint64_t i = 0; !r && i < n; i++) {
		struct sp_sample_row sample;
		uint64_t offsets[2], frame;

		r = sp_profile_read_samples(profile, i, 1, &sample, &error);
		if (!r)
			r = sp_profile_read_stack_offsets(profile, i, 1, offsets, &error);
		if (!r)
			CHECK(offsets[0] <= offsets[1]);
		for (uint64_t at = r ? 1 : offsets[0]; !r && at < offsets[1]; at++)
			r = sp_profile_read_frames(profile, at, 1, &frame, &error);
	}
	return r;
}

static int read_tables(struct sp_profile *profile)
{
	struct sp_profile_check check = {0};
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n;
	int r = 0;

#define READ(singular, plural) \
	do { \
		const struct sp_##singular##_row *rows; \
		if (!r) \
			r = sp_profile_##plural(profile, &rows, &n, &error); \
	} while (0)
	READ(thread, threads);
	READ(task, tasks);
	READ(site, sites);
	READ(module, modules);
	READ(process, processes);
	READ(loss, losses);
	READ(cut, cuts);
	READ(clock, clocks);
	READ(rank_fact, rank_facts);
	if (!r)
		r = sp_profile_extras(profile, &extras, &error);
	if (!r)
		r = sp_profile_metadata(profile, &facts, &n, &error);
	if (!r)
		r = sp_profile_meta(profile, &facts, &n, &error);
	while (!r && !check.done)
		r = sp_profile_check(profile, &check, &error);
	return r;
}

static int read_profile(const char *path, bool guarded)
{
	const struct sp_guard_limits limits = {.cpu_seconds = 2};
	struct sp_profile *profile;
	int r = guarded ? sp_profile_open_guarded(path, &limits, &profile, &error)
			: sp_profile_open(path, &profile, &error);

	if (r)
		return r;
	r = sp_profile_complete(profile, UINT64_MAX, &error);
	if (!r)
		r = read_rows(profile);
	if (!r)
		r = read_samples(profile);
	if (!r)
		r = read_tables(profile);
	sp_profile_free(profile);
	return r;
}

/* 1: all good; 0: the good part of a cut one. */
static int read_journal(const char *path, bool *ret_whole)
{
	const struct sp_event *event;
	struct sp_journal *journal;
	uint64_t good, all;
	const char *reason;
	int r = sp_journal_open(path, &journal, &error);

	if (r)
		return r;
	while ((r = sp_journal_next(journal, &event)) == 1)
		;
	*ret_whole = sp_journal_intact(journal, &good, &all, &reason);
	CHECK(good <= all && (*ret_whole || *reason));
	sp_journal_free(journal);
	return r;
}

/* Whether the damaged file passes for a whole one. */
static bool passes(bool guarded)
{
	struct timespec before, after;
	bool whole = true;
	int r;

	error = (struct sp_error){0};
	clock_gettime(CLOCK_MONOTONIC, &before);
	r = format == SP_FORMAT_JOURNAL ? read_journal(damaged, &whole)
					: read_profile(damaged, guarded);
	clock_gettime(CLOCK_MONOTONIC, &after);
	if (r)
		CHECK(r == error.code && error.text[0]);
	/* A child has a limit on CPU time; the guard's, and then some on a busy machine. */
	if (guarded || format != SP_FORMAT_HDF5)
		CHECK(after.tv_sec - before.tv_sec <= 4 * SECONDS);
	return !r && whole;
}

/* ---- damage ---- */

static void flip(size_t bit)
{
	data[bit / 8] ^= (unsigned char)(1u << bit % 8);
}

static bool is_blank(const unsigned char *text, size_t n)
{
	while (n && (*text == ' ' || *text == '\n')) {
		text++;
		n--;
	}
	return !n;
}

static void test_cuts(size_t step)
{
	for (size_t cut = size - 1; cut < size; cut -= step) {
		bool good;

		check_write_file(damaged, data, cut);
		good = passes(true);
		/* A journal may be cut between two blocks: it just ends early then. So may JSON,
		 * before the blanks at its end. */
		if (good && format != SP_FORMAT_JOURNAL && !is_blank(data + cut, size - cut))
			check_that(__FILE__, __LINE__, 0, "passes when cut at %zu of %zu", cut,
				   size);
	}
	printf("%zu bytes, cut at each %zu\n", size, step);
}

static void test_flips(size_t step)
{
	unsigned int read = 0, refused = 0;

	for (size_t bit = 0; bit < 8 * size; bit += step) {
		flip(bit);
		check_write_file(damaged, data, size);
		if (passes(false))
			read++;
		else
			refused++;
		flip(bit);
	}
	printf("bits flipped: %u read, %u refused\n", read, refused);
	CHECK(refused >= 8 * 8 / step); /* the magic, at the very least */
}

struct progress {
	size_t bit;
	unsigned int read, refused, failed;
};

/* What a sanitizer found: libhdf5's own errors are as a crash of it, ours fail the test. */
static void is_it_ours(const char *report)
{
	for (const char *line = strstr(report, "    #"); line; line = strstr(line + 1, "    #")) {
		size_t length = strcspn(line, "\n");

		if (memmem(line, length, "libhdf5", 7))
			_exit(LIBHDF5_DIED);
		if (memmem(line, length, "/formats/", 9))
			return;
	}
}

void __asan_set_error_report_callback(void (*callback)(const char *)) __attribute__((weak));

/* In a child: from progress->bit on, until it is through or dies. */
static void flip_on(struct progress *progress, size_t step)
{
	for (; progress->bit < 8 * size; progress->bit += step) {
		struct rusage usage;
		struct rlimit limit;

		getrusage(RUSAGE_SELF, &usage);
		limit.rlim_cur = limit.rlim_max =
			(rlim_t)usage.ru_utime.tv_sec + (rlim_t)usage.ru_stime.tv_sec + SECONDS;
		limit.rlim_max = RLIM_INFINITY;
		setrlimit(RLIMIT_CPU, &limit);
		flip(progress->bit);
		check_write_file(damaged, data, size);
		if (passes(false))
			progress->read++;
		else
			progress->refused++;
		flip(progress->bit);
		progress->failed += check_failed;
		check_failed = 0;
	}
}

static void test_flips_in_children(size_t step)
{
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int died = 0;

	CHECK(progress != MAP_FAILED);
	for (; progress->bit < 8 * size; progress->bit += step) {
		pid_t child = fork();
		int status;

		if (!child) {
			if (__asan_set_error_report_callback)
				__asan_set_error_report_callback(is_it_ours);
			flip_on(progress, step);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
			break;
		check_that(__FILE__, __LINE__,
			   WIFSIGNALED(status) || WEXITSTATUS(status) == LIBHDF5_DIED,
			   "bit %zu: exit status %d", progress->bit, WEXITSTATUS(status));
		died++;
		flip(progress->bit);
		check_write_file(damaged, data, size);
		/* What a sanitizer sees need not kill: the guard's child may come through. */
		if (passes(true))
			snprintf(error.text, sizeof(error.text), "(read)");
		flip(progress->bit);
		printf("bit %zu kills libhdf5 (%s): %s\n", progress->bit,
		       WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "bad memory access",
		       error.text);
	}
	printf("bits flipped: %u read, %u refused, %u killed libhdf5\n", progress->read,
	       progress->refused, died);
	CHECK_INT(progress->failed, 0);
	CHECK(progress->read + progress->refused + died >= 8 * size / step);
}

int main(int argc, char **argv)
{
	const char *full = getenv("SP_TEST_FULL");
	size_t step = argc > 3 && !(full && *full == '1') ? strtoul(argv[3], NULL, 10) : 1;

	if (argc < 3 || !step)
		return 2;
	size = check_read_file(argv[1], data, sizeof(data));
	CHECK(size > 20 && size < MAX);
	MUST(sp_format_detect(argv[1], &format, &error));
	damaged = check_path(argv[2], "damaged");
	check_write_file(damaged, data, size);
	CHECK(passes(true));
	test_cuts(step);
	if (format == SP_FORMAT_HDF5)
		test_flips_in_children(step);
	else
		test_flips(step);
	return check_end();
}
