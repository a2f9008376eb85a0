/* SPDX-License-Identifier: BSD-2-Clause
 *
 * regions.h - the regions of one binary as a person would count them.
 *
 * Takes a file's events from elfscan.h and merges what inlining, templates and begin/end pairs have
 * multiplied: one entry for each name, file and line. An end is listed only if nothing begins a
 * region of that name in the binary.
 */
#ifndef SP_LOADER_REGIONS_H
#define SP_LOADER_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/codec.h"

struct sp_region {
	char *name, *file, *tags;
	uint32_t line;
	uint32_t flags; /* SP_SITE_* */
	uint64_t hash;
};

struct sp_regions {
	struct sp_region *at;
	size_t count, room;
	char *build_id;
	bool has_begin, has_end;		 /* probes */
	uint64_t begin_semaphore, end_semaphore; /* link-time addresses, 0: none */
	struct sp_ev_segment code;		 /* the first executable segment; image 0: none */
};

/* Takes an event of the binary. 0 or -ENOMEM. Zero the object before the first. */
int sp_regions_add(struct sp_regions *regions, const struct sp_head *event);
/* Merges and sorts by file, line and name. Call it once, after the last event. */
void sp_regions_merge(struct sp_regions *regions);
/* Frees what it holds. */
void sp_regions_clear(struct sp_regions *regions);
/* "function", "scope", "block" or "end only". */
const char *sp_region_kind(const struct sp_region *region);

#endif
