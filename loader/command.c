/* SPDX-License-Identifier: BSD-2-Clause
 *
 * command.c - the child waits on a pipe that closes at exec, so that the parent learns how exec
 * went.
 */
#include "loader/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

struct sp_command {
	pid_t pid;
	int go, failed; /* pipes: one byte lets it go; errno of a failed exec comes back */
	bool started, ended;
	int status;
	const char *name;
};

/* In the child, which may have to wait: what its exec will close is closed now. Else it would keep
 * open the pipes of helpers that were being run when it was forked, and who waits for their end
 * would wait for the exec. */
static void close_what_exec_closes(int go, int failed)
{
	DIR *all = opendir("/proc/self/fd");
	const struct dirent *e;

	while (all && (e = readdir(all))) {
		int fd = atoi(e->d_name);

		if (fd > 2 && fd != go && fd != failed && fd != dirfd(all) &&
		    fcntl(fd, F_GETFD) & FD_CLOEXEC)
			close(fd);
	}
	if (all)
		closedir(all);
}

void sp_command_take_given(struct sp_command_given *ret_given)
{
	(void)getrlimit(RLIMIT_NOFILE, &ret_given->files);
	(void)getrlimit(RLIMIT_STACK, &ret_given->stack);
	sigprocmask(SIG_BLOCK, NULL, &ret_given->blocked);
	sigemptyset(&ret_given->ignored);
	for (int sig = 1; sig < NSIG; sig++) {
		struct sigaction action;

		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(&ret_given->ignored, sig);
	}
}

/* In the child: what the parent has changed is as it was. */
static void restore(const struct sp_command_given *given)
{
	static const int changed[] = {SIGPIPE, SIGXFSZ, SIGCHLD};

	(void)setrlimit(RLIMIT_NOFILE, &given->files);
	(void)setrlimit(RLIMIT_STACK, &given->stack);
	for (size_t i = 0; i < sp_array_size(changed); i++)
		signal(changed[i], sigismember(&given->ignored, changed[i]) ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &given->blocked, NULL);
}

/* In the child. */
static void wait_and_exec(char *const *argv, const struct sp_identity *identity, int go, int failed)
{
	char byte;
	int r = sp_identity_become(identity);

	if (r == 0) {
		if (read(go, &byte, 1) != 1)
			_exit(127); /* the parent gave up */
		execvp(argv[0], argv);
		r = -errno;
	}
	r = -r;
	if (write(failed, &r, sizeof(r)) != sizeof(r))
		_exit(126);
	_exit(127);
}

int sp_command_prepare(char *const *argv, const struct sp_identity *identity,
		       const struct sp_command_given *given, struct sp_command **ret_command)
{
	struct sp_command *c = calloc(1, sizeof(*c));
	int go[2] = {-1, -1}, failed[2] = {-1, -1};
	int r;

	if (!c)
		return -ENOMEM;
	if (pipe2(go, O_CLOEXEC) || pipe2(failed, O_CLOEXEC)) {
		r = -errno;
		goto fail;
	}
	fflush(NULL);
	c->pid = fork();
	if (c->pid < 0) {
		r = -errno;
		goto fail;
	}
	if (c->pid == 0) {
		close_what_exec_closes(go[0], failed[1]);
		restore(given);
		wait_and_exec(argv, identity, go[0], failed[1]);
	}
	close(go[0]);
	close(failed[1]);
	(void)fcntl(failed[0], F_SETFL, O_NONBLOCK);
	c->go = go[1];
	c->failed = failed[0];
	c->name = argv[0];
	*ret_command = c;
	return 0;
fail:
	for (int i = 0; i < 2; i++) {
		if (go[i] >= 0)
			close(go[i]);
		if (failed[i] >= 0)
			close(failed[i]);
	}
	free(c);
	sp_log_error("cannot start %s: %s", argv[0], strerror(-r));
	return r;
}

pid_t sp_command_pid(const struct sp_command *c)
{
	return c->pid;
}

int sp_command_release(struct sp_command *c)
{
	return write(c->go, "g", 1) == 1 ? 0 : -errno;
}

int sp_command_fd(const struct sp_command *c)
{
	return c->failed;
}

int sp_command_started(struct sp_command *c)
{
	int e = 0;
	ssize_t n = read(c->failed, &e, sizeof(e));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == sizeof(e)) {
		(void)waitpid(c->pid, NULL, 0);
		c->ended = true;
		c->status = (e == ENOENT ? 127 : 126) << 8;
		if (e == ENOENT)
			sp_log_error("cannot run %s: there is no such program", c->name);
		else
			sp_log_error("cannot run %s: %s", c->name, strerror(e));
		if (e == ENOENT && !strchr(c->name, '/'))
			sp_log_hint(access(c->name, X_OK) == 0
					    ? "there is one here: did you mean ./%s?"
					    : "sudo may search other folders than your shell: give "
					      "the path of %s",
				    c->name);
		else if (e == EACCES)
			sp_log_hint("it must be a program that you may execute: chmod +x, or name "
				    "its compiled form");
		return -e;
	}
	c->started = true;
	return 1;
}

bool sp_command_ended(struct sp_command *c)
{
	if (!c->ended && waitpid(c->pid, &c->status, WNOHANG) == c->pid)
		c->ended = true;
	return c->ended;
}

void sp_command_signal(struct sp_command *c, int number)
{
	if (!sp_command_ended(c))
		(void)kill(c->pid, number);
}

void sp_command_hang_up(struct sp_command *c)
{
	/* 0, ours, where it has ended: what it left behind is there, if anywhere. */
	pid_t group = sp_command_ended(c) ? 0 : getpgid(c->pid);

	(void)killpg(group, SIGHUP);
	(void)killpg(group, SIGCONT); /* as the kernel does: what is stopped is to learn it */
}

int sp_command_status(const struct sp_command *c)
{
	return WIFSIGNALED(c->status) ? 128 + WTERMSIG(c->status) : WEXITSTATUS(c->status);
}

void sp_command_free(struct sp_command *c)
{
	if (!c)
		return;
	close(c->go); /* a child that still waits leaves */
	close(c->failed);
	if (!c->started && !c->ended)
		(void)waitpid(c->pid, NULL, 0);
	free(c);
}

char *sp_command_find(const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;

	if (strchr(name, '/'))
		return access(name, R_OK) == 0 ? strdup(name) : NULL;
	while (path && *path) {
		size_t n = strcspn(path, ":");

		if (asprintf(&found, "%.*s%s%s", (int)n, path, n ? "/" : "", name) < 0)
			return NULL;
		if (access(found, X_OK) == 0)
			return found;
		free(found);
		found = NULL;
		path += n + (path[n] == ':');
	}
	return NULL;
}
