/* SPDX-License-Identifier: BSD-2-Clause
 *
 * main.c - sp-report: finds the command and runs it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/log.h"
#include "userspace/base/streams.h"
#include "userspace/cmd/command.h"

static const struct sp_command commands[] = {
	{"info", "what was recorded, by what, and what is missing", sp_cmd_info},
	{"summary", "per region: calls, time, self time, share", sp_cmd_summary},
	{"lines", "per region: the hottest source lines", sp_cmd_lines},
	{"tree", "the calls that the time went into", sp_cmd_tree},
	{"dump", "every record of a file", sp_cmd_dump},
	{"verify", "whether files are whole and right", sp_cmd_verify},
	{"import", "merge the files of all ranks into one profile", sp_cmd_import},
	{"export", "write a profile in another format", sp_cmd_export},
	{"recover", "make the final files from a journal", sp_cmd_recover},
};

static const struct sp_option no_options[] = {{0}};
static const struct sp_cli cli = {
	.program = "sp-report",
	.usage = "COMMAND [OPTION]… FILE|DIR…",
	.about = "Reads what sp-trace recorded. Needs no privilege.",
	.more = "'sp-report COMMAND --help' tells about one command.",
	.options = no_options,
};

static void print_help(void)
{
	sp_cli_print_help(&cli);
	printf("\nCommands:\n");
	for (size_t i = 0; i < sp_array_size(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].help);
}

static int unknown_command(const char *word)
{
	const char *names[sp_array_size(commands) + 1] = {NULL};
	const char *near;
	struct stat st;

	for (size_t i = 0; i < sp_array_size(commands); i++)
		names[i] = commands[i].name;
	near = sp_cli_nearest(word, names);
	if (stat(word, &st) == 0)
		return sp_cli_usage_error(&cli, "a command must come first: sp-report summary %s",
					  word);
	if (near)
		return sp_cli_usage_error(&cli, "unknown command '%s'; did you mean '%s'?", word,
					  near);
	return sp_cli_usage_error(&cli, "unknown command '%s'", word);
}

int main(int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key, status = -1;

	sp_streams_secure();
	sp_log_init("sp-report", SP_LOG_NORMAL);
	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return 0;
	}
	key = sp_cli_next(&parser, &arg);
	if (key < 0)
		return sp_cli_status(key);
	if (parser.next >= argc)
		return sp_cli_usage_error(&cli, "no command is given");
	for (size_t i = 0; i < sp_array_size(commands); i++)
		if (!strcmp(commands[i].name, argv[parser.next]))
			status = commands[i].run(argc - parser.next, argv + parser.next);
	if (status < 0)
		return unknown_command(argv[parser.next]);
	errno = 0;
	if (fflush(stdout) || ferror(stdout)) {
		/* What failed while it was printed has left no reason. */
		sp_log_error("the output could not be written%s%s", errno ? ": " : "",
			     errno ? strerror(errno) : "");
		return 1;
	}
	return status;
}
