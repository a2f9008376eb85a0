/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tree_view.h - how `sp-report tree` shows a call tree: for people, as JSON, as CSV.
 */
#ifndef SP_CMD_TREE_VIEW_H
#define SP_CMD_TREE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "userspace/cmd/stacks_load.h"

struct sp_tree_view {
	const struct sp_stacks_load *load;
	const struct sp_calltree *tree;
	bool bottom_up;
	bool wide;	/* names are whole, and lines as long as they get */
	double least;	/* share of the tree's samples below which branches are hidden */
	uint32_t depth; /* levels of functions that are shown; regions are no level */
};

/* What is missing or doubtful, then the tree. */
void sp_tree_show(const struct sp_tree_view *view);
/* One object: facts, then the nodes within each other. */
void sp_tree_write_json(const struct sp_tree_view *view);
/* One line for each node, callers first; a first line with the columns' names. */
void sp_tree_write_csv(const struct sp_tree_view *view);

/* Whether a node is shown; @depth: its level. */
bool sp_tree_is_shown(const struct sp_tree_view *view, const struct sp_calltree_node *node,
		      uint32_t depth);
/* Level of a child of a node. */
uint32_t sp_tree_child_depth(const struct sp_calltree_node *child, uint32_t depth);

#endif
