/* SPDX-License-Identifier: BSD-2-Clause
 *
 * log.c - see log.h.
 *
 * Invariant: one message is one write of one line, so lines of several processes do not mix.
 */
#include "userspace/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

static struct {
	const char *program;
	enum sp_log_level level;
	int status_shown;
} log_state = {NULL, SP_LOG_NORMAL, 0};

void sp_log_init(const char *program, enum sp_log_level level)
{
	log_state.program = program;
	log_state.level = level;
}

enum sp_log_level sp_log_level(void)
{
	return log_state.level;
}

static const char *program_name(void)
{
	return log_state.program ? log_state.program : program_invocation_short_name;
}

static void write_line(const char *before, const char *text, const char *after)
{
	sp_cleanup(sp_freep) char *line = NULL;
	int n = asprintf(&line, "%s%s%s", before, text, after);
	const char *at = line;

	if (n < 0) {
		line = NULL;
		return;
	}
	while (n > 0) {
		ssize_t done = write(STDERR_FILENO, at, (size_t)n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return; /* nobody is left to be told */
		at += done;
		n -= (int)done;
	}
}

static void say(const char *kind, const char *format, va_list args)
{
	sp_cleanup(sp_freep) char *text = NULL;
	sp_cleanup(sp_freep) char *safe = NULL;
	char before[128];

	if (vasprintf(&text, format, args) < 0) {
		text = NULL;
		return;
	}
	safe = sp_text_escape(text);
	sp_log_status_clear();
	if (kind)
		snprintf(before, sizeof(before), "%s: %s", program_name(), kind);
	else
		snprintf(before, sizeof(before), "  ");
	write_line(before, safe ? safe : "out of memory", "\n");
}

#define SAY(kind) \
	do { \
		va_list args; \
		int saved = errno; \
		va_start(args, format); \
		say(kind, format, args); \
		va_end(args); \
		errno = saved; \
	} while (0)

static unsigned errors;

void sp_log_error(const char *format, ...)
{
	errors++;
	SAY("");
}

unsigned sp_log_errors(void)
{
	return errors;
}

void sp_log_warning(const char *format, ...)
{
	SAY("warning: ");
}

void sp_log_hint(const char *format, ...)
{
	SAY(NULL);
}

void sp_log_info(const char *format, ...)
{
	if (log_state.level >= SP_LOG_NORMAL)
		SAY("");
}

void sp_log_verbose(const char *format, ...)
{
	if (log_state.level >= SP_LOG_VERBOSE)
		SAY("");
}

int sp_log_has_status(void)
{
	return log_state.level >= SP_LOG_NORMAL && isatty(STDERR_FILENO);
}

void sp_log_status(const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL;
	sp_cleanup(sp_freep) char *safe = NULL;
	struct winsize size = {0};
	va_list args;
	int n;

	if (!sp_log_has_status())
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return;
	}
	safe = sp_text_escape(text);
	if (!safe)
		return;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		size.ws_col = 80;
	safe[sp_text_fit(safe, size.ws_col - 1u)] = 0;
	write_line("\r\033[K", safe, "");
	log_state.status_shown = 1;
}

void sp_log_status_clear(void)
{
	if (!log_state.status_shown)
		return;
	log_state.status_shown = 0;
	write_line("\r\033[K", "", "");
}
