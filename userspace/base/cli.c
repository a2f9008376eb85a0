/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cli.c - see cli.h.
 */
#include "userspace/base/cli.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

#define KEY_HELP 0x20000
#define KEY_VERSION 0x20001
#define HELP_COLUMN 26

static const struct sp_option common[] = {
	{"help", KEY_HELP, NULL, "show this help"},
	{"version", KEY_VERSION, NULL, "show the version"},
	{0},
};

struct sp_cli_parser sp_cli_parse(const struct sp_cli *cli, int argc, char **argv)
{
	return (struct sp_cli_parser){.cli = cli, .argc = argc, .argv = argv, .next = 1};
}

static bool has_short(const struct sp_option *option)
{
	return option->key > 0 && option->key < 128 && isalnum(option->key);
}

static const struct sp_option *find_long(const struct sp_option *options, const char *name,
					 size_t n)
{
	for (; options->name; options++)
		if (!strncmp(options->name, name, n) && !options->name[n])
			return options;
	return NULL;
}

static const struct sp_option *find_short(const struct sp_option *options, char c)
{
	for (; options->name; options++)
		if (has_short(options) && options->key == c)
			return options;
	/* A table may use these two letters for something else. */
	return c == 'h' ? &common[0] : c == 'V' ? &common[1] : NULL;
}

static void print_option(const struct sp_option *option)
{
	char left[96];
	const char *help = option->help;
	int n;

	if (!help)
		return;
	snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", has_short(option) ? '-' : ' ',
		 has_short(option) ? option->key : ' ', has_short(option) ? "," : " ", option->name,
		 option->arg ? " " : "", option->arg ? option->arg : "");
	printf("%s", left);
	n = (int)sp_text_width(left);
	if (n > HELP_COLUMN - 2) {
		printf("\n");
		n = 0;
	}
	for (; *help; n = 0) {
		size_t line = strcspn(help, "\n");

		printf("%*s%.*s\n", HELP_COLUMN - n, "", (int)line, help);
		help += line + (help[line] == '\n');
	}
}

void sp_cli_print_help(const struct sp_cli *cli)
{
	printf("Usage: %s %s\n\n%s\n", cli->program, cli->usage, cli->about);
	printf("\nOptions:\n");
	for (const struct sp_option *o = cli->options; o->name; o++)
		print_option(o);
	printf("  -h, --help              %s\n", common[0].help);
	printf("  -V, --version           %s\n", common[1].help);
	if (cli->more)
		printf("\n%s\n", cli->more);
}

int sp_cli_usage_error(const struct sp_cli *cli, const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	sp_log_error("%s", text ? text : "out of memory");
	sp_log_hint("Try '%s --help'.", cli->program);
	return SP_EXIT_USAGE;
}

const char *sp_cli_nearest(const char *word, const char *const *words)
{
	const char *best = NULL;
	unsigned least = (unsigned)strlen(word) / 3 + 1;

	if (least > 3)
		least = 3;
	for (; *words; words++) {
		unsigned d = sp_text_distance(word, *words);

		/* What was meant as an abbreviation is near, too. */
		if (strlen(word) > 1 && !strncmp(word, *words, strlen(word)))
			d = d < least ? d : least;
		if (d <= least && (!best || d < least)) {
			best = *words;
			least = d;
		}
	}
	return best;
}

static int unknown_long(const struct sp_cli *cli, const char *name, size_t n)
{
	const char *names[130];
	char word[64];
	const char *near = NULL;
	size_t count = 0;

	for (const struct sp_option *o = cli->options; o->name && count < 126; o++)
		if (o->help)
			names[count++] = o->name;
	names[count++] = common[0].name;
	names[count++] = common[1].name;
	names[count] = NULL;
	if (n < sizeof(word)) {
		memcpy(word, name, n);
		word[n] = 0;
		near = sp_cli_nearest(word, names);
	}
	sp_cli_usage_error(cli,
			   near ? "unknown option '--%.*s'; did you mean '--%s'?"
				: "unknown option '--%.*s'%s",
			   (int)n, name, near ? near : "");
	return SP_CLI_WRONG;
}

static int answer(const struct sp_cli *cli, int key)
{
	if (key == KEY_HELP)
		sp_cli_print_help(cli);
	else
		printf("%.*s %s\n", (int)strcspn(cli->program, " "), cli->program, SP_VERSION);
	return SP_CLI_ANSWERED;
}

static int next_long(struct sp_cli_parser *p, const char *word, const char **ret_arg)
{
	const char *name = word + 2, *equals = strchr(name, '=');
	size_t n = equals ? (size_t)(equals - name) : strlen(name);
	const struct sp_option *o = find_long(p->cli->options, name, n);

	if (!o)
		o = find_long(common, name, n);
	if (!o)
		return unknown_long(p->cli, name, n);
	*ret_arg = NULL;
	if (!o->arg && equals) {
		sp_cli_usage_error(p->cli, "option '--%s' takes no value", o->name);
		return SP_CLI_WRONG;
	}
	if (o->arg && equals) {
		*ret_arg = equals + 1;
	} else if (o->arg) {
		if (p->next >= p->argc) {
			sp_cli_usage_error(p->cli, "option '--%s' needs a value: --%s %s", o->name,
					   o->name, o->arg);
			return SP_CLI_WRONG;
		}
		*ret_arg = p->argv[p->next++];
	}
	return o->key >= KEY_HELP ? answer(p->cli, o->key) : o->key;
}

static int next_short(struct sp_cli_parser *p, const char **ret_arg)
{
	char c = *p->cluster++;
	const struct sp_option *o = find_short(p->cli->options, c);

	*ret_arg = NULL;
	if (!o) {
		sp_cli_usage_error(p->cli, "unknown option '-%c'", c);
		return SP_CLI_WRONG;
	}
	if (o->arg && *p->cluster) {
		*ret_arg = p->cluster;
		p->cluster = NULL;
	} else if (o->arg) {
		if (p->next >= p->argc) {
			sp_cli_usage_error(p->cli, "option '-%c' needs a value: -%c %s", c, c,
					   o->arg);
			return SP_CLI_WRONG;
		}
		*ret_arg = p->argv[p->next++];
	}
	if (p->cluster && !*p->cluster)
		p->cluster = NULL;
	return o->key >= KEY_HELP ? answer(p->cli, o->key) : o->key;
}

int sp_cli_next(struct sp_cli_parser *p, const char **ret_arg)
{
	*ret_arg = NULL;
	if (p->cluster)
		return next_short(p, ret_arg);
	while (p->next < p->argc) {
		char *word = p->argv[p->next];
		bool option = !p->ended && word[0] == '-' && word[1];

		if (option && !strcmp(word, "--")) {
			p->ended = true;
			p->next++;
			continue;
		}
		if (!option && !(p->cli->flags & SP_CLI_PERMUTE))
			return SP_CLI_END;
		p->next++;
		if (!option) {
			*ret_arg = word;
			return SP_CLI_OPERAND;
		}
		if (word[1] == '-')
			return next_long(p, word, ret_arg);
		p->cluster = word + 1;
		return next_short(p, ret_arg);
	}
	return SP_CLI_END;
}

int sp_cli_status(int key)
{
	return key == SP_CLI_WRONG ? SP_EXIT_USAGE : 0;
}

bool sp_cli_list_has(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (;;) {
		size_t item = strcspn(list, ",");

		if (item == n && !strncmp(list, word, n))
			return true;
		if (!list[item])
			return false;
		list += item + 1;
	}
}
