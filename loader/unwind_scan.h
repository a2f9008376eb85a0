/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_scan.h - tables for unwinding of ELF files, without parsing them here.
 *
 * The files are read by sp-unwind, a helper without rights (sandbox.h), through libdw; this side
 * checks every row and rule that comes back against the limits below and against the file's size,
 * since the helper may have been taken over by a hostile file.
 */
#ifndef SP_LOADER_UNWIND_SCAN_H
#define SP_LOADER_UNWIND_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "formats/error.h"
#include "formats/unwind.h"

#define SP_UNWIND_LIMIT_ROWS (8u << 20) /* of one file */
#define SP_UNWIND_LIMIT_RULES 8192u	/* different ones, of one file */
#define SP_UNWIND_LIMIT_SEGMENTS 16u

/* An executable PT_LOAD. */
struct sp_unwind_segment {
	uint64_t address, file_offset, file_size; /* p_vaddr, p_offset, p_filesz */
};

/* One file's table: link-time addresses, in ascending order, each where a rule begins to hold; no
 * two neighbours have one rule. Ends of covered code have rows of the rule NONE. */
struct sp_unwind_table {
	size_t rows, rules, segments;
	uint64_t *pc;			 /* rows */
	uint16_t *rule;			 /* rows; index in rules_at */
	struct sp_unwind_rule *rules_at; /* number 0 is NONE */
	struct sp_unwind_segment segment[SP_UNWIND_LIMIT_SEGMENTS];
};

/* Called once for each file: its table (to be released by sp_unwind_table_clear(); the callee may
 * take it over by copying the struct and zeroing it), or NULL, with -errno and a sentence:
 *   -SP_E_MISSING   it has no call frame information
 *   -SP_E_DAMAGED, -SP_E_TRUNCATED, -SP_E_COUNT (above the limits), -ENOEXEC, -ENOTSUP (of another
 *   machine or kind), -ENOMEM, -EPROTO, -ETIME (its reader died, or hung), -EBADF (no open file)
 * With a table, @error is 0, and @why is NULL or says what is missing in it. A negative return ends
 * the run with it. */
typedef int (*sp_unwind_scan_cb)(size_t index, struct sp_unwind_table *table, int error,
				 const char *why, void *arg);

/* Reads @n files (descriptors open for reading; their offsets do not matter). @helper is the path
 * of sp-unwind; NULL finds the installation's own. A file that kills its reader or makes it hang
 * costs its own result; the others are read all the same. 0, the callback's return, or -errno where
 * no helper could be run (@err says why). Costs 2 ms a batch, and some 5 ms a file like libc. */
int sp_unwind_scan(const char *helper, const int *fds, size_t n, sp_unwind_scan_cb cb, void *arg,
		   struct sp_error *err);

void sp_unwind_table_clear(struct sp_unwind_table *table);

/* Whether all of a table is as it must be, for a file of @file_size bytes. -EPROTO where not. */
int sp_unwind_table_check(const struct sp_unwind_table *table, uint64_t file_size);

/* Row of the table that holds at a link-time address: its index, or -1 before the first. */
ptrdiff_t sp_unwind_table_find(const struct sp_unwind_table *table, uint64_t address);

#endif
