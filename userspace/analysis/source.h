/* SPDX-License-Identifier: BSD-2-Clause
 *
 * source.h - text of source lines, as far as it is still what the program was built from.
 *
 * Paths come from debug information, so they may name anything: only regular files of up to 64 MiB
 * are read, by a process that can be given up. Each file is read once and kept.
 */
#ifndef SP_ANALYSIS_SOURCE_H
#define SP_ANALYSIS_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "userspace/base/user.h"

struct sp_reach;
struct sp_sources;

enum sp_source_state {
	SP_SOURCE_FOUND = 0,
	SP_SOURCE_MISSING = 1, /* no such file, or no such line in it */
	SP_SOURCE_NEWER = 2,   /* changed after the program was built: its lines may have moved */
};

/* @reach: what reads them, which stays the caller's; NULL: nothing may hang. */
int sp_sources_new(struct sp_reach *reach, struct sp_sources **ret_sources);
/* NULL is fine. */
void sp_sources_free(struct sp_sources *sources);
/* For texts that are stored where others may read them, of programs that @user ran: to root, files
 * that he or not everybody may read are missing from here on, since whoever built a program can name
 * any file as its source. */
void sp_sources_set_user(struct sp_sources *sources, const struct sp_user *user);

/* The first file that was asked for and whose file system does not answer, so that it is missing;
 * NULL: none. */
const char *sp_sources_silent(const struct sp_sources *sources);

/* The text of a line (from 1), without the blanks around it, valid until free; "" if it is not
 * FOUND.
 * @built: when the program was built, 0 unknown. It is text of others: escape it. */
enum sp_source_state sp_sources_line(struct sp_sources *sources, const char *path, uint32_t line,
				     struct timespec built, const char **ret_text);

/* All lines of a file, with the blanks before them, valid until free; also where it is NEWER. @path
 * may be a relative one. */
enum sp_source_state sp_sources_file(struct sp_sources *sources, const char *path,
				     struct timespec built, const char *const **ret_lines,
				     size_t *ret_n);

#endif
