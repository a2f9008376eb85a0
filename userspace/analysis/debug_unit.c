/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_unit.c - a unit's functions as a tree, its address ranges as a flat list of segments.
 *
 * The tree has a node for every function and inlined call that has code; a node's parent is the
 * function around it in the debug information. The ranges of all nodes nest; a sweep turns them
 * into segments, each with the innermost node there, so that a lookup is one binary search and then
 * a walk to the root. Lines come from libdw's sorted rows, searched in place.
 *
 * Hostile input: the walk only ever goes forward in the file, so siblings that point backwards, or
 * into children, end it; its depth and the number of ranges are bounded by constants. What is
 * beyond them is left out.
 */
#include "userspace/analysis/debug_unit.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "userspace/analysis/debug_hints.h"

#define MAX_DEPTH 400
#define MAX_RANGES (16u << 20)
#define NONE UINT32_MAX

struct node {
	Dwarf_Die die;
	uint32_t parent;
	uint16_t depth;
	bool inlined;
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
	Dwarf_Lines *lines;
	size_t n_lines;
	Dwarf_Files *files; /* that inlined calls refer to */
	size_t n_files;
	struct node *nodes;
	size_t n_nodes, nodes_capacity;
	struct range *ranges;
	size_t n_ranges, ranges_capacity;
	struct segment *segments;
	size_t n_segments;
	struct sp_debug_hints *hints;
	const char *directory; /* where the compiler ran */
	bool assembler;	       /* its names are of the last alias; the symbol table knows better */
	Dwarf_Off walked_to;   /* the walk's last entry */
};

static int grow(void *array, size_t *capacity, size_t size)
{
	size_t larger = *capacity ? *capacity * 2 : 256;
	void *grown = reallocarray(*(void **)array, larger, size);

	if (!grown)
		return -ENOMEM;
	*(void **)array = grown;
	*capacity = larger;
	return 0;
}

static int add_range(struct sp_debug_unit *unit, uint64_t low, uint64_t high, uint32_t node)
{
	int r;

	/* The linker leaves code that it discarded at 0, or -1, or with no length. */
	if (!low || low >= high || unit->n_ranges >= MAX_RANGES)
		return 0;
	if (unit->n_ranges == unit->ranges_capacity) {
		r = grow(&unit->ranges, &unit->ranges_capacity, sizeof(*unit->ranges));
		if (r < 0)
			return r;
	}
	unit->ranges[unit->n_ranges++] = (struct range){low, high, node, unit->nodes[node].depth};
	return 0;
}

/* Adds a node for a function if it has code; *node becomes it. */
static int add_function(struct sp_debug_unit *unit, Dwarf_Die *die, int tag, uint32_t *node)
{
	ptrdiff_t at = 0;
	Dwarf_Addr base, low, high;
	bool added = false;
	uint32_t parent = *node;
	int r;

	while (unit->n_ranges < MAX_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &low, &high)) > 0) {
		if (!added) {
			if (unit->n_nodes == unit->nodes_capacity) {
				r = grow(&unit->nodes, &unit->nodes_capacity, sizeof(*unit->nodes));
				if (r < 0)
					return r;
			}
			*node = (uint32_t)unit->n_nodes++;
			unit->nodes[*node] = (struct node){
				.die = *die,
				.parent = parent,
				.depth = parent == NONE ? 0 : unit->nodes[parent].depth + 1,
				.inlined = tag == DW_TAG_inlined_subroutine,
			};
			added = true;
		}
		r = add_range(unit, low, high, *node);
		if (r < 0)
			return r;
	}
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

static int walk(struct sp_debug_unit *unit, Dwarf_Die *parent, uint32_t parent_node, int depth)
{
	Dwarf_Die die;
	int r;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);
		uint32_t node = parent_node;

		if (dwarf_dieoffset(&die) <= unit->walked_to)
			return 0;
		unit->walked_to = dwarf_dieoffset(&die);
		if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
			r = add_function(unit, &die, tag, &node);
			if (r < 0)
				return r;
		}
		if (may_hold_functions(tag)) {
			r = walk(unit, &die, node, depth + 1);
			if (r < 0)
				return r;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

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
	struct range **stack;
	size_t open = 0;

	if (!unit->n_ranges)
		return 0;
	qsort(unit->ranges, unit->n_ranges, sizeof(*unit->ranges), compare_ranges);
	unit->segments = calloc(unit->n_ranges, 2 * sizeof(*unit->segments));
	stack = calloc(unit->n_ranges, sizeof(*stack));
	if (!unit->segments || !stack) {
		free(stack);
		return -ENOMEM;
	}
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
	free(stack);
	free(unit->ranges);
	unit->ranges = NULL;
	return 0;
}

int sp_debug_unit_read(const Dwarf_Die *lines, const Dwarf_Die *functions,
		       struct sp_debug_unit **ret_unit)
{
	struct sp_debug_unit *unit = calloc(1, sizeof(*unit));
	Dwarf_Die lines_die = *lines, functions_die = *functions;
	Dwarf_Attribute directory;
	int r;

	if (!unit)
		return -ENOMEM;
	if (dwarf_getsrclines(&lines_die, &unit->lines, &unit->n_lines) != 0)
		unit->n_lines = 0;
	if (dwarf_getsrcfiles(&functions_die, &unit->files, &unit->n_files) != 0)
		unit->n_files = 0;
	if (dwarf_attr(&lines_die, DW_AT_comp_dir, &directory))
		unit->directory = dwarf_formstring(&directory);
	unit->assembler = dwarf_srclang(&functions_die) == DW_LANG_Mips_Assembler;
	unit->walked_to = dwarf_dieoffset(&functions_die);
	r = sp_debug_hints_new(&functions_die, &unit->hints);
	if (r == 0)
		r = walk(unit, &functions_die, NONE, 0);
	if (r == 0)
		r = make_segments(unit);
	if (r < 0) {
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
	free(unit->nodes);
	free(unit->ranges);
	free(unit->segments);
	free(unit);
}

static uint32_t find_node(const struct sp_debug_unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->n_segments; /* the answer is before high */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->segments[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? unit->segments[low - 1].node : NONE;
}

/* The last row at or before the address: of rows at one address the last is the one that holds, as
 * for addr2line. Rows that end a sequence come before others at their address. */
static void find_line(const struct sp_debug_unit *unit, uint64_t address,
		      struct sp_debug_frame *frame)
{
	size_t low = 0, high = unit->n_lines;
	Dwarf_Line *row;
	Dwarf_Addr start;
	bool end = true;
	int line = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		row = dwarf_onesrcline(unit->lines, middle);
		if (row && dwarf_lineaddr(row, &start) == 0 && start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? dwarf_onesrcline(unit->lines, low - 1) : NULL;
	if (!row || dwarf_lineendsequence(row, &end) != 0 || end)
		return;
	frame->file = dwarf_linesrc(row, NULL, NULL);
	if (frame->file && dwarf_lineno(row, &line) == 0 && line > 0)
		frame->line = (uint32_t)line;
}

static const char *function_name(Dwarf_Die *die)
{
	static const unsigned int linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2; i++) {
		const char *name = NULL;

		if (dwarf_attr_integrate(die, linkage[i], &attribute))
			name = dwarf_formstring(&attribute);
		if (name && *name)
			return name;
	}
	return dwarf_diename(die);
}

/* Where an inlined function was called: file and line of the frame around it. */
static void call_place(const struct sp_debug_unit *unit, Dwarf_Die *die,
		       struct sp_debug_frame *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (unit->n_files && dwarf_attr(die, DW_AT_call_file, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0 && number < unit->n_files)
		frame->file = dwarf_filesrc(unit->files, number, NULL, NULL);
	if (frame->file && dwarf_attr(die, DW_AT_call_line, &attribute) &&
	    dwarf_formudata(&attribute, &number) == 0 && number <= INT32_MAX)
		frame->line = (uint32_t)number;
}

size_t sp_debug_unit_find(const struct sp_debug_unit *unit, uint64_t address,
			  struct sp_debug_frame frames[SP_DEBUG_MAX_INLINED])
{
	struct sp_debug_frame frame = {.directory = unit->directory};
	uint32_t at = find_node(unit, address);
	size_t n = 0;

	find_line(unit, address, &frame);
	while (at != NONE) {
		struct node *node = &unit->nodes[at];

		frame.function = unit->assembler ? NULL : function_name(&node->die);
		sp_debug_hints_find(unit->hints, &node->die, frame.function, &frame.names);
		frames[n] = frame;
		/* A chain that is too long loses frames before the last. */
		if (n < SP_DEBUG_MAX_INLINED - 1)
			n++;
		else if (!node->inlined)
			return SP_DEBUG_MAX_INLINED;
		if (!node->inlined)
			return n;
		frame = (struct sp_debug_frame){.directory = unit->directory};
		call_place(unit, &node->die, &frame);
		at = node->parent;
	}
	/* No function around: what is known is the line. */
	if (!n && frame.file)
		frames[n++] = frame;
	return n;
}
