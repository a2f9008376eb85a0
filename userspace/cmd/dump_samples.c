/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_samples.c - dumps a profile's samples with their stacks.
 */
#include <stdlib.h>

#include "formats/stack_end.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/dump.h"

#define SAMPLES (1u << 13) /* read at once */
#define FRAMES (1u << 14)  /* read at once */

static const char *region_name(struct sp_profile *profile, uint64_t region)
{
	return region < sp_profile_info(profile)->n_regions
		       ? sp_profile_region(profile, (uint32_t)region)
		       : NULL;
}

struct sample_block {
	struct sp_sample_row rows[SAMPLES];
	uint64_t offsets[SAMPLES + 1];
	uint64_t frames[FRAMES], frames_at; /* the frames from there on */
	size_t n_frames;
};

static int dump_stack(struct sp_dump *dump, struct sp_profile *profile, struct sample_block *block,
		      uint64_t first, uint64_t end, uint64_t last, struct sp_error *error)
{
	sp_dump_list(dump, "stack");
	for (uint64_t at = first; at < end; at++) {
		if (at - block->frames_at >= block->n_frames) {
			size_t some = last - at < FRAMES ? (size_t)(last - at) : FRAMES;
			int r = sp_profile_read_frames(profile, at, some, block->frames, error);

			if (r < 0)
				return r;
			block->frames_at = at;
			block->n_frames = some;
		}
		sp_dump_address(dump, NULL, block->frames[at - block->frames_at]);
	}
	sp_dump_list_end(dump);
	return 0;
}

static int dump_sample(struct sp_dump *dump, struct sp_profile *profile, struct sample_block *block,
		       size_t i, uint64_t last, struct sp_error *error)
{
	const struct sp_sample_row *row = &block->rows[i];
	bool sps = sp_profile_info(profile)->format == SP_FORMAT_SPS;
	int r = 0;

	if (!sps)
		sp_dump_unsigned(dump, "time_ns", row->time_ns);
	sp_dump_unsigned(dump, "rank", row->rank);
	if (!sps)
		sp_dump_signed(dump, "thread", row->thread);
	sp_dump_text(dump, "region",
		     row->region < 0 ? NULL : region_name(profile, (uint64_t)row->region));
	if (!sps)
		sp_dump_signed(dump, "call_id", row->call_id);
	sp_dump_address(dump, "ip", row->ip);
	sp_dump_signed(dump, "module", row->module);
	if (!sps) {
		sp_dump_unsigned(dump, "kernel", row->kernel);
		sp_dump_unsigned(dump, "kernel_frames", row->kernel_frames);
		sp_dump_unsigned(dump, "signal_frames", row->signal_frames);
		sp_dump_text(dump, "stack_end", sp_stack_end_name(row->stack_end));
		r = dump_stack(dump, profile, block, block->offsets[i], block->offsets[i + 1], last,
			       error);
	}
	return r;
}

int sp_dump_samples(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	uint64_t all = sp_profile_info(profile)->n_samples, n;
	sp_cleanup(sp_freep) struct sample_block *block = NULL;
	int r = 0;

	if (!all || !sp_dump_section(dump, "samples", "sample"))
		return 0;
	block = calloc(1, sizeof(*block));
	if (!block)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	n = sp_dump_room(dump, all);
	for (uint64_t at = 0; at < n && !ferror(dump->out); at += SAMPLES) {
		size_t some = n - at < SAMPLES ? (size_t)(n - at) : SAMPLES;

		r = sp_profile_read_samples(profile, at, some, block->rows, error);
		if (r == 0)
			r = sp_profile_read_stack_offsets(profile, at, some, block->offsets, error);
		for (size_t i = 0; r == 0 && i < some; i++) {
			sp_dump_record(dump);
			sp_dump_unsigned(dump, "index", at + i);
			r = dump_sample(dump, profile, block, i, block->offsets[some], error);
			if (r == 0)
				sp_dump_record_end(dump);
		}
		if (r < 0)
			return r;
	}
	sp_dump_skip(dump, all - n);
	sp_dump_section_end(dump);
	return 0;
}
