/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_samples.c - verifies the samples of a profile: what they refer to, and their stacks.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/search.h"
#include "formats/wire.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/verify.h"

enum {
	SAMPLES = 1 << 13, /* read at once */
	FRAMES = 1 << 15,  /* read at once */
};

struct references {
	uint32_t n_regions;
	size_t n_threads, n_modules;
};

static int verify_sample(struct sp_verdict *verdict, const struct references *to,
			 const struct sp_sample_row *sample, uint64_t index)
{
	const struct {
		const char *what;
		int64_t value;
		size_t n;
	} all[] = {
		{"thread", sample->thread, to->n_threads},
		{"region", sample->region, to->n_regions},
		{"module", sample->module, to->n_modules},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].value < -1 || all[i].value >= (int64_t)all[i].n)
			return sp_verdict_bad_reference(verdict, "samples", index, all[i].what,
							all[i].value, all[i].n);
	return 0;
}

/* Samples of ranks that have neither a row nor the sample's thread nor, as in .sps, the file. */
static void verify_rank(struct sp_verdict *verdict, struct sp_profile *profile, uint32_t rank,
			uint64_t index)
{
	uint32_t n = sp_profile_info(profile)->n_ranks;
	size_t at = sp_search(n, i, sp_profile_rank(profile, (uint32_t)i) < rank);

	if (n && (at == n || sp_profile_rank(profile, (uint32_t)at) != rank))
		sp_verdict_warn(verdict, SP_FIND_SAMPLE_RANK, "sample %" PRIu64, index);
}

static bool in_thread(const struct sp_thread_row *threads, const struct sp_sample_row *sample)
{
	return sample->thread >= 0 && threads[sample->thread].rank == sample->rank;
}

struct sample_block {
	struct sp_sample_row rows[SAMPLES];
	uint64_t offsets[SAMPLES + 1], frames[FRAMES];
};

static int verify_frames(struct sp_verdict *verdict, struct sp_profile *profile,
			 struct sample_block *block, uint64_t first, size_t n)
{
	uint64_t at = block->offsets[0], end = block->offsets[n];
	int r = 0;

	for (size_t i = 0; i < n; i++)
		if (block->offsets[i + 1] < block->offsets[i])
			return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
					    "the offsets of stacks descend");
	for (size_t i = 0; i < n; i++) {
		uint64_t frames = block->offsets[i + 1] - block->offsets[i];

		if (block->rows[i].kernel_frames > frames)
			return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
					    "sample %" PRIu64 " has %" PRIu32
					    " frames of the kernel in a stack of %" PRIu64,
					    first + i, block->rows[i].kernel_frames, frames);
		if (block->rows[i].stack_end >= SP_STACK_END_MAX)
			sp_verdict_warn(verdict, SP_FIND_STACK_END, "sample %" PRIu64 ", %d",
					first + i, block->rows[i].stack_end);
	}
	while (r == 0 && at < end) {
		size_t some = end - at < FRAMES ? (size_t)(end - at) : FRAMES;

		r = sp_profile_read_frames(profile, at, some, block->frames, &verdict->error);
		at += some;
	}
	verdict->frames += end - block->offsets[0];
	return r;
}

int sp_verify_samples(struct sp_verdict *verdict, struct sp_profile *profile)
{
	uint64_t n = sp_profile_info(profile)->n_samples;
	struct references to = {.n_regions = sp_profile_info(profile)->n_regions};
	sp_cleanup(sp_freep) struct sample_block *block = calloc(1, sizeof(*block));
	const struct sp_thread_row *threads;
	const struct sp_module_row *modules;
	int r = sp_profile_threads(profile, &threads, &to.n_threads, &verdict->error);

	if (!block)
		return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	if (r == 0)
		r = sp_profile_modules(profile, &modules, &to.n_modules, &verdict->error);
	for (uint64_t at = 0; r == 0 && at < n; at += SAMPLES) {
		size_t some = n - at < SAMPLES ? (size_t)(n - at) : SAMPLES;

		r = sp_profile_read_samples(profile, at, some, block->rows, &verdict->error);
		for (size_t i = 0; r == 0 && i < some; i++) {
			r = verify_sample(verdict, &to, &block->rows[i], at + i);
			if (r == 0 && !in_thread(threads, &block->rows[i]))
				verify_rank(verdict, profile, block->rows[i].rank, at + i);
		}
		if (r == 0)
			r = sp_profile_read_stack_offsets(profile, at, some, block->offsets,
							  &verdict->error);
		if (r == 0)
			r = verify_frames(verdict, profile, block, at, some);
		sp_verdict_progress(verdict, some);
	}
	return r;
}
