/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info.h - the parts of sp-report info: profiles of one recording, and journals.
 */
#ifndef SP_CMD_INFO_H
#define SP_CMD_INFO_H

#include "userspace/analysis/inputs.h"
#include "userspace/analysis/stack_counts.h"
#include "userspace/base/json.h"

/* What stands in the files of one recording. What none of them says is unknown: -1. */
struct sp_info {
	const struct sp_given *first; /* has the facts */
	size_t files;
	uint32_t ranks, regions;
	int64_t calls, samples, threads, processes;
	int64_t start, end; /* ns; end <= start: unknown */
	uint64_t lost;	    /* events */
	bool losses_known;  /* the files would say if there were any */
	struct sp_stack_counts stacks;
};

/* Takes in a file of the recording. */
int sp_info_add(struct sp_info *info, const struct sp_given *input, struct sp_error *error);
void sp_info_print(const struct sp_info *info, const struct sp_inputs *inputs);
void sp_info_write_json(const struct sp_info *info, const struct sp_inputs *inputs,
			struct sp_json *json);

/* Whether the file would say if it had samples. */
bool sp_info_knows_samples(const struct sp_given *input);

/* "title        text": text is made safe for terminals; NULL is "unknown". */
void sp_info_line(const char *title, const char *format, ...) SP_PRINTF(2, 3);
/* How stacks were recorded (a mode of --stacks, NULL unknown), and how complete they are. Nothing
 * where there is nothing to tell. */
void sp_info_stacks(const char *mode, bool kernel, const struct sp_stack_counts *counts);
void sp_info_json_stacks(struct sp_json *json, const struct sp_stack_counts *counts);
/* A number of things, "unknown" if it is negative. */
void sp_info_count(const char *title, int64_t count);
/* "2.000 s, from 1000.000000000 s to 1002.000000000 s of CLOCK_MONOTONIC" */
void sp_info_span(int64_t start, int64_t end);
/* What a call costs to trace, and why; nothing without a cost. Texts as they are stored. */
void sp_info_probe_cost(const char *ns, const char *place, const char *why);
/* Which facts above are not those of all ranks. */
void sp_info_rank_facts(struct sp_profile *profile);
/* A number, or null if it is negative. */
void sp_info_json_count(struct sp_json *json, const char *key, int64_t count);

/* ---- what a profile has besides regions, calls and samples ---- */

#define SP_PARTS 32

/* Their names; the number of them, or -errno. */
int sp_parts_of(struct sp_profile *profile, const char *ret_names[SP_PARTS],
		struct sp_error *error);

/* ---- journals ---- */

struct sp_info_journal;

int sp_info_journal_open(const char *path, struct sp_info_journal **ret_journal,
			 struct sp_error *error);
void sp_info_journal_free(struct sp_info_journal *journal);
void sp_info_journal_print(const struct sp_info_journal *journal);
void sp_info_journal_write_json(const struct sp_info_journal *journal, struct sp_json *json);
/* Its losses and notes, as those of no input. */
const struct sp_inputs *sp_info_journal_notes(const struct sp_info_journal *journal);

#endif
