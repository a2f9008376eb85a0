/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_table.c - functions of an ELF symbol table, sorted by address, one name for each address.
 *
 * A symbol with a size ends there, and the gap behind it has no name: in a stripped library that is
 * the code of functions that are not exported. A symbol without a size reaches to the next one, or
 * to the end of its section. What tables do not name at all are the stubs of the PLT.
 */
#include "userspace/analysis/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "userspace/analysis/symbol_stubs.h"
#include "userspace/base/pool.h"

#define RANK_OF_STUBS 255

struct symbol {
	uint64_t start, end;
	const char *name; /* libdwfl's, or in the pool */
	uint8_t rank;	  /* of names for one address the lowest wins */
	bool sized;
};

struct sp_symbol_table {
	struct sp_pool *names; /* of stubs */
	bool is_empty;	       /* but for them */
	size_t n_symbols;
	struct symbol symbols[];
};

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Of several names for an address: functions before labels, then names that people may know: those
 * that are exported and not reserved. */
static uint8_t symbol_rank(const GElf_Sym *symbol, const char *name)
{
	int binding = GELF_ST_BIND(symbol->st_info);
	bool label = GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE;
	/* The vDSO's are as reserved, but all that tells them from the C library's. */
	bool reserved = name[0] == '_' && name[1] == '_' && strncmp(name, "__vdso_", 7) != 0;

	return (uint8_t)(label << 4 | !symbol->st_size << 3 | (binding == STB_LOCAL) << 2 |
			 reserved << 1 | (binding != STB_GLOBAL));
}

static void keep_one_per_address(struct sp_symbol_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->n_symbols; i++) {
		struct symbol *last = kept ? &table->symbols[kept - 1] : NULL;

		if (last && last->start == table->symbols[i].start)
			continue;
		if (last && !last->sized && last->end > table->symbols[i].start)
			last->end = table->symbols[i].start;
		table->symbols[kept++] = table->symbols[i];
	}
	table->n_symbols = kept;
}

/* The end of a section, in libdwfl's terms; without a section table nothing bounds a symbol. */
static uint64_t section_end(Elf *elf, GElf_Word index, Dwarf_Addr bias)
{
	Elf_Scn *section = index < SHN_LORESERVE ? elf_getscn(elf, index) : NULL;
	GElf_Shdr header;

	if (!section || !gelf_getshdr(section, &header))
		return UINT64_MAX;
	return header.sh_addr + header.sh_size + bias;
}

static void add_symbols(struct sp_symbol_table *table, Dwfl_Module *module, int count)
{
	for (int i = 1; i < count; i++) {
		GElf_Sym symbol;
		GElf_Addr address;
		GElf_Word section;
		Elf *elf;
		Dwarf_Addr bias;
		const char *name = dwfl_module_getsym_info(module, i, &symbol, &address, &section,
							   &elf, &bias);
		int type = GELF_ST_TYPE(symbol.st_info);

		if (!name || !*name || section == SHN_UNDEF || section == SHN_ABS || !address ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE))
			continue;
		table->symbols[table->n_symbols++] = (struct symbol){
			.start = address,
			.end = symbol.st_size ? address + symbol.st_size
					      : section_end(elf, section, bias),
			.name = name,
			.rank = symbol_rank(&symbol, name),
			.sized = symbol.st_size != 0,
		};
	}
}

/* In libdwfl's terms, to be freed by done. */
static int find_stubs(Dwfl_Module *module, struct sp_pool *names, struct sp_plt_stubs *stubs)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	int r = elf ? sp_plt_stubs_find(elf, names, stubs) : 0;

	for (size_t i = 0; i < stubs->n; i++) {
		stubs->stubs[i].start += bias;
		stubs->stubs[i].end += bias;
	}
	return r;
}

int sp_symbol_table_read(Dwfl_Module *module, struct sp_symbol_table **ret_table)
{
	int count = dwfl_module_getsymtab(module), r = -ENOMEM;
	struct sp_pool *names = sp_pool_new();
	struct sp_plt_stubs stubs = {0};
	struct sp_symbol_table *table = NULL;

	if (count < 0)
		count = 0;
	if (names)
		r = find_stubs(module, names, &stubs);
	if (r == 0)
		table = calloc(1, sizeof(*table) +
					  ((size_t)count + stubs.n) * sizeof(table->symbols[0]));
	if (!table) {
		sp_plt_stubs_done(&stubs);
		sp_pool_free(names);
		return -ENOMEM;
	}
	table->names = names;
	add_symbols(table, module, count);
	table->is_empty = !table->n_symbols;
	for (size_t i = 0; i < stubs.n; i++)
		table->symbols[table->n_symbols++] = (struct symbol){.start = stubs.stubs[i].start,
								     .end = stubs.stubs[i].end,
								     .name = stubs.stubs[i].name,
								     .rank = RANK_OF_STUBS,
								     .sized = true};
	sp_plt_stubs_done(&stubs);
	if (table->n_symbols)
		qsort(table->symbols, table->n_symbols, sizeof(*table->symbols), compare_symbols);
	keep_one_per_address(table);
	*ret_table = table;
	return 0;
}

/* The name of the symbol before the one with that number, if the address is in it. */
static const char *name_before(const struct sp_symbol_table *table, size_t at, uint64_t address)
{
	return at && address < table->symbols[at - 1].end ? table->symbols[at - 1].name : NULL;
}

const char *sp_symbol_table_find(const struct sp_symbol_table *table, uint64_t address)
{
	size_t at = sp_search(table->n_symbols, i, table->symbols[i].start <= address);

	return name_before(table, at, address);
}

/* Looked for from where the last one was, in steps that double: neighbours are found at once. */
const char *sp_symbol_table_next(const struct sp_symbol_table *table, uint64_t address, size_t *at)
{
	size_t low = *at, step = 1, high;

	while (low + step <= table->n_symbols && table->symbols[low + step - 1].start <= address) {
		low += step;
		step *= 2;
	}
	high = low + step - 1 < table->n_symbols ? low + step - 1 : table->n_symbols;
	*at = low + sp_search(high - low, i, table->symbols[low + i].start <= address);
	return name_before(table, *at, address);
}

bool sp_symbol_table_is_empty(const struct sp_symbol_table *table)
{
	return table->is_empty;
}

void sp_symbol_table_free(struct sp_symbol_table *table)
{
	if (table)
		sp_pool_free(table->names);
	free(table);
}
