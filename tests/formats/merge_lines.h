/* SPDX-License-Identifier: BSD-2-Clause
 *
 * merge_lines.h - a profile as lines of text in which every reference is followed: two profiles
 * hold the same exactly if their lines, sorted, are equal.
 */
#ifndef SP_TESTS_FORMATS_MERGE_LINES_H
#define SP_TESTS_FORMATS_MERGE_LINES_H

#include "formats/profile_read.h"

struct lines {
	char **text;
	size_t n, capacity;
};

__attribute__((format(printf, 2, 3))) void lines_add(struct lines *lines, const char *format, ...);
void lines_sort(struct lines *lines);
void lines_free(struct lines *lines);
/* Says where two differ and exits; both sorted. */
void lines_compare(const struct lines *is, const struct lines *should, const char *what);

/* Adds what the profile has. @ranks: new numbers of its ranks, NULL as they are. @columns: those
 * that calls are shown with; ids, parents, depths and times of children that the profile lacks are
 * what its nesting makes of them. Losses, clocks and facts only if @all. */
void lines_of(struct lines *lines, struct sp_profile *profile, const uint32_t *ranks,
	      unsigned int columns, bool all);
/* Checks that failed in all of the above so far. */
unsigned int lines_failures(void);

#endif
