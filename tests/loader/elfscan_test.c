/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elfscan_test.c - elfscan_test SP-ELF FAKE-ELF: batches with helpers that die, hang and lie.
 *
 * Invariant under test: each file gets exactly one image event and a result, the culprit an error,
 * all others everything that is theirs.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/codec.h"
#include "loader/elfscan.h"
#include "tests/loader/check.h"

#define MOST 600

struct seen {
	const int *fds;
	size_t last;
	int images[MOST], sites[MOST], errors[MOST];
	bool wrong_order, wrong_identity;
	int stop_at;
};

static int on_event(size_t index, const struct sp_head *event, void *arg)
{
	const struct sp_ev_image *image = (const struct sp_ev_image *)event;
	struct seen *seen = arg;
	struct stat st;

	if (index >= MOST || index < seen->last) {
		seen->wrong_order = true;
		return 0;
	}
	seen->last = index;
	if (event->type == SP_EV_image) {
		seen->images[index]++;
		seen->errors[index] = image->error;
		if (fstat(seen->fds[index], &st) == 0 &&
		    (image->device != st.st_dev || image->inode != st.st_ino ||
		     image->image != index + 1))
			seen->wrong_identity = true;
	} else if (event->type == SP_EV_site) {
		size_t n;
		const char *tail = sp_event_tail(event, &n);

		/* The NUL that the header promises, and a stranger's site would show here. */
		if (tail[n] || strcmp(tail, "name"))
			seen->wrong_order = true;
		seen->sites[index]++;
	}
	return seen->stop_at && (int)index + 1 == seen->stop_at ? -ECANCELED : 0;
}

static int file_of(const char *word)
{
	int fd = memfd_create("sp-test", MFD_CLOEXEC);

	if (fd < 0 || write(fd, word, strlen(word)) < 0)
		abort();
	return fd;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

struct expected {
	const char *word;
	int error;
};

static void test_batch(const char *fake, const struct expected *files, size_t n,
		       double most_seconds)
{
	struct sp_elfscan *scan = NULL;
	struct sp_error err = {0};
	int fds[MOST];
	struct seen seen = {.fds = fds};
	double start = seconds();

	for (size_t i = 0; i < n; i++)
		fds[i] = file_of(files[i].word);
	CHECK(sp_elfscan_new(fake, &scan, &err) == 0, "%s", err.text);
	CHECK(sp_elfscan_run(scan, fds, n, on_event, &seen, &err) == 0, "%s", err.text);
	CHECK(!seen.wrong_order, "events in the wrong order");
	CHECK(!seen.wrong_identity, "image events that do not describe their files");
	for (size_t i = 0; i < n; i++) {
		const char *why = NULL;
		int error = sp_elfscan_result(scan, i, &why);

		CHECK(error == files[i].error, "%zu %s: %d", i, files[i].word, error);
		CHECK(seen.images[i] == 1, "%zu %s: %d image events", i, files[i].word,
		      seen.images[i]);
		CHECK(seen.errors[i] == error, "%zu %s: image says %d", i, files[i].word,
		      seen.errors[i]);
		CHECK(seen.sites[i] == !strcmp(files[i].word, "FINE"), "%zu %s: %d sites", i,
		      files[i].word, seen.sites[i]);
		CHECK((why != NULL) == (error != 0), "%zu %s: why is %s", i, files[i].word, why);
		close(fds[i]);
	}
	CHECK(seconds() - start < most_seconds, "took %.1f s", seconds() - start);
	sp_elfscan_free(scan);
}

static void test_lies(const char *fake)
{
	static const struct expected files[] = {{"FINE", 0},
						{"HASH", -EPROTO},
						{"FINE", 0},
						{"FEWER", -SP_E_TRUNCATED},
						{"MORE", -EPROTO},
						{"OTHER", -EPROTO},
						{"STRINGS", -EPROTO},
						{"SEGMENT", -EPROTO},
						{"FINE", 0},
						{"PROBE", -EPROTO},
						{"TYPE", -EPROTO},
						{"LENGTH", -EPROTO},
						{"TAIL", -EPROTO},
						{"META", -EPROTO},
						{"NOTHING", -SP_E_TRUNCATED},
						{"DIE", -EPROTO},
						{"FINE", 0},
						{"DIE", -EPROTO},
						{"DIE", -EPROTO},
						{"FINE", 0}};
	static const struct expected extra[] = {{"EXTRA", -SP_E_TRUNCATED}};

	test_batch(fake, files, sizeof(files) / sizeof(files[0]), 10);
	test_batch(fake, extra, 1, 10);
}

static void test_hangs(const char *fake)
{
	static const struct expected alone[] = {{"HANG", -ETIME}};
	static const struct expected files[] = {{"FINE", 0}, {"SPIN", -ETIME}, {"FINE", 0}};

	test_batch(fake, alone, 1, 8);
	test_batch(fake, files, 3, 16);
}

/* More files than fit one batch, with a culprit in each. */
static void test_many(const char *fake)
{
	static struct expected files[400];

	for (size_t i = 0; i < 400; i++)
		files[i] = i % 100 == 50 ? (struct expected){"DIE", -EPROTO}
					 : (struct expected){"FINE", 0};
	test_batch(fake, files, 400, 30);
}

static void test_stop(const char *fake)
{
	struct sp_elfscan *scan = NULL;
	int fds[3] = {file_of("FINE"), file_of("FINE"), file_of("FINE")};
	struct seen seen = {.fds = fds, .stop_at = 2};
	struct sp_error err = {0};

	CHECK(sp_elfscan_new(fake, &scan, &err) == 0, "%s", err.text);
	CHECK(sp_elfscan_run(scan, fds, 3, on_event, &seen, &err) == -ECANCELED, "not stopped");
	CHECK(seen.images[1] == 1 && !seen.sites[1] && !seen.images[2], "it went on");
	/* It can be used again; a descriptor that is none has a result of its own. */
	close(fds[1]);
	memset(&seen, 0, sizeof(seen));
	seen.fds = fds;
	CHECK(sp_elfscan_run(scan, fds, 3, on_event, &seen, &err) == 0, "%s", err.text);
	CHECK(seen.errors[1] == -EBADF && seen.sites[0] == 1 && seen.sites[2] == 1, "%d %d %d",
	      seen.errors[1], seen.sites[0], seen.sites[2]);
	CHECK(sp_elfscan_run(scan, fds, 0, on_event, &seen, &err) == 0, "no files: %s", err.text);
	sp_elfscan_free(scan);
	close(fds[0]);
	close(fds[2]);
}

/* The real helper on what is no ELF file, and the cost of a batch. */
static void test_real(const char *helper)
{
	struct sp_elfscan *scan = NULL;
	struct sp_error err = {0};
	int fds[5] = {file_of(""), file_of("#!/bin/sh\n"), file_of("\177ELF"), -1, -1};
	struct seen seen = {.fds = fds};
	static const int errors[] = {-ENOEXEC, -ENOEXEC, -ENOEXEC, -ENOEXEC, 0};
	double start;

	fds[3] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	fds[4] = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK(sp_elfscan_new(helper, &scan, &err) == 0, "%s", err.text);
	start = seconds();
	CHECK(sp_elfscan_run(scan, fds, 5, on_event, &seen, &err) == 0, "%s", err.text);
	printf("a batch of 5 took %.2f ms\n", (seconds() - start) * 1e3);
	for (int i = 0; i < 5; i++) {
		CHECK(seen.images[i] == 1 && seen.errors[i] == errors[i], "file %d: %d", i,
		      seen.errors[i]);
		close(fds[i]);
	}
	sp_elfscan_free(scan);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	test_lies(argv[2]);
	test_hangs(argv[2]);
	test_many(argv[2]);
	test_stop(argv[2]);
	test_real(argv[1]);
	return check_done();
}
