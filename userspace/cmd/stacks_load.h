/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_load.h - the stacks of the files that a command was given, with names, and the tree that
 * was asked for. What `sp-report tree`, `export folded` and `export flamegraph` begin with.
 */
#ifndef SP_CMD_STACKS_LOAD_H
#define SP_CMD_STACKS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "userspace/analysis/calltree.h"
#include "userspace/analysis/stacks.h"
#include "userspace/analysis/symbols.h"
#include "userspace/cmd/symbol_options.h"

struct sp_stacks_load {
	/* Set before. */
	struct sp_symbols_options symbol_options; /* but for the progress and the choice */
	struct sp_symbol_choice symbol_choice;	  /* freed */
	uint32_t *ranks;			  /* wanted; none: all. Freed. */
	size_t n_ranks;
	const char *command;  /* as the user called it, after sp-report */
	const char **regions; /* wanted; none: all. The array is freed. */
	size_t n_regions, regions_room;

	struct sp_symbols *symbols;
	struct sp_sample_files files;
	struct sp_stacks *stacks;
	struct sp_calltree *tree;
	bool by_region; /* the tree depends on regions */
};

/* Reads the files and resolves their symbols. On failure says why and returns -1. */
int sp_stacks_load_read(struct sp_stacks_load *load, char *const *paths, size_t n);
/* Makes the tree; @options->only is set to the wanted regions. The same. */
int sp_stacks_load_tree(struct sp_stacks_load *load, struct sp_calltree_options *options);
void sp_stacks_load_free(struct sp_stacks_load *load);

/* A wanted region more. -ENOMEM. */
int sp_stacks_load_want(struct sp_stacks_load *load, const char *region);

/* What is missing, then what is doubtful. */
void sp_stacks_load_notes(const struct sp_stacks_load *load, FILE *out);
/* The same on the standard error, unless only errors and warnings are wanted. */
void sp_stacks_load_warn(const struct sp_stacks_load *load);

#endif
