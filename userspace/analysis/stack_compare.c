/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stack_compare.c - see stack_compare.h.
 */
#include "userspace/analysis/stack_compare.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/analysis/unwind_pairs.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

SP_DEFINE_CLEANUP(struct sp_journal *, sp_journal_free);

struct run {
	struct sp_stack_compare *compare;
	int (*progress)(void *context, uint64_t done, uint64_t all);
	void *context;
	uint64_t done;
};

/* A stack as a sample has it. */
struct user_stack {
	uint32_t frames, signal_frames, end;
	uint64_t frame[SP_MAX_FRAMES];
};

static void take_user_stack(const struct sp_event *event, struct user_stack *stack)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	size_t all = event->tail_bytes / 8;
	size_t kernel = sample->kernel_frames < all ? sample->kernel_frames : all;
	size_t user = all - kernel < SP_MAX_FRAMES ? all - kernel : SP_MAX_FRAMES;

	stack->frames = (uint32_t)user;
	stack->signal_frames = sample->signal_frames;
	stack->end = sample->stack_end;
	memcpy(stack->frame, event->tail + kernel * 8, user * 8);
}

static uint32_t process_of(const struct sp_recording *rec, const struct sp_ev_sample *sample)
{
	uint32_t lane = sample->head.lane ? sp_recording_lane(rec, sample->head.lane) : SP_NONE;

	return lane != SP_NONE ? rec->lanes[lane].process
			       : sp_idmap_get(&rec->process_by_number, sample->process);
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

/* Frames of both: signal frames are known of the first 32. */
static uint32_t mask_of(uint32_t frames)
{
	return frames < 32 ? (1u << frames) - 1 : UINT32_MAX;
}

static int count_difference(struct sp_stack_compare *compare, const struct sp_ev_sample *sample,
			    struct sp_stack_diff diff, uint64_t before, bool exact)
{
	const struct sp_recording *rec = compare->recording;
	uint64_t address = before - !exact, key;
	struct sp_stack_diff *slot;
	uint32_t index;

	diff.map = sp_recording_find_map(rec, process_of(rec, sample), address, sample->time);
	diff.address = diff.map == SP_NONE ? address : address - rec->maps[diff.map].bias;
	/* One place in several processes is one place: by the file, not by the mapping. */
	key = mix(mix(diff.kind, diff.end), diff.address);
	if (diff.map != SP_NONE)
		key = mix(mix(key, rec->maps[diff.map].inode), rec->maps[diff.map].device);
	index = sp_idmap_get(&compare->by_place, key);
	if (diff.kind == SP_DIFF_REFERENCE)
		compare->reference_ended++;
	else
		compare->different++;
	if (index != SP_NONE) {
		compare->diffs[index].count++;
		return 0;
	}
	slot = sp_array_add(&compare->diffs, &compare->n_diffs, &compare->diffs_room);
	if (!slot || sp_idmap_set(&compare->by_place, key, (uint32_t)(compare->n_diffs - 1)) < 0)
		return -ENOMEM;
	*slot = diff;
	slot->count = 1;
	slot->time = sample->time;
	slot->pid = sample->pid;
	slot->tid = sample->tid;
	return 0;
}

static int compare_stacks(struct sp_stack_compare *compare, const struct sp_ev_sample *sample,
			  const struct user_stack *tables, const struct sp_dwarf_stack *dwarf)
{
	uint32_t shorter = tables->frames < dwarf->frames ? tables->frames : dwarf->frames;
	struct sp_stack_diff diff = {.end = tables->end};
	uint32_t equal = 0, signals;

	while (equal < shorter && tables->frame[equal] == dwarf->frame[equal])
		equal++;
	signals = (tables->signal_frames ^ dwarf->signal_frames) & mask_of(equal);
	compare->frames += equal;
	if (equal == shorter && !signals && tables->frames == dwarf->frames) {
		compare->identical += !dwarf->copy_ended;
		compare->as_far += dwarf->copy_ended;
		return 0;
	}
	if (equal == dwarf->frames && dwarf->copy_ended && !signals) {
		compare->as_far++;
		return 0;
	}
	if (signals) {
		diff.kind = SP_DIFF_SIGNAL;
		equal = (uint32_t)__builtin_ctz(signals);
	} else if (equal < shorter) {
		diff.kind = equal ? SP_DIFF_CALLER : SP_DIFF_INNERMOST;
	} else if (tables->frames < dwarf->frames) {
		diff.kind = SP_DIFF_SHORTER;
	} else {
		diff.kind = !sp_stack_end_is_complete(dwarf->end) &&
					    sp_stack_end_is_complete(tables->end)
				    ? SP_DIFF_REFERENCE
				    : SP_DIFF_LONGER;
		diff.end = dwarf->end;
	}
	/* Tables may know by a function's code what libdw guessed. */
	if (dwarf->leaf_guessed && !signals && sp_stack_end_is_complete(tables->end)) {
		diff.kind = SP_DIFF_REFERENCE;
		diff.end = SP_STACK_NO_RULE;
	}
	diff.frame = equal;
	diff.tables = equal < tables->frames ? tables->frame[equal] : 0;
	diff.dwarf = equal < dwarf->frames ? dwarf->frame[equal] : 0;
	if (!equal)
		return count_difference(compare, sample, diff, sample->ip, true);
	equal--;
	return count_difference(compare, sample, diff, dwarf->frame[equal],
				!equal || (equal < 32 && dwarf->signal_frames >> equal & 1));
}

static int on_pair(void *context, const struct sp_event *event, const struct sp_event *copy)
{
	const struct sp_ev_sample *sample = (const struct sp_ev_sample *)event->head;
	struct run *run = context;
	struct sp_stack_compare *compare = run->compare;
	struct user_stack tables;
	struct sp_dwarf_stack dwarf;
	int r = 0;

	if (run->progress && !(run->done++ & 0xff))
		r = run->progress(run->context, run->done, compare->recording->samples);
	if (r < 0)
		return r;
	if (!copy) {
		compare->without_copy++;
		return 0;
	}
	compare->samples++;
	take_user_stack(event, &tables);
	r = sp_unwind_dwarf_find(compare->unwind, process_of(compare->recording, sample), copy,
				 &dwarf);
	if (r < 0)
		return r;
	compare->tables_whole += sp_stack_end_is_complete(tables.end);
	compare->dwarf_whole += sp_stack_end_is_complete(dwarf.end);
	if (!dwarf.frames) {
		compare->not_tried++;
		return 0;
	}
	return compare_stacks(compare, sample, &tables, &dwarf);
}

static int read_tables(struct sp_stack_compare *compare, struct sp_journal *journal)
{
	const struct sp_event *event;
	int r;

	compare->recording = sp_recording_new();
	if (!compare->recording)
		return -ENOMEM;
	while ((r = sp_journal_next(journal, &event)) == 1) {
		r = sp_recording_add(compare->recording, event);
		if (r < 0)
			return r;
	}
	if (r == 0)
		r = sp_recording_resolve(compare->recording);
	return r == -E2BIG ? 0 : r; /* too many regions for a file are none of our business */
}

static int run_pairs(struct run *run, struct sp_journal *journal)
{
	struct sp_unwind_pairs pairs = {.found = on_pair, .context = run};
	const struct sp_event *event;
	int r;

	sp_journal_rewind(journal);
	while ((r = sp_journal_next(journal, &event)) == 1) {
		r = sp_unwind_pairs_add(&pairs, sp_journal_stream(journal), event);
		if (r < 0)
			break;
	}
	if (r == 0)
		r = sp_unwind_pairs_finish(&pairs);
	sp_unwind_pairs_free(&pairs);
	return r;
}

static int by_count(const void *a, const void *b)
{
	const struct sp_stack_diff *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->time > y->time) - (x->time < y->time);
}

int sp_stack_compare(struct sp_stack_compare *compare, const char *path, const char *directory,
		     int (*progress)(void *, uint64_t, uint64_t), void *context,
		     struct sp_error *error)
{
	sp_cleanup(sp_journal_freep) struct sp_journal *journal = NULL;
	struct run run = {.compare = compare, .progress = progress, .context = context};
	int r = sp_journal_open(path, &journal, error);
	const char *mode;

	if (r < 0)
		return r;
	r = read_tables(compare, journal);
	mode = r == 0 ? sp_recording_meta(compare->recording, "stacks") : NULL;
	/* The others copy stacks for which there was no table yet: no table's stack to compare. */
	if (r == 0 &&
	    ((mode && *mode && strcmp(mode, "dwarf")) || !compare->recording->stack_copies))
		return sp_error_set(error, -ENODATA, 0,
				    "has no copies of stacks to compare with: record with "
				    "--stacks dwarf --keep-journal");
	if (r == 0)
		r = sp_unwind_dwarf_new(compare->recording, directory, &compare->unwind);
	if (r == 0)
		r = run_pairs(&run, journal);
	if (r < 0)
		return sp_error_set(error, r, 0, "cannot be compared: %s", strerror(-r));
	if (compare->n_diffs)
		qsort(compare->diffs, compare->n_diffs, sizeof(*compare->diffs), by_count);
	return 0;
}

double sp_stack_compare_share(const struct sp_stack_compare *compare)
{
	uint64_t all = compare->identical + compare->different;

	return all ? (double)compare->identical / (double)all : 1;
}

void sp_stack_diff_text(const struct sp_stack_diff *diff, char *out, size_t room)
{
	const char *end = sp_stack_end_name(diff->end);

	switch (diff->kind) {
	case SP_DIFF_SHORTER:
		snprintf(out, room, "the tables' stack ends (%s), libdw's goes on", end);
		break;
	case SP_DIFF_LONGER:
		snprintf(out, room, "libdw's stack ends (%s), the tables' goes on", end);
		break;
	case SP_DIFF_REFERENCE:
		snprintf(out, room, "libdw ended early (%s), the tables reach the start", end);
		break;
	case SP_DIFF_CALLER:
		snprintf(out, room, "another caller");
		break;
	case SP_DIFF_INNERMOST:
		snprintf(out, room, "the sample's own address is another");
		break;
	case SP_DIFF_SIGNAL:
		snprintf(out, room, "only one of them takes the frame for interrupted by a signal");
		break;
	default:
		snprintf(out, room, "?");
	}
}

void sp_stack_compare_free(struct sp_stack_compare *compare)
{
	sp_unwind_dwarf_free(compare->unwind);
	sp_recording_free(compare->recording);
	sp_idmap_free(&compare->by_place);
	free(compare->diffs);
	*compare = (struct sp_stack_compare){0};
}
