/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tags.h - reads the tags of a region, which files hold as a JSON list of strings.
 *
 * scope-profiler writes them with Python's json (non-ASCII as \uXXXX), others may write anything: a
 * text that is no such list is one tag, as it stands.
 */
#ifndef SP_ANALYSIS_TAGS_H
#define SP_ANALYSIS_TAGS_H

#include <stdbool.h>
#include <stddef.h>

struct sp_tags {
	char **items;
	size_t n, room;
};

/* Reads "[\"io\", \"disk\"]"; "" and "[]" are no tags. -ENOMEM, or 0. *ret_tags is to free even
 * after a failure. */
int sp_tags_read(const char *json, struct sp_tags *ret_tags);
void sp_tags_free(struct sp_tags *tags);
/* "io, disk", to free(). NULL without memory. */
char *sp_tags_join(const char *json);

#endif
