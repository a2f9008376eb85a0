/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cli.h - command lines from tables.
 *
 *   static const struct sp_option options[] = {
 *           {"output", 'o', "DIR", "write into DIR"},
 *           {"json", KEY_JSON, NULL, "print JSON"},
 *           {0},
 *   };
 *   static const struct sp_cli cli = {"sp-report info", "[OPTION]… FILE…", "Show what …", NULL,
 * options, 0}; struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv); const char *arg; int
 * key;
 *
 *   while ((key = sp_cli_next(&parser, &arg)) > 0)
 *           switch (key) { … }
 *   if (key < 0)
 *           return sp_cli_status(key);
 *   // operands: parser.argv[parser.next] and on, unless they were handed out (SP_CLI_PERMUTE)
 *
 * Understood: --name, --name VALUE, --name=VALUE, -k, -kVALUE, -k VALUE, clusters of -k, and "--".
 * --help, -h, --version and -V are added to every table and answered on stdout. Names are not
 * abbreviated, so a new option never changes what an old command line means; a near miss is told.
 */
#ifndef SP_BASE_CLI_H
#define SP_BASE_CLI_H

#include <stdbool.h>

#include "userspace/base/log.h"

#define SP_EXIT_USAGE 2

struct sp_option {
	const char *name; /* without the dashes; the table ends with NULL */
	int key; /* > 0; a letter or digit is also the short form, from 256 on there is none */
	const char *arg;  /* what its value is called, NULL if it has none */
	const char *help; /* may have several lines; NULL hides the option */
};

enum sp_cli_flag {
	SP_CLI_PERMUTE =
		1 << 0, /* options may follow operands; each operand is given as SP_CLI_OPERAND */
};

struct sp_cli {
	const char *program; /* "sp-report summary" */
	const char *usage;   /* "[OPTION]… FILE|DIR…" */
	const char *about;   /* sentences under the usage line */
	const char *more;    /* text under the options, or NULL */
	const struct sp_option *options;
	unsigned flags;
};

enum sp_cli_key {
	SP_CLI_END = 0,
	SP_CLI_ANSWERED = -1, /* --help or --version was: exit 0 */
	SP_CLI_WRONG = -2,    /* told the user: exit 2 */
	SP_CLI_OPERAND = 0x10000,
};

struct sp_cli_parser {
	const struct sp_cli *cli;
	int argc, next; /* next: index in argv of what was not looked at yet */
	char **argv;
	const char *cluster; /* rest of a word of short options */
	bool ended;	     /* "--" was seen */
};

/* Starts behind argv[0]. */
struct sp_cli_parser sp_cli_parse(const struct sp_cli *cli, int argc, char **argv);
/* The next option's key and value (NULL without one), or an enum sp_cli_key. */
int sp_cli_next(struct sp_cli_parser *parser, const char **ret_arg);
int sp_cli_status(int key);

/* Prints the message and where to find help; returns SP_EXIT_USAGE. */
int sp_cli_usage_error(const struct sp_cli *cli, const char *format, ...) SP_PRINTF(2, 3);
void sp_cli_print_help(const struct sp_cli *cli);

/* The nearest of several words (an array that ends with NULL), or NULL if none is near. */
const char *sp_cli_nearest(const char *word, const char *const *words);

/* True if @word is one of a comma-separated list. */
bool sp_cli_list_has(const char *list, const char *word);

#endif
