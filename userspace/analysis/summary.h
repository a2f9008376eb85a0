/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary.h - the statistics of every region of some profiles, over ranks or rank by rank.
 *
 * Numbers are those of scope-profiler: total, mean, minimum, maximum and population standard
 * deviation over all calls of all ranks; first is that of the rank that began first, last that of
 * the one that ended last; imbalance is how far the slowest rank's total lies above the mean of the
 * ranks with any.
 *
 * Shares are of self time, which no two regions of a lane have at once, in the time of all lanes
 * (lanes.h: threads with calls, or ranks). They add up to at most 100 %, and what is missing is
 * time outside of regions.
 */
#ifndef SP_ANALYSIS_SUMMARY_H
#define SP_ANALYSIS_SUMMARY_H

#include "userspace/analysis/inputs.h"
#include "userspace/analysis/missing.h"
#include "userspace/analysis/stack_counts.h"

#define SP_ALL_RANKS INT64_MAX

struct sp_summary_region {
	const char *name;
	int64_t rank;		 /* SP_ALL_RANKS where ranks are pooled */
	const char *file, *tags; /* "" unknown; a JSON list */
	int64_t line;		 /* -1 unknown */
	struct sp_stats stats;
	uint32_t ranks;	    /* with calls */
	double imbalance;   /* 0.1 is 10 %; 0 with fewer than two ranks */
	uint64_t cut_calls; /* without an end of their own; their length is in the statistics */
	uint64_t samples;
	struct sp_missing missing;
	double share;	      /* of self time in that of the lanes; NAN unknown */
	double sampled_share; /* of all samples; NAN without samples */
	double tracer_share;  /* of the total, that its own probes took; NAN unknown */

	/* For the imbalance. */
	uint32_t rank_totals; /* that are not 0 */
	double rank_total_sum;
	int64_t rank_total_maximum;
};

struct sp_summary {
	struct sp_summary_region *regions;
	size_t n, room;
	uint32_t ranks;	  /* with rows */
	uint64_t threads; /* that made calls; 0 unknown */
	uint64_t calls, samples, samples_outside;
	double thread_ns;   /* of all lanes together; NAN unknown */
	int64_t start, end; /* ns, of all inputs; end < start: unknown */
	double probe_ns;    /* what a pair of probes costs, NAN unknown */
	int64_t hz;	    /* of sampling, -1 unknown or different */
	struct sp_stack_counts stacks;
	bool gaps; /* a region has lost calls or samples, or may have */
};

/* Adds up what sp_inputs_finish() left. @by_rank: a region for each rank. Reads all samples. The
 * names belong to the inputs. */
int sp_summary_make(struct sp_inputs *inputs, bool by_rank, struct sp_summary *ret_summary,
		    struct sp_error *error);
void sp_summary_free(struct sp_summary *summary);

/* Population standard deviation, ns; NAN unknown. */
double sp_stats_deviation(const struct sp_stats *stats);

#endif
