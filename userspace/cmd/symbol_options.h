/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_options.h - the options that all commands share which look up symbols: where debug
 * information is searched.
 *
 *	static const struct sp_option options[] = {…, SP_SYMBOL_OPTIONS, {0}};
 *
 *	if (sp_symbol_choice_has(key))
 *		return sp_symbol_choice_take(&choice, &cli, key, arg);	// 0, or the exit status
 *	…
 *	sp_symbol_choice_apply(&choice, &symbols_options);
 *	…
 *	sp_symbol_choice_done(&choice);		// not before the symbols were freed
 */
#ifndef SP_CMD_SYMBOL_OPTIONS_H
#define SP_CMD_SYMBOL_OPTIONS_H

#include <stdbool.h>

#include "userspace/analysis/symbols.h"
#include "userspace/base/cli.h"

enum sp_symbol_key {
	SP_KEY_DEBUG_DIR = 0x800,
	SP_KEY_NO_DEBUGINFOD,
	SP_KEY_DEBUGINFOD_TIMEOUT,
};

#define SP_SYMBOL_OPTIONS \
	{"debug-dir", SP_KEY_DEBUG_DIR, "DIR", \
	 "search separate debug files under DIR, before /usr/lib/debug;\nmay be given several " \
	 "times"}, \
		{"no-debuginfod", SP_KEY_NO_DEBUGINFOD, NULL, \
		 "do not ask the servers that DEBUGINFOD_URLS names"}, \
	{ \
		"debuginfod-timeout", SP_KEY_DEBUGINFOD_TIMEOUT, "SECONDS", \
			"wait so long for all that servers are asked (default 30)" \
	}

/* Zero it to begin. */
struct sp_symbol_choice {
	char *dirs; /* joined by colons, NULL none */
	char *path; /* as libdwfl wants it */
	bool no_debuginfod;
	unsigned int debuginfod_s; /* 0: default */
};

bool sp_symbol_choice_has(int key);
/* 0, or the exit status after saying what is wrong. */
int sp_symbol_choice_take(struct sp_symbol_choice *choice, const struct sp_cli *cli, int key,
			  const char *arg);
void sp_symbol_choice_apply(const struct sp_symbol_choice *choice,
			    struct sp_symbols_options *options);
void sp_symbol_choice_done(struct sp_symbol_choice *choice);

#endif
