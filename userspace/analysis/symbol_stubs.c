/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_stubs.c - a stub jumps to where a slot says; the slot's relocation says whose address the
 * linker puts there.
 */
#include "userspace/analysis/symbol_stubs.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"

#define UNKNOWN "[plt]"

/* Stubs begin at multiples of this; none is longer than twice of it up to the end of its jump. */
#define STEP 8

struct slot {
	uint64_t address;
	const char *symbol; /* the file's */
};

struct slots {
	struct slot *items;
	size_t n, room;
};

static int by_address(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

/* ---- slots ---- */

static int add_slots(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct slots *slots)
{
	Elf_Scn *table = elf_getscn(elf, header->sh_link);
	Elf_Data *relocations = elf_getdata(section, NULL);
	Elf_Data *symbols = table ? elf_getdata(table, NULL) : NULL;
	GElf_Shdr table_header;
	GElf_Rela relocation;

	if (!relocations || !symbols || !gelf_getshdr(table, &table_header))
		return 0;
	for (int i = 0; gelf_getrela(relocations, i, &relocation); i++) {
		uint64_t type = GELF_R_TYPE(relocation.r_info);
		const char *name;
		struct slot *slot;
		GElf_Sym symbol;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(relocation.r_info), &symbol))
			continue;
		name = elf_strptr(elf, table_header.sh_link, symbol.st_name);
		if (!name || !*name)
			continue;
		slot = sp_array_add(&slots->items, &slots->n, &slots->room);
		if (!slot)
			return -ENOMEM;
		*slot = (struct slot){relocation.r_offset, name};
	}
	return 0;
}

static int find_slots(Elf *elf, struct slots *slots)
{
	int r = 0;

	for (Elf_Scn *section = NULL; r == 0 && (section = elf_nextscn(elf, section));) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			r = add_slots(elf, section, &header, slots);
	}
	if (slots->n)
		qsort(slots->items, slots->n, sizeof(*slots->items), by_address);
	return r;
}

static const char *symbol_of(const struct slots *slots, uint64_t address)
{
	const struct slot key = {.address = address}, *slot = NULL;

	if (slots->n)
		slot = bsearch(&key, slots->items, slots->n, sizeof(key), by_address);
	return slot ? slot->symbol : NULL;
}

/* ---- stubs ---- */

/* The slot that the code jumps by: [endbr64] [bnd] jmp *…(%rip). */
static bool read_jump(const uint8_t *code, size_t size, uint64_t address, uint64_t *ret_slot)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	int32_t distance;

	if (size > sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (size > at && code[at] == 0xf2)
		at++;
	if (size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	memcpy(&distance, code + at + 2, sizeof(distance));
	*ret_slot = address + at + 6 + (uint64_t)(int64_t)distance;
	return true;
}

static int add_stub(struct sp_plt_stubs *stubs, struct sp_pool *names, uint64_t start, uint64_t end,
		    const char *symbol)
{
	sp_cleanup(sp_freep) char *text = NULL;
	struct sp_plt_stub *stub = sp_array_add(&stubs->stubs, &stubs->n, &stubs->room);
	const char *name;

	if (!stub || (symbol && asprintf(&text, "%s@plt", symbol) < 0))
		return -ENOMEM;
	name = sp_pool_add(names, symbol ? text : UNKNOWN);
	*stub = (struct sp_plt_stub){start, end, name};
	return name ? 0 : -ENOMEM;
}

/* Each stub reaches to the next one. */
static int add_section(Elf_Scn *section, const GElf_Shdr *header, const struct slots *slots,
		       struct sp_pool *names, struct sp_plt_stubs *stubs)
{
	Elf_Data *data = elf_rawdata(section, NULL);
	uint64_t end = header->sh_addr + header->sh_size, slot;
	int r = add_stub(stubs, names, header->sh_addr, end, NULL);

	for (size_t at = 0; r == 0 && data && data->d_buf && at < data->d_size; at += STEP) {
		const uint8_t *code = (const uint8_t *)data->d_buf + at;
		const char *symbol = NULL;

		if (read_jump(code, data->d_size - at, header->sh_addr + at, &slot))
			symbol = symbol_of(slots, slot);
		if (!symbol)
			continue;
		stubs->stubs[stubs->n - 1].end = header->sh_addr + at;
		stubs->n -= at == 0; /* nothing is before the first one */
		r = add_stub(stubs, names, header->sh_addr + at, end, symbol);
	}
	return r;
}

int sp_plt_stubs_find(Elf *elf, struct sp_pool *names, struct sp_plt_stubs *stubs)
{
	struct slots slots = {0};
	size_t strings;
	GElf_Ehdr head;
	int r = 0;

	if (!gelf_getehdr(elf, &head) || elf_getshdrstrndx(elf, &strings) < 0)
		return 0;
	if (head.e_machine == EM_X86_64)
		r = find_slots(elf, &slots);
	for (Elf_Scn *section = NULL; r == 0 && (section = elf_nextscn(elf, section));) {
		const char *name;
		GElf_Shdr header;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_PROGBITS ||
		    !(header.sh_flags & SHF_EXECINSTR) || !header.sh_size)
			continue;
		name = elf_strptr(elf, strings, header.sh_name);
		if (name && (!strncmp(name, ".plt", 4) || !strcmp(name, ".iplt")))
			r = add_section(section, &header, &slots, names, stubs);
	}
	free(slots.items);
	return r;
}

void sp_plt_stubs_done(struct sp_plt_stubs *stubs)
{
	free(stubs->stubs);
	*stubs = (struct sp_plt_stubs){0};
}
