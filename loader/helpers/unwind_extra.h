/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_extra.h - code that has no call frame information, but is known all the same.
 *
 * Our own probes (unwind_stubs.h), stubs of .plt, which lld and linkers for aarch64 leave without,
 * and the entry point, which has no caller: glibc's dynamic linker says nothing of its own, so that
 * no stack of a program's start would reach its end.
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

/* How many there are; costs a few reads. Code that is not as expected is left alone. */
size_t sp_unwind_extras(struct sp_elf_file *file, struct sp_unwind_extra *extras);

#endif
