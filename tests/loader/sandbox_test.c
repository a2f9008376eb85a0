/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sandbox_test.c - sandbox_test CAPTIVE: what a helper starts with, and what it cannot do.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "tests/loader/check.h"

static int helper;
static int file; /* handed over */

/* Runs the captive; what it prints goes to @out. Returns its status. */
static int run(struct sp_sandbox *box, const char *what, char *out, size_t room)
{
	const char *const argv[] = {"captive", what, NULL};
	struct sp_error err = {0};
	int ends[2], status = -1;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		abort();
	box->argv = argv;
	box->fds = &file;
	box->fd_count = 1;
	box->in = box->err = -1;
	box->out = ends[1];
	if (sp_sandbox_spawn(helper, box, &pid, &err) < 0) {
		CHECK(false, "%s: %s", what, err.text);
		return -1;
	}
	close(ends[1]);
	while (used < room - 1 && (n = read(ends[0], out + used, room - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = 0;
	close(ends[0]);
	sp_sandbox_wait(pid, false, &status);
	return status;
}

static struct sp_sandbox strict(void)
{
	return (struct sp_sandbox){.uid = SP_SANDBOX_NOBODY,
				   .gid = SP_SANDBOX_NOBODY,
				   .cpu_seconds = 1,
				   .memory_bytes = 256u << 20,
				   .no_files = true,
				   .own_group = true,
				   .directory = "/"};
}

static void check_line(const char *state, const char *line)
{
	const char *at = strstr(state, line);

	CHECK(at && (at == state || at[-1] == '\n'), "no line \"%s\" in:\n%s", line, state);
}

static void test_state(void)
{
	static const char *const always[] = {"CapInh:\t0000000000000000\n",
					     "CapPrm:\t0000000000000000\n",
					     "CapEff:\t0000000000000000\n",
					     "CapAmb:\t0000000000000000\n",
					     "NoNewPrivs:\t1\n",
					     "SigBlk:\t0000000000000000\n",
					     "SigIgn:\t0000000000000000\n",
					     "memory 268435456\n",
					     "cpu 1\n",
					     "core 0\n",
					     "fsize 0\n",
					     "environment empty\n",
					     "directory /\n",
					     "own group 1\n",
					     "death signal 9\n",
					     "descriptor 3\n"};
	static const char *const as_root[] = {"Uid:\t65534\t65534\t65534\t65534\n",
					      "Gid:\t65534\t65534\t65534\t65534\n", "Groups:\t \n",
					      "CapBnd:\t0000000000000000\n"};
	struct sp_sandbox box = strict();
	char state[4096];
	sigset_t some;
	int secret = open("/dev/null", O_RDONLY); /* inheritable by mistake */

	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigprocmask(SIG_BLOCK, &some, NULL);
	signal(SIGPIPE, SIG_IGN);
	CHECK(run(&box, "state", state, sizeof(state)) == 0, "state");
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		check_line(state, always[i]);
	for (size_t i = 0; geteuid() == 0 && i < sizeof(as_root) / sizeof(as_root[0]); i++)
		check_line(state, as_root[i]);
	CHECK(!strstr(state, "descriptor 4") && !strstr(state, "descriptor 5"),
	      "more descriptors than were handed over:\n%s", state);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_UNBLOCK, &some, NULL);
	close(secret);
}

static void test_lock(void)
{
	static const char *const forbidden[] = {
		"open",	     "create",	  "socket",   "fork",	    "exec", "kill", "ptrace",
		"mmap-exec", "mmap-file", "mprotect", "write-file", "stat", "dup"};
	struct sp_sandbox box = strict();
	char out[64];

	CHECK(run(&box, "allowed", out, sizeof(out)) == 0, "a helper cannot do its work");
	CHECK(out[0] == 'H' && out[1] == 0, "it read and wrote \"%s\"", out);
	for (size_t i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		int status = run(&box, forbidden[i], out, sizeof(out));

		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS, "%s: status %#x",
		      forbidden[i], status);
	}
}

static void test_limits(void)
{
	struct sp_sandbox box = strict();
	char out[64];
	int status = run(&box, "spin", out, sizeof(out));

	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU, "an endless loop: status %#x",
	      status);
	CHECK(run(&box, "memory", out, sizeof(out)) == 0, "it got more memory than its limit");
}

static void test_user(void)
{
	static const gid_t groups[] = {12, 34};
	struct sp_sandbox box = {.uid = 1234, .gid = 5678, .groups = groups, .group_count = 2};
	char state[4096];
	static const char *const env[] = {"A=b", NULL};

	if (geteuid())
		return;
	box.env = env;
	CHECK(run(&box, "state", state, sizeof(state)) == 0, "state");
	check_line(state, "Uid:\t1234\t1234\t1234\t1234\n");
	check_line(state, "Gid:\t5678\t5678\t5678\t5678\n");
	check_line(state, "Groups:\t12 34 \n");
	check_line(state, "environment A=b\n");
}

static void test_kill(void)
{
	const char *const argv[] = {"captive", "sleep", NULL};
	struct sp_sandbox box = strict();
	struct sp_error err = {0};
	char text[80];
	int status = 0;
	pid_t pid = 0;

	box.argv = argv;
	box.in = box.out = box.err = -1;
	CHECK(sp_sandbox_spawn(helper, &box, &pid, &err) == 0, "%s", err.text);
	CHECK(sp_sandbox_wait(pid, true, &status) == 0 && WIFSIGNALED(status), "status %#x",
	      status);
	sp_sandbox_status_text(status, text, sizeof(text));
	CHECK(strstr(text, "killed by signal 9"), "%s", text);
	CHECK(sp_sandbox_wait(pid, false, &status) == -ECHILD, "it can be waited for twice");
}

/* What cannot be started says why, and leaves nothing behind. */
static void test_failures(const char *captive)
{
	const char *const argv[] = {"captive", NULL};
	struct sp_sandbox box = strict();
	struct sp_error err = {0};
	char path[] = "/tmp/sp-sandbox-XXXXXX";
	int bad = 999, fd = -1, text = mkstemp(path);
	pid_t pid = -7;

	CHECK(sp_sandbox_open_path("/nowhere/captive", &fd, &err) == -ENOENT && fd == -1, "opened");
	CHECK(strstr(err.text, "/nowhere/captive"), "%s", err.text);
	CHECK(sp_sandbox_open("no-such-helper", &fd, &err) == -ENOENT && fd == -1, "opened");
	CHECK(strstr(err.text, "no-such-helper"), "%s", err.text);
	box.argv = argv;
	box.in = box.out = box.err = -1;
	box.fds = &bad;
	box.fd_count = 1;
	CHECK(sp_sandbox_spawn(helper, &box, &pid, &err) == -EBADF, "%s", err.text);
	CHECK(strstr(err.text, "descriptors"), "%s", err.text);
	box.fd_count = 0;
	box.directory = "/nowhere";
	CHECK(sp_sandbox_spawn(helper, &box, &pid, &err) == -ENOENT, "%s", err.text);
	box.directory = "/";
	CHECK(sp_sandbox_open_path(path, &fd, &err) == 0, "%s", err.text);
	CHECK(sp_sandbox_spawn(fd, &box, &pid, &err) == -EACCES, "%s", err.text);
	CHECK(strstr(err.text, "chmod"), "%s", err.text);
	CHECK(pid == -7, "the pid was set");
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child was left behind");
	close(text);
	close(fd);
	unlink(path);
	(void)captive;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/sp-sandbox-XXXXXX";
	struct sp_error err = {0};

	if (argc != 2 || sp_sandbox_open_path(argv[1], &helper, &err) < 0) {
		fprintf(stderr, "sandbox_test CAPTIVE: %s\n", err.text);
		return 2;
	}
	file = mkstemp(path);
	if (file < 0 || write(file, "Hello", 5) != 5)
		return 2;
	unlink(path);
	test_state();
	test_lock();
	test_limits();
	test_user();
	test_kill();
	test_failures(argv[1]);
	return check_done();
}
