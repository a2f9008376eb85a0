/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_internal.h - what the parts of the finalizer share; for export/finalize*.c only.
 *
 * finalize.c reads the journal and drives; finalize_unit.c feeds the sinks of one unit;
 * finalize_paths.c knows names and directories.
 */
#ifndef SP_EXPORT_FINALIZE_INTERNAL_H
#define SP_EXPORT_FINALIZE_INTERNAL_H

#include "formats/output.h"
#include "userspace/analysis/extsort.h"
#include "userspace/analysis/scratch.h"
#include "userspace/export/finalize.h"

#define SP_MAX_SINKS 3
#define SP_CALL_NUMBER_BITS 40 /* of a call's id; its thread stands above */

/* How a call stands in a sp_record. Word 0 is unit << 32 | region, so a unit's rows stand together.
 */
enum sp_call_word {
	SP_CW_ROW = 0,	 /* unit << 32 | region */
	SP_CW_START = 1, /* ns */
	SP_CW_LANE = 2,	 /* thread << 32 | depth << 16 | flags */
	SP_CW_NUMBER =
		3, /* number << 1 | open at the end: of two of one call, the closed one first */
	SP_CW_LENGTH = 4, /* ns */
	SP_CW_CHILD = 5,  /* ns */
	SP_CW_PARENT = 6, /* number, 0 none */
	SP_CW_SITE = 7,	  /* index << 32 | skipped */
};

enum sp_sample_word {
	SP_SW_UNIT = 0,	  /* unit << 32 */
	SP_SW_TIME = 1,	  /* ns */
	SP_SW_LANE = 2,	  /* thread, or SP_NONE, << 32 | flags */
	SP_SW_NUMBER = 3, /* of the call, 0 none */
	SP_SW_IP = 4,
	SP_SW_STACK = 5, /* offset in the stacks */
	SP_SW_MAP = 6,	 /* index << 32 | frames */
	SP_SW_SITE = 7,	 /* index, or SP_NONE, << 32 */
};

struct sp_finalizer {
	const struct sp_finalize_options *options;
	const struct sp_recording *recording;
	struct sp_finalize_result *result;
	const char *program;
	const struct sp_sink_ops *sinks[SP_MAX_SINKS];
	size_t n_sinks;
	struct sp_extsort *calls, *samples;
	struct sp_scratch *stacks;
	const struct sp_record *call, *sample; /* next ones, NULL at the end */
	uint64_t done, last_progress_ns;       /* records written */
	char subject[512];		       /* path that an error is about */
};

/* Remembers what the next error is about; gives @error back. */
int sp_finalizer_blame(struct sp_finalizer *finalizer, const char *path, int error);

/* Tells the user, if it is time to, and asks whether to go on: 0 or -EINTR. */
int sp_finalizer_progress(struct sp_finalizer *finalizer, const char *what, double done,
			  struct sp_error *error);
int sp_finalizer_next_call(struct sp_finalizer *finalizer, struct sp_error *error);
int sp_finalizer_next_sample(struct sp_finalizer *finalizer, struct sp_error *error);

/* Writes all files of a unit; takes the unit's records, which are the next ones. */
int sp_finalizer_write_unit(struct sp_finalizer *finalizer, uint32_t unit, struct sp_error *error);

/* Path of a unit's file relative to the output directory, to free(). NULL without memory. */
char *sp_finalizer_path(const struct sp_finalizer *finalizer, const struct sp_unit *unit,
			const struct sp_sink_ops *sink);
/* The same with the directory before it. */
char *sp_finalizer_full_path(const struct sp_finalizer *finalizer, const char *path);
/* Makes the directories and refuses files that are there. */
int sp_finalizer_prepare_paths(struct sp_finalizer *finalizer, struct sp_error *error);
/* Removes the files written so far and the directories that are empty then. */
void sp_finalizer_remove_files(struct sp_finalizer *finalizer);

/* Line @line of a source file as text without the blanks around it, "" if it cannot be had; to
 * free(). NULL without memory. A relative @file is looked for from @directory (may be NULL). */
char *sp_source_line(const char *directory, const char *file, int64_t line);
/* "io, checkpoint" as a JSON list, to free(). NULL without memory. */
char *sp_tags_to_json(const char *tags);

#endif
