/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_fetch.h - asks debuginfod servers for debug information, in a process of its own.
 *
 * The process talks to the network and puts what it gets into the user's cache, by libdebuginfod,
 * which is loaded when it is needed and which remembers what servers do not have. It parses
 * nothing: that is left to a symbol worker, which has no network.
 */
#ifndef SP_ANALYSIS_SYMBOL_FETCH_H
#define SP_ANALYSIS_SYMBOL_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/base/child.h"

#define SP_FETCH_MAX_ANSWER 4200 /* a kind and a path */

struct sp_symbol_fetch {
	struct sp_child child; /* to be polled */
	char answer[SP_FETCH_MAX_ANSWER + 1];
	size_t used;
};

/* True if the user has named servers (DEBUGINFOD_URLS). */
bool sp_symbol_fetch_possible(void);

/* Asks for what belongs to @build_id (hexadecimal). The process gives up by itself at
 * @deadline_ns (CLOCK_MONOTONIC), leaving no half of a file. */
int sp_symbol_fetch_start(struct sp_symbol_fetch *fetch, const char *build_id,
			  uint64_t deadline_ns);
/* Takes what can be read. 1: there is more to come, 0: that was all, or -errno. */
int sp_symbol_fetch_hear(struct sp_symbol_fetch *fetch);
/* Ends the process if it still runs. *@ret_path is the file, NULL if none came, and then
 * *@ret_reason why; both live as long as @fetch. */
void sp_symbol_fetch_end(struct sp_symbol_fetch *fetch, const char **ret_path,
			 const char **ret_reason);

#endif
