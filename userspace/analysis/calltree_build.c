/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calltree_build.c - makes call trees out of stacks, and turns them around.
 *
 * Rows with the same regions and callers stand together, so their common path is walked once.
 *
 * Invariant: while a tree is made, a node's samples are its own alone; they become sums in one pass
 * from the last node to the first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/calltree_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

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

	if (node->kind == SP_CALLTREE_MORE)
		return 0;
	if ((function->probe || frame->half) && node->kind == kind &&
	    node->function == frame->function) {
		/* The probes call each other: one node, always. So are the halves of a construct.
		 */
	} else if (tree->options.fold && node->kind == kind && node->function == frame->function) {
		if (++path->run > node->folded)
			node->folded = path->run;
	} else if (path->depth < SP_CALLTREE_MAX_DEPTH) {
		r = kind == SP_CALLTREE_UNKNOWN
			    ? sp_calltree_descend(tree, &path->node, KEY_SPECIAL, kind, kind)
			    : sp_calltree_descend(tree, &path->node, KEY_FUNCTION, frame->function,
						  kind);
		path->depth++;
		path->run = 0;
	}
	if (r < 0)
		return r;
	node = &tree->nodes[path->node];
	if (node->kind == SP_CALLTREE_MORE)
		return 0;
	node->inlined = node->inlined && frame->inlined;
	sp_calltree_vote_line(node, frame->file, frame->line, samples);
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
			r = sp_calltree_descend(tree, &path->node, KEY_SPECIAL,
						SP_CALLTREE_NO_REGION_KIND,
						SP_CALLTREE_NO_REGION_KIND);
		path->depth++;
		return r;
	}
	for (; regions != SP_STACKS_NONE && n < sp_array_size(chain); regions = around)
		chain[n++] = sp_stacks_region_of(tree->stacks, regions, &around);
	while (r == 0 && n-- > 0) {
		struct sp_calltree_node *node = &tree->nodes[path->node];

		if (tree->options.fold && node->kind == SP_CALLTREE_REGION &&
		    node->function == chain[n]) {
			if (++path->run > node->folded)
				node->folded = path->run;
			continue;
		}
		r = sp_calltree_descend(tree, &path->node, KEY_REGION, chain[n],
					SP_CALLTREE_REGION);
		path->depth++;
		path->run = 0;
	}
	path->run = 0;
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
		r = sp_calltree_descend(tree, &path->node, KEY_SPECIAL, SP_CALLTREE_TRUNCATED,
					SP_CALLTREE_TRUNCATED);
		path->depth++;
	} else if (r == 0 && sp_stacks_is_cut(end) &&
		   (n ? places[n - 1] : row->place) != SP_STACKS_PLACE_UNKNOWN) {
		r = sp_calltree_descend(tree, &path->node, KEY_SPECIAL, SP_CALLTREE_UNKNOWN,
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

	if (!is_wanted(tree, sp_stacks_row(tree->stacks, from)->regions))
		return 0;
	for (size_t i = from; i < to; i++)
		samples += sp_stacks_row(tree->stacks, i)->samples;
	r = enter_callers(tree, &common, sp_stacks_row(tree->stacks, from), samples);
	for (size_t i = from; r == 0 && i < to; i++) {
		const struct sp_stack_row *row = sp_stacks_row(tree->stacks, i);
		struct path path = common;

		if (row->place != SP_STACKS_NONE)
			r = enter_place(tree, &path, row->place, row->samples);
		else if (!path.node) /* nothing is known of it */
			r = sp_calltree_descend(tree, &path.node, KEY_SPECIAL, SP_CALLTREE_UNKNOWN,
						SP_CALLTREE_UNKNOWN);
		tree->nodes[path.node].self += row->samples;
	}
	return r;
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
	struct sp_calltree *tree = sp_calltree_alloc(stacks);
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
		r = sp_calltree_finish(tree);
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
	int key = sp_calltree_key_of(from, &number);
	struct sp_calltree_node *node;
	int r;

	if (turned->nodes[*at].kind == SP_CALLTREE_MORE)
		return 0;
	r = sp_calltree_descend(turned, at, key, number, (enum sp_calltree_kind)from->kind);

	if (r < 0)
		return r;
	node = &turned->nodes[*at];
	if (node->kind == SP_CALLTREE_MORE && from->kind != SP_CALLTREE_MORE) {
		node->samples += samples;
		return 0;
	}
	node->inlined = node->inlined && from->inlined;
	node->several |= from->several;
	if (from->folded > node->folded)
		node->folded = from->folded;
	sp_calltree_vote_line(node, from->file, from->line, samples);
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
	struct sp_calltree *turned = sp_calltree_alloc(tree->stacks);
	int r = turned ? 0 : -ENOMEM;

	if (r == 0)
		turned->options.most_nodes = tree->options.most_nodes;
	for (size_t i = 0; r == 0 && i < tree->n; i++)
		if (tree->nodes[i].self)
			r = turn_node(tree, turned, (uint32_t)i);
	if (r == 0) {
		r = sp_calltree_finish(turned);
	}
	if (r < 0)
		sp_calltree_free(turned);
	else
		*ret_turned = turned;
	return r;
}
