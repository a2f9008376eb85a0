/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_tree.c - see debug_tree.h.
 *
 * Every range of a function is laid over the addresses in it, unless one is there that is further
 * inside: what is left in the end is the innermost function around each address. That needs neither
 * a list of ranges nor an order of them, and takes as long as there are frames.
 *
 * Hostile input: the walk only ever goes forward in the file, so siblings that point backwards end
 * nothing and repeat nothing; its depth, and how often addresses are laid over, are bounded. What
 * is beyond that is left out.
 */
#include "userspace/analysis/debug_tree.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"

#define MAX_RANGES (16u << 20)
#define NONE SP_DEBUG_NO_NODE
#define UNWANTED (UINT32_MAX - 1) /* in a function without any of the addresses */
#define CLOSED (UINT32_MAX - 2)	  /* in an entry that cannot hold functions */

/* ---- functions that have one of the addresses ---- */

/* The first of the addresses that is not before @address, if it is within [from, to], as it is for
 * what lies within the function around it; else found among all. */
static uint32_t first_not_before(const struct sp_debug_tree *tree, uint64_t address, uint32_t from,
				 uint32_t to)
{
	const uint64_t *all = tree->addresses;

	if ((from && all[from - 1] >= address) || (to < tree->n_addresses && all[to] < address)) {
		from = 0;
		to = (uint32_t)tree->n_addresses;
	}
	/* Without a branch that depends on what is found: it would be guessed wrong half the time.
	 */
	while (to > from) {
		uint32_t half = (to - from + 1) / 2;
		bool before = all[from + half - 1] < address;

		to = before ? to : from + half - 1;
		from = before ? from + half : from;
	}
	return from;
}

/* A function that is looked at. */
struct candidate {
	struct sp_debug_tree *tree;
	uint16_t depth;
	bool has_code;
	uint32_t from, to;   /* addresses of the function around it */
	uint32_t first, end; /* those in the ranges so far; none if equal */
};

static int take_range(void *context, uint64_t low, uint64_t high)
{
	struct candidate *candidate = context;
	struct sp_debug_tree *tree = candidate->tree;
	uint32_t from, to, node = (uint32_t)tree->n_nodes;

	candidate->has_code = true;
	/* The linker leaves code that it discarded at 0, or -1, or with no length. */
	if (!low || low >= high)
		return 0;
	from = first_not_before(tree, low, candidate->from, candidate->to);
	if (from == tree->n_addresses || tree->addresses[from] >= high)
		return 0;
	/* Functions of one depth have no code in common, as a rule. */
	if (tree->placings > MAX_RANGES + SP_DEBUG_MAX_DEPTH * (uint64_t)tree->n_addresses)
		return 1;
	for (to = from; to < tree->n_addresses && tree->addresses[to] < high; to++)
		if (tree->placed[to] == NONE || tree->depths[to] <= candidate->depth) {
			tree->placed[to] = node;
			tree->depths[to] = candidate->depth;
		}
	tree->placings += 1 + to - from;
	if (candidate->first == candidate->end) {
		candidate->first = from;
		candidate->end = to;
	}
	if (from < candidate->first)
		candidate->first = from;
	if (to > candidate->end)
		candidate->end = to;
	return 0;
}

Dwarf_Die sp_debug_die_at(const struct sp_debug_layout *layout, uint64_t offset)
{
	return (Dwarf_Die){.addr = (void *)(layout->sections.info.data + offset), .cu = layout->cu};
}

static int ranges_by_libdw(struct candidate *candidate, uint64_t offset)
{
	const struct sp_debug_layout *layout = candidate->tree->layout;
	Dwarf_Die die = sp_debug_die_at(layout, offset);
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && layout->cu && (at = dwarf_ranges(&die, at, &base, &low, &high)) > 0)
		r = take_range(candidate, low, high);
	return r;
}

/* Adds a node for a function with one of the addresses; *node becomes it, or UNWANTED for a
 * function with other code. */
static int add_function(struct sp_debug_tree *tree, const struct sp_skim_entry *entry,
			uint32_t *node)
{
	uint32_t parent = *node < CLOSED ? *node : NONE;
	struct candidate candidate = {.tree = tree, .to = (uint32_t)tree->n_addresses};
	bool inlined = entry->tag == DW_TAG_inlined_subroutine;
	struct sp_debug_node *added;
	uint16_t chain = 1;
	int r;

	/* What is inlined lies within the function around it. */
	if (inlined && *node == UNWANTED)
		return 0;
	if (parent != NONE) {
		const struct sp_debug_node *around = &tree->nodes[parent];

		candidate.depth = around->depth + 1;
		candidate.from = around->first;
		candidate.to = around->end;
		if (inlined)
			chain = around->chain + 1;
	}
	r = sp_skim_ranges(&tree->layout->unit, entry, take_range, &candidate);
	if (r == -ENOTSUP)
		r = ranges_by_libdw(&candidate, entry->offset);
	if (r < 0)
		return r;
	if (candidate.first == candidate.end) {
		if (candidate.has_code)
			*node = UNWANTED;
		return 0;
	}
	added = sp_array_add(&tree->nodes, &tree->n_nodes, &tree->nodes_room);
	if (!added)
		return -ENOMEM;
	*added = (struct sp_debug_node){
		.offset = entry->offset,
		.parent = parent,
		.depth = candidate.depth,
		.chain = chain,
		.inlined = inlined,
		.first = candidate.first,
		.end = candidate.end,
	};
	*node = (uint32_t)(tree->n_nodes - 1);
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
static bool may_pass_over(const struct sp_debug_tree *tree, const struct sp_skim_entry *entry,
			  uint32_t node)
{
	switch (entry->tag) {
	case DW_TAG_inlined_subroutine:
		return node == UNWANTED;
	case DW_TAG_subprogram:
		return !tree->thorough &&
		       (node >= CLOSED || tree->nodes[node].offset != entry->offset);
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		return !tree->thorough;
	default:
		return !may_hold_functions(entry->tag);
	}
}

static int walk(struct sp_debug_tree *tree)
{
	uint32_t around[SP_DEBUG_MAX_DEPTH]; /* the function around entries of a depth */
	struct sp_skim_entry entry = {0};
	size_t depth = 0; /* of the next entry; the unit's own is at 0 */
	size_t ended;

	while (sp_skim_next_notable(tree->skim, &entry, &ended)) {
		uint32_t node;
		int r;

		ended += !entry.tag;
		if (ended && ended >= depth)
			return 0;
		depth -= ended;
		if (!entry.tag)
			continue;
		node = depth ? around[depth - 1] : NONE;
		if (node != CLOSED &&
		    (entry.tag == DW_TAG_subprogram || entry.tag == DW_TAG_inlined_subroutine) &&
		    (entry.low.form || entry.ranges.form)) {
			r = add_function(tree, &entry, &node);
			if (r < 0)
				return r;
		}
		if (!entry.children)
			continue;
		if (depth && may_pass_over(tree, &entry, node) && entry.sibling > entry.offset &&
		    sp_skim_skip_to(tree->skim, entry.sibling))
			continue;
		if (depth && !may_hold_functions(entry.tag))
			node = CLOSED;
		if (depth == SP_DEBUG_MAX_DEPTH)
			return 0;
		around[depth++] = node;
	}
	return 0;
}

/* True if a function was not found that is there: nested in another one, or in a local class. */
static bool lacks_function(const struct sp_debug_tree *tree, sp_debug_is_function is_function,
			   void *context)
{
	for (size_t i = 0; i < tree->n_addresses; i++)
		if (tree->placed[i] == NONE && is_function(context, tree->addresses[i]))
			return true;
	return false;
}

/* ---- life cycle ---- */

static void forget_functions(struct sp_debug_tree *tree)
{
	tree->n_nodes = 0;
	tree->placings = 0;
	for (size_t i = 0; i < tree->n_addresses; i++)
		tree->placed[i] = NONE;
}

int sp_debug_tree_init(struct sp_debug_tree *tree, const uint64_t *addresses, size_t n)
{
	*tree = (struct sp_debug_tree){.addresses = addresses, .n_addresses = n};
	tree->placed = malloc((n + 1) * sizeof(*tree->placed));
	tree->depths = malloc((n + 1) * sizeof(*tree->depths));
	if (!tree->placed || !tree->depths)
		return -ENOMEM;
	forget_functions(tree);
	return 0;
}

/* Compilers put few functions into others, and tell where the next entry is that is not inside: so
 * first all that is inside is passed over; thoroughly only where that was not enough. */
int sp_debug_tree_read(struct sp_debug_tree *tree, const struct sp_debug_layout *layout,
		       struct sp_skim *skim, sp_debug_is_function is_function, void *context)
{
	int r;

	tree->layout = layout;
	tree->skim = skim;
	tree->nodes_room = tree->n_addresses / 2 + 64; /* about, so that they seldom move */
	tree->nodes = malloc(tree->nodes_room * sizeof(*tree->nodes));
	if (!tree->nodes)
		return -ENOMEM;
	r = walk(tree);
	if (r < 0 || !lacks_function(tree, is_function, context))
		return r;
	tree->thorough = true;
	forget_functions(tree);
	r = sp_skim_seek(skim, layout->unit.entries);
	return r < 0 ? r : walk(tree);
}

void sp_debug_tree_done(struct sp_debug_tree *tree)
{
	free(tree->placed);
	free(tree->depths);
	free(tree->nodes);
}
