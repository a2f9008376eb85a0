/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_private.h - what lines.c, which counts addresses, and lines_stored.c, which counts lines
 * that were found before, share.
 */
#ifndef SP_ANALYSIS_LINES_PRIVATE_H
#define SP_ANALYSIS_LINES_PRIVATE_H

#include "userspace/analysis/lines.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

struct hit {
	uint64_t address, samples;
};

/* The addresses of one module in one region. */
struct place {
	uint32_t region, module;
	struct sp_idmap by_address; /* index in hits */
	struct hit *hits;
	size_t n_hits, hits_room;
};

/* A line that was found before. */
struct sp_lines_stored {
	uint32_t region;
	struct sp_lines_row row;
};

struct sp_lines {
	struct sp_symbols *symbols;
	struct sp_pool *names;
	struct sp_idmap by_pair; /* (region, module): index in places */
	struct place *places;
	size_t n_places, places_room;
	size_t n_addresses;
	bool known;    /* the symbols have all addresses */
	uint32_t last; /* place of the sample before */
	struct timespec written;
	struct sp_lines_region *regions;
	size_t n_regions;
	struct sp_lines_row *rows; /* of all regions, one after the other */
	struct sp_pool *texts;	   /* of stored lines, NULL none */
	struct sp_lines_stored *stored;
	size_t n_stored, stored_room;
};

/* Makes a region of rows in any order: equal ones are joined, then the hottest are first. */
void sp_lines_sort_region(struct sp_lines_region *region, struct sp_lines_row *rows);
/* Puts the regions in their order. */
void sp_lines_sort_regions(struct sp_lines *lines);

#endif
