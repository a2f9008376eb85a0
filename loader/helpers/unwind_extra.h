/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_extra.h - code that has no call frame information, but is known all the same.
 *
 * Our own probes (unwind_stubs.h), stubs of .plt, which lld and linkers for aarch64 leave without,
 * the entry point, which has no caller: glibc's dynamic linker says nothing of its own, so that no
 * stack of a program's start would reach its end; and where clone() returns, or all time spent in
 * making threads would have no caller.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_EXTRA_H
#define SP_LOADER_HELPERS_UNWIND_EXTRA_H

#include "loader/elf_limits.h"
#include "loader/helpers/elf_file.h"
#include "loader/helpers/unwind_cfi.h"

#define SP_UNWIND_MAX_EXTRAS (2 * SP_ELF_LIMIT_PROBES + 32)

/* An FDE that nobody wrote. It counts where no other does. */
struct sp_unwind_extra {
	uint64_t start, end;
	struct sp_bytes program;
};

/* What their programs begin with: a function that has just been called. */
struct sp_cfi_cie sp_unwind_extra_cie(const struct sp_cfi_machine *machine);

/* Whether what lies between two neighbours of call frame information is where clone() returns twice
 * (userspace/base/known_code.h). Its rules are SP_UNWIND_UNLESS_0. */
bool sp_unwind_extra_clone(struct sp_elf_file *file, uint64_t start, uint64_t end,
			   struct sp_bytes *ret_program);

/* How many there are; costs a few reads. Code that is not as expected is left alone. */
size_t sp_unwind_extras(struct sp_elf_file *file, struct sp_unwind_extra *extras);

#endif
