/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_unit.c - a unit's lines and functions put together: for each address a place, and the links
 * that lead from it outward.
 *
 * A link is made of a node of the tree when the first address needs it, and again where the symbol
 * table has another name for the outermost function (code that was moved apart: solve.cold).
 */
#include "userspace/analysis/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/debug_hints.h"
#include "userspace/analysis/debug_layout.h"
#include "userspace/analysis/debug_names.h"
#include "userspace/analysis/debug_rows.h"
#include "userspace/analysis/debug_skim.h"
#include "userspace/analysis/debug_tree.h"
#include "userspace/base/array.h"

#define NONE SP_DEBUG_NO_NODE
#define CHUNK 64

struct links {
	struct links *next;
	size_t n;
	struct sp_debug_link links[CHUNK];
};

struct kept_hints {
	struct kept_hints *next;
	size_t n;
	struct sp_name_hints hints[CHUNK];
};

struct sp_debug_unit {
	struct sp_debug_tree tree;
	struct sp_debug_row *rows; /* one for each address */
	struct sp_debug_rows *line_table;
	struct sp_debug_rows *call_files; /* the same in a package, else NULL */
	Dwarf_Files *files;		  /* that inlined calls of split units refer to */
	size_t n_files;
	struct sp_debug_layout layout;
	struct sp_skim *skim;
	struct sp_debug_names *names;
	struct sp_debug_hints *hints; /* NULL if libdw does not have the functions */
	struct links *links;
	struct kept_hints *kept_hints;
	const char *directory; /* where the compiler ran */
	bool assembler;	       /* its names are of the last alias; the symbol table knows better */
};

/* ---- reading ---- */

static int read_lines(struct sp_debug_unit *unit, const struct sp_debug_unit_place *place,
		      const struct sp_debug_sections *sections, struct sp_pool *paths)
{
	uint64_t offset = sp_debug_number(&place->lines, DW_AT_stmt_list, UINT64_MAX);
	Dwarf_Die lines = place->lines, functions = place->functions;
	Dwarf_Attribute directory;

	if (dwarf_attr(&lines, DW_AT_comp_dir, &directory))
		unit->directory = dwarf_formstring(&directory);
	unit->rows = calloc(unit->tree.n_addresses + 1, sizeof(*unit->rows));
	if (!unit->rows)
		return -ENOMEM;
	if (!place->packaged && functions.cu != lines.cu &&
	    dwarf_getsrcfiles(&functions, &unit->files, &unit->n_files) != 0)
		unit->n_files = 0;
	if (place->packaged && place->package.line.size) {
		int r = sp_debug_rows_read(&place->package, 0, unit->layout.unit.address_size,
					   unit->directory, NULL, 0, NULL, paths,
					   &unit->call_files);

		if (r < 0)
			return r;
	}
	return sp_debug_rows_read(sections, offset, unit->layout.unit.address_size, unit->directory,
				  unit->tree.addresses, unit->tree.n_addresses, unit->rows, paths,
				  &unit->line_table);
}

int sp_debug_unit_read(const struct sp_debug_unit_place *place,
		       const struct sp_debug_sections *sections, const uint64_t *addresses,
		       size_t n, struct sp_pool *paths, sp_debug_is_function is_function,
		       void *context, struct sp_debug_unit **ret_unit)
{
	struct sp_debug_unit *unit = calloc(1, sizeof(*unit));
	Dwarf_Die functions = place->functions;
	bool readable;
	int r;

	if (!unit)
		return -ENOMEM;
	readable = sp_debug_lay_out(&unit->layout, place, sections);
	r = sp_debug_tree_init(&unit->tree, addresses, n);
	if (r == 0)
		r = read_lines(unit, place, sections, paths);
	if (r == 0 && readable)
		r = sp_skim_open(&unit->layout.unit, &unit->skim);
	if (r == 0 && readable) {
		unit->assembler =
			!place->packaged && dwarf_srclang(&functions) == DW_LANG_Mips_Assembler;
		r = sp_debug_names_new(unit->skim, &unit->layout.unit, unit->layout.cu,
				       &unit->names);
		if (r == 0 && unit->layout.cu)
			r = sp_debug_hints_new(&functions, &unit->hints);
		if (r == 0)
			r = sp_debug_tree_read(&unit->tree, &unit->layout, unit->skim, is_function,
					       context);
	}
	if (r < 0 && r != -EBADMSG) {
		sp_debug_unit_free(unit);
		return r;
	}
	*ret_unit = unit;
	return 0;
}

void sp_debug_unit_free(struct sp_debug_unit *unit)
{
	if (!unit)
		return;
	sp_debug_hints_free(unit->hints);
	sp_debug_names_free(unit->names);
	sp_skim_close(unit->skim);
	sp_debug_rows_free(unit->line_table);
	sp_debug_rows_free(unit->call_files);
	sp_debug_tree_done(&unit->tree);
	while (unit->links) {
		struct links *next = unit->links->next;

		free(unit->links);
		unit->links = next;
	}
	while (unit->kept_hints) {
		struct kept_hints *next = unit->kept_hints->next;

		free(unit->kept_hints);
		unit->kept_hints = next;
	}
	free(unit->rows);
	free(unit);
}

void sp_debug_unit_use_raw_names(struct sp_debug_unit *unit)
{
	sp_debug_hints_free(unit->hints);
	unit->hints = NULL;
}

/* ---- links ---- */

static struct sp_debug_link *new_link(struct sp_debug_unit *unit)
{
	struct links *chunk = unit->links;

	if (!chunk || chunk->n == CHUNK) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = unit->links;
		chunk->n = 0;
		unit->links = chunk;
	}
	return &chunk->links[chunk->n++];
}

static struct sp_name_hints *new_hints(struct sp_debug_unit *unit)
{
	struct kept_hints *chunk = unit->kept_hints;

	if (!chunk || chunk->n == CHUNK) {
		chunk = malloc(sizeof(*chunk));
		if (!chunk)
			return NULL;
		chunk->next = unit->kept_hints;
		chunk->n = 0;
		unit->kept_hints = chunk;
	}
	return &chunk->hints[chunk->n++];
}

static int name_node(struct sp_debug_unit *unit, struct sp_debug_node *node)
{
	struct sp_skim_entry entry;

	node->name = sp_debug_names_find(unit->names, node->offset, &entry);
	node->call_file =
		entry.call_file.value < UINT32_MAX ? (uint32_t)entry.call_file.value : UINT32_MAX;
	if (entry.call_line.value <= INT32_MAX)
		node->call_line = (uint32_t)entry.call_line.value;
	if (unit->assembler)
		node->name = NULL;
	if (unit->hints) {
		Dwarf_Die die = sp_debug_die_at(&unit->layout, node->offset);

		node->hints = new_hints(unit);
		if (!node->hints)
			return -ENOMEM;
		sp_debug_hints_find(unit->hints, &die, node->name, node->hints);
	}
	node->named = true;
	return 0;
}

/* Where an inlined function was called. */
static void call_place(struct sp_debug_unit *unit, const struct sp_debug_node *node,
		       struct sp_debug_link *link)
{
	if (unit->files && node->call_file < unit->n_files)
		link->call_file = dwarf_filesrc(unit->files, node->call_file, NULL, NULL);
	else if (!unit->files)
		link->call_file = sp_debug_rows_file(
			unit->call_files ? unit->call_files : unit->line_table, node->call_file);
	if (link->call_file)
		link->call_line = node->call_line;
}

/* A copy of the function: solve.constprop.0, of solve. */
static bool is_clone(const char *name, const char *function)
{
	size_t length = strlen(function);

	return !strncmp(name, function, length) && name[length] == '.';
}

/* The symbol table names the function that was not inlined where DWARF does not; where DWARF has
 * but the last part of a C++ name (lambdas, for which gcc writes no linker name); where it has
 * a reserved one (__GI___libc_write), since there may be an alias that people know; and clones,
 * which DWARF calls as what they are copies of. */
static const char *better_name(const char *function, const char *symbol)
{
	if (!symbol || !function)
		return symbol ? symbol : function;
	if (is_clone(symbol, function))
		return symbol;
	if (!strncmp(function, "_Z", 2))
		return function;
	if (!strncmp(symbol, "_Z", 2) ||
	    (!strncmp(function, "__", 2) && strncmp(symbol, "__", 2) != 0))
		return symbol;
	return function;
}

/* A link of a node, inside of @around (NULL: it is the outermost; @symbol is its name in the symbol
 * table). @called: the node whose call stands in @around. */
static struct sp_debug_link *make_link(struct sp_debug_unit *unit, struct sp_debug_node *node,
				       const struct sp_debug_node *called,
				       struct sp_debug_link *around, const char *symbol)
{
	struct sp_debug_link *link = new_link(unit);
	const char *name;

	if (!link)
		return NULL;
	if (!node->named && name_node(unit, node) < 0)
		return NULL;
	name = node->name ? node->name->text : NULL;
	*link = (struct sp_debug_link){
		.function = around ? name : better_name(name, symbol),
		.names = node->hints,
		.directory = unit->directory,
		.around = around,
		.depth = around ? around->depth + 1 : 1,
	};
	if (name && link->function == name)
		link->function_number = &node->name->number;
	if (around)
		call_place(unit, called, link);
	return link;
}

/* A chain that is too long loses frames before the last. */
static struct sp_debug_link *shorten_chain(struct sp_debug_unit *unit,
					   struct sp_debug_node *const *chain, size_t n,
					   const char *symbol)
{
	struct sp_debug_link *link = make_link(unit, chain[n - 1], NULL, NULL, symbol);

	for (size_t i = SP_DEBUG_MAX_INLINED - 1; i-- > 0 && link;)
		link = make_link(unit, chain[i],
				 i == SP_DEBUG_MAX_INLINED - 2 ? chain[n - 2] : chain[i], link,
				 symbol);
	return link;
}

/* The links outward from a node. They are the same for all addresses in it, as long as the
 * outermost function has one name. NULL without memory. */
static struct sp_debug_link *link_of(struct sp_debug_unit *unit, uint32_t at, const char *symbol)
{
	struct sp_debug_node *chain[SP_DEBUG_MAX_DEPTH + 1];
	struct sp_debug_link *link = NULL;
	bool too_long = unit->tree.nodes[at].chain > SP_DEBUG_MAX_INLINED;
	size_t n = 0;

	for (;; at = chain[n - 1]->parent) {
		struct sp_debug_node *node = &unit->tree.nodes[at];

		if (node->link && node->link_symbol == symbol && (!n || !too_long)) {
			link = node->link;
			break;
		}
		chain[n++] = node;
		if (!node->inlined || node->parent == NONE)
			break;
	}
	if (n > SP_DEBUG_MAX_INLINED) {
		link = shorten_chain(unit, chain, n, symbol);
		chain[0]->link = link;
		chain[0]->link_symbol = symbol;
		return link;
	}
	for (size_t i = n; i-- > 0;) {
		link = make_link(unit, chain[i], chain[i], link, symbol);
		if (!link)
			return NULL;
		chain[i]->link = link;
		chain[i]->link_symbol = symbol;
	}
	return link;
}

int sp_debug_unit_find(struct sp_debug_unit *unit, size_t index, const char *symbol,
		       struct sp_debug_place *ret_place)
{
	const struct sp_debug_row *row = &unit->rows[index];
	struct sp_debug_place place = {.directory = unit->directory};

	if (row->file != SP_DEBUG_NO_FILE)
		place.file = sp_debug_rows_file(unit->line_table, row->file);
	if (place.file && row->line <= INT32_MAX)
		place.line = row->line;
	if (unit->tree.placed[index] != NONE) {
		place.link = link_of(unit, unit->tree.placed[index], symbol);
		if (!place.link)
			return -ENOMEM;
	}
	*ret_place = place;
	return 0;
}
