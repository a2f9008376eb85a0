/* SPDX-License-Identifier: BSD-2-Clause
 *
 * confine_test.c - a child that reads what nobody vouches for can read, answer and end, and no
 * more.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/check.h"
#include "userspace/base/confine.h"

#define STRANGER 65533u

static char directory[] = "/tmp/sp-confine-XXXXXX";
static char secret[64], readable[64], made[64];

/* Each is told to the parent by name; its own words go nowhere. */
static int out;

static void want(bool right, const char *what)
{
	char line[128];
	int n = snprintf(line, sizeof(line), "%c %s\n", right ? 'y' : 'n', what);

	(void)!write(out, line, (size_t)n);
}

static bool is_refused(long result)
{
	return result < 0 && (errno == EPERM || errno == EACCES);
}

static void try_all(const struct sp_user *user, bool secret_too)
{
	char *const argv[] = {"true", NULL};
	struct rlimit limit = {0, 0};
	void *page;
	int fd = open(readable, O_RDONLY | O_CLOEXEC);
	char byte;

	want(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'r', "reads a file");
	page = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	want(page != MAP_FAILED && *(char *)page == 'r', "maps a file");
	free(malloc(10 << 20));
	want((open(secret, O_RDONLY | O_CLOEXEC) >= 0) == secret_too, "another user's file");
	want(geteuid() != 0 || user->uid == 0, "is not root");
	if (user->uid != 0)
		want(setuid(0) < 0 || geteuid() != 0, "becomes root");
#ifndef __SANITIZE_ADDRESS__
	want(is_refused(open(readable, O_RDWR | O_CLOEXEC)), "opens for writing");
	want(is_refused(open(made, O_RDONLY | O_CREAT | O_CLOEXEC, 0600)), "makes a file");
	want(is_refused(unlink(readable)), "removes a file");
	want(is_refused(chmod(readable, 0777)), "changes a file's mode");
	want(is_refused(socket(AF_INET, SOCK_STREAM, 0)), "opens a socket");
	want(is_refused(socket(AF_UNIX, SOCK_STREAM, 0)), "opens a local socket");
	want(is_refused(kill(getppid(), 0)), "signals its parent");
	want(getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur == limit.rlim_max &&
		     limit.rlim_cur != RLIM_INFINITY,
	     "knows its limit of memory");
	limit.rlim_max++;
	want(is_refused(setrlimit(RLIMIT_DATA, &limit)), "raises its limit of memory");
	want(is_refused(prlimit(getppid(), RLIMIT_DATA, NULL, &limit)),
	     "reads its parent's limits");
	want(is_refused(ptrace(PTRACE_ATTACH, getppid(), 0, 0)), "traces its parent");
	want(is_refused(fork()), "forks");
	want(mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED,
	     "maps code");
	want(is_refused(mprotect(page, 1, PROT_READ | PROT_EXEC)), "makes code");
	want(is_refused(execv("/bin/true", argv)), "runs a program");
#endif
}

static void test(const struct sp_user *user, bool secret_too)
{
	char answers[4096] = "", *line, *rest;
	size_t used = 0;
	pid_t parent = getpid(), child;
	int ends[2], status;
	ssize_t n;

	CHECK(pipe2(ends, O_CLOEXEC) == 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		out = ends[1];
		sp_confine_child(parent, 1, user);
		try_all(user, secret_too);
		_exit(0);
	}
	close(ends[1]);
	while (used < sizeof(answers) - 1 &&
	       (n = read(ends[0], answers + used, sizeof(answers) - 1 - used)) > 0)
		used += (size_t)n;
	close(ends[0]);
	CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	CHECK(strstr(answers, "reads a file"));
	rest = answers;
	while ((line = strsep(&rest, "\n")) && *line) {
		if (*line != 'y')
			fprintf(stderr, "as user %u, not as it should be: %s\n",
				(unsigned)user->uid, line + 2);
		CHECK(*line == 'y');
	}
}

static void make(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, 1) != 1 || fchmod(fd, mode))
		abort();
	close(fd);
}

int main(void)
{
	const struct sp_user self = {.uid = getuid(), .gid = getgid(), .known = true};
	const struct sp_user stranger = {.uid = STRANGER, .gid = STRANGER, .known = true};
	const struct sp_user nobody = {.uid = SP_USER_NOBODY, .gid = SP_USER_NOBODY};

	if (!mkdtemp(directory) || chmod(directory, 0755))
		return 2;
	snprintf(secret, sizeof(secret), "%s/secret", directory);
	snprintf(readable, sizeof(readable), "%s/readable", directory);
	snprintf(made, sizeof(made), "%s/made", directory);
	make(secret, "s", 0600);
	make(readable, "r", 0644);
	test(&self, true);
	if (geteuid() == 0) {
		test(&stranger, false);
		test(&nobody, false);
		CHECK(chown(secret, STRANGER, STRANGER) == 0);
		test(&stranger, true);
		test(&self, true); /* root still reads, and that alone */
	} else {
		fprintf(stderr, "not root: what root gives up is not tried\n");
	}
	CHECK(access(readable, R_OK) == 0 && access(made, F_OK) < 0);
	unlink(secret);
	unlink(readable);
	rmdir(directory);
	return check_result();
}
