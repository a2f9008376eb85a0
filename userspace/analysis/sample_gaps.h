/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_gaps.h - what is missing in files whose samples are counted, and which regions that
 * touches.
 *
 * Outlives the profiles that it was gathered from: its texts are its own.
 */
#ifndef SP_ANALYSIS_SAMPLE_GAPS_H
#define SP_ANALYSIS_SAMPLE_GAPS_H

#include "formats/profile_read.h"
#include "userspace/analysis/gaps.h"
#include "userspace/analysis/missing.h"

struct sp_pool;

struct sp_sample_gaps {
	struct sp_gaps gaps;
	int64_t start;		    /* of the recording, ns; 0: unknown, or there are several */
	struct sp_pool *texts;	    /* of the gaps; NULL: nothing yet */
	struct sp_pool *recordings; /* that files were of, by their id */
	struct sp_pool *names;	    /* of the regions below, by number */
	struct sp_missing *regions;
	size_t n_regions, regions_room;
	struct sp_pool *sampled; /* names of regions that samples were in; NULL: none */
};

/* @file: a number of its own for each. @wants: whose gaps are asked for; those of no known rank
 * always are. */
int sp_sample_gaps_add(struct sp_sample_gaps *gaps, struct sp_profile *profile, size_t file,
		       bool (*wants)(const void *data, uint32_t rank), const void *data,
		       struct sp_error *error);
/* A sample was in that region. -ENOMEM. */
int sp_sample_gaps_note_sampled(struct sp_sample_gaps *gaps, const char *region);
void sp_sample_gaps_done(struct sp_sample_gaps *gaps);

/* What a region lacks; NULL name: nothing is known of samples outside of regions. */
struct sp_missing sp_sample_gaps_of(const struct sp_sample_gaps *gaps, const char *region);
/* Whether all samples of the @index-th of the regions were lost, as far as that is known. */
bool sp_sample_gaps_is_silent(const struct sp_sample_gaps *gaps, uint32_t index);

#endif
