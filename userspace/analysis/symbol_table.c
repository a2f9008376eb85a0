/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_table.c - functions of an ELF symbol table, sorted by address, one name for each address.
 *
 * A symbol with a size ends there, and the gap behind it has no name: in a stripped library that is
 * the code of functions that are not exported. A symbol without a size reaches to the next one.
 */
#include "userspace/analysis/symbol_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct symbol {
	uint64_t start, end;
	const char *name; /* libdwfl's */
	uint8_t rank;	  /* of names for one address the lowest wins */
	bool sized;
};

struct sp_symbol_table {
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
		if (last && !last->sized)
			last->end = table->symbols[i].start;
		table->symbols[kept++] = table->symbols[i];
	}
	table->n_symbols = kept;
}

int sp_symbol_table_read(Dwfl_Module *module, struct sp_symbol_table **ret_table)
{
	int count = dwfl_module_getsymtab(module);
	struct sp_symbol_table *table;

	if (count < 0)
		count = 0;
	table = calloc(1, sizeof(*table) + (size_t)count * sizeof(table->symbols[0]));
	if (!table)
		return -ENOMEM;
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
			.end = symbol.st_size ? address + symbol.st_size : UINT64_MAX,
			.name = name,
			.rank = symbol_rank(&symbol, name),
			.sized = symbol.st_size != 0,
		};
	}
	if (table->n_symbols)
		qsort(table->symbols, table->n_symbols, sizeof(*table->symbols), compare_symbols);
	keep_one_per_address(table);
	*ret_table = table;
	return 0;
}

const char *sp_symbol_table_find(const struct sp_symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->n_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < table->symbols[low - 1].end ? table->symbols[low - 1].name : NULL;
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
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	*at = low;
	return low && address < table->symbols[low - 1].end ? table->symbols[low - 1].name : NULL;
}

bool sp_symbol_table_is_empty(const struct sp_symbol_table *table)
{
	return !table->n_symbols;
}

void sp_symbol_table_free(struct sp_symbol_table *table)
{
	free(table);
}
