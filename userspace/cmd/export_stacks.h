/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_stacks.h - sp-report export folded and flamegraph: stacks instead of profiles.
 */
#ifndef SP_CMD_EXPORT_STACKS_H
#define SP_CMD_EXPORT_STACKS_H

#include <stdbool.h>

#include "userspace/cmd/stacks_load.h"

struct sp_export_stacks {
	struct sp_stacks_load load;
	struct sp_calltree_options tree;
	bool flamegraph;   /* else folded stacks */
	bool wide;	   /* of these names are whole */
	const char *title; /* NULL: the name of the first input */
	double least;	   /* share of the samples that a frame needs */
	bool inverted;
	unsigned int output_flags; /* SP_OUTPUT_* */
};

/* Writes to @output, or to the standard output if that is NULL or "-". Returns the exit status. */
int sp_export_stacks(struct sp_export_stacks *export, char *const *inputs, size_t n,
		     const char *output);
void sp_export_stacks_free(struct sp_export_stacks *export);

#endif
