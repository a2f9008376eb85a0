/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/convert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

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

int sp_convert_wait(pid_t pid, const struct sp_output *output)
{
	char text[128];
	int status, r;

	do
		r = sp_sandbox_wait(pid, false, &status);
	while (r == -EINTR);
	if (r < 0)
		return r;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	sp_sandbox_status_text(status, text, sizeof(text));
	sp_log_error("the conversion of the journal %s", text);
	sp_log_hint("nothing is lost: sp-report recover %s", output->journal);
	return 1;
}
