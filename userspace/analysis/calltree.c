/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calltree.c - the nodes of call trees: finds and orders them, and says what they are.
 *
 * Invariant: a node's parent has a smaller number; no two children of a node are the same function.
 */
#include "userspace/analysis/calltree_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

#define FEW 8 /* children that are looked through; more of them are found by a table */

void sp_calltree_free(struct sp_calltree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < sp_array_size(tree->children); i++)
		sp_idmap_free(&tree->children[i]);
	free(tree->nodes);
	free(tree->wanted);
	free(tree);
}

struct sp_calltree *sp_calltree_alloc(const struct sp_stacks *stacks)
{
	struct sp_calltree *tree = calloc(1, sizeof(*tree));
	struct sp_calltree_node *root;

	if (!tree)
		return NULL;
	tree->stacks = stacks;
	root = sp_array_add(&tree->nodes, &tree->n, &tree->room);
	if (!root) {
		free(tree);
		return NULL;
	}
	root->parent = root->first_child = root->next = root->function = SP_CALLTREE_NONE;
	root->file = "";
	return tree;
}

/* A node's child, SP_CALLTREE_NONE if it has none like this. Most nodes have one or two. */
static uint32_t find_child(const struct sp_calltree *tree, uint32_t node, int key, uint32_t number,
			   enum sp_calltree_kind kind)
{
	uint32_t function = key == KEY_SPECIAL ? SP_CALLTREE_NONE : number;

	if (tree->nodes[node].n_children > FEW)
		return sp_idmap_get(&tree->children[key], (uint64_t)node << 32 | number);
	for (uint32_t i = tree->nodes[node].first_child; i != SP_CALLTREE_NONE;
	     i = tree->nodes[i].next)
		if (tree->nodes[i].function == function && tree->nodes[i].kind == kind)
			return i;
	return SP_CALLTREE_NONE;
}

int sp_calltree_key_of(const struct sp_calltree_node *node, uint32_t *ret_number)
{
	*ret_number = node->function == SP_CALLTREE_NONE ? node->kind : node->function;
	if (node->kind == SP_CALLTREE_REGION)
		return KEY_REGION;
	return node->function == SP_CALLTREE_NONE ? KEY_SPECIAL : KEY_FUNCTION;
}

/* Links a new child, and puts it into the table if there are many; all, when they become many. */
static int link_child(struct sp_calltree *tree, uint32_t node, uint32_t child)
{
	struct sp_calltree_node *parent = &tree->nodes[node];
	int r = 0;

	tree->nodes[child].next = parent->first_child;
	parent->first_child = child;
	if (++parent->n_children <= FEW)
		return 0;
	for (uint32_t i = child; r == 0 && i != SP_CALLTREE_NONE; i = tree->nodes[i].next) {
		uint32_t number;
		int key = sp_calltree_key_of(&tree->nodes[i], &number);

		r = sp_idmap_set(&tree->children[key], (uint64_t)node << 32 | number, i);
		if (parent->n_children > FEW + 1)
			break;
	}
	return r;
}

static bool is_full(const struct sp_calltree *tree)
{
	size_t most = tree->options.most_nodes;

	return tree->n >= (most ? most : SP_CALLTREE_MOST_NODES);
}

/* The child of a node, which may be new. */
int sp_calltree_descend(struct sp_calltree *tree, uint32_t *node, int key, uint32_t number,
			enum sp_calltree_kind kind)
{
	struct sp_calltree_node *new;
	uint32_t child;

	if (tree->nodes[*node].kind == SP_CALLTREE_MORE)
		return 0;
	child = find_child(tree, *node, key, number, kind);
	if (child == SP_CALLTREE_NONE && is_full(tree)) {
		key = KEY_SPECIAL;
		number = kind = SP_CALLTREE_MORE;
		child = find_child(tree, *node, key, number, kind);
	}
	if (child == SP_CALLTREE_NONE) {
		if (tree->n >= SP_CALLTREE_NONE - 1)
			return -E2BIG;
		child = (uint32_t)tree->n;
		new = sp_array_add(&tree->nodes, &tree->n, &tree->room);
		if (!new)
			return -ENOMEM;
		*new = (struct sp_calltree_node){
			.parent = *node,
			.first_child = SP_CALLTREE_NONE,
			.next = SP_CALLTREE_NONE,
			.function = key == KEY_SPECIAL ? SP_CALLTREE_NONE : number,
			.kind = (uint8_t)kind,
			.inlined = kind != SP_CALLTREE_MORE,
			.file = "",
		};
		if (link_child(tree, *node, child) < 0)
			return -ENOMEM;
	}
	*node = child;
	return 0;
}

/* Which line to name of several: the one that has more than half, if there is one; else one of the
 * frequent ones. */
void sp_calltree_vote_line(struct sp_calltree_node *node, const char *file, uint32_t line,
			   uint64_t samples)
{
	if (!line)
		return;
	if (!node->line_votes) {
		node->several |= node->line && (node->line != line || node->file != file);
		node->file = file;
		node->line = line;
		node->line_votes = samples;
	} else if (node->line == line && node->file == file) {
		node->line_votes += samples;
	} else {
		node->several = true;
		node->line_votes -= samples < node->line_votes ? samples : node->line_votes;
	}
}

/* ---- order ---- */

static int compare_nodes(const void *a, const void *b, void *data)
{
	const struct sp_calltree *tree = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct sp_calltree_node *m = &tree->nodes[x], *n = &tree->nodes[y];
	int order;

	if (m->samples != n->samples)
		return m->samples < n->samples ? 1 : -1;
	order = strcmp(sp_calltree_name(tree, x), sp_calltree_name(tree, y));
	return order ? order : (x > y) - (x < y);
}

/* Puts the children of every node in their order, and forgets what only helped to find them. */
int sp_calltree_finish(struct sp_calltree *tree)
{
	sp_cleanup(sp_freep) uint32_t *order = NULL;
	size_t room = 0;

	for (size_t i = 0; i < sp_array_size(tree->children); i++)
		sp_idmap_free(&tree->children[i]);
	for (size_t i = 0; i < tree->n; i++) {
		struct sp_calltree_node *node = &tree->nodes[i];
		size_t n = 0;

		if (node->n_children < 2)
			continue;
		for (uint32_t k = node->first_child; k != SP_CALLTREE_NONE;
		     k = tree->nodes[k].next) {
			uint32_t *larger = sp_array_grow(order, n, &room, sizeof(*order));

			if (!larger)
				return -ENOMEM;
			order = larger;
			order[n++] = k;
		}
		qsort_r(order, n, sizeof(*order), compare_nodes, tree);
		node->first_child = order[0];
		for (size_t k = 0; k < n; k++)
			tree->nodes[order[k]].next = k + 1 < n ? order[k + 1] : SP_CALLTREE_NONE;
	}
	return 0;
}

/* ---- looking ---- */

size_t sp_calltree_n(const struct sp_calltree *tree)
{
	return tree->n;
}

const struct sp_calltree_node *sp_calltree_node(const struct sp_calltree *tree, uint32_t node)
{
	return &tree->nodes[node];
}

const char *sp_calltree_name(const struct sp_calltree *tree, uint32_t number)
{
	const struct sp_calltree_node *node = &tree->nodes[number];

	switch (node->kind) {
	case SP_CALLTREE_ROOT:
		return "all";
	case SP_CALLTREE_REGION:
		return sp_region_shown(sp_stacks_region_name(tree->stacks, node->function));
	case SP_CALLTREE_NO_REGION_KIND:
		return SP_CALLTREE_NO_REGION;
	case SP_CALLTREE_TRUNCATED:
		return "[truncated]";
	case SP_CALLTREE_MORE:
		return "[more]";
	default:
		return node->function == SP_CALLTREE_NONE
			       ? "[unknown]"
			       : sp_stacks_function(tree->stacks, node->function)->name;
	}
}

const char *sp_calltree_module(const struct sp_calltree *tree, uint32_t number)
{
	const struct sp_calltree_node *node = &tree->nodes[number];

	if (node->kind == SP_CALLTREE_REGION || node->function == SP_CALLTREE_NONE)
		return "";
	return sp_stacks_function(tree->stacks, node->function)->module;
}

const char *sp_calltree_kind_name(const struct sp_calltree *tree, uint32_t number)
{
	const struct sp_calltree_node *node = &tree->nodes[number];

	switch (node->kind) {
	case SP_CALLTREE_ROOT:
		return "all";
	case SP_CALLTREE_REGION:
		return "region";
	case SP_CALLTREE_NO_REGION_KIND:
		return "no region";
	case SP_CALLTREE_KERNEL:
		return "kernel";
	case SP_CALLTREE_NO_NAME:
		return "no name";
	case SP_CALLTREE_UNKNOWN:
		return "unknown";
	case SP_CALLTREE_TRUNCATED:
		return "truncated";
	case SP_CALLTREE_MORE:
		return "more";
	default:
		return node->inlined ? "inlined" : "function";
	}
}
