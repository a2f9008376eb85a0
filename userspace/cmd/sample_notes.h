/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_notes.h - what the commands that show samples have in common: what they say where there
 * are none, and what comes first in their reports.
 */
#ifndef SP_CMD_SAMPLE_NOTES_H
#define SP_CMD_SAMPLE_NOTES_H

#include <stdio.h>

#include "userspace/analysis/sample_files.h"
#include "userspace/base/log.h"

/* "0-3, 7"; of many only the first. To free(), NULL without memory. */
char *sp_list_ranks(const uint32_t *ranks, size_t n);

/* Says why files could not be read. @path: where the files do not say. */
void sp_sample_say_failure(const struct sp_sample_files *files, const char *path,
			   const struct sp_error *error);
/* 0 if there are samples; -ENODATA after saying why there are none. */
int sp_sample_check_any(const struct sp_sample_files *files, const char *path);

/* Says that no region has this name, and which is near it or what there is. */
void sp_sample_say_no_region(const char *name, const char *const *names, size_t n);

/* A line of its own: "note: …", yellow where there are colours. Safe for terminals. */
void sp_sample_note(FILE *out, const char *format, ...) SP_PRINTF(2, 3);
/* Samples that .sps files only count. */
void sp_sample_note_outside(FILE *out, const struct sp_sample_files *files);

/* Processes without a rank, which are kept apart, unless they were given, too. @command: that shows
 * them: "tree". */
void sp_sample_note_other(FILE *out, const struct sp_sample_files *files, const char *command);

/* Modules whose files are not what was recorded, or cannot be read; those without debug information
 * in one note. */
struct sp_sample_modules_note {
	const struct sp_sample_files *files;
	const struct sp_symbols *symbols;
	uint64_t (*samples_of)(const void *data, uint32_t module);
	const void *data;
	const char *lacking; /* what samples lack then: "lines" */
	/* Samples that lack it though the file is there, of a module; NULL: those of modules
	 * without debug information. */
	uint64_t (*lacking_of)(const void *data, uint32_t module);
	const char *shown; /* how such code is shown: "??:0" */
};

void sp_sample_note_modules(FILE *out, const struct sp_sample_modules_note *note);

/* The samples of a module and of all others that are one with it for who reads of them: the builds
 * of a file that is gone, say. 0 if it need not be told of: it has none, an earlier one was told
 * with it, or it is no file. */
uint64_t sp_sample_module_samples(const struct sp_sample_modules_note *note, uint32_t number);

#endif
