/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_h5_samples.c - the samples of a profile, and their stacks, into an HDF5 file.
 */
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/cleanup.h"
#include "userspace/export/write_h5_copy.h"

enum {
	SAMPLES = 1 << 12,   /* read and written at once */
	MAX_FRAMES = 1 << 20 /* of a stack; a damaged file may claim any number */
};

struct sample_block {
	struct sp_sample_row rows[SAMPLES];
	uint64_t offsets[SAMPLES + 1];
};

/* Stacks are read many at once, as far as the room goes. */
struct frames {
	uint64_t first;
	size_t n, room;
	uint64_t *values;
};

/* Makes @n frames from @first on be there; reads on to @end at most. */
static int need_frames(struct sp_h5_copy *copy, struct frames *frames, uint64_t first, size_t n,
		       uint64_t end, struct sp_error *error)
{
	uint64_t some = end - first;

	if (first >= frames->first && first + n <= frames->first + frames->n)
		return 0;
	some = some > MAX_FRAMES / 8 ? MAX_FRAMES / 8 : some;
	some = some < n ? n : some;
	if (some > frames->room) {
		free(frames->values);
		frames->room = 0;
		frames->values = calloc(some, sizeof(*frames->values));
		if (!frames->values)
			return sp_h5_copy_no_memory(error);
		frames->room = (size_t)some;
	}
	frames->n = 0;
	frames->first = first;
	frames->n = (size_t)some;
	return sp_profile_read_frames(copy->profile, first, frames->n, frames->values, error);
}

static int copy_block(struct sp_h5_copy *copy, uint64_t first, size_t n, struct sample_block *block,
		      struct frames *frames, struct sp_error *error)
{
	int r = sp_profile_read_samples(copy->profile, first, n, block->rows, error);

	if (r == 0)
		r = sp_profile_read_stack_offsets(copy->profile, first, n, block->offsets, error);
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct sp_sample_row *sample = &block->rows[i];
		uint64_t at = block->offsets[i], depth = block->offsets[i + 1] - at;

		if (block->offsets[i + 1] < at || depth > MAX_FRAMES)
			return sp_error_set(error, -SP_E_COUNT, 0,
					    "sample %llu has a stack of %llu frames; at most %d "
					    "are allowed",
					    (unsigned long long)(first + i),
					    (unsigned long long)depth, MAX_FRAMES);
		if (depth)
			r = need_frames(copy, frames, at, (size_t)depth, block->offsets[n], error);
		if (sample->region >= 0)
			sample->region = sp_h5_copy_region(copy, (uint32_t)sample->region);
		if (r == 0)
			r = sp_h5_writer_add_sample(copy->writer, sample,
						    depth ? frames->values + (at - frames->first)
							  : NULL,
						    (size_t)depth, error);
	}
	return r;
}

int sp_h5_copy_samples(struct sp_h5_copy *copy, struct sp_error *error)
{
	sp_cleanup(sp_freep) struct sample_block *block = malloc(sizeof(*block));
	struct frames frames = {0};
	uint64_t n = copy->info->n_samples;
	int r = block ? 0 : sp_h5_copy_no_memory(error);

	for (uint64_t at = 0; r == 0 && at < n; at += SAMPLES) {
		size_t some = n - at < SAMPLES ? (size_t)(n - at) : SAMPLES;

		r = copy_block(copy, at, some, block, &frames, error);
		if (r == 0)
			r = sp_h5_copy_progress(copy, some);
	}
	free(frames.values);
	return r;
}
