/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_options.c - see symbol_options.h.
 */
#include "userspace/cmd/symbol_options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define MAX_TIMEOUT_S 86400

/* The directories, then what debuggers search: beside the file, .debug there, /usr/lib/debug. */
#define PATH_BEHIND "::.debug:/usr/lib/debug"

bool sp_symbol_choice_has(int key)
{
	return key >= SP_KEY_DEBUG_DIR && key <= SP_KEY_DEBUGINFOD_TIMEOUT;
}

static int out_of_memory(void)
{
	sp_log_error("out of memory");
	return EXIT_FAILURE;
}

static int add_dir(struct sp_symbol_choice *choice, const struct sp_cli *cli, const char *arg)
{
	/* Relative ones would be taken to be relative to each module. */
	sp_cleanup(sp_freep) char *real = realpath(arg, NULL);
	char *dirs = NULL, *path = NULL;
	struct stat status;

	if (!real || stat(real, &status) < 0) {
		sp_log_error("--debug-dir %s: %s", arg, strerrordesc_np(errno));
		return EXIT_FAILURE;
	}
	if (!S_ISDIR(status.st_mode)) {
		sp_log_error("--debug-dir %s: not a directory", arg);
		return EXIT_FAILURE;
	}
	if (strchr(real, ':'))
		return sp_cli_usage_error(cli,
					  "--debug-dir cannot take \"%s\": a colon in the path "
					  "would end it; make a symbolic link and name that",
					  real);
	if (asprintf(&dirs, "%s%s%s", choice->dirs ? choice->dirs : "", choice->dirs ? ":" : "",
		     real) < 0)
		return out_of_memory();
	if (asprintf(&path, "%s" PATH_BEHIND, dirs) < 0) {
		free(dirs);
		return out_of_memory();
	}
	free(choice->dirs);
	free(choice->path);
	choice->dirs = dirs;
	choice->path = path;
	return 0;
}

int sp_symbol_choice_take(struct sp_symbol_choice *choice, const struct sp_cli *cli, int key,
			  const char *arg)
{
	uint64_t seconds;

	switch (key) {
	case SP_KEY_DEBUG_DIR:
		return add_dir(choice, cli, arg);
	case SP_KEY_NO_DEBUGINFOD:
		choice->no_debuginfod = true;
		return 0;
	default:
		if (sp_parse_count(arg, 1, MAX_TIMEOUT_S, &seconds) < 0)
			return sp_cli_usage_error(
				cli, "--debuginfod-timeout takes seconds, 1 to %d, not \"%s\"",
				MAX_TIMEOUT_S, arg);
		choice->debuginfod_s = (unsigned int)seconds;
		return 0;
	}
}

void sp_symbol_choice_apply(const struct sp_symbol_choice *choice,
			    struct sp_symbols_options *options)
{
	options->debug_path = choice->path;
	options->debuginfod = !choice->no_debuginfod;
	options->debuginfod_s = choice->debuginfod_s;
}

void sp_symbol_choice_done(struct sp_symbol_choice *choice)
{
	free(choice->dirs);
	free(choice->path);
	*choice = (struct sp_symbol_choice){0};
}
