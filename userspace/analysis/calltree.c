/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calltree.c - see calltree.h.
 *
 * Rows with the same regions and callers stand together, so their common path is walked once.
 *
 * Invariant: a node's parent has a smaller number; while the tree is made a node's samples are its
 * own alone, and become sums in one pass from the last node to the first.
 */
#include "userspace/analysis/calltree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

#define FEW 8 /* children that are looked through; more of them are found by a table */

/* Numbers of functions stand for functions alone; these are what else a node can be. */
enum { KEY_FUNCTION, KEY_REGION, KEY_SPECIAL };

struct sp_calltree {
	const struct sp_stacks *stacks;
	struct sp_calltree_options options;
	struct sp_calltree_node *nodes;
	size_t n, room;
	struct sp_idmap children[3]; /* parent << 32 | number: node; one for each kind of key */
	bool *wanted;		     /* regions by number, where only some are */
	bool wants_outside;
	uint64_t left_out;
};

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

static struct sp_calltree *new_tree(const struct sp_stacks *stacks)
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

static int key_of(const struct sp_calltree_node *node, uint32_t *ret_number)
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
		int key = key_of(&tree->nodes[i], &number);

		r = sp_idmap_set(&tree->children[key], (uint64_t)node << 32 | number, i);
		if (parent->n_children > FEW + 1)
			break;
	}
	return r;
}

/* The child of a node, which may be new. */
static int descend(struct sp_calltree *tree, uint32_t *node, int key, uint32_t number,
		   enum sp_calltree_kind kind)
{
	uint32_t child = find_child(tree, *node, key, number, kind);
	struct sp_calltree_node *new;

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
			.inlined = true,
			.file = "",
		};
		if (link_child(tree, *node, child) < 0)
			return -ENOMEM;
	}
	*node = child;
	return 0;
}

static enum sp_calltree_kind kind_of(const struct sp_stack_function *function)
{
	switch (function->kind) {
	case SP_STACK_KERNEL:
		return SP_CALLTREE_KERNEL;
	case SP_STACK_NO_NAME:
	case SP_STACK_JIT:
		return SP_CALLTREE_NO_NAME;
	case SP_STACK_NOWHERE:
		return SP_CALLTREE_UNKNOWN;
	default:
		return SP_CALLTREE_FUNCTION;
	}
}

/* Which line to name of several: the one that has more than half, if there is one; else one of the
 * frequent ones. */
static void vote_line(struct sp_calltree_node *node, const char *file, uint32_t line,
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

/* ---- paths ---- */

/* Where a path is, and how deep. */
struct path {
	uint32_t node;
	uint32_t depth;
	uint32_t run; /* how often the last function followed itself */
};

static int enter_frame(struct sp_calltree *tree, struct path *path,
		       const struct sp_stack_frame *frame, uint64_t samples)
{
	const struct sp_stack_function *function =
		sp_stacks_function(tree->stacks, frame->function);
	enum sp_calltree_kind kind = kind_of(function);
	struct sp_calltree_node *node = &tree->nodes[path->node];
	int r = 0;

	if (tree->options.fold && node->kind == kind && node->function == frame->function) {
		if (++path->run > node->folded)
			node->folded = path->run;
	} else if (path->depth < SP_CALLTREE_MAX_DEPTH) {
		r = kind == SP_CALLTREE_UNKNOWN
			    ? descend(tree, &path->node, KEY_SPECIAL, kind, kind)
			    : descend(tree, &path->node, KEY_FUNCTION, frame->function, kind);
		path->depth++;
		path->run = 0;
	}
	if (r < 0)
		return r;
	node = &tree->nodes[path->node];
	node->inlined = node->inlined && frame->inlined;
	vote_line(node, frame->file, frame->line, samples);
	return 0;
}

static int enter_place(struct sp_calltree *tree, struct path *path, uint32_t number,
		       uint64_t samples)
{
	const struct sp_stack_place *place = sp_stacks_place(tree->stacks, number);
	int r = 0;

	if (place->kernel && tree->options.no_kernel)
		return 0;
	for (uint32_t i = place->n_frames; r == 0 && i-- > 0;)
		if (!place->frames[i].inlined || !tree->options.no_inlined)
			r = enter_frame(tree, path, &place->frames[i], samples);
	return r;
}

/* Outermost first; the chain is linked the other way. */
static int enter_regions(struct sp_calltree *tree, struct path *path, uint32_t regions)
{
	uint32_t chain[256], around;
	size_t n = 0;
	int r = 0;

	if (regions == SP_STACKS_NONE) {
		/* Where nothing is ever in a region, there is nothing to tell apart. */
		if (sp_stacks_n_regions(tree->stacks))
			r = descend(tree, &path->node, KEY_SPECIAL, SP_CALLTREE_NO_REGION_KIND,
				    SP_CALLTREE_NO_REGION_KIND);
		path->depth++;
		return r;
	}
	for (; regions != SP_STACKS_NONE && n < sp_array_size(chain); regions = around)
		chain[n++] = sp_stacks_region_of(tree->stacks, regions, &around);
	while (r == 0 && n-- > 0) {
		r = descend(tree, &path->node, KEY_REGION, chain[n], SP_CALLTREE_REGION);
		path->depth++;
	}
	return r;
}

/* What is common to rows of equal regions and callers, which have @samples together. */
static int enter_callers(struct sp_calltree *tree, struct path *path,
			 const struct sp_stack_row *row, uint64_t samples)
{
	const uint32_t *places;
	unsigned end;
	uint32_t n = sp_stacks_callers(tree->stacks, row->callers, &places, &end);
	int r = 0;

	*path = (struct path){0};
	if (tree->options.regions)
		r = enter_regions(tree, path, row->regions);
	if (r == 0 && (end == SP_STACK_TRUNCATED || end == SP_STACKS_LEFT_OUT)) {
		r = descend(tree, &path->node, KEY_SPECIAL, SP_CALLTREE_TRUNCATED,
			    SP_CALLTREE_TRUNCATED);
		path->depth++;
	} else if (r == 0 && sp_stacks_is_cut(end) &&
		   (n ? places[n - 1] : row->place) != SP_STACKS_PLACE_UNKNOWN) {
		r = descend(tree, &path->node, KEY_SPECIAL, SP_CALLTREE_UNKNOWN,
			    SP_CALLTREE_UNKNOWN);
		path->depth++;
	}
	while (r == 0 && n-- > 0)
		r = enter_place(tree, path, places[n], samples);
	return r;
}

static bool is_wanted(const struct sp_calltree *tree, uint32_t regions)
{
	uint32_t around;

	if (!tree->wanted)
		return true;
	if (regions == SP_STACKS_NONE)
		return tree->wants_outside;
	for (; regions != SP_STACKS_NONE; regions = around)
		if (tree->wanted[sp_stacks_region_of(tree->stacks, regions, &around)])
			return true;
	return false;
}

/* Adds the rows [from, to), which have equal regions and callers. */
static int add_rows(struct sp_calltree *tree, size_t from, size_t to)
{
	struct path common;
	uint64_t samples = 0;
	int r;

	for (size_t i = from; i < to; i++)
		samples += sp_stacks_row(tree->stacks, i)->samples;
	if (!is_wanted(tree, sp_stacks_row(tree->stacks, from)->regions)) {
		tree->left_out += samples;
		return 0;
	}
	r = enter_callers(tree, &common, sp_stacks_row(tree->stacks, from), samples);
	for (size_t i = from; r == 0 && i < to; i++) {
		const struct sp_stack_row *row = sp_stacks_row(tree->stacks, i);
		struct path path = common;

		if (row->place != SP_STACKS_NONE)
			r = enter_place(tree, &path, row->place, row->samples);
		else if (!path.node) /* nothing is known of it */
			r = descend(tree, &path.node, KEY_SPECIAL, SP_CALLTREE_UNKNOWN,
				    SP_CALLTREE_UNKNOWN);
		tree->nodes[path.node].self += row->samples;
	}
	return r;
}

/* ---- sums and order ---- */

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
static int finish(struct sp_calltree *tree)
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

static int choose_regions(struct sp_calltree *tree)
{
	uint32_t n = sp_stacks_n_regions(tree->stacks);

	if (!tree->options.n_only)
		return 0;
	tree->wanted = calloc((size_t)n + 1, sizeof(*tree->wanted));
	if (!tree->wanted)
		return -ENOMEM;
	for (size_t k = 0; k < tree->options.n_only; k++) {
		tree->wants_outside |= !strcmp(tree->options.only[k], SP_CALLTREE_NO_REGION);
		for (uint32_t i = 0; i < n; i++)
			tree->wanted[i] |= !strcmp(tree->options.only[k],
						   sp_stacks_region_name(tree->stacks, i));
	}
	return 0;
}

int sp_calltree_new(const struct sp_stacks *stacks, const struct sp_calltree_options *options,
		    struct sp_calltree **ret_tree)
{
	struct sp_calltree *tree = new_tree(stacks);
	size_t n = sp_stacks_n_rows(stacks);
	int r = 0;

	if (!tree)
		return -ENOMEM;
	if (options)
		tree->options = *options;
	r = choose_regions(tree);
	for (size_t from = 0, to; r == 0 && from < n; from = to) {
		const struct sp_stack_row *first = sp_stacks_row(stacks, from);

		for (to = from + 1; to < n; to++)
			if (sp_stacks_row(stacks, to)->regions != first->regions ||
			    sp_stacks_row(stacks, to)->callers != first->callers)
				break;
		r = add_rows(tree, from, to);
	}
	for (size_t i = tree->n; r == 0 && i-- > 0;) {
		struct sp_calltree_node *node = &tree->nodes[i];

		node->samples += node->self;
		if (i)
			tree->nodes[node->parent].samples += node->samples;
	}
	if (r == 0)
		r = finish(tree);
	if (r < 0)
		sp_calltree_free(tree);
	else
		*ret_tree = tree;
	return r;
}

/* ---- bottom up ---- */

/* Goes on by a copy of a node of the other tree. */
static int enter_copy(struct sp_calltree *turned, uint32_t *at, const struct sp_calltree_node *from,
		      uint64_t samples)
{
	uint32_t number;
	int key = key_of(from, &number);
	struct sp_calltree_node *node;
	int r = descend(turned, at, key, number, (enum sp_calltree_kind)from->kind);

	if (r < 0)
		return r;
	node = &turned->nodes[*at];
	node->inlined = node->inlined && from->inlined;
	node->several |= from->several;
	if (from->folded > node->folded)
		node->folded = from->folded;
	vote_line(node, from->file, from->line, samples);
	node->samples += samples;
	return 0;
}

static bool is_region(const struct sp_calltree_node *node)
{
	return node->kind == SP_CALLTREE_REGION || node->kind == SP_CALLTREE_NO_REGION_KIND;
}

static int turn_node(const struct sp_calltree *tree, struct sp_calltree *turned, uint32_t number)
{
	uint32_t path[SP_CALLTREE_MAX_DEPTH + 512], at = 0;
	size_t n = 0, outer;
	uint64_t samples = tree->nodes[number].self;
	int r = 0;

	for (uint32_t i = number; i && n < sp_array_size(path); i = tree->nodes[i].parent)
		path[n++] = i;
	turned->nodes[0].samples += samples;
	for (outer = n; r == 0 && outer && is_region(&tree->nodes[path[outer - 1]]); outer--)
		r = enter_copy(turned, &at, &tree->nodes[path[outer - 1]], samples);
	for (size_t i = 0; r == 0 && i < outer; i++) {
		r = enter_copy(turned, &at, &tree->nodes[path[i]], samples);
		if (i == 0)
			turned->nodes[at].self += samples;
	}
	if (!outer)
		turned->nodes[at].self += samples;
	return r;
}

int sp_calltree_turn(const struct sp_calltree *tree, struct sp_calltree **ret_turned)
{
	struct sp_calltree *turned = new_tree(tree->stacks);
	int r = turned ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < tree->n; i++)
		if (tree->nodes[i].self)
			r = turn_node(tree, turned, (uint32_t)i);
	if (r == 0) {
		turned->left_out = tree->left_out;
		r = finish(turned);
	}
	if (r < 0)
		sp_calltree_free(turned);
	else
		*ret_turned = turned;
	return r;
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
		return sp_stacks_region_name(tree->stacks, node->function);
	case SP_CALLTREE_NO_REGION_KIND:
		return SP_CALLTREE_NO_REGION;
	case SP_CALLTREE_TRUNCATED:
		return "[truncated]";
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
	default:
		return node->inlined ? "inlined" : "function";
	}
}

uint64_t sp_calltree_left_out(const struct sp_calltree *tree)
{
	return tree->left_out;
}
