/* SPDX-License-Identifier: BSD-2-Clause
 *
 * main.c - sp-trace: records regions and samples of running programs.
 */
#include <signal.h>
#include <stdio.h>

#include "loader/command.h"
#include "loader/features.h"
#include "loader/list.h"
#include "loader/options.h"
#include "loader/session.h"
#include "userspace/base/log.h"
#include "userspace/base/streams.h"

static int list(const struct sp_options *o)
{
	int status = 0;

	if (o->list[0])
		return sp_list_file(o->list);
	for (size_t i = 0; i < o->pid_count; i++)
		status |= sp_list_pid(o->pids[i]);
	return status;
}

int main(int argc, char **argv)
{
	struct sp_command_given given;
	struct sp_options options;
	int status;

	sp_command_take_given(&given);
	signal(SIGCHLD, SIG_DFL); /* else nobody could wait for a child */
	sp_streams_secure();
	sp_log_init("sp-trace", SP_LOG_NORMAL);
	if (sp_options_parse(argc, argv, &options, &status) < 0)
		return status;
	sp_log_init("sp-trace", options.quiet	  ? SP_LOG_QUIET
				: options.verbose ? SP_LOG_VERBOSE
						  : SP_LOG_NORMAL);
	status = options.check	? sp_features_check()
		 : options.list ? list(&options)
				: sp_session_run(&options, &given);
	sp_options_clear(&options);
	return status;
}
