/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calltree_private.h - what calltree.c, which has the nodes, and calltree_build.c, which makes
 * trees, share.
 */
#ifndef SP_ANALYSIS_CALLTREE_PRIVATE_H
#define SP_ANALYSIS_CALLTREE_PRIVATE_H

#include "userspace/analysis/calltree.h"
#include "userspace/base/idmap.h"

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
};

/* A tree with its root alone; NULL without memory. */
struct sp_calltree *sp_calltree_alloc(const struct sp_stacks *stacks);
/* Goes from a node to its child, which may be new; where there are too many nodes, to "[more]", from
 * which there is no way on. @number: of a function, of a region, or @kind. -ENOMEM, -E2BIG. */
int sp_calltree_descend(struct sp_calltree *tree, uint32_t *node, int key, uint32_t number,
			enum sp_calltree_kind kind);
/* What a node was found by. */
int sp_calltree_key_of(const struct sp_calltree_node *node, uint32_t *ret_number);
/* Which line to name of several: the one that has more than half, if there is one; else one of the
 * frequent ones. */
void sp_calltree_vote_line(struct sp_calltree_node *node, const char *file, uint32_t line,
			   uint64_t samples);
/* Puts the children of every node in their order, and forgets what only helped to find them. */
int sp_calltree_finish(struct sp_calltree *tree);

#endif
