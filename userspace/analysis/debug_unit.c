/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_unit.c - a unit's functions as a tree, their address ranges as a flat list of segments.
 *
 * The tree has a node for every function and inlined call in which one of the addresses lies; a
 * node's parent is the function around it in the debug information. The ranges of all nodes nest; a
 * sweep turns them into segments, each with the innermost node there, so that a lookup is one
 * binary search and then a walk to the root.
 *
 * Hostile input: the walk only ever goes forward in the file, so siblings that point backwards end
 * nothing and repeat nothing; its depth and the number of ranges are bounded by constants. What is
 * beyond them is left out.
 */
#include "userspace/analysis/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "userspace/analysis/debug_hints.h"
#include "userspace/analysis/debug_layout.h"
#include "userspace/analysis/debug_names.h"
#include "userspace/analysis/debug_rows.h"
#include "userspace/analysis/debug_skim.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_DEPTH 400
#define MAX_RANGES (16u << 20)
#define NONE UINT32_MAX		  /* no function around */
#define UNWANTED (UINT32_MAX - 1) /* in a function without any of the addresses */
#define CLOSED (UINT32_MAX - 2)	  /* in an entry that cannot hold functions */

struct node {
	uint64_t offset; /* of its entry */
	uint32_t parent;
	uint16_t depth;
	bool inlined, named;
	uint64_t call_file;
	uint32_t call_line;
	const char *name; /* if named, as are the hints */
	struct sp_name_hints hints;
};

struct range {
	uint64_t low, high;
	uint32_t node;
	uint32_t depth; /* of the node: the outer of two equal ranges comes first */
};

struct segment {
	uint64_t start;
	uint32_t node; /* NONE: no function from here on */
};

struct sp_debug_unit {
	const uint64_t *addresses;
	size_t n_addresses;
	struct sp_debug_row *rows; /* one for each address */
	uint32_t *placed;	   /* the innermost node around each address, or NONE */
	struct sp_debug_rows *line_table;
	struct sp_debug_rows *call_files; /* the same in a package, else NULL */
	Dwarf_Files *files;		  /* that inlined calls of split units refer to */
	size_t n_files;
	struct sp_debug_layout layout;
	struct sp_skim *skim;
	struct sp_debug_names *names;
	struct sp_debug_hints *hints; /* NULL if libdw does not have the functions */
	struct node *nodes;
	size_t n_nodes, nodes_room;
	struct range *ranges;
	size_t n_ranges, ranges_room;
	struct segment *segments;
	size_t n_segments;
	const char *directory; /* where the compiler ran */
	bool thorough;	       /* no entry is passed over that could hold functions */
	bool assembler;	       /* its names are of the last alias; the symbol table knows better */
};

/* ---- functions that have one of the addresses ---- */

/* True if one of the addresses is in [low, high). */
static bool is_wanted(const struct sp_debug_unit *unit, uint64_t low, uint64_t high)
{
	size_t from = 0, to = unit->n_addresses;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (unit->addresses[middle] < low)
			from = middle + 1;
		else
			to = middle;
	}
	return from < unit->n_addresses && unit->addresses[from] < high;
}

/* A function that is looked at. */
struct candidate {
	struct sp_debug_unit *unit;
	uint32_t parent;
	uint16_t depth;
	bool has_code, wanted;
};

static int take_range(void *context, uint64_t low, uint64_t high)
{
	struct candidate *candidate = context;
	struct sp_debug_unit *unit = candidate->unit;
	struct range *range;

	candidate->has_code = true;
	/* The linker leaves code that it discarded at 0, or -1, or with no length. */
	if (!low || low >= high || !is_wanted(unit, low, high))
		return 0;
	if (unit->n_ranges >= MAX_RANGES)
		return 1;
	candidate->wanted = true;
	range = sp_array_add(&unit->ranges, &unit->n_ranges, &unit->ranges_room);
	if (!range)
		return -ENOMEM;
	*range = (struct range){low, high, (uint32_t)unit->n_nodes, candidate->depth};
	return 0;
}

/* libdw's handle of an entry. */
static Dwarf_Die die_at(const struct sp_debug_unit *unit, uint64_t offset)
{
	return (Dwarf_Die){.addr = (void *)(unit->layout.sections.info.data + offset),
			   .cu = unit->layout.cu};
}

static int ranges_by_libdw(struct candidate *candidate, uint64_t offset)
{
	Dwarf_Die die = die_at(candidate->unit, offset);
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && candidate->unit->layout.cu &&
	       (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0)
		r = take_range(candidate, low, high);
	return r;
}

/* Adds a node for a function with one of the addresses; *node becomes it, or UNWANTED for a
 * function with other code. */
static int add_function(struct sp_debug_unit *unit, const struct sp_skim_entry *entry,
			uint32_t *node)
{
	uint32_t parent = *node < CLOSED ? *node : NONE;
	struct candidate candidate = {.unit = unit, .parent = parent};
	bool inlined = entry->tag == DW_TAG_inlined_subroutine;
	struct node *added;
	int r;

	/* What is inlined lies within the function around it. */
	if (inlined && *node == UNWANTED)
		return 0;
	if (parent != NONE)
		candidate.depth = unit->nodes[parent].depth + 1;
	r = sp_skim_ranges(&unit->layout.unit, entry, take_range, &candidate);
	if (r == -ENOTSUP)
		r = ranges_by_libdw(&candidate, entry->offset);
	if (r < 0)
		return r;
	if (!candidate.wanted) {
		if (candidate.has_code)
			*node = UNWANTED;
		return 0;
	}
	added = sp_array_add(&unit->nodes, &unit->n_nodes, &unit->nodes_room);
	if (!added)
		return -ENOMEM;
	*added = (struct node){
		.offset = entry->offset,
		.parent = parent,
		.depth = candidate.depth,
		.inlined = inlined,
		.call_file = entry->call_file.value,
		.call_line =
			entry->call_line.value <= INT32_MAX ? (uint32_t)entry->call_line.value : 0,
	};
	*node = (uint32_t)(unit->n_nodes - 1);
	return 0;
}

/* Entries inside of which functions can be. */
static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return true;
	default:
		return false;
	}
}

/* Types and functions that have none of the addresses hold no function that does, as a rule. */
static bool may_pass_over(const struct sp_debug_unit *unit, const struct sp_skim_entry *entry,
			  uint32_t node)
{
	switch (entry->tag) {
	case DW_TAG_inlined_subroutine:
		return node == UNWANTED;
	case DW_TAG_subprogram:
		return !unit->thorough &&
		       (node >= CLOSED || unit->nodes[node].offset != entry->offset);
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return !unit->thorough;
	default:
		return !may_hold_functions(entry->tag);
	}
}

static int walk(struct sp_debug_unit *unit)
{
	uint32_t around[MAX_DEPTH]; /* the function around entries of a depth */
	struct sp_skim_entry entry = {0};
	size_t depth = 0; /* of the next entry; the unit's own is at 0 */

	while (sp_skim_next(unit->skim, &entry)) {
		uint32_t node = depth ? around[depth - 1] : NONE;
		int r;

		if (!entry.tag) {
			if (depth <= 1)
				return 0;
			depth--;
			continue;
		}
		if (node != CLOSED &&
		    (entry.tag == DW_TAG_subprogram || entry.tag == DW_TAG_inlined_subroutine)) {
			r = add_function(unit, &entry, &node);
			if (r < 0)
				return r;
		}
		if (!entry.children)
			continue;
		if (depth && may_pass_over(unit, &entry, node) && entry.sibling > entry.offset &&
		    sp_skim_skip_to(unit->skim, entry.sibling))
			continue;
		if (depth && !may_hold_functions(entry.tag))
			node = CLOSED;
		if (depth == MAX_DEPTH)
			return 0;
		around[depth++] = node;
	}
	return 0;
}

/* ---- segments ---- */

static int compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

/* Turns the ranges into segments. The open ranges form a stack, each inside the one below it; a
 * range that crosses the end of the one around it, which no compiler makes, is cut there. Needs two
 * segments a range at most; where several start at one address, the last of them holds. */
static int make_segments(struct sp_debug_unit *unit)
{
	sp_cleanup(sp_freep) struct range **stack = NULL;
	size_t open = 0;

	if (!unit->n_ranges)
		return 0;
	qsort(unit->ranges, unit->n_ranges, sizeof(*unit->ranges), compare_ranges);
	unit->segments = calloc(unit->n_ranges, 2 * sizeof(*unit->segments));
	stack = calloc(unit->n_ranges, sizeof(*stack));
	if (!unit->segments || !stack)
		return -ENOMEM;
	for (size_t i = 0; i <= unit->n_ranges; i++) {
		struct range *range = i < unit->n_ranges ? &unit->ranges[i] : NULL;

		while (open && (!range || stack[open - 1]->high <= range->low)) {
			uint64_t end = stack[--open]->high;

			unit->segments[unit->n_segments++] =
				(struct segment){end, open ? stack[open - 1]->node : NONE};
		}
		if (!range)
			break;
		if (open && range->high > stack[open - 1]->high)
			range->high = stack[open - 1]->high;
		unit->segments[unit->n_segments++] = (struct segment){range->low, range->node};
		stack[open++] = range;
	}
	return 0;
}

/* Both the segments and the addresses ascend. */
static void place_addresses(struct sp_debug_unit *unit)
{
	size_t at = 0; /* the first segment behind the address */

	for (size_t i = 0; i < unit->n_addresses; i++) {
		while (at < unit->n_segments && unit->segments[at].start <= unit->addresses[i])
			at++;
		unit->placed[i] = at ? unit->segments[at - 1].node : NONE;
	}
}

/* True if a function was not found that is there: nested in another one, or in a local class. */
static bool lacks_function(const struct sp_debug_unit *unit, sp_debug_is_function is_function,
			   void *context)
{
	for (size_t i = 0; i < unit->n_addresses; i++)
		if (unit->placed[i] == NONE && is_function(context, unit->addresses[i]))
			return true;
	return false;
}

/* Compilers put few functions into others, and tell where the next entry is that is not inside: so
 * first all that is inside is passed over; thoroughly only where that was not enough. */
static int find_functions(struct sp_debug_unit *unit, sp_debug_is_function is_function,
			  void *context)
{
	int r = walk(unit);

	if (r == 0)
		r = make_segments(unit);
	if (r < 0)
		return r;
	place_addresses(unit);
	if (!lacks_function(unit, is_function, context))
		return 0;
	unit->thorough = true;
	unit->n_nodes = unit->n_ranges = unit->n_segments = 0;
	free(unit->segments);
	unit->segments = NULL;
	r = sp_skim_seek(unit->skim, unit->layout.unit.entries);
	if (r == 0)
		r = walk(unit);
	if (r == 0)
		r = make_segments(unit);
	if (r == 0)
		place_addresses(unit);
	return r;
}

/* ---- reading ---- */

static int read_lines(struct sp_debug_unit *unit, const struct sp_debug_unit_place *place,
		      const struct sp_debug_sections *sections, struct sp_pool *paths)
{
	uint64_t offset = sp_debug_number(&place->lines, DW_AT_stmt_list, UINT64_MAX);
	Dwarf_Die lines = place->lines, functions = place->functions;
	Dwarf_Attribute directory;

	if (dwarf_attr(&lines, DW_AT_comp_dir, &directory))
		unit->directory = dwarf_formstring(&directory);
	unit->rows = calloc(unit->n_addresses + 1, sizeof(*unit->rows));
	unit->placed = malloc((unit->n_addresses + 1) * sizeof(*unit->placed));
	if (!unit->rows || !unit->placed)
		return -ENOMEM;
	for (size_t i = 0; i < unit->n_addresses; i++)
		unit->placed[i] = NONE;
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
				  unit->addresses, unit->n_addresses, unit->rows, paths,
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
	unit->addresses = addresses;
	unit->n_addresses = n;
	readable = sp_debug_lay_out(&unit->layout, place, sections);
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
			r = find_functions(unit, is_function, context);
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
	free(unit->rows);
	free(unit->placed);
	free(unit->nodes);
	free(unit->ranges);
	free(unit->segments);
	free(unit);
}

/* ---- looking up ---- */

static void name_frame(struct sp_debug_unit *unit, struct node *node, struct sp_debug_frame *frame)
{
	if (!node->named) {
		node->named = true;
		if (!unit->assembler)
			node->name = sp_debug_names_find(unit->names, node->offset);
		if (unit->hints) {
			Dwarf_Die die = die_at(unit, node->offset);

			sp_debug_hints_find(unit->hints, &die, node->name, &node->hints);
		}
	}
	frame->function = node->name;
	frame->names = node->hints;
}

/* Where an inlined function was called: file and line of the frame around it. */
static void call_place(struct sp_debug_unit *unit, const struct node *node,
		       struct sp_debug_frame *frame)
{
	*frame = (struct sp_debug_frame){.directory = unit->directory};
	if (unit->files && node->call_file < unit->n_files)
		frame->file = dwarf_filesrc(unit->files, node->call_file, NULL, NULL);
	else if (!unit->files)
		frame->file = sp_debug_rows_file(
			unit->call_files ? unit->call_files : unit->line_table, node->call_file);
	if (frame->file)
		frame->line = node->call_line;
}

size_t sp_debug_unit_find(struct sp_debug_unit *unit, size_t index,
			  struct sp_debug_frame frames[SP_DEBUG_MAX_INLINED])
{
	struct sp_debug_frame frame = {.directory = unit->directory};
	const struct sp_debug_row *row = &unit->rows[index];
	uint32_t at = unit->placed[index];
	size_t n = 0;

	if (row->file != SP_DEBUG_NO_FILE)
		frame.file = sp_debug_rows_file(unit->line_table, row->file);
	if (frame.file && row->line <= INT32_MAX)
		frame.line = row->line;
	while (at != NONE) {
		struct node *node = &unit->nodes[at];

		name_frame(unit, node, &frame);
		frames[n] = frame;
		/* A chain that is too long loses frames before the last. */
		if (n < SP_DEBUG_MAX_INLINED - 1)
			n++;
		else if (!node->inlined)
			return SP_DEBUG_MAX_INLINED;
		if (!node->inlined)
			return n;
		call_place(unit, node, &frame);
		at = node->parent;
	}
	/* No function around: what is known is the line. */
	if (!n && frame.file)
		frames[n++] = frame;
	return n;
}
