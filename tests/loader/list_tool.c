/* SPDX-License-Identifier: BSD-2-Clause
 *
 * list_tool.c - list_tool FILE | -p PID: `sp-trace --list` for tests. It stands in a directory with
 * sp-elf, where sp_sandbox_open() looks first.
 */
#include <stdlib.h>
#include <string.h>

#include "loader/list.h"
#include "userspace/base/log.h"

int main(int argc, char **argv)
{
	sp_log_init("sp-trace", SP_LOG_NORMAL);
	if (argc == 3 && !strcmp(argv[1], "-p"))
		return sp_list_pid((pid_t)atoi(argv[2]));
	return argc == 2 ? sp_list_file(argv[1]) : 2;
}
