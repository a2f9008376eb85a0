// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_guard.c - HDF5 read in a child: the same content in whatever order, and every way to die.
 *
 *	test_guard GOLDEN_DIR WORK_DIR
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "formats/profile_guard.h"
#include "formats/profile_guard_internal.h"
#include "tests/formats/guard_files.h"

static const char *golden, *work;

/* What the child does instead of, or before, answering the request that @trigger names. */
static struct {
	uint32_t trigger;
	enum { NOTHING, CRASH, HANG, SLEEP, GROW, EXIT, BABBLE, KILL, LIE } act;
} plan;

void sp_guard_test_hook(const struct sp_guard_request *request);

void sp_guard_test_hook(const struct sp_guard_request *request)
{
	static const char babble[4096] = {1, 2, 3};
	volatile uint64_t spins = 0;

	if (request->op != plan.trigger)
		return;
	switch (plan.act) {
	case NOTHING:
		break;
	case CRASH:
		signal(SIGSEGV, SIG_DFL);
		raise(SIGSEGV);
		break;
	case HANG:
		for (;;)
			spins++;
	case SLEEP:
		for (;;)
			pause();
	case GROW:
		for (size_t size = 1 << 24; size >= 1024; size /= 2)
			while (malloc(size))
				spins++;
		break;
	case EXIT:
		_exit(5);
	case KILL:
		raise(SIGKILL);
		break;
	case BABBLE:
		send(3, babble, sizeof(babble), 0);
		break;
	case LIE: { /* a good reply, with a table of 2^60 rows */
		struct sp_guard_reply reply = {0};
		uint64_t n = (uint64_t)1 << 60;

		send(3, &reply, sizeof(reply), 0);
		send(3, &n, sizeof(n), 0);
	}
	}
}

static unsigned int count_entries(const char *path)
{
	DIR *directory = opendir(path);
	unsigned int n = 0;

	while (directory && readdir(directory))
		n++;
	if (directory)
		closedir(directory);
	return n;
}

static unsigned int count_children(void)
{
	FILE *file = fopen("/proc/thread-self/children", "r");
	unsigned int n = 0;
	int pid;

	while (file && fscanf(file, "%d", &pid) == 1)
		n++;
	if (file)
		fclose(file);
	return n;
}

static char *text_of(struct sp_profile *profile, size_t step)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	MUST(print_profile(out, profile, step));
	fclose(out);
	return text;
}

static char *text_of_path(const char *path, bool guarded, size_t step)
{
	struct sp_profile *profile;
	char *text;

	MUST(guarded ? sp_profile_open_guarded(path, NULL, &profile, &error)
		     : sp_profile_open(path, &profile, &error));
	text = text_of(profile, step);
	sp_profile_free(profile);
	return text;
}

static void compare(const char *path)
{
	static const size_t steps[] = {1, 97, 70000};
	char *should = text_of_path(path, false, 1000);

	for (size_t i = 0; i < 3; i++) {
		char *is = text_of_path(path, true, steps[i]);

		check_that(__FILE__, __LINE__, !strcmp(is, should), "%s differs, read by %zu", path,
			   steps[i]);
		free(is);
	}
	CHECK(strlen(should) > 100);
	free(should);
}

/* Any part of any row, in any order. */
static void test_random(const char *path)
{
	enum { MOST = 5000 };
	static int64_t start[MOST], end[MOST], id[MOST];
	struct sp_profile *profile;
	uint64_t state = 1, wrong = 0;

	MUST(sp_profile_open_guarded(path, NULL, &profile, &error));
	for (int i = 0; i < 1000; i++) {
		uint32_t row = 0;
		uint64_t first, total;
		size_t n;

		state = state * 6364136223846793005u + 1442695040888963407u;
		if (state >> 63)
			row = (uint32_t)(state >> 40) % sp_profile_info(profile)->n_rows;
		total = sp_profile_row(profile, row)->stats.calls;
		if (!total)
			continue;
		first = (state >> 20) % total;
		n = (state >> 10) % MOST;
		if (n > total - first)
			n = (size_t)(total - first);
		/* Twice in a row, so that it looks like reading forward. */
		for (int half = 0; half < 2; half++) {
			size_t at = half ? n / 2 : 0, some = half ? n - n / 2 : n / 2;

			MUST(sp_profile_read_calls(profile, row, first + at, some,
						   &(struct sp_calls){.start = start + at,
								      .end = end + at,
								      .id = id + at},
						   &error));
		}
		for (size_t k = 0; k < n; k++) {
			uint64_t number = (uint64_t)id[k];

			wrong += number != (uint64_t)id[0] + k ||
				 start[k] != start_of(row, number) ||
				 end[k] != start[k] + (int64_t)(number % 13);
		}
	}
	CHECK_INT(wrong, 0);
	CHECK_INT(
		sp_profile_read_calls(profile, 1, 0, 1, &(struct sp_calls){.start = start}, &error),
		-EINVAL);
	sp_profile_free(profile);
}

static void test_many(const char *path)
{
	enum { FILES = 50 };
	struct sp_profile *profiles[FILES];
	unsigned int descriptors = count_entries("/proc/self/fd");
	char *should = text_of_path(path, false, 1000);

	for (int i = 0; i < FILES; i++)
		MUST(sp_profile_open_guarded(path, NULL, &profiles[i], &error));
	CHECK_INT(count_children(), SP_GUARD_MAX_CHILDREN);
	for (int i = 0; i < FILES; i++) {
		int64_t start;

		MUST(sp_profile_read_calls(profiles[i * 7 % FILES], 0, 5, 1,
					   &(struct sp_calls){.start = &start}, &error));
		CHECK_INT(start, start_of(0, 5));
	}
	for (int i = 0; i < FILES; i += 5) {
		char *is = text_of(profiles[i], 1000);

		CHECK(!strcmp(is, should));
		free(is);
	}
	CHECK_INT(count_children(), SP_GUARD_MAX_CHILDREN);
	for (int i = 0; i < FILES; i++)
		sp_profile_free(profiles[i]);
	free(should);
	CHECK_INT(count_children(), 0);
	CHECK_INT(count_entries("/proc/self/fd"), descriptors);
}

static void test_changed(void)
{
	struct sp_profile *profiles[SP_GUARD_MAX_CHILDREN + 1];
	const char *path = check_path(work, "changed.h5"), *other = check_path(work, "other.h5");
	const struct sp_thread_row *threads;
	int64_t start;
	size_t n;

	write_everything(path, 2, 10, 0);
	write_everything(other, 2, 10, 0);
	MUST(sp_profile_open_guarded(path, NULL, &profiles[0], &error));
	for (int i = 1; i <= SP_GUARD_MAX_CHILDREN; i++)
		MUST(sp_profile_open_guarded(other, NULL, &profiles[i], &error));
	write_everything(path, 2, 10, 0);
	/* What is small was received before the child was ended. */
	MUST(sp_profile_threads(profiles[0], &threads, &n, &error));
	CHECK_INT(n, 2);
	CHECK_INT(sp_profile_read_calls(profiles[0], 0, 0, 1, &(struct sp_calls){.start = &start},
					&error),
		  -ESTALE);
	CHECK_TEXT(error.text, "has changed while it was read; read it again");
	unlink(path);
	CHECK_INT(sp_profile_read_calls(profiles[0], 0, 0, 1, &(struct sp_calls){.start = &start},
					&error),
		  -ENOENT);
	for (int i = 0; i <= SP_GUARD_MAX_CHILDREN; i++)
		sp_profile_free(profiles[i]);
}

/* ---- deaths ---- */

static const struct {
	int act;
	uint32_t trigger;
	const char *text;
} deaths[] = {
	{CRASH, SP_GUARD_OPEN,
	 "libhdf5 crashed on it (SIGSEGV while opening it): the file is damaged"},
	{CRASH, SP_GUARD_CALLS,
	 "libhdf5 crashed on it (SIGSEGV while reading the calls of region \"region/0 \303\251\" "
	 "on "
	 "rank 0): the file is damaged"},
	{CRASH, SP_GUARD_SAMPLES,
	 "libhdf5 crashed on it (SIGSEGV while reading samples): the file is damaged"},
	{CRASH, SP_GUARD_TABLE,
	 "libhdf5 crashed on it (SIGSEGV while reading its table of thread rows): the file is "
	 "damaged"},
	{CRASH, SP_GUARD_EXTRAS,
	 "libhdf5 crashed on it (SIGSEGV while reading what else its ranks have): the file is "
	 "damaged"},
	{HANG, SP_GUARD_CALLS,
	 "libhdf5 took more than 1 s of CPU time while reading the calls of region \"region/0 "
	 "\303\251\" on rank 0: the file is damaged"},
	{SLEEP, SP_GUARD_METADATA,
	 "nothing came for 4 s while reading its metadata: the file is damaged, or where it is "
	 "stored does not answer"},
	{EXIT, SP_GUARD_META, "the process that was reading /sp_trace/meta ended with status 5"},
	{KILL, SP_GUARD_SAMPLES,
	 "the process that was reading samples was ended by SIGKILL from outside; try again"},
	{BABBLE, SP_GUARD_OPEN, "libhdf5 overwrote memory while opening it: the file is damaged"},
	{BABBLE, SP_GUARD_FRAMES,
	 "libhdf5 overwrote memory while reading the frames of stacks: the file is damaged"},
	{LIE, SP_GUARD_TABLE,
	 "needs more than 1024 MiB of memory while reading its table of thread rows"},
	{GROW, SP_GUARD_SAMPLES, "needs more than 1024 MiB of memory while "},
};

static void test_death(const char *path, size_t i)
{
	const struct sp_guard_limits limits = {.cpu_seconds = 1};
	struct sp_profile *profile = NULL;
	FILE *out = fopen("/dev/null", "w");
	struct sp_error first;
	int r;

	plan.act = deaths[i].act;
	plan.trigger = deaths[i].trigger;
	r = sp_profile_open_guarded(path, &limits, &profile, &error);
	CHECK_INT(r, plan.trigger == SP_GUARD_OPEN ? -SP_E_DAMAGED : 0);
	if (!r)
		r = print_profile(out, profile, 1000);
	CHECK_INT(r, -SP_E_DAMAGED);
	check_that(__FILE__, __LINE__, !strncmp(error.text, deaths[i].text, strlen(deaths[i].text)),
		   "death %zu: \"%s\"", i, error.text);
	first = error;
	plan.act = NOTHING;
	/* The dead stay dead: no second wait. */
	if (profile && plan.trigger != SP_GUARD_TABLE && deaths[i].act != GROW) {
		CHECK_INT(print_calls(out, profile, 1000), -SP_E_DAMAGED);
		CHECK_TEXT(error.text, first.text);
	}
	sp_profile_free(profile);
	fclose(out);
	CHECK_INT(count_children(), 0);
	CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
}

/* Damaged files on which libhdf5 1.10.8 really dies: bits of a golden file, each flipped alone. */
static void test_real_damage(void)
{
	static const struct {
		size_t bit;
		const char *text;
	} bits[] = {
		{7791, "libhdf5 crashed on it (SIGSEGV while opening it): the file is damaged"},
		{16583, "libhdf5 took more than 1 s of CPU time while opening it"},
		{55741, "needs more than 1024 MiB of memory while opening it"},
	};
	const struct sp_guard_limits limits = {.cpu_seconds = 1};
	static unsigned char data[1 << 16];
	const char *damaged = check_path(work, "damaged.h5");
	char path[4096];
	size_t size;

	snprintf(path, sizeof(path), "%s/hdf5-schema-3.h5", golden);
	size = check_read_file(path, data, sizeof(data));
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		struct sp_profile *profile = NULL;
		unsigned int major, minor, release;
		int r;

#ifdef __SANITIZE_ADDRESS__
		if (i == 2) /* no limit of memory there */
			continue;
#endif
		data[bits[i].bit / 8] ^= (unsigned char)(1u << bits[i].bit % 8);
		check_write_file(damaged, data, size);
		data[bits[i].bit / 8] ^= (unsigned char)(1u << bits[i].bit % 8);
		r = sp_profile_open_guarded(damaged, &limits, &profile, &error);
		H5get_libversion(&major, &minor, &release);
		/* Another libhdf5 may say what is wrong with it, or not mind. */
		if (major == 1 && minor == 10 && release == 8) {
			bool as_told = r == -SP_E_DAMAGED && !strncmp(error.text, bits[i].text,
								      strlen(bits[i].text));

			/* The first makes it read what it did not write: what lies there is
			 * another build's own. */
			check_that(__FILE__, __LINE__, as_told || (!i && r < 0), "bit %zu: %d %s",
				   bits[i].bit, r, error.text);
		}
		sp_profile_free(profile);
	}
	unlink(damaged);
}

/* Calls of the first row that can be read, going forward; none if the file cannot be opened. */
static uint64_t count_good(const char *path, bool guarded, size_t step)
{
	int64_t *starts = calloc(step, sizeof(*starts));
	struct sp_profile *profile = NULL;
	uint64_t n = 0, at = 0;

	if (!(guarded ? sp_profile_open_guarded(path, NULL, &profile, &error)
		      : sp_profile_open(path, &profile, &error)))
		n = sp_profile_row(profile, 0)->stats.calls;
	while (at + step <= n &&
	       !sp_profile_read_calls(profile, 0, at, step, &(struct sp_calls){.start = starts},
				      &error))
		at += step;
	sp_profile_free(profile);
	free(starts);
	return at;
}

/* What is read ahead and cannot be read takes nothing from what was before it. */
static void test_damage_ahead(void)
{
	enum { PLACES = 200 };
	static const char noise[16] = {1, 0, 0, 1};
	const char *path = check_path(work, "ahead.h5");
	char kept[sizeof(noise)];
	uint64_t good = 0;
	struct stat st;
	int fd;

	write_everything(path, 1, 300000, 4);
	fd = open(path, O_RDWR);
	CHECK(fd >= 0 && !fstat(fd, &st));
	/* Until the place is in the starts, and neither in their first chunk nor elsewhere. */
	for (int i = 1; i < PLACES && (!good || good > 290000); i++) {
		off_t at = st.st_size / PLACES * i;

		if (i > 1)
			CHECK(pwrite(fd, kept, sizeof(kept), at - st.st_size / PLACES) > 0);
		CHECK(pread(fd, kept, sizeof(kept), at) == sizeof(kept));
		CHECK(pwrite(fd, noise, sizeof(noise), at) == sizeof(noise));
		good = count_good(path, false, 1000);
	}
	close(fd);
	printf("%" PRIu64 " calls before the damage\n", good);
	CHECK(good > 0 && good < 290000);
	for (size_t step = 10; step <= 10000; step *= 10) {
		struct sp_error direct;

		good = count_good(path, false, step);
		direct = error;
		check_that(__FILE__, __LINE__, count_good(path, true, step) == good,
			   "in steps of %zu, %" PRIu64 " calls can be read", step, good);
		CHECK_TEXT(error.text, direct.text);
	}
	unlink(path);
}

/* A process that forks leaves its parent's children alone, and gets its own. */
static void test_fork(const char *path)
{
	struct sp_profile *profile;
	char *should, *is;
	int status = 1;
	pid_t pid;

	MUST(sp_profile_open_guarded(path, NULL, &profile, &error));
	should = text_of(profile, 1000);
	pid = fork();
	if (!pid) {
		is = text_of(profile, 1000);
		status = strcmp(is, should);
		free(is);
		sp_profile_free(profile);
		_exit(status || count_children());
	}
	waitpid(pid, &status, 0);
	CHECK_INT(status, 0);
	CHECK_INT(count_children(), 1);
	is = text_of(profile, 1000);
	CHECK_TEXT(is, should);
	free(is);
	free(should);
	sp_profile_free(profile);
}

int main(int argc, char **argv)
{
	const char *small, *large, *packed;
	unsigned int descriptors;
	struct sp_profile *profile;
	char path[4096];

	if (argc != 3)
		return 2;
	golden = argv[1];
	work = argv[2];
	small = check_path(work, "small.h5");
	write_everything(small, 4, 40, 0);
	for (int schema = 1; schema <= 3; schema++) {
		snprintf(path, sizeof(path), "%s/hdf5-schema-%d.h5", golden, schema);
		compare(path);
	}
	compare(small);
	test_many(small);
	test_fork(small);
	descriptors = count_entries("/proc/self/fd");
	for (size_t i = 0; i < sizeof(deaths) / sizeof(deaths[0]); i++) {
#ifdef __SANITIZE_ADDRESS__
		if (deaths[i].act == GROW) /* no limit there: sanitizers map terabytes */
			continue;
#endif
		test_death(small, i);
	}
	CHECK_INT(count_entries("/proc/self/fd"), descriptors);
	plan.act = NOTHING;
	test_real_damage();
	test_damage_ahead();
	test_changed();
	large = check_path(work, "large.h5");
	write_everything(large, 5, 150000, 0);
	test_random(large);
	packed = check_path(work, "packed.h5");
	write_everything(packed, 300, 700, 1);
	compare(packed);
	test_random(packed);
	snprintf(path, sizeof(path), "%s/native-v2.spt", golden);
	MUST(sp_profile_open_guarded(path, NULL, &profile, &error));
	CHECK_INT(sp_profile_info(profile)->format, SP_FORMAT_SPT);
	CHECK_INT(count_children(), 0);
	sp_profile_free(profile);
	CHECK_INT(sp_profile_open_guarded(check_path(work, "none"), NULL, &profile, &error),
		  -ENOENT);
	unlink(small);
	unlink(large);
	unlink(packed);
	return check_end();
}
