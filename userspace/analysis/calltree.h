/* SPDX-License-Identifier: BSD-2-Clause
 *
 * calltree.h - distinct stacks as a tree of calls.
 *
 * Life cycle: new, from stacks that were resolved; walk the nodes, or turn it bottom up; free. The
 * stacks must outlive the tree. Nodes stand in an array, parents before their children; the first
 * is the root, which has all samples.
 *
 * Memory: 72 bytes a node; a node is a path of functions that was seen. Beyond `most_nodes`, samples of
 * new paths count for a node "[more]" where they leave the known ones: no sum changes.
 */
#ifndef SP_ANALYSIS_CALLTREE_H
#define SP_ANALYSIS_CALLTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "userspace/analysis/stacks.h"

#define SP_CALLTREE_NONE UINT32_MAX
#define SP_CALLTREE_MAX_DEPTH 4096u /* nodes on a path; what is further in counts for the last */
#define SP_CALLTREE_MOST_NODES (4u << 20)
#define SP_CALLTREE_NO_REGION "(no region)"

enum sp_calltree_kind {
	SP_CALLTREE_ROOT,
	SP_CALLTREE_REGION,
	SP_CALLTREE_NO_REGION_KIND, /* outside of all regions */
	SP_CALLTREE_FUNCTION,
	SP_CALLTREE_KERNEL,
	SP_CALLTREE_NO_NAME,   /* "[libfoo.so]", "[jit]" */
	SP_CALLTREE_UNKNOWN,   /* callers are missing: "[unknown]" */
	SP_CALLTREE_TRUNCATED, /* callers were too many: "[truncated]" */
	SP_CALLTREE_MORE,      /* paths beyond the limit: "[more]" */
};

struct sp_calltree_options {
	bool regions;	 /* regions are the outermost nodes, within each other as they were open */
	bool no_inlined; /* inlined calls are left out: their samples count for what they are in */
	bool no_kernel;	 /* the kernel's functions are left out in the same way */
	bool fold;	 /* a function that calls itself is one node */
	/* Only samples within a region of one of these names; SP_CALLTREE_NO_REGION: in none. None
	 * given: all. */
	const char *const *only;
	size_t n_only;
	size_t most_nodes; /* 0: SP_CALLTREE_MOST_NODES; at worst twice as many are made */
};

struct sp_calltree_node {
	uint32_t parent, first_child, next; /* children: most samples first, then by name */
	uint32_t function; /* of the stacks; a region of theirs; else SP_CALLTREE_NONE */
	uint32_t n_children;
	uint32_t folded; /* longest chain of calls to itself that was folded into it, 0 none */
	uint8_t kind;	 /* enum sp_calltree_kind */
	bool inlined;	 /* wherever it was seen */
	bool several;	 /* lines other than this one were seen */
	uint32_t line;	 /* where it was, of a caller the call; 0 unknown */
	const char *file;
	uint64_t samples;    /* in it and what it calls */
	uint64_t self;	     /* in itself */
	uint64_t line_votes; /* while it is made */
};

struct sp_calltree;

/* @options may be NULL. -ENOMEM, or -E2BIG for more than 2^32 nodes. */
int sp_calltree_new(const struct sp_stacks *stacks, const struct sp_calltree_options *options,
		    struct sp_calltree **ret_tree);
/* The other way round: below each function where samples were, who called it. Regions stay
 * outermost. Of the root's (or a region's) children @self equals @samples; below, @samples are
 * those that came this way. */
int sp_calltree_turn(const struct sp_calltree *tree, struct sp_calltree **ret_turned);
/* NULL is fine. */
void sp_calltree_free(struct sp_calltree *tree);

size_t sp_calltree_n(const struct sp_calltree *tree);
const struct sp_calltree_node *sp_calltree_node(const struct sp_calltree *tree, uint32_t node);
/* Name to show, not made safe for terminals; the root's is "all". */
const char *sp_calltree_name(const struct sp_calltree *tree, uint32_t node);
/* Path of the file that the function is in, "" unknown or none. */
const char *sp_calltree_module(const struct sp_calltree *tree, uint32_t node);
/* Name of a node's kind as machines read it: "all", "region", "function", "inlined", "kernel",
 * "no name", "unknown", "truncated", "more". */
const char *sp_calltree_kind_name(const struct sp_calltree *tree, uint32_t node);

#endif
