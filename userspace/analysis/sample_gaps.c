/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_gaps.c - see sample_gaps.h.
 *
 * Gaps of no known thread stand in each file of a recording and are taken from the first that is
 * read; so when a file's regions are held against them, all that can touch them are there.
 */
#include "userspace/analysis/sample_gaps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "userspace/base/array.h"
#include "userspace/base/pool.h"

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static int prepare(struct sp_sample_gaps *gaps)
{
	if (!gaps->texts)
		gaps->texts = sp_pool_new();
	if (!gaps->recordings)
		gaps->recordings = sp_pool_new();
	if (!gaps->names)
		gaps->names = sp_pool_new();
	return gaps->texts && gaps->recordings && gaps->names ? 0 : -ENOMEM;
}

void sp_sample_gaps_done(struct sp_sample_gaps *gaps)
{
	sp_gaps_free(&gaps->gaps);
	sp_pool_free(gaps->texts);
	sp_pool_free(gaps->recordings);
	sp_pool_free(gaps->names);
	sp_pool_free(gaps->sampled);
	free(gaps->regions);
	*gaps = (struct sp_sample_gaps){0};
}

/* Which recording a file is of: its number, and whether it is the first file of it. One without an
 * id is one of its own. */
static int find_recording(struct sp_sample_gaps *gaps, struct sp_profile *profile,
			  uint32_t *ret_number, bool *ret_first, struct sp_error *error)
{
	const struct sp_fact *facts, *id, *start;
	uint32_t before = sp_pool_count(gaps->recordings);
	size_t n;
	int r = sp_profile_meta(profile, &facts, &n, error);

	if (r < 0)
		return r;
	id = sp_fact_find(facts, n, "recording_id");
	if (sp_pool_number(gaps->recordings,
			   id && id->text[0] ? id->text : sp_profile_path(profile), ret_number) < 0)
		return out_of_memory(error);
	r = sp_profile_metadata(profile, &facts, &n, error);
	if (r < 0)
		return r;
	start = sp_fact_find(facts, n, "start_time_ns");
	*ret_first = sp_pool_count(gaps->recordings) > before;
	if (*ret_first)
		gaps->start = !before && start && start->is_number ? start->number : 0;
	return 0;
}

static int keep_text(struct sp_pool *pool, const char **text)
{
	*text = *text ? sp_pool_add(pool, *text) : NULL;
	return *text ? 0 : -ENOMEM;
}

/* The gaps from @from on are their own now; those that nobody asked for are gone. */
static int take_over(struct sp_sample_gaps *gaps, size_t from,
		     bool (*wants)(const void *data, uint32_t rank), const void *data)
{
	size_t kept = from;

	for (size_t i = from; i < gaps->gaps.n; i++) {
		struct sp_gap gap = gaps->gaps.items[i];

		if (gap.rank != UINT32_MAX && !wants(data, gap.rank))
			continue;
		if (keep_text(gaps->texts, &gap.name) < 0 ||
		    (gap.thread && keep_text(gaps->texts, &gap.thread) < 0) ||
		    (gap.region && keep_text(gaps->texts, &gap.region) < 0) ||
		    (gap.source && keep_text(gaps->texts, &gap.source) < 0))
			return -ENOMEM;
		gaps->gaps.items[kept++] = gap;
	}
	gaps->gaps.n = kept;
	return 0;
}

static struct sp_missing *find_region(struct sp_sample_gaps *gaps, const char *name)
{
	uint32_t number;

	if (sp_pool_number(gaps->names, name, &number) < 0)
		return NULL;
	while (gaps->n_regions <= number) {
		struct sp_missing *added =
			sp_array_add(&gaps->regions, &gaps->n_regions, &gaps->regions_room);

		if (!added)
			return NULL;
		*added = (struct sp_missing){0};
	}
	return &gaps->regions[number];
}

static int count_known(struct sp_sample_gaps *gaps, size_t from)
{
	for (size_t i = from; i < gaps->gaps.n; i++) {
		const struct sp_gap *gap = &gaps->gaps.items[i];
		enum sp_loss_of of = sp_loss_of(gap->cause);
		struct sp_missing *missing;

		if (!gap->region || of == SP_LOSS_OF_FACTS)
			continue;
		missing = find_region(gaps, gap->region);
		if (!missing)
			return -ENOMEM;
		if (of == SP_LOSS_OF_CALLS)
			sp_add_capped(&missing->calls, gap->count);
		else
			sp_add_capped(&missing->samples, gap->count);
	}
	return 0;
}

/* Regions with calls in a gap of no known region. */
static int mark_open(struct sp_sample_gaps *gaps, struct sp_profile *profile, enum sp_loss_of of,
		     size_t recording, size_t file, bool (*wants)(const void *data, uint32_t rank),
		     const void *data, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_gap_spans *spans;
	int r = 0;

	if (sp_gap_spans_new(&gaps->gaps, of, recording, file, &spans) < 0)
		return out_of_memory(error);
	for (uint32_t i = 0; r == 0 && i < info->n_rows && !sp_gap_spans_empty(spans); i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		struct sp_missing *missing;
		bool touched = false;

		if (wants(data, row->rank))
			r = sp_gap_spans_touch_row(spans, profile, i, &touched, error);
		if (r < 0 || !touched)
			continue;
		missing = find_region(gaps, sp_profile_region(profile, row->region));
		if (!missing)
			r = out_of_memory(error);
		else if (of == SP_LOSS_OF_CALLS)
			missing->calls_in_gap = true;
		else
			missing->samples_in_gap = true;
	}
	sp_gap_spans_free(spans);
	return r;
}

int sp_sample_gaps_add(struct sp_sample_gaps *gaps, struct sp_profile *profile, size_t file,
		       bool (*wants)(const void *data, uint32_t rank), const void *data,
		       struct sp_error *error)
{
	size_t before = gaps->gaps.n;
	uint32_t recording = 0;
	bool first = false;
	int r;

	if (sp_profile_info(profile)->format != SP_FORMAT_HDF5)
		return 0;
	if (prepare(gaps) < 0)
		return out_of_memory(error);
	r = find_recording(gaps, profile, &recording, &first, error);
	if (r == 0)
		r = sp_gaps_add(&gaps->gaps, profile, recording, file, first, error);
	if (r < 0)
		return r;
	if (take_over(gaps, before, wants, data) < 0 || count_known(gaps, before) < 0)
		return out_of_memory(error);
	r = mark_open(gaps, profile, SP_LOSS_OF_CALLS, recording, file, wants, data, error);
	if (r == 0)
		r = mark_open(gaps, profile, SP_LOSS_OF_SAMPLES, recording, file, wants, data,
			      error);
	return r;
}

int sp_sample_gaps_note_sampled(struct sp_sample_gaps *gaps, const char *region)
{
	if (!gaps->sampled)
		gaps->sampled = sp_pool_new();
	return gaps->sampled && sp_pool_add(gaps->sampled, region) ? 0 : -ENOMEM;
}

struct sp_missing sp_sample_gaps_of(const struct sp_sample_gaps *gaps, const char *region)
{
	uint32_t number;

	if (!region || !gaps->names || sp_pool_find(gaps->names, region, &number) < 0)
		return (struct sp_missing){0};
	return gaps->regions[number];
}

bool sp_sample_gaps_is_silent(const struct sp_sample_gaps *gaps, uint32_t index)
{
	uint32_t number;

	return gaps->regions[index].samples &&
	       (!gaps->sampled ||
		sp_pool_find(gaps->sampled, sp_pool_at(gaps->names, index), &number) < 0);
}
