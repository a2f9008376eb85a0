/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary.c - see summary.h.
 */
#include "userspace/analysis/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "userspace/analysis/cuts.h"
#include "userspace/analysis/lanes.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

#define CHUNK 8192

struct builder {
	struct sp_summary *summary;
	struct sp_pool *names;
	struct sp_idmap by_key; /* name << 32 | rank + 1, or 0 for all */
	bool by_rank;
};

void sp_summary_free(struct sp_summary *summary)
{
	free(summary->regions);
	*summary = (struct sp_summary){0};
}

double sp_stats_deviation(const struct sp_stats *stats)
{
	if (!stats->calls || stats->m2 < 0)
		return NAN;
	return sqrt(stats->m2 / (double)stats->calls);
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int ensure_region(struct builder *b, const char *name, uint32_t rank, uint32_t *ret,
			 struct sp_error *error)
{
	struct sp_summary_region *region;
	uint32_t number;
	uint64_t key;

	if (sp_pool_number(b->names, name, &number) < 0)
		return out_of_memory(error);
	key = (uint64_t)number << 33 | (b->by_rank ? (uint64_t)rank + 1 : 0);
	*ret = sp_idmap_get(&b->by_key, key);
	if (*ret != SP_IDMAP_NONE)
		return 0;
	*ret = (uint32_t)b->summary->n;
	region = sp_array_add(&b->summary->regions, &b->summary->n, &b->summary->room);
	if (!region || sp_idmap_set(&b->by_key, key, *ret) < 0)
		return out_of_memory(error);
	region->name = name;
	region->rank = b->by_rank ? (int64_t)rank : SP_ALL_RANKS;
	region->file = region->tags = "";
	region->line = -1;
	return 0;
}

/* Merging takes the later one's last call, which is right only if it is called in order of time. */
static void merge(struct sp_stats *stats, const struct sp_stats *other)
{
	struct sp_stats before = *stats;

	sp_stats_merge(stats, other);
	if (!before.calls || !other->calls)
		return;
	stats->first = other->start_minimum < before.start_minimum ? other->first : before.first;
	stats->last = other->end_maximum > before.end_maximum ? other->last : before.last;
}

static int add_rows(struct builder *b, const struct sp_given *input, struct sp_error *error)
{
	uint32_t n = sp_profile_info(input->profile)->n_rows;

	for (uint32_t i = 0; i < n; i++) {
		const struct sp_row *row = sp_profile_row(input->profile, i);
		struct sp_summary_region *region;
		uint32_t index;
		int r = ensure_region(b, sp_profile_region(input->profile, row->region), row->rank,
				      &index, error);

		if (r < 0)
			return r;
		region = &b->summary->regions[index];
		if (!region->file[0] && row->source_file[0]) {
			region->file = row->source_file;
			region->line = row->source_line;
		}
		if (!region->tags[0])
			region->tags = row->tags;
		merge(&region->stats, &row->stats);
		b->summary->calls += row->stats.calls;
		region->ranks += row->stats.calls > 0;
		if (row->stats.total > 0) {
			region->rank_totals++;
			region->rank_total_sum += (double)row->stats.total;
			if (row->stats.total > region->rank_total_maximum)
				region->rank_total_maximum = row->stats.total;
		}
	}
	return 0;
}

/* Rows of regions or ranks that the file does not have say nothing. */
static int add_cuts(struct builder *b, const struct sp_given *input, struct sp_error *error)
{
	uint32_t n_regions = sp_profile_info(input->profile)->n_regions, index;
	const struct sp_cut_row *rows;
	size_t n;
	int r = sp_profile_cuts(input->profile, &rows, &n, error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		if (rows[i].region >= n_regions || sp_cut_kind(rows[i].flag) < 0)
			continue;
		r = ensure_region(b, sp_profile_region(input->profile, rows[i].region),
				  rows[i].rank, &index, error);
		if (r == 0)
			b->summary->regions[index].cut_calls += rows[i].count;
	}
	return r;
}

/* What is known to be missing, also of regions of which nothing else is left. */
static int add_lost(struct builder *b, const struct sp_inputs *inputs, struct sp_error *error)
{
	for (size_t i = 0; i < inputs->gaps.n; i++) {
		const struct sp_gap *gap = &inputs->gaps.items[i];
		enum sp_loss_of of = sp_loss_of(gap->cause);
		uint32_t index, rank = gap->rank;
		int r;

		if (!gap->region || of == SP_LOSS_OF_FACTS)
			continue;
		if (rank == UINT32_MAX &&
		    sp_profile_info(inputs->items[gap->file].profile)->n_ranks)
			rank = sp_profile_rank(inputs->items[gap->file].profile, 0);
		r = ensure_region(b, gap->region, rank == UINT32_MAX ? 0 : rank, &index, error);
		if (r < 0)
			return r;
		if (of == SP_LOSS_OF_CALLS)
			sp_add_capped(&b->summary->regions[index].missing.calls, gap->count);
		else
			sp_add_capped(&b->summary->regions[index].missing.samples, gap->count);
		b->summary->gaps = true;
	}
	return 0;
}

/* Marks the regions that were open in gaps of no known region. */
static int mark_gaps(struct builder *b, const struct sp_inputs *inputs, size_t index,
		     enum sp_loss_of of, struct sp_error *error)
{
	const struct sp_given *input = &inputs->items[index];
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	struct sp_gap_spans *spans;
	int r = 0;

	if (sp_gap_spans_new(&inputs->gaps, of, input->group, index, &spans) < 0)
		return out_of_memory(error);
	for (uint32_t i = 0; r == 0 && i < info->n_rows && !sp_gap_spans_empty(spans); i++) {
		const struct sp_row *row = sp_profile_row(input->profile, i);
		const char *name = sp_profile_region(input->profile, row->region);
		bool touched = false;
		uint32_t at;

		r = sp_gap_spans_touch_row(spans, input->profile, i, &touched, error);
		if (r == 0)
			r = ensure_region(b, name, row->rank, &at, error);
		if (r < 0 || !touched)
			continue;
		b->summary->gaps = true;
		if (of == SP_LOSS_OF_CALLS)
			b->summary->regions[at].missing.calls_in_gap = true;
		else
			b->summary->regions[at].missing.samples_in_gap = true;
	}
	sp_gap_spans_free(spans);
	return r;
}

/* In a .sps file samples outside are not listed, only counted. */
static int add_samples(struct builder *b, const struct sp_given *input, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	sp_cleanup(sp_freep) struct sp_sample_row *samples = malloc(CHUNK * sizeof(*samples));
	uint32_t rank = info->n_ranks ? sp_profile_rank(input->profile, 0) : 0, index;

	if (!samples)
		return out_of_memory(error);
	for (uint64_t at = 0; at < info->n_samples;) {
		size_t n = info->n_samples - at < CHUNK ? (size_t)(info->n_samples - at) : CHUNK;
		int r = sp_profile_read_samples(input->profile, at, n, samples, error);

		for (size_t i = 0; r == 0 && i < n; i++) {
			sp_stack_counts_add(&b->summary->stacks, samples[i].stack_end,
					    samples[i].kernel_frames);
			if (samples[i].region < 0 ||
			    samples[i].region >= (int64_t)info->n_regions) {
				b->summary->samples_outside++;
				continue;
			}
			r = ensure_region(
				b, sp_profile_region(input->profile, (uint32_t)samples[i].region),
				info->format == SP_FORMAT_SPS ? rank : samples[i].rank, &index,
				error);
			if (r == 0)
				b->summary->regions[index].samples++;
		}
		if (r < 0)
			return r;
		at += n;
	}
	b->summary->samples += info->n_samples;
	if (info->format == SP_FORMAT_SPS && info->ticks > (int64_t)info->n_samples) {
		uint64_t outside = (uint64_t)info->ticks - info->n_samples;

		b->summary->samples_outside += outside;
		b->summary->samples += outside;
	}
	return 0;
}

static void note_span(struct sp_summary *summary, int64_t start, int64_t end)
{
	if (end < start || start <= 0)
		return;
	if (summary->end < summary->start) {
		summary->start = start;
		summary->end = end;
		return;
	}
	summary->start = start < summary->start ? start : summary->start;
	summary->end = end > summary->end ? end : summary->end;
}

/* When the run of an input was: its metadata, else from its first call to its last. */
static void find_span(const struct sp_given *input, int64_t *ret_start, int64_t *ret_end)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	int64_t start = sp_given_number(input, "start_time_ns", INT64_MAX);
	int64_t end = sp_given_number(input, "finalize_time_ns", 0);

	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_stats *stats = &sp_profile_row(input->profile, i)->stats;

		if (!stats->calls || stats->end_maximum < 0)
			continue;
		start = stats->start_minimum < start ? stats->start_minimum : start;
		end = stats->end_maximum > end ? stats->end_maximum : end;
	}
	*ret_start = start;
	*ret_end = end;
}

static int add_lanes(struct sp_summary *summary, const struct sp_given *input,
		     struct sp_error *error)
{
	int64_t start, end;
	uint64_t threads;
	double ns;
	int r;

	if (sp_profile_info(input->profile)->format == SP_FORMAT_SPS)
		return 0;
	find_span(input, &start, &end);
	note_span(summary, start, end);
	r = sp_lanes_measure(input, &ns, &threads, error);
	if (r < 0)
		return r;
	summary->thread_ns += ns;
	summary->threads += threads;
	return 0;
}

static void find_cost(struct sp_summary *summary, const struct sp_given *input)
{
	const char *cost = sp_given_text(input, "probe_ns");
	int64_t hz, highest;

	sp_given_rates(input, &hz, &highest);
	if (hz != highest)
		summary->hz = -1;
	else if (hz >= 0)
		summary->hz = summary->hz == -2 || summary->hz == hz ? hz : -1;
	if (cost && isnan(summary->probe_ns))
		summary->probe_ns = strtod(cost, NULL);
	if (!(summary->probe_ns >= 0 && summary->probe_ns < 1e9))
		summary->probe_ns = NAN;
}

static void finish_regions(struct sp_summary *summary)
{
	for (size_t i = 0; i < summary->n; i++) {
		struct sp_summary_region *region = &summary->regions[i];
		const struct sp_stats *stats = &region->stats;

		region->share = stats->self < 0 || !(summary->thread_ns > 0)
					? NAN
					: (double)stats->self / summary->thread_ns;
		region->sampled_share =
			summary->samples ? (double)region->samples / (double)summary->samples : NAN;
		region->tracer_share = stats->total > 0 ? summary->probe_ns * (double)stats->calls /
								  (double)stats->total
							: NAN;
		if (region->tracer_share > 1)
			region->tracer_share = 1;
		if (region->rank_totals > 1)
			region->imbalance = (double)region->rank_total_maximum /
						    (region->rank_total_sum / region->rank_totals) -
					    1;
	}
}

static int add_inputs(struct builder *b, struct sp_inputs *inputs, struct sp_error *error)
{
	for (size_t i = 0; i < inputs->n; i++) {
		struct sp_given *input = &inputs->items[i];
		int r = add_rows(b, input, error);

		if (r == 0)
			r = add_cuts(b, input, error);
		if (r == 0)
			r = mark_gaps(b, inputs, i, SP_LOSS_OF_CALLS, error);
		if (r == 0)
			r = mark_gaps(b, inputs, i, SP_LOSS_OF_SAMPLES, error);
		if (r == 0)
			r = add_samples(b, input, error);
		if (r == 0)
			r = add_lanes(b->summary, input, error);
		if (r < 0) {
			snprintf(inputs->failed, sizeof(inputs->failed), "%s", input->path);
			return r;
		}
		find_cost(b->summary, input);
		if (sp_profile_info(input->profile)->format != SP_FORMAT_SPS)
			b->summary->ranks += sp_profile_info(input->profile)->n_ranks;
	}
	return 0;
}

int sp_summary_make(struct sp_inputs *inputs, bool by_rank, struct sp_summary *ret_summary,
		    struct sp_error *error)
{
	struct sp_summary summary = {.probe_ns = NAN, .hz = -2, .end = -1};
	struct builder b = {.summary = &summary, .by_rank = by_rank, .names = sp_pool_new()};
	int r = b.names ? add_inputs(&b, inputs, error) : out_of_memory(error);

	if (r == 0)
		r = add_lost(&b, inputs, error);

	sp_pool_free(b.names);
	sp_idmap_free(&b.by_key);
	if (r < 0) {
		sp_summary_free(&summary);
		return r;
	}
	if (summary.hz == -2)
		summary.hz = -1;
	finish_regions(&summary);
	*ret_summary = summary;
	return 0;
}
