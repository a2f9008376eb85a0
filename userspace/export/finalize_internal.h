/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_internal.h - what the parts of the finalizer share; for export/finalize*.c only.
 *
 * finalize.c reads the journal and drives; finalize_unit.c feeds the sinks of one unit,
 * finalize_samples.c with its samples; finalize_stacks.c unwinds copies; finalize_paths.c knows
 * names and directories; finalize_cuts.c counts calls that are not whole.
 */
#ifndef SP_EXPORT_FINALIZE_INTERNAL_H
#define SP_EXPORT_FINALIZE_INTERNAL_H

#include "formats/output.h"
#include "userspace/analysis/extsort.h"
#include "userspace/analysis/scratch.h"
#include "userspace/base/vdso.h"
#include "userspace/export/finalize.h"

#define SP_MAX_SINKS 3
#define SP_CALL_NUMBER_BITS 40 /* of a call's id; its thread stands above */
#define SP_STACK_ROOM (SP_MAX_KERNEL_FRAMES + SP_MAX_FRAMES)

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
	SP_CW_SITE = 7,	  /* index, of its end if it began before the recording, << 32 | skipped */
};

enum sp_sample_word {
	SP_SW_UNIT = 0,	  /* unit << 32 */
	SP_SW_TIME = 1,	  /* ns */
	SP_SW_LANE = 2,	  /* thread, or SP_NONE, << 32 | stack's end << 16 | flags */
	SP_SW_NUMBER = 3, /* of the call, 0 none */
	SP_SW_IP = 4,
	SP_SW_STACK = 5,  /* offset in the stacks */
	SP_SW_FRAMES = 6, /* process's index << 32 | kernel frames << 16 | frames, those included */
	SP_SW_SITE = 7,	  /* index, or SP_NONE, << 32 | signal frames */
};

struct sp_finalizer {
	const struct sp_finalize_options *options;
	const struct sp_recording *recording;
	struct sp_finalize_result *result;
	struct sp_reach *reach; /* what looks at files of the recording; the symbols', too */
	const char *program;
	struct sp_user user;	     /* of the programs, for what is read on their word */
	char vdso[SP_VDSO_BUILD_ID]; /* build-id of the kernel's code in them, "" unknown */
	const struct sp_sink_ops *sinks[SP_MAX_SINKS];
	size_t n_sinks;
	struct sp_extsort *calls, *samples;
	struct sp_scratch *stacks;
	const struct sp_record *call, *sample; /* next ones, NULL at the end */
	struct sp_finalizer_lines *lines;      /* NULL: no line profile */
	char **ids; /* of images without build-ids, as they are asked for */
	struct sp_finalizer_stacks *by_libdw; /* NULL: the recording has no copies of stacks */
	uint64_t done, last_progress_ns;      /* records written */
	char subject[512];		      /* path that an error is about */
};

/* Calls of the row without a begin or an end of their own. */
struct sp_unit_cut {
	unsigned kind; /* cuts.h */
	uint32_t site; /* index, as in SP_CW_SITE */
	uint64_t count;
};

/* What writes the files of a unit. */
struct sp_unit_writer {
	struct sp_finalizer *fin;
	struct sp_sink_unit unit;
	void *sinks[SP_MAX_SINKS];
	char *paths[SP_MAX_SINKS]; /* of their files */
	/* Their numbers in the files, SP_NONE: not announced. */
	uint32_t *regions, *sites, *kernel_symbols;
	struct sp_idmap modules; /* the same, by process's index << 32 | map */
	uint32_t n_regions, n_sites, n_kernel_symbols, n_modules;
	struct sp_pool *texts; /* source lines and tags */
	struct sp_calls calls;
	size_t n_calls;
	uint64_t row;	       /* word 0 of the row that was begun */
	struct sp_unit_cut *cuts; /* of the row */
	size_t n_cuts, cuts_room;
	struct sp_idmap cut_by_key;
	struct sp_record last; /* the call before */
	bool has_last;
};

/* Calls a function of every sink that has it. */
#define SP_FOR_SINKS(writer, error_code, function, ...) \
	do { \
		for (size_t sink_ = 0; (error_code) == 0 && sink_ < (writer)->fin->n_sinks; \
		     sink_++) \
			if ((writer)->fin->sinks[sink_]->function) \
				(error_code) = (writer)->fin->sinks[sink_]->function( \
					(writer)->sinks[sink_], __VA_ARGS__); \
	} while (0)

/* Remembers what the next error is about; gives @error back. */
int sp_finalizer_blame(struct sp_finalizer *finalizer, const char *path, int error);

/* Tells the user, if it is time to, and asks whether to go on: 0 or -EINTR. */
int sp_finalizer_progress(struct sp_finalizer *finalizer, const char *what, double done,
			  struct sp_error *error);
int sp_finalizer_next_call(struct sp_finalizer *finalizer, struct sp_error *error);
int sp_finalizer_next_sample(struct sp_finalizer *finalizer, struct sp_error *error);

/* Puts a sample among those that are sorted. */
int sp_finalizer_sort_sample(struct sp_finalizer *finalizer, const struct sp_ev_sample *sample,
			     const struct sp_event *event);
/* Takes samples and copies of stacks, in order of the journal: open, add, end, free. */
int sp_finalizer_open_stacks(struct sp_finalizer *finalizer);
int sp_finalizer_add_sample(struct sp_finalizer *finalizer, unsigned stream,
			    const struct sp_event *event);
int sp_finalizer_end_stacks(struct sp_finalizer *finalizer);
void sp_finalizer_free_stacks(struct sp_finalizer *finalizer);

/* What tells the file of a mapping from others: its build-id, else content_id.h's; "" unknown. */
const char *sp_finalizer_build_id(struct sp_finalizer *finalizer, const struct sp_map *map);
void sp_finalizer_free_ids(struct sp_finalizer *finalizer);

/* The line profile: open; see the place of each sample; find their lines; count and write them unit
 * by unit; free. @region: NULL none. */
int sp_finalizer_open_lines(struct sp_finalizer *finalizer);
int sp_finalizer_see_line(struct sp_finalizer *finalizer, uint32_t process, uint64_t ip,
			  uint64_t time);
int sp_finalizer_find_lines(struct sp_finalizer *finalizer);
int sp_finalizer_count_line(struct sp_finalizer *finalizer, const char *region, uint32_t process,
			    uint64_t ip, uint64_t time);
int sp_unit_write_lines(struct sp_unit_writer *writer, struct sp_error *error);
void sp_finalizer_free_lines(struct sp_finalizer *finalizer);

/* Writes all files of a unit; takes the unit's records, which are the next ones. */
int sp_finalizer_write_unit(struct sp_finalizer *finalizer, uint32_t unit, struct sp_error *error);

/* A call of the row that has no begin or end of its own; all of them, once the row has all of its
 * calls. */
int sp_unit_count_cut(struct sp_unit_writer *writer, uint32_t site, unsigned kind);
int sp_unit_end_cuts(struct sp_unit_writer *writer, struct sp_error *error);
/* Announces a region and begins its row. */
int sp_unit_begin_row(struct sp_unit_writer *writer, uint32_t region, struct sp_error *error);
/* Gives a sample to the sinks, after the modules and kernel symbols that its stack is in. */
int sp_unit_add_sample(struct sp_unit_writer *writer, const struct sp_record *record,
		       struct sp_error *error);
/* Id of a call in the files. */
static inline int64_t sp_unit_call_id(uint64_t thread, uint64_t number)
{
	return (int64_t)(thread << SP_CALL_NUMBER_BITS |
			 (number & (((uint64_t)1 << SP_CALL_NUMBER_BITS) - 1)));
}

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
 * free(). NULL without memory. A relative @file is looked for from @directory (may be NULL). Read
 * on behalf of @user. */
char *sp_source_line(struct sp_reach *reach, const struct sp_user *user, const char *directory,
		     const char *file, int64_t line);
/* "io, checkpoint" as a JSON list, to free(). NULL without memory. */
char *sp_tags_to_json(const char *tags);

#endif
