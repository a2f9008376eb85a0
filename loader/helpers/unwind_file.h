/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_file.h - finds the call frame information of an ELF file, and reads it into memory.
 *
 * .eh_frame by its section header or, where there is none, by PT_GNU_EH_FRAME; .debug_frame by its
 * section header, compressed or not. Nothing is mapped (elf_file.h).
 */
#ifndef SP_LOADER_HELPERS_UNWIND_FILE_H
#define SP_LOADER_HELPERS_UNWIND_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/error.h"
#include "loader/helpers/elf_file.h"

#define SP_UNWIND_MAX_SECTION (256u << 20) /* bytes, uncompressed */

struct sp_unwind_section {
	uint8_t *bytes;
	size_t size;
	uint64_t address; /* link-time; 0 for .debug_frame */
	bool eh_frame;
	bool open_end; /* where it ends is not known: it is followed by something else */
};

/* Both kinds; size 0 where there is none. Release them by free(bytes). A .debug_frame that cannot
 * be read is as good as none, and @err says why. */
int sp_unwind_sections_read(struct sp_elf_file *file, struct sp_unwind_section *ret_eh_frame,
			    struct sp_unwind_section *ret_debug_frame, struct sp_error *err);

#endif
