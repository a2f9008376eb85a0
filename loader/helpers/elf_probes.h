/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_probes.h - the probes of provider `sp` in an ELF file: its stapsdt notes.
 *
 * Addresses are adjusted by the file's .stapsdt.base, as every reader of such notes does. Passed
 * over are notes whose code the linker dropped (location 0), notes of other providers, and second
 * notes of one place. Anything else that cannot be armed is counted.
 */
#ifndef SP_LOADER_HELPERS_ELF_PROBES_H
#define SP_LOADER_HELPERS_ELF_PROBES_H

#include "loader/elf_limits.h"
#include "loader/helpers/elf_file.h"

struct sp_elf_probe {
	uint64_t address, offset;	      /* of the leading nop */
	uint64_t semaphore, semaphore_offset; /* 0: it has none */
	uint32_t kind, flags;		      /* SP_PROBE_*, SP_PROBE_F_* */
	char arguments[64];
};

struct sp_elf_probes {
	size_t count;
	struct sp_elf_probe at[SP_ELF_LIMIT_PROBES];
	uint32_t unknown; /* of our provider, but with a name or arguments that this version does
			     not know */
	uint32_t invalid; /* whose place or semaphore is not in the file */
};

/* -SP_E_COUNT: more than SP_ELF_LIMIT_PROBES. @probes was zeroed by the caller. */
int sp_elf_probes_read(struct sp_elf_file *file, struct sp_elf_probes *probes);

#endif
