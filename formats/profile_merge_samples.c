// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge_samples.c - the samples of the parts, one after the other, and their stacks.
 *
 * Invariant: the frames that a part's stacks use stand together in the merged profile, directly
 * after those of the part before, so that each stack still ends where the next one begins.
 */
#include "formats/profile_merge_internal.h"
#include "formats/search.h"
#include "formats/util.h"

int sp_merge_count_samples(struct sp_merge *merge, struct sp_error *error)
{
	uint64_t samples = 0, frames = 0;

	for (size_t i = 0; i < merge->n_parts; i++) {
		struct sp_merge_part *part = &merge->parts[i];
		uint64_t n = part->profile->info.n_samples, begin = 0, end = 0;
		int r = 0;

		part->first_sample = samples;
		if (n)
			r = sp_profile_read_stack_offsets(part->profile, 0, 0, &begin, error);
		if (!r && n)
			r = sp_profile_read_stack_offsets(part->profile, n, 0, &end, error);
		if (!r && end < begin)
			r = sp_error_set(error, -SP_E_DAMAGED, 0,
					 "the stacks of its samples end before they begin");
		if (r)
			return sp_merge_blame(merge, part, r, error);
		part->first_frame = frames;
		part->n_frames = end - begin;
		part->stack_shift = frames - begin;
		samples += n;
		frames += part->n_frames;
	}
	merge->profile->info.n_samples = samples;
	return 0;
}

static uint64_t first_sample(const struct sp_merge_part *part)
{
	return part->first_sample;
}

static uint64_t first_frame(const struct sp_merge_part *part)
{
	return part->first_frame;
}

/* The part that has the sample or frame @at; of those that begin there the last, since others are
 * empty. */
static const struct sp_merge_part *part_of(const struct sp_merge *merge, uint64_t at,
					   uint64_t (*first)(const struct sp_merge_part *))
{
	return &merge->parts[sp_search(merge->n_parts, i, first(&merge->parts[i]) <= at) - 1];
}

static int64_t moved_row(const struct sp_merge_part *part, enum sp_h5_table which, int64_t row)
{
	uint32_t moved = sp_merge_row(part, which, (uint64_t)row);

	return moved == UINT32_MAX ? -1 : (int64_t)moved;
}

static void move_sample(const struct sp_merge_part *part, struct sp_sample_row *sample)
{
	bool known = sample->region >= 0 && sample->region < part->profile->info.n_regions;

	sample->thread = moved_row(part, SP_H5_TABLE_thread, sample->thread);
	sample->module = moved_row(part, SP_H5_TABLE_module, sample->module);
	sample->region = known ? (int64_t)part->regions[sample->region] : -1;
	sample->rank = sp_merge_rank(part, sample->rank);
	sample->stack += part->stack_shift;
	if (part->nested & SP_CALLS_id) /* its calls have had no ids so far */
		sample->call_id = -1;
}

int sp_merge_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			  struct sp_sample_row *ret_samples, struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;

	while (n) {
		const struct sp_merge_part *part = part_of(merge, first, first_sample);
		uint64_t own = first - part->first_sample;
		uint64_t left = part->profile->info.n_samples - own;
		size_t some = left < n ? (size_t)left : n;
		int r = sp_profile_read_samples(part->profile, own, some, ret_samples, error);

		if (r)
			return sp_merge_blame(merge, part, r, error);
		for (size_t i = 0; i < some; i++)
			move_sample(part, &ret_samples[i]);
		ret_samples += some;
		first += some;
		n -= some;
	}
	return 0;
}

int sp_merge_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				uint64_t *ret_offsets, struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;

	/* Where one part ends the next one begins, so the last offset may be either's. */
	for (;;) {
		const struct sp_merge_part *part = part_of(merge, first, first_sample);
		uint64_t own = first - part->first_sample;
		uint64_t left = part->profile->info.n_samples - own;
		size_t some = left < n ? (size_t)left : n;
		int r = sp_profile_read_stack_offsets(part->profile, own, some, ret_offsets, error);

		if (r)
			return sp_merge_blame(merge, part, r, error);
		for (size_t i = 0; i <= some; i++)
			ret_offsets[i] += part->stack_shift;
		ret_offsets += some;
		first += some;
		n -= some;
		if (!n)
			return 0;
	}
}

int sp_merge_read_frames(struct sp_profile *profile, uint64_t first, size_t n, uint64_t *ret_frames,
			 struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;

	while (n) {
		const struct sp_merge_part *part = part_of(merge, first, first_frame);
		uint64_t own = first - part->first_frame, left, some;
		int r;

		if (own >= part->n_frames)
			return sp_error_set(error, -EINVAL, 0, "has no frames there");
		left = part->n_frames - own;
		some = left < n ? left : n;
		r = sp_profile_read_frames(part->profile, first - part->stack_shift, (size_t)some,
					   ret_frames, error);
		if (r)
			return sp_merge_blame(merge, part, r, error);
		ret_frames += some;
		first += some;
		n -= (size_t)some;
	}
	return 0;
}
