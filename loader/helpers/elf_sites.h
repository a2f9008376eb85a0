/* SPDX-License-Identifier: BSD-2-Clause
 *
 * elf_sites.h - the region descriptors of an ELF file: its section sp_desc.
 */
#ifndef SP_LOADER_HELPERS_ELF_SITES_H
#define SP_LOADER_HELPERS_ELF_SITES_H

#include "loader/elf_limits.h"
#include "loader/helpers/elf_file.h"

#define SP_ELF_DESC_BYTES 32u
#define SP_ELF_DESC_VERSION 1u

/* One place where a region begins or ends. The texts are valid until the next one is read. */
struct sp_elf_site {
	uint64_t address; /* of its descriptor */
	uint32_t line, flags;
	size_t name_bytes, file_bytes, tags_bytes, function_bytes;
	char name[SP_ELF_LIMIT_NAME + 1], file[SP_ELF_LIMIT_TEXT + 1];
	char tags[SP_ELF_LIMIT_TEXT + 1], function[SP_ELF_LIMIT_TEXT + 1];
};

struct sp_elf_sites {
	uint32_t valid;	  /* handed out */
	uint32_t skipped; /* descriptors that point outside the file */
	uint32_t unknown; /* of a version that we do not know */
	uint32_t cut;	  /* with a text that was cut */
};

typedef int (*sp_elf_site_cb)(void *arg, uint32_t number, const struct sp_elf_site *site);

/* Walks the descriptors in the order of their addresses in each section; @cb may be NULL, to count.
 * Inlining and templates make several of one place: each address is a site. Returns 0, what @cb
 * said, -SP_E_COUNT where there are more than SP_ELF_LIMIT_SITES, or -SP_E_DAMAGED where a section
 * is not made of whole descriptors, or not where the program will see it. */
int sp_elf_sites_walk(struct sp_elf_file *file, sp_elf_site_cb cb, void *arg,
		      struct sp_elf_sites *ret_sites);

#endif
