/* SPDX-License-Identifier: BSD-2-Clause
 *
 * log.h - what the commands say on stderr.
 *
 * Each call is one line, "PROGRAM: text". It is made safe for terminals as a whole (text.h), so
 * names from traced programs can be put into it as they are. Libraries below the commands do not
 * log. The level is the one global of userspace.
 */
#ifndef SP_BASE_LOG_H
#define SP_BASE_LOG_H

#include <stdarg.h>

enum sp_log_level {
	SP_LOG_QUIET = 0,   /* errors and warnings */
	SP_LOG_NORMAL = 1,  /* and what was done */
	SP_LOG_VERBOSE = 2, /* and how */
};

/* @program must outlive the logging; the default is the name of the executable. */
void sp_log_init(const char *program, enum sp_log_level level);
enum sp_log_level sp_log_level(void);

#define SP_PRINTF(text, first) __attribute__((format(printf, text, first)))
void sp_log_error(const char *format, ...) SP_PRINTF(1, 2);
void sp_log_warning(const char *format, ...) SP_PRINTF(1, 2); /* "PROGRAM: warning: text" */
void sp_log_info(const char *format, ...) SP_PRINTF(1, 2);
void sp_log_verbose(const char *format, ...) SP_PRINTF(1, 2);
unsigned sp_log_errors(void); /* how many were logged */
/* A further line of the message before it, indented; shown at every level, as errors are. */
void sp_log_hint(const char *format, ...) SP_PRINTF(1, 2);

/* ---- one line that is rewritten in place ----
 *
 * Only where stderr is a terminal and the level is not quiet; otherwise nothing is shown. Log lines
 * that come in between clear it first. */
int sp_log_has_status(void);
void sp_log_status(const char *format, ...) SP_PRINTF(1, 2);
void sp_log_status_clear(void);

#endif
