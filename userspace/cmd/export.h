/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export.h - what sp-report export was asked for: export_options.c reads it from the command line,
 * export.c does it.
 */
#ifndef SP_CMD_EXPORT_H
#define SP_CMD_EXPORT_H

#include "userspace/cmd/convert.h"
#include "userspace/cmd/export_left.h"
#include "userspace/cmd/export_parts.h"
#include "userspace/cmd/export_stacks.h"

/* Formats, for options that only some of them have. */
enum sp_export_to {
	SP_TO_H5 = 1 << 0,
	SP_TO_SPT = 1 << 1,
	SP_TO_SPS = 1 << 2,
	SP_TO_JSON = 1 << 3,
	SP_TO_FOLDED = 1 << 4,
	SP_TO_FLAMEGRAPH = 1 << 5,
	SP_TO_STACKS = SP_TO_FOLDED | SP_TO_FLAMEGRAPH,
};

struct sp_export_kind {
	const char *name;
	enum sp_export_to to;
	int (*write)(struct sp_profile *profile, const char *path,
		     const struct sp_write_options *options, struct sp_error *error);
	int (*write_rank)(struct sp_profile *profile, uint32_t rank, const char *path,
			  const struct sp_write_options *options, struct sp_error *error);
	enum sp_export_format left; /* of those two */
};

#define SP_EXPORT_KINDS 6
extern const struct sp_export_kind sp_export_kinds[SP_EXPORT_KINDS];

struct sp_export {
	struct sp_convert convert;
	const struct sp_export_kind *kind;
	const char *prefix;
	struct sp_export_parts parts;
	struct sp_export_stacks stacks;
};

/* -1 to go on, else the exit status. */
int sp_export_parse(struct sp_export *export, int argc, char **argv);

#endif
