/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_stacks.c - the stacks of a recording that has copies of stacks: libdw's are put into the
 * files.
 *
 * Invariant: no sample is lost or has fewer callers for it. Where libdw's stack ends early, for
 * lack of copied bytes or of a file, and the one that the kernel side found goes on, that one is
 * kept; both are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/analysis/unwind_dwarf.h"
#include "userspace/analysis/unwind_pairs.h"
#include "userspace/base/array.h"
#include "userspace/export/finalize_internal.h"

struct sp_finalizer_stacks {
	struct sp_finalizer *fin;
	struct sp_unwind_pairs pairs;
	struct sp_unwind_dwarf *unwind;
	char *directory; /* of the journal */
};

static uint32_t process_of(const struct sp_recording *rec, const struct sp_ev_sample *sample)
{
	uint32_t lane = sample->head.lane ? sp_recording_lane(rec, sample->head.lane) : SP_NONE;

	return lane != SP_NONE ? rec->lanes[lane].process
			       : sp_idmap_get(&rec->process_by_number, sample->process);
}

/* Whether libdw's stack is the one to keep. */
static bool choose(struct sp_finalize_stacks *counts, const struct sp_ev_sample *sample,
		   struct sp_dwarf_stack *dwarf, size_t frames)
{
	bool ended_early = sp_stack_end_is_short(dwarf->end) && dwarf->end != SP_STACK_TRUNCATED;

	ended_early |= dwarf->leaf_guessed && sp_stack_end_is_complete(sample->stack_end);
	/* A stack that was gone already could not be copied, either. */
	if (ended_early && dwarf->frames == 1 && sample->stack_end == SP_STACK_BUSY)
		dwarf->end = SP_STACK_BUSY;
	if (dwarf->frames && (!ended_early || dwarf->frames >= frames)) {
		counts->by_libdw++;
		return true;
	}
	counts->short_copies += dwarf->copy_ended;
	counts->failed += !dwarf->copy_ended;
	return false;
}

static int on_pair(void *context, const struct sp_event *event, const struct sp_event *copy)
{
	struct sp_finalizer_stacks *stacks = context;
	struct sp_finalizer *fin = stacks->fin;
	struct sp_ev_sample sample = *(const struct sp_ev_sample *)event->head;
	size_t all = event->tail_bytes / 8;
	size_t kernel = sample.kernel_frames < all ? sample.kernel_frames : all;
	uint64_t tail[SP_STACK_ROOM];
	struct sp_dwarf_stack dwarf;
	struct sp_event changed;
	int r;

	if (!copy)
		return sp_finalizer_sort_sample(fin, &sample, event);
	fin->result->stacks.copies++;
	r = sp_unwind_dwarf_find(stacks->unwind, process_of(fin->recording, &sample), copy, &dwarf);
	if (r < 0)
		return r;
	if (!choose(&fin->result->stacks, &sample, &dwarf, all - kernel))
		return sp_finalizer_sort_sample(fin, &sample, event);
	if (kernel > SP_MAX_KERNEL_FRAMES)
		kernel = SP_MAX_KERNEL_FRAMES;
	memcpy(tail, event->tail, kernel * 8);
	memcpy(tail + kernel, dwarf.frame, dwarf.frames * sizeof(uint64_t));
	sample.kernel_frames = (uint32_t)kernel;
	sample.stack_end = dwarf.end;
	sample.signal_frames = dwarf.signal_frames;
	sample.head.flags &= (uint16_t)~SP_SAMPLE_TRUNCATED;
	if (dwarf.end == SP_STACK_TRUNCATED)
		sample.head.flags |= SP_SAMPLE_TRUNCATED;
	changed = (struct sp_event){.head = &sample.head,
				    .id = event->id,
				    .tail = (const uint8_t *)tail,
				    .tail_bytes = (kernel + dwarf.frames) * 8};
	return sp_finalizer_sort_sample(fin, &sample, &changed);
}

int sp_finalizer_open_stacks(struct sp_finalizer *fin)
{
	const char *journal = fin->options->journal, *slash = strrchr(journal, '/');
	const char *mode = sp_recording_meta(fin->recording, "stacks");
	struct sp_finalizer_stacks *stacks;

	if (!fin->recording->stack_copies)
		return 0;
	stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	fin->by_libdw = stacks;
	stacks->fin = fin;
	fin->result->stacks.for_all = mode && !strcmp(mode, "dwarf");
	stacks->pairs.found = on_pair;
	stacks->pairs.context = stacks;
	stacks->directory = slash ? strndup(journal, (size_t)(slash - journal) + 1) : strdup(".");
	return stacks->directory
		       ? sp_unwind_dwarf_new(fin->recording, stacks->directory, &stacks->unwind)
		       : -ENOMEM;
}

int sp_finalizer_add_sample(struct sp_finalizer *fin, unsigned stream, const struct sp_event *event)
{
	if (fin->by_libdw)
		return sp_unwind_pairs_add(&fin->by_libdw->pairs, stream, event);
	return event->head->type == SP_EV_sample
		       ? sp_finalizer_sort_sample(fin, (const struct sp_ev_sample *)event->head,
						  event)
		       : 0;
}

int sp_finalizer_end_stacks(struct sp_finalizer *fin)
{
	struct sp_finalize_stacks *counts = &fin->result->stacks;
	struct sp_dwarf_stats stats;
	size_t room = 0;
	int r;

	if (!fin->by_libdw)
		return 0;
	r = sp_unwind_pairs_finish(&fin->by_libdw->pairs);
	if (r < 0)
		return r;
	sp_unwind_dwarf_stats(fin->by_libdw->unwind, &stats);
	counts->gave_up = stats.gave_up;
	for (size_t i = 0; i < stats.n_files; i++) {
		struct sp_finalize_unusable *file =
			sp_array_add(&counts->unusable, &counts->n_unusable, &room);

		if (!file)
			return -ENOMEM;
		*file = (struct sp_finalize_unusable){
			stats.files[i].path, sp_dwarf_refusal_text(stats.files[i].refusal)};
	}
	return 0;
}

void sp_finalizer_free_stacks(struct sp_finalizer *fin)
{
	struct sp_finalizer_stacks *stacks = fin->by_libdw;

	if (!stacks)
		return;
	sp_unwind_dwarf_free(stacks->unwind);
	sp_unwind_pairs_free(&stacks->pairs);
	free(stacks->directory);
	free(stacks);
	fin->by_libdw = NULL;
}
