/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_stubs.h - names for the stubs of a procedure linkage table, which symbol tables do not have.
 */
#ifndef SP_ANALYSIS_SYMBOL_STUBS_H
#define SP_ANALYSIS_SYMBOL_STUBS_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct sp_pool;

/* From where to where, in the file's own addresses. */
struct sp_plt_stub {
	uint64_t start, end;
	const char *name; /* "cos@plt"; "[plt]" where it is not known whose */
};

struct sp_plt_stubs {
	struct sp_plt_stub *stubs;
	size_t n, room;
};

/* Finds those of a file with its code (not a separate debug file); the names go into the pool. All
 * code of its .plt sections is in some stub. Only a lack of memory is an error. */
int sp_plt_stubs_find(Elf *elf, struct sp_pool *names, struct sp_plt_stubs *stubs);
void sp_plt_stubs_done(struct sp_plt_stubs *stubs);

#endif
