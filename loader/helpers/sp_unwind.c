/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sp_unwind.c - sp-unwind: makes tables for unwinding of ELF files that nobody vouches for.
 *
 *   sp-unwind COUNT
 *
 * The files are the COUNT descriptors from 3 on. For each of them in turn, stdout gets what
 * unwind_reply.h says. It runs under the sandbox of loader/sandbox.h and locks itself in before it
 * looks at a file, so a file that takes it over gains a pipe whose reader trusts nothing
 * (loader/unwind_scan.c). Exit status 0 done, 2 used wrongly, 3 could not lock itself in, 4 pipe
 * broken.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "loader/helpers/seccomp.h"
#include "loader/helpers/unwind_make.h"
#include "loader/unwind_reply.h"

#define FIRST_FD 3

static bool put(const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t n = write(STDOUT_FILENO, at, size);

		if (n < 0 && errno != EINTR)
			return false;
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static bool answer(int fd)
{
	struct sp_unwind_reply reply = {.magic = SP_UNWIND_REPLY_MAGIC};
	struct sp_unwind_table table = {0};
	struct sp_error err = {0};
	bool whole;

	reply.error = sp_unwind_make(fd, &table, &err);
	reply.segments = reply.error ? 0 : (uint32_t)table.segments;
	reply.rules = (uint32_t)table.rules;
	reply.rows = (uint32_t)table.rows;
	reply.text = (uint32_t)strlen(err.text);
	whole = put(&reply, sizeof(reply)) &&
		put(table.segment, reply.segments * sizeof(table.segment[0])) &&
		put(table.rules_at, table.rules * sizeof(table.rules_at[0])) &&
		put(table.pc, table.rows * sizeof(table.pc[0])) &&
		put(table.rule, table.rows * sizeof(table.rule[0])) && put(err.text, reply.text);
	sp_unwind_table_clear(&table);
	return whole;
}

int main(int argc, char **argv)
{
	unsigned long count;
	char *end;

	errno = 0;
	count = argc == 2 ? strtoul(argv[1], &end, 10) : 0;
	if (argc != 2 || errno || end == argv[1] || *end || count > INT_MAX - FIRST_FD)
		_exit(2);
	if (sp_seccomp_lock() < 0)
		_exit(3);
	for (unsigned long i = 0; i < count; i++)
		if (!answer(FIRST_FD + (int)i))
			_exit(4);
	_exit(0);
}
