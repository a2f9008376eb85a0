/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_task.h - a worker that looks up one part of a module's addresses, and what is kept of what
 * it says. For symbols_resolve.c, which decides what is done when.
 */
#ifndef SP_ANALYSIS_SYMBOL_TASK_H
#define SP_ANALYSIS_SYMBOL_TASK_H

#include "userspace/analysis/symbol_worker.h"
#include "userspace/analysis/symbols_private.h"

struct sp_symbol_task {
	struct sp_symbols *symbols;
	struct sp_symbols_file *module;
	const char **texts; /* by the worker's numbers */
	size_t n_texts, texts_capacity;
	struct sp_symbols_calls **calls; /* by number of a link / SP_SYMBOLS_CALLS; the module's */
	size_t n_calls, calls_capacity;
	size_t n_links;
	struct sp_worker_reader reader;
	struct sp_child child;
	time_t heard;	   /* when it last said something, CLOCK_MONOTONIC */
	struct sp_child_pulse pulse;
};

/* Starts the next part of a module, which has places for its addresses. */
int sp_symbol_task_start(struct sp_symbols *symbols, struct sp_symbols_file *module,
			 struct sp_symbol_task *task);
/* Reads what there is. 1: there may be more later, 0: the worker closed its end, -errno. */
int sp_symbol_task_hear(struct sp_symbol_task *task);
/* For how many milliseconds it has done nothing at all: neither said something nor run. That is a
 * file which never answers, such as a FIFO. */
uint64_t sp_symbol_task_idle_ms(struct sp_symbol_task *task);
/* Ends the worker; if it was not through, the module is damaged: @trouble says how, NULL: it died.
 */
int sp_symbol_task_end(struct sp_symbol_task *task, const char *trouble);

/* Keeps a copy of @value, which is shown then. */
int sp_symbols_set_text(char **text, const char **shown, const char *value);
int sp_symbols_set_status(struct sp_symbols_file *module, enum sp_symbols_status status,
			  const char *reason);
uint64_t sp_symbols_now_ns(void); /* CLOCK_MONOTONIC */

#endif
