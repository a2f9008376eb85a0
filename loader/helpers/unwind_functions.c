/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_functions.c - walks through symbol tables.
 *
 * Invariant: a table of more than MAX_SYMBOLS is not read further than that.
 */
#include "loader/helpers/unwind_functions.h"

#include <elf.h>
#include <gelf.h>
#include <string.h>

#define MAX_SYMBOLS (4u << 20)
#define AT_ONCE 1024u

static int walk(struct sp_elf_file *file, const GElf_Shdr *sh, sp_unwind_function_cb cb, void *arg)
{
	uint64_t count = sh->sh_size / sizeof(Elf64_Sym), unused;
	int r = 0;

	if (sh->sh_entsize != sizeof(Elf64_Sym) || sh->sh_offset > file->size ||
	    sh->sh_size > file->size - sh->sh_offset)
		return 0;
	if (count > MAX_SYMBOLS)
		count = MAX_SYMBOLS;
	for (uint64_t at = 0; at < count && r == 0; at += AT_ONCE) {
		uint64_t n = count - at < AT_ONCE ? count - at : AT_ONCE;
		Elf64_Sym symbols[AT_ONCE];

		if (sp_elf_file_read(file, sh->sh_offset + at * sizeof(symbols[0]), symbols,
				     n * sizeof(symbols[0])) < 0)
			return 0;
		for (uint64_t i = 0; i < n && r == 0; i++)
			if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_size &&
			    symbols[i].st_shndx != SHN_UNDEF &&
			    sp_elf_file_offset(file, symbols[i].st_value, symbols[i].st_size, PF_X,
					       &unused) == 0)
				r = cb(symbols[i].st_value, symbols[i].st_size, arg);
	}
	return r;
}

/* Each is one function. */
static bool is_init_or_fini(struct sp_elf_file *file, const GElf_Shdr *sh, size_t names)
{
	const char *name = elf_strptr(file->elf, names, sh->sh_name);
	uint64_t unused;

	return sh->sh_type == SHT_PROGBITS && name &&
	       (!strcmp(name, ".init") || !strcmp(name, ".fini")) && sh->sh_size &&
	       sp_elf_file_offset(file, sh->sh_addr, sh->sh_size, PF_X, &unused) == 0;
}

int sp_unwind_functions(struct sp_elf_file *file, sp_unwind_function_cb cb, void *arg)
{
	GElf_Shdr found = {.sh_type = SHT_NULL};
	Elf_Scn *scn = NULL;
	size_t names = 0;
	int r = 0;

	if (!file->has_sections)
		return 0;
	(void)elf_getshdrstrndx(file->elf, &names);
	while (r == 0 && (scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr sh;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if (is_init_or_fini(file, &sh, names))
			r = cb(sh.sh_addr, sh.sh_size, arg);
		if ((sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM) &&
		    (found.sh_type == SHT_NULL || sh.sh_type == SHT_SYMTAB))
			found = sh;
	}
	return r < 0 || found.sh_type == SHT_NULL ? r : walk(file, &found, cb, arg);
}
