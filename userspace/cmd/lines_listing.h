/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_listing.h - a source file with the samples of its lines: what lines_annotate.c gathers, and
 * how it is shown.
 */
#ifndef SP_CMD_LINES_LISTING_H
#define SP_CMD_LINES_LISTING_H

#include "userspace/cmd/lines_annotate.h"

struct annotated_line {
	uint32_t line;
	uint64_t samples;
};

/* One file in one listing. */
struct listing {
	const char *region; /* NULL: of all that is shown */
	bool all;
	char *path;	   /* plain */
	const char *file;  /* as debug information has it */
	const char *asked; /* as the user has it */
	struct timespec built;
	uint64_t samples, total;      /* in the file; in what the listing is of */
	struct annotated_line *lines; /* ascending */
	size_t n_lines, room;
};

struct listings {
	struct listing *all;
	size_t n, room;
};

/* The file with the samples in its margin. */
void sp_listing_show(const struct sp_annotate *annotate, const struct listing *listing);
void sp_listings_write_json(const struct sp_annotate *annotate, const struct listings *listings);
void sp_listings_write_csv(const struct sp_annotate *annotate, const struct listings *listings);

#endif
