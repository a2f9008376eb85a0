/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_stubs.h - our own probes' code, for which no call frame information can be written.
 *
 * The stubs of usdt/sp_region.h are assembled inside of functions, whose call frame information is
 * open there. A program that enters a region often spends most of its samples in them.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_STUBS_H
#define SP_LOADER_HELPERS_UNWIND_STUBS_H

#include "loader/helpers/elf_file.h"
#include "loader/helpers/elf_probes.h"

/* Link-time addresses of code that neither moves the stack pointer nor changes another register
 * that counts: its caller's address is on top of the stack (aarch64: in the link register). */
struct sp_unwind_stub {
	uint64_t start, end;
};

/* Finds them by their notes, and compares every byte. Returns how many there are. */
size_t sp_unwind_stubs_find(struct sp_elf_file *file,
			    struct sp_unwind_stub ret_stubs[2 * SP_ELF_LIMIT_PROBES]);

#endif
