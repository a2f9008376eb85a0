/* SPDX-License-Identifier: BSD-2-Clause
 *
 * output_test.c - a recording's directory where descriptors run out: what could not be used is not
 * left behind, however many were left.
 */
#include "loader/output.h"
#include "tests/loader/check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT 40

static const struct sp_identity myself; /* "changed" is false: nobody else is acted for */

static bool exists(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0;
}

/* Uses up all descriptors but so many. */
static void leave(int left)
{
	int fd, last[8];

	while ((fd = open("/dev/null", O_RDONLY)) >= 0) {
		memmove(last + 1, last, sizeof(last) - sizeof(last[0]));
		last[0] = fd;
	}
	for (int i = 0; i < left; i++)
		close(last[i]);
}

static void test_make(const char *wanted, const char *name)
{
	int made = 0;

	for (int left = 0; left < 8; left++) {
		struct sp_output out = SP_OUTPUT_NONE;
		int fd = -1, r;

		closefrom(3);
		leave(left);
		r = sp_output_make(wanted, "program", &myself, &out, &fd);
		CHECK((r == 0) == exists(name), "%s, %d descriptors: %d", name, left, r);
		if (r == 0) {
			made++;
			leave(0);
			sp_output_discard(&out, &myself);
			CHECK(!exists(name), "%s is left behind, %d descriptors", name, left);
			sp_output_clear(&out);
		}
		(void)rmdir(name);
	}
	CHECK(made && made < 8, "made %d times of 8", made);
}

/* Of a directory that was there, nothing is taken away. */
static void test_given(void)
{
	struct sp_output out = SP_OUTPUT_NONE;
	int fd = -1;

	closefrom(3);
	CHECK(mkdir("given", 0700) == 0, "mkdir");
	CHECK(sp_output_make("given", "program", &myself, &out, &fd) == 0, "not made");
	sp_output_discard(&out, &myself);
	sp_output_clear(&out);
	CHECK(exists("given") && !exists("given/" SP_OUTPUT_JOURNAL), "the empty directory");
	close(fd);
	fd = open("given/" SP_OUTPUT_JOURNAL, O_CREAT | O_WRONLY, 0600);
	CHECK(fd >= 0, "open");
	CHECK(sp_output_make("given", "program", &myself, &out, &fd) < 0, "made where one is");
	CHECK(exists("given/" SP_OUTPUT_JOURNAL), "an earlier recording is gone");
	(void)unlink("given/" SP_OUTPUT_JOURNAL);
	(void)rmdir("given");
}

int main(void)
{
	const struct rlimit few = {LIMIT, LIMIT};
	char work[] = "/tmp/output_test_XXXXXX";

	if (!mkdtemp(work) || chdir(work) < 0 || setrlimit(RLIMIT_NOFILE, &few) < 0) {
		perror(work);
		return 1;
	}
	test_make("wanted", "wanted");
	test_make(NULL, "program.sp");
	test_given();
	(void)rmdir(work);
	return check_done();
}
