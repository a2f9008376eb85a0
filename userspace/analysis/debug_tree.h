/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_tree.h - the functions and inlined calls of a unit in which some addresses lie, as a tree,
 * and which of them is the innermost around each address.
 */
#ifndef SP_ANALYSIS_DEBUG_TREE_H
#define SP_ANALYSIS_DEBUG_TREE_H

#include "userspace/analysis/debug_layout.h"

#define SP_DEBUG_NO_NODE UINT32_MAX
#define SP_DEBUG_MAX_DEPTH 400 /* of entries in entries, and so of nodes */

/* A function or an inlined call. */
struct sp_debug_node {
	uint64_t offset; /* of its entry */
	uint32_t parent; /* the function around it in the debug information, or SP_DEBUG_NO_NODE */
	uint16_t depth;	 /* so many are around it */
	uint16_t chain;	 /* so many frames it has: itself and what it is inlined in */
	bool inlined, named;
	uint32_t first, end; /* addresses that lie in it are among these */
	/* For debug_unit.c. */
	uint32_t call_file, call_line; /* if named, as what follows */
	struct sp_debug_name *name;    /* NULL none */
	struct sp_name_hints *hints;   /* NULL none */
	struct sp_debug_link *link;    /* that was made of it, with the name link_symbol */
	const char *link_symbol;
};

struct sp_debug_tree {
	const struct sp_debug_layout *layout;
	struct sp_skim *skim;
	const uint64_t *addresses; /* ascending */
	size_t n_addresses;
	uint32_t *placed; /* the innermost node around each address, or SP_DEBUG_NO_NODE */
	uint16_t *depths; /* of that node */
	struct sp_debug_node *nodes;
	size_t n_nodes, nodes_room;
	uint64_t placings;
	bool thorough; /* no entry is passed over that could hold functions */
};

/* @layout, @skim and @addresses, at most UINT32_MAX - 1, must outlive the tree, which need not be
 * initialized. To be freed also after a failure. */
int sp_debug_tree_init(struct sp_debug_tree *tree, const uint64_t *addresses, size_t n);
int sp_debug_tree_read(struct sp_debug_tree *tree, const struct sp_debug_layout *layout,
		       struct sp_skim *skim, sp_debug_is_function is_function, void *context);
void sp_debug_tree_done(struct sp_debug_tree *tree);

/* libdw's handle of an entry. */
Dwarf_Die sp_debug_die_at(const struct sp_debug_layout *layout, uint64_t offset);

#endif
