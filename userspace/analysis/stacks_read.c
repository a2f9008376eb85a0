/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_read.c - streams the samples of files into distinct stacks.
 *
 * What a sample costs is one hash over its callers' addresses as they stand in the file, and three
 * look-ups. Only a chain that was not seen before is looked at frame by frame.
 *
 * Invariant: places of callers are those of their calls (the address before the one to return to),
 * those of what was interrupted are the addresses themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define RAW_WORDS ((size_t)32 << 20) /* addresses kept to find stacks again */
#define FRAMES ((size_t)256 << 10)   /* read at a time; more where one stack has more */

/* What a chain of callers is made of in the file. */
struct raw_key {
	uint32_t n, space, kernel, signals;
	uint32_t exact; /* 1: the first one was interrupted, not calling */
	uint32_t end;
};

struct raw {
	struct raw_key key;
	size_t first; /* in the words */
	uint32_t callers;
};

struct reading {
	struct sp_stacks *stacks;
	const struct sp_sample_files *files;
	uint32_t *regions;
	struct sp_stacks_calls *calls;
	struct sp_stacks_spaces spaces;

	struct raw *raws;
	size_t n_raws, raws_room;
	struct sp_hash raw_by_key;
	uint64_t *words;
	size_t n_words, words_room;

	uint64_t *offsets, *frames;
	size_t offsets_room, frames_room;
	uint32_t *places;
	uint64_t done, total;
};

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static void forget_raws(struct reading *reading)
{
	sp_hash_clear(&reading->raw_by_key);
	reading->n_raws = reading->n_words = 0;
}

/* Frees what belongs to one file. */
static void file_done(struct reading *reading)
{
	sp_stacks_spaces_done(&reading->spaces);
	sp_stacks_calls_free(reading->calls);
	free(reading->regions);
	reading->calls = NULL;
	reading->regions = NULL;
	forget_raws(reading);
}

static void reading_done(struct reading *reading)
{
	file_done(reading);
	sp_hash_free(&reading->raw_by_key);
	free(reading->raws);
	free(reading->words);
	free(reading->offsets);
	free(reading->frames);
	free(reading->places);
}

/* ---- chains ---- */

static int make_callers(struct reading *reading, const struct raw_key *key, const uint64_t *words,
			uint32_t *ret_callers)
{
	uint32_t *places = reading->places;
	unsigned end = key->end;
	/* Of the whole stack, whose innermost frame may not be among these. */
	uint32_t before = key->exact ? 0 : 1;

	for (uint32_t i = 0; i < key->n; i++) {
		uint32_t number = i + before;
		bool kernel = number < key->kernel;
		uint32_t user = kernel ? 0 : number - key->kernel;
		bool interrupted = number == 0 || (!kernel && user == 0) ||
				   (!kernel && user < 32 && key->signals >> user & 1);
		uint64_t address = words[i] - (!interrupted && words[i]);
		int r = sp_stacks_spaces_place(&reading->spaces, key->space, address, kernel,
					       &places[i]);

		if (r < 0)
			return r;
	}
	/* A stack that ends in no file ends because of that. Older recordings do not name the files
	 * of callers; and frame pointers alone lead anywhere in code that has none. */
	if (key->n && places[key->n - 1] == SP_STACKS_JIT && sp_stacks_is_cut(end))
		places[key->n - 1] = SP_STACKS_NOWHERE;
	for (uint32_t i = 0; i < key->n; i++)
		if (places[i] == SP_STACKS_JIT &&
		    (end == SP_STACK_UNKNOWN || end == SP_STACK_FRAME_POINTERS))
			places[i] = SP_STACKS_NOWHERE;
	return sp_stacks_add_callers(reading->stacks, places, key->n, end, ret_callers);
}

static int add_raw(struct reading *reading, const struct raw_key *key, const uint64_t *words,
		   uint64_t hash, uint32_t *ret_callers)
{
	struct raw *raw;
	int r;

	if (reading->n_words + key->n > RAW_WORDS || reading->n_raws == UINT32_MAX - 1)
		forget_raws(reading);
	if (reading->words_room - reading->n_words < key->n) {
		size_t room = reading->words_room * 2 + SP_STACKS_MAX_FRAMES;
		uint64_t *larger = reallocarray(reading->words, room, sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		reading->words = larger;
		reading->words_room = room;
	}
	r = make_callers(reading, key, words, ret_callers);
	if (r == 0)
		r = sp_hash_add(&reading->raw_by_key, hash, (uint32_t)reading->n_raws);
	raw = r < 0 ? NULL : sp_array_add(&reading->raws, &reading->n_raws, &reading->raws_room);
	if (!raw)
		return -ENOMEM;
	*raw = (struct raw){.key = *key, .first = reading->n_words, .callers = *ret_callers};
	if (key->n)
		memcpy(reading->words + reading->n_words, words, key->n * sizeof(*words));
	reading->n_words += key->n;
	return 0;
}

static int find_callers(struct reading *reading, const struct raw_key *key, const uint64_t *words,
			uint32_t *ret_callers)
{
	uint64_t hash = sp_hash_word(sp_hash_seed(), (uint64_t)key->n << 32 | key->space);
	uint32_t number;
	size_t at;

	hash = sp_hash_word(hash, (uint64_t)key->kernel << 32 | key->signals);
	hash = sp_hash_word(hash, (uint64_t)key->end << 1 | key->exact);
	for (uint32_t i = 0; i < key->n; i++)
		hash = sp_hash_word(hash, words[i]);
	number = sp_hash_first(&reading->raw_by_key, hash, &at);
	while (number != SP_HASH_NONE) {
		const struct raw *raw = &reading->raws[number];

		if (!memcmp(&raw->key, key, sizeof(*key)) &&
		    (!key->n ||
		     !memcmp(reading->words + raw->first, words, key->n * sizeof(*words)))) {
			*ret_callers = raw->callers;
			return 0;
		}
		number = sp_hash_next(&reading->raw_by_key, hash, &at);
	}
	return add_raw(reading, key, words, hash, ret_callers);
}

/* ---- samples ---- */

static uint32_t regions_of(const struct reading *reading, const struct sp_sample_row *sample,
			   uint32_t *ret_region)
{
	*ret_region = sample->region < 0 ? SP_STACKS_NONE : reading->regions[sample->region];
	if (*ret_region == SP_STACKS_NONE)
		return SP_STACKS_NONE;
	reading->stacks->regions_cut +=
		sp_stacks_calls_is_cut(reading->calls, sample->rank, sample->call_id);
	return sp_stacks_calls_find(reading->calls, sample->rank, sample->call_id);
}

/* The place of a sample without a stack. */
static int lone_place(struct reading *reading, const struct sp_sample_row *sample,
		      uint32_t *ret_place)
{
	size_t module = (size_t)sample->module;

	if (sample->module < 0 || module >= reading->spaces.modules.n) {
		*ret_place = sample->ip ? SP_STACKS_NOWHERE : SP_STACKS_NONE;
		return 0;
	}
	return sp_stacks_add_place(reading->stacks, reading->spaces.modules.numbers[module],
				   sample->ip - reading->spaces.modules.biases[module], ret_place);
}

static int add_sample(struct reading *reading, const struct sp_sample_row *sample,
		      const uint64_t *frames, size_t n)
{
	uint32_t place = SP_STACKS_NONE, callers = 0, region,
		 regions = regions_of(reading, sample, &region), lone = SP_STACKS_NONE;
	bool in_kernel = sample->kernel && !sample->kernel_frames;
	struct raw_key key = {
		.kernel = sample->kernel_frames < n ? sample->kernel_frames : (uint32_t)n,
		.signals = sample->signal_frames,
		.end = sample->stack_end < SP_STACK_END_MAX ? sample->stack_end : SP_STACK_UNKNOWN,
	};
	int r = 0;

	if (n > SP_STACKS_MAX_FRAMES) {
		n = SP_STACKS_MAX_FRAMES;
		key.end = SP_STACK_TRUNCATED;
	}
	if (region != SP_STACKS_NONE && regions == SP_STACKS_NONE)
		r = sp_stacks_add_regions(reading->stacks, SP_STACKS_NONE, region, &regions);
	if (r == 0)
		r = sp_stacks_spaces_find(&reading->spaces, sample, &key.space);
	if (r == 0 && !n)
		r = lone_place(reading, sample, &lone);
	if (r == 0 && !n && in_kernel && lone != SP_STACKS_NONE) {
		place = SP_STACKS_KERNEL;
		r = sp_stacks_add_callers(reading->stacks, &lone, 1, key.end, &callers);
	} else if (r == 0 && !n) {
		place = in_kernel ? SP_STACKS_KERNEL : lone;
		r = sp_stacks_add_callers(reading->stacks, NULL, 0, key.end, &callers);
	} else if (r == 0) {
		/* In the kernel, of which no function was recorded: it is the innermost frame. */
		key.exact = in_kernel;
		key.n = (uint32_t)n - !in_kernel;
		r = find_callers(reading, &key, frames + !in_kernel, &callers);
		place = SP_STACKS_KERNEL;
		if (r == 0 && !in_kernel)
			r = sp_stacks_spaces_place(&reading->spaces, key.space, frames[0],
						   key.kernel > 0, &place);
		/* Files without mappings still say in which module the sample was. */
		if (r == 0 && place == SP_STACKS_JIT && sample->module >= 0 &&
		    frames[0] == sample->ip)
			r = lone_place(reading, sample, &place);
		/* No more than an address, in nothing that is known. */
		if (place == SP_STACKS_JIT && (n == 1 || key.end == SP_STACK_UNKNOWN))
			place = SP_STACKS_NOWHERE;
	}
	return r < 0 ? r : sp_stacks_add_sample(reading->stacks, regions, callers, place);
}

/* Adds samples whose frames were read, from @base on. */
static int add_samples(struct reading *reading, const struct sp_sample_row *samples,
		       const uint64_t *offsets, size_t n, uint64_t base)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		if (sp_sample_files_wants(reading->files, samples[i].rank))
			r = add_sample(reading, &samples[i], reading->frames + (offsets[i] - base),
				       (size_t)(offsets[i + 1] - offsets[i]));
	return r;
}

static int grow(uint64_t **array, size_t *room, uint64_t n)
{
	uint64_t *larger;

	if (n <= *room)
		return 0;
	larger = n > SIZE_MAX / sizeof(**array) ? NULL : reallocarray(*array, (size_t)n, 8);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	*room = (size_t)n;
	return 0;
}

/* Reads the frames of some samples at a time, as many as fit. Of a stack that does not fit at all,
 * only the frames that are used are read. */
static int take_samples(void *data, struct sp_profile *profile, const struct sp_sample_row *samples,
			uint64_t first, size_t n, struct sp_error *error)
{
	struct reading *reading = data;
	const uint64_t *offsets;
	int r;

	if (grow(&reading->offsets, &reading->offsets_room, n + 1) < 0 ||
	    grow(&reading->frames, &reading->frames_room, FRAMES) < 0)
		return out_of_memory(error);
	offsets = reading->offsets;
	r = sp_profile_read_stack_offsets(profile, first, n, reading->offsets, error);
	for (size_t from = 0, to; r == 0 && from < n; from = to) {
		uint64_t frames;

		for (to = from + 1; to < n && offsets[to + 1] - offsets[from] <= FRAMES; to++)
			;
		frames = offsets[to] - offsets[from];
		if (frames)
			r = sp_profile_read_frames(profile, offsets[from],
						   frames < FRAMES ? (size_t)frames : FRAMES,
						   reading->frames, error);
		if (r == 0 && add_samples(reading, samples + from, offsets + from, to - from,
					  offsets[from]) < 0)
			r = out_of_memory(error);
	}
	reading->done += n;
	if (r == 0 && reading->stacks->options.progress)
		reading->stacks->options.progress(reading->stacks->options.context, reading->done,
						  reading->total);
	return r;
}

/* ---- files ---- */

static int begin_file(void *data, struct sp_profile *profile, struct sp_error *error)
{
	struct reading *reading = data;
	size_t n = sp_profile_info(profile)->n_regions;
	int r;

	file_done(reading);
	reading->done = 0;
	reading->total = sp_profile_info(profile)->n_samples;
	reading->regions = calloc(n + 1, sizeof(*reading->regions));
	if (!reading->regions)
		return out_of_memory(error);
	for (uint32_t i = 0; i < n; i++)
		if (sp_pool_number(reading->stacks->names, sp_profile_region(profile, i),
				   &reading->regions[i]) < 0)
			return out_of_memory(error);
	r = sp_stacks_spaces_read(&reading->spaces, reading->stacks, profile, error);
	return r < 0 ? r
		     : sp_stacks_calls_read(reading->stacks, reading->files, profile,
					    reading->regions, &reading->calls, error);
}

int sp_stacks_read(struct sp_stacks *stacks, struct sp_sample_files *files, struct sp_error *error)
{
	struct reading reading = {.stacks = stacks, .files = files};
	struct sp_sample_reader reader = {
		.begin = begin_file,
		.take = take_samples,
		.data = &reading,
	};
	int r;

	reading.places = calloc(SP_STACKS_MAX_FRAMES, sizeof(*reading.places));
	r = reading.places ? sp_sample_files_read(files, &reader, error) : out_of_memory(error);
	reading_done(&reading);
	return r;
}
