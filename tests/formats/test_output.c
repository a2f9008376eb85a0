// SPDX-License-Identifier: BSD-2-Clause
/*
 * test_output.c - files that appear complete or not at all, and what killed writers leave.
 *
 *	test_output WORK_DIR
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "formats/directory.h"
#include "formats/output.h"
#include "tests/formats/check.h"

static const char *work;
static struct sp_error error;

/* Entries of the work directory that are somebody's temporary files, it seems. */
static unsigned int count_temporaries(void)
{
	DIR *directory = opendir(work);
	const struct dirent *entry;
	unsigned int n = 0;

	while ((entry = readdir(directory)))
		n += entry->d_name[0] == '.' && strstr(entry->d_name, ".tmp") != NULL;
	closedir(directory);
	return n;
}

static bool there(const char *name)
{
	struct stat st;

	return !lstat(check_path(work, name), &st);
}

/* A child that opens an output of @name and lives until it is killed. */
static pid_t start_writer(const char *name)
{
	int ready[2];
	pid_t child;
	char byte;

	CHECK(!pipe(ready));
	child = fork();
	if (!child) {
		struct sp_output *output;

		MUST(sp_output_open(check_path(work, name), SP_OUTPUT_NO_SYNC, &output, &error));
		MUST(sp_output_write(output, 0, "half", 4, &error));
		CHECK_INT(write(ready[1], "x", 1), 1);
		pause();
		exit(0);
	}
	close(ready[1]);
	CHECK_INT(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void kill_writer(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
}

static void write_output(const char *name)
{
	struct sp_output *output;

	MUST(sp_output_open(check_path(work, name), SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC, &output,
			    &error));
	MUST(sp_output_write(output, 0, "whole", 5, &error));
	MUST(sp_output_commit(output, &error));
	sp_output_free(output);
}

static void test_leftovers(void)
{
	pid_t dead = start_writer("a.h5"), other = start_writer("b.h5"), alive;

	kill_writer(dead);
	kill_writer(other);
	alive = start_writer("a.h5");
	/* The living one has removed what the dead one left, and not what is of another name. */
	CHECK_INT(count_temporaries(), 2);
	write_output("a.h5");
	CHECK_INT(count_temporaries(), 2);
	kill_writer(alive);
	write_output("a.h5");
	CHECK_INT(count_temporaries(), 1);
	write_output("b.h5");
	CHECK_INT(count_temporaries(), 0);
}

/* What only looks like a leftover stays. */
static void test_not_ours(void)
{
	static const char *const names[] = {
		".a.h5.tmp0123456",  ".a.h5.tmp012345678", ".a.h5.tmp0123456g",
		".a.h5.tmp0123456X", "a.h5.tmp01234567",   ".aa.h5.tmp01234567",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_write_file(check_path(work, names[i]), "x", 1);
	check_write_file(check_path(work, "precious"), "x", 1);
	check_write_file(check_path(work, "precious too"), "x", 1);
	CHECK(!symlink("precious", check_path(work, ".a.h5.tmp00000001")));
	CHECK(!link(check_path(work, "precious too"), check_path(work, ".a.h5.tmp00000002")));
	CHECK(!mkfifo(check_path(work, ".a.h5.tmp00000003"), 0600));
	CHECK(!mkdir(check_path(work, ".a.h5.tmp00000004"), 0700));
	check_write_file(check_path(work, ".a.h5.tmp00000005"), "x", 1);
	if (!geteuid())
		CHECK(!chown(check_path(work, ".a.h5.tmp00000005"), 12345, 12345));
	check_write_file(check_path(work, ".a.h5.tmp00000006"), "x", 1);
	write_output("a.h5");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(there(names[i]));
	CHECK(there("precious") && there("precious too"));
	CHECK(there(".a.h5.tmp00000001") && there(".a.h5.tmp00000002"));
	CHECK(there(".a.h5.tmp00000003") && there(".a.h5.tmp00000004"));
	CHECK(there(".a.h5.tmp00000005") == !geteuid());
	CHECK(!there(".a.h5.tmp00000006"));
}

/* Only regular files are replaced: neither a device nor a link to one. */
static void test_not_replaced(void)
{
	struct sp_output *output = NULL;

	CHECK(!mkfifo(check_path(work, "fifo"), 0600));
	CHECK(!symlink("fifo", check_path(work, "link")));
	CHECK(!mkdir(check_path(work, "folder"), 0700));
	CHECK_INT(sp_output_open(check_path(work, "fifo"), SP_OUTPUT_REPLACE, &output, &error),
		  -EEXIST);
	CHECK(strstr(error.text, "not a regular file"));
	CHECK_INT(sp_output_open(check_path(work, "link"), SP_OUTPUT_REPLACE, &output, &error),
		  -EEXIST);
	CHECK_INT(sp_output_open(check_path(work, "folder"), SP_OUTPUT_REPLACE, &output, &error),
		  -EISDIR);
	CHECK(!output);
	CHECK_INT(count_temporaries(), 0);
}

/* Where a link leads is its owner's choice, which root does not leave to others. */
static void test_foreign_links(void)
{
	struct sp_output *output = NULL;

	if (geteuid() != 0)
		return;
	CHECK(!mkdir(check_path(work, "real"), 0700));
	CHECK(!symlink("real", check_path(work, "theirs")));
	CHECK(!lchown(check_path(work, "theirs"), 65533, 65533));
	CHECK(!symlink("./real/", check_path(work, "ours")));
	CHECK(!symlink("theirs/..", check_path(work, "both")));
	CHECK(!symlink("round", check_path(work, "round")));
	CHECK_INT(sp_output_open(check_path(work, "theirs/a.h5"), 0, &output, &error), -ELOOP);
	CHECK(strstr(error.text, "symbolic link of another user"));
	CHECK_INT(sp_output_open(check_path(work, "both/real/a.h5"), 0, &output, &error), -ELOOP);
	CHECK_INT(sp_output_open(check_path(work, "round/a.h5"), 0, &output, &error), -ELOOP);
	CHECK_INT(sp_output_open(check_path(work, "none/a.h5"), 0, &output, &error), -ENOENT);
	CHECK_INT(sp_output_open(check_path(work, "crowd.h5/a.h5"), 0, &output, &error), -ENOTDIR);
	CHECK_INT(sp_directory_make(check_path(work, "theirs/a")), -ELOOP);
	CHECK_INT(sp_directory_make(check_path(work, "theirs")), -EEXIST);
	CHECK_INT(sp_directory_make("/"), -EEXIST);
	CHECK_INT(sp_directory_make(""), -ENOENT);
	CHECK(!there("real/a") && !there("real/a.h5"));
	CHECK_INT(sp_directory_make(check_path(work, "ours//a//")), 0);
	CHECK(there("real/a"));
	CHECK_INT(sp_directory_unlink(check_path(work, "theirs/a")), -ELOOP);
	CHECK_INT(sp_directory_remove(check_path(work, "ours/../real/a")), 0);
	CHECK_INT(sp_output_open(check_path(work, "ours/a.h5"), 0, &output, &error), 0);
	sp_output_free(output);
	CHECK(!rmdir(check_path(work, "real")));
}

/* Many writers of one name at once: one file, none of them fails, nothing is left. */
static void test_crowd(void)
{
	enum { WRITERS = 16, ROUNDS = 50 };
	int status;

	for (int i = 0; i < WRITERS; i++) {
		if (fork())
			continue;
		for (int k = 0; k < ROUNDS; k++)
			write_output("crowd.h5");
		exit(check_failed != 0);
	}
	for (int i = 0; i < WRITERS; i++)
		CHECK(wait(&status) > 0 && status == 0);
	CHECK(there("crowd.h5"));
}

static void clean(void)
{
	DIR *directory;
	const struct dirent *entry;

	unlink(check_path(work, "real/a.h5")); /* of one that failed */
	rmdir(check_path(work, "real/a"));
	directory = opendir(work);
	while (directory && (entry = readdir(directory)))
		if (unlinkat(dirfd(directory), entry->d_name, 0))
			unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR);
	if (directory)
		closedir(directory);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	work = argv[1];
	mkdir(work, 0777);
	clean();
	test_leftovers();
	test_crowd();
	CHECK_INT(count_temporaries(), 0);
	test_not_replaced();
	test_foreign_links();
	test_not_ours();
	clean();
	return check_end();
}
