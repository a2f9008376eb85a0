/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/convert.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define STUCK_MS 30000
#define PAUSE_MOST_MS 64

extern char **environ;

int sp_convert_start(const struct sp_options *options, const struct sp_identity *identity,
		     const struct sp_output *output, const char *program, pid_t *ret_pid)
{
	const char *argv[16] = {
		"sp-report", "recover",	       output->journal, "-o",	output->directory,
		"--formats", options->formats, "--program",	program};
	struct sp_sandbox box = {
		.argv = argv,
		.env = (const char *const *)environ,
		.in = -1,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.uid = identity->uid,
		.gid = identity->gid,
		.groups = identity->groups,
		.group_count = identity->group_count,
		.root_files = true, /* the folder may be in one of a user's */
		.own_group = true,  /* a second Ctrl-C must not cost the recording */
	};
	sp_cleanup(sp_closep) int helper = -1;
	struct sp_error err = {0};
	size_t n = 9;
	int r;

	if (options->no_line_profile)
		argv[n++] = "--no-line-profile";
	if (options->keep_journal)
		argv[n++] = "--keep-journal";
	if (options->quiet)
		argv[n++] = "--quiet";
	r = sp_sandbox_open("sp-report", &helper, &err);
	if (r == 0)
		r = sp_sandbox_spawn(helper, &box, ret_pid, &err);
	if (r < 0) {
		sp_log_error("cannot convert the journal: %s", err.text);
		sp_log_hint("nothing is lost: sp-report recover %s", output->journal);
	}
	return r;
}

/* Whether it waits for a FUSE program; other file systems make it uninterruptible. */
static bool is_at_fuse(pid_t pid)
{
	sp_cleanup(sp_fclosep) FILE *f = NULL;
	char path[32], text[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/wchan", (int)pid);
	f = fopen(path, "re");
	return f && fgets(text, sizeof(text), f) && !strcmp(text, "request_wait_answer");
}

/* Whether a process waits for a file system, and how long it has run, in ticks. */
static bool is_stuck(pid_t pid, uint64_t *ret_ran)
{
	sp_cleanup(sp_fclosep) FILE *f = NULL;
	uint64_t user = 0, system = 0;
	char path[32], text[512], state = 0, *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		return false;
	at = strrchr(text, ')'); /* behind the name */
	if (!at || sscanf(at, ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
			  &state, &user, &system) != 3)
		return false;
	*ret_ran = user + system;
	return state == 'D' || is_at_fuse(pid);
}

/* A disk may take its time, but not that long without anything in between. */
static int await_end(pid_t pid, int *ret_status)
{
	uint64_t ran = 0, before = 0;
	unsigned pause_ms = 1, stuck_ms = 0;

	while (stuck_ms < STUCK_MS) {
		pid_t r = waitpid(pid, ret_status, WNOHANG);

		if (r == pid)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		usleep(pause_ms * 1000);
		stuck_ms = is_stuck(pid, &ran) && ran == before ? stuck_ms + pause_ms : 0;
		before = ran;
		pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * pause_ms : PAUSE_MOST_MS;
	}
	(void)kill(pid, SIGKILL);
	return -ETIMEDOUT;
}

int sp_convert_wait(pid_t pid, const struct sp_output *output)
{
	char text[128];
	int status, r = await_end(pid, &status);

	if (r < 0) {
		if (r == -ETIMEDOUT)
			sp_log_error("the conversion of the journal waits for a file system that "
				     "does not answer, and is left to itself");
		else
			sp_log_error("the conversion of the journal is lost: %s", strerror(-r));
		sp_log_hint("nothing is lost: sp-report recover %s, once it does", output->journal);
		return r;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sp_sandbox_status_text(status, text, sizeof(text));
	sp_log_error("the conversion of the journal %s", text);
	sp_log_hint("nothing is lost: sp-report recover %s", output->journal);
	return 1;
}
