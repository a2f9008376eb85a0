/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_parts.h - the files that an export makes in a format that holds one rank.
 */
#ifndef SP_CMD_EXPORT_PARTS_H
#define SP_CMD_EXPORT_PARTS_H

#include "userspace/cmd/convert.h"

struct sp_export_part {
	uint32_t rank;
	char *path;
	uint64_t first_sample, end_sample; /* its samples are in this range */
};

struct sp_export_parts {
	struct sp_export_part *items; /* ascending by rank */
	size_t n, room;
	uint64_t outside; /* samples in no region */
};

/* Finds the ranks that have regions, or @samples, and where each goes: one rank to @output itself,
 * unless that is a directory, several to @output/@prefix_rankNNNNN.@suffix. Makes the directory.
 * @prefix: NULL for the first input's name. -1 after saying why. */
int sp_export_parts_prepare(struct sp_export_parts *parts, const struct sp_convert *convert,
			    const char *output, const char *prefix, const char *suffix,
			    bool samples);
void sp_export_parts_free(struct sp_export_parts *parts);

#endif
