/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines.h - samples by region and source line.
 *
 * Life cycle: new; add samples; count; read the regions and their rows; free. Regions are told
 * apart by name, so the samples of several files and ranks are summed.
 *
 * A row is one (function, file, line), which is how scope-profiler's line_profile counts; code
 * whose line is unknown has line 0 and, without debug information, the file "??". Such rows are
 * also split by module, so that one can see whose code it is.
 *
 * Memory: 40 bytes for each distinct (region, module, address).
 */
#ifndef SP_ANALYSIS_LINES_H
#define SP_ANALYSIS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/profile.h"
#include "userspace/analysis/own.h"
#include "userspace/analysis/symbols.h"

#define SP_LINES_NO_REGION UINT32_MAX
#define SP_LINES_NO_MODULE UINT32_MAX

/* To which of the frames at an address its samples count. */
enum sp_lines_attribution {
	SP_LINES_OWN,	    /* the innermost one in the user's own code: own.h */
	SP_LINES_INNERMOST, /* where the instruction's own code was written, as addr2line says */
	SP_LINES_OUTERMOST, /* the line of the function that was not inlined */
};

struct sp_lines_row {
	const char *function, *raw, *file; /* as in struct sp_frame */
	uint32_t line;
	const char *module; /* path; NULL where the line is known, or nothing is */
	uint64_t samples;
	struct timespec built; /* not after the module was written, 0 unknown */
	const char *text;      /* of the line, where it was stored with it; else NULL */
};

struct sp_lines_region {
	const char *name; /* NULL: samples outside every region */
	uint64_t samples;
	const struct sp_lines_row *rows; /* hottest first */
	size_t n_rows;
};

struct sp_lines;

/* @symbols must outlive the lines. */
int sp_lines_new(struct sp_symbols *symbols, struct sp_lines **ret_lines);
/* NULL is fine. */
void sp_lines_free(struct sp_lines *lines);

/* The number of the region of that name. */
int sp_lines_add_region(struct sp_lines *lines, const char *name, uint32_t *ret_region);
/* Whether a region of that name was added, with samples or without. Looks at all. */
bool sp_lines_knows_region(const struct sp_lines *lines, const char *name);
/* Adds @count samples at a link-time address of a module of the symbols (ignored without a module).
 * Also adds the address to the symbols. */
int sp_lines_add(struct sp_lines *lines, uint32_t region, uint32_t module, uint64_t address,
		 uint64_t count);
/* Whether addresses are added to the symbols, as they are at first: not worth it where all were
 * resolved before. */
void sp_lines_look_up(struct sp_lines *lines, bool look_up);
/* Distinct (region, module, address) so far. */
size_t sp_lines_n_addresses(const struct sp_lines *lines);
/* Samples of a module so far. */
uint64_t sp_lines_module_samples(const struct sp_lines *lines, uint32_t module);

/* When the samples were written: what was built later was not what ran, though it is at its place
 * now. */
void sp_lines_set_written(struct sp_lines *lines, struct timespec written);

/* Makes the rows; the symbols must have been resolved. May be called again.
 * @own: for SP_LINES_OWN, else it may be NULL. */
int sp_lines_count(struct sp_lines *lines, enum sp_lines_attribution attribution,
		   struct sp_own *own);

/* The other way, for modules that are gone: lines that were found when the recording was made.
 * @no_region: what samples outside of all regions go by there. @written: when. */
int sp_lines_add_stored(struct sp_lines *lines, const struct sp_line_profile *profile,
			const char *no_region, struct timespec written);
/* Samples that these have; those without a line. */
uint64_t sp_lines_n_stored(const struct sp_lines *lines, uint64_t *ret_unknown);
/* Makes the rows of these alone. */
int sp_lines_count_stored(struct sp_lines *lines);

/* Samples of rows without a line. */
uint64_t sp_lines_unknown(const struct sp_lines *lines);
/* Regions with samples, hottest first, those outside every region last. */
size_t sp_lines_n_regions(const struct sp_lines *lines);
const struct sp_lines_region *sp_lines_region(const struct sp_lines *lines, size_t index);

#endif
