/* SPDX-License-Identifier: BSD-2-Clause
 *
 * command.h - the commands of sp-report: one command, one file, one line in the table of main.c.
 *
 * A command gets its own name in argv[0] and returns the exit status: 0 done, 1 failed (and said
 * why), 2 wrong usage. Results go to stdout, everything else to stderr.
 */
#ifndef SP_CMD_COMMAND_H
#define SP_CMD_COMMAND_H

struct sp_command {
	const char *name;
	const char *help; /* one line for the list of commands */
	int (*run)(int argc, char **argv);
};

int sp_cmd_dump(int argc, char **argv);
int sp_cmd_export(int argc, char **argv);
int sp_cmd_import(int argc, char **argv);
int sp_cmd_info(int argc, char **argv);
int sp_cmd_lines(int argc, char **argv);
int sp_cmd_recover(int argc, char **argv);
int sp_cmd_summary(int argc, char **argv);
int sp_cmd_tree(int argc, char **argv);
int sp_cmd_verify(int argc, char **argv);

#endif
