/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf_log.c - see bpf_log.h.
 */
#include "loader/bpf_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "userspace/base/log.h"

static int on_libbpf_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text = NULL, *state = NULL;

	if (level == LIBBPF_DEBUG || sp_log_level() < SP_LOG_VERBOSE ||
	    vasprintf(&text, format, args) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		sp_log_verbose("%s", line);
	free(text);
	return 0;
}

void sp_bpf_hint(int error)
{
	if (error == -EMFILE || error == -ENFILE)
		sp_log_hint("raise the limit of open files: ulimit -n 65536");
	else if (error == -EAGAIN)
		sp_log_hint(
			"a limit of processes is in force: a control group's pids.max, or ulimit "
			"-u");
	else if (error == -ENOMEM)
		sp_log_hint("a limit of memory may be in force (a container's, a control group's, "
			    "ulimit -v or -d); --ring-size 256K needs less");
	else
		sp_log_hint("-v shows the kernel's own words");
}

void sp_bpf_log_start(void)
{
	libbpf_set_print(on_libbpf_message);
}
