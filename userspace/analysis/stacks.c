/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks.c - keeps distinct stacks and counts them.
 *
 * Invariant: chains of regions and of callers, places and functions are kept once each, so that
 * equal ones have equal numbers, and rows are equal where their three numbers are.
 */
#include "userspace/analysis/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_CALLER_FRAMES ((uint64_t)128 << 20)

/* ---- life ---- */

int sp_stacks_new(const struct sp_stacks_options *options, struct sp_symbols *symbols,
		  struct sp_stacks **ret_stacks)
{
	struct sp_stacks *stacks = calloc(1, sizeof(*stacks));
	bool made = stacks;

	if (!made)
		return -ENOMEM;
	if (options)
		stacks->options = *options;
	if (!stacks->options.max_caller_frames)
		stacks->options.max_caller_frames = MAX_CALLER_FRAMES;
	stacks->symbols = symbols;
	stacks->names = sp_pool_new();
	stacks->texts = sp_pool_new();
	made = stacks->names && stacks->texts;
	for (int i = 0; made && i < SP_STACKS_N_SPECIAL; i++) {
		struct sp_stacks_address *place =
			sp_array_add(&stacks->places, &stacks->n_places, &stacks->places_room);

		made = place;
		if (made)
			*place = (struct sp_stacks_address){.module = SP_STACKS_NONE,
							    .kernel_name = SP_STACKS_NONE};
	}
	if (!made) {
		sp_stacks_free(stacks);
		return -ENOMEM;
	}
	*ret_stacks = stacks;
	return 0;
}

void sp_stacks_free(struct sp_stacks *stacks)
{
	if (!stacks)
		return;
	for (size_t i = 0; i < stacks->n_place_modules; i++)
		sp_idmap_free(&stacks->place_by_address[i]);
	sp_idmap_free(&stacks->place_by_kernel_name);
	sp_idmap_free(&stacks->region_chain_by_key);
	sp_hash_free(&stacks->chain_by_frames);
	sp_hash_free(&stacks->row_by_key);
	sp_hash_free(&stacks->function_by_name);
	free(stacks->region_chains);
	free(stacks->places);
	free(stacks->place_by_address);
	free(stacks->frames);
	free(stacks->chains);
	free(stacks->rows);
	free(stacks->place_frames);
	free(stacks->functions);
	free(stacks->module_samples);
	free(stacks->module_nameless);
	sp_pool_free(stacks->names);
	sp_pool_free(stacks->texts);
	free(stacks);
}

/* ---- what is kept once ---- */

int sp_stacks_add_regions(struct sp_stacks *stacks, uint32_t around, uint32_t region,
			  uint32_t *ret_regions)
{
	uint64_t key = (uint64_t)around << 32 | region;
	uint32_t number = sp_idmap_get(&stacks->region_chain_by_key, key);
	struct sp_stacks_region_chain *chain;

	if (number == SP_IDMAP_NONE) {
		if (stacks->n_region_chains > SP_STACKS_MAX_NUMBER - 1)
			return -E2BIG;
		number = (uint32_t)stacks->n_region_chains;
		if (sp_idmap_set(&stacks->region_chain_by_key, key, number) < 0)
			return -ENOMEM;
		chain = sp_array_add(&stacks->region_chains, &stacks->n_region_chains,
				     &stacks->region_chains_room);
		if (!chain)
			return -ENOMEM;
		*chain = (struct sp_stacks_region_chain){around, region};
	}
	*ret_regions = number;
	return 0;
}

static int new_place(struct sp_stacks *stacks, const struct sp_stacks_address *address,
		     uint32_t *ret_place)
{
	struct sp_stacks_address *place;

	if (stacks->n_places > SP_STACKS_MAX_NUMBER - 1)
		return -E2BIG;
	place = sp_array_add(&stacks->places, &stacks->n_places, &stacks->places_room);
	if (!place)
		return -ENOMEM;
	*place = *address;
	*ret_place = (uint32_t)(stacks->n_places - 1);
	return 0;
}

int sp_stacks_add_place(struct sp_stacks *stacks, uint32_t module, uint64_t address,
			uint32_t *ret_place)
{
	struct sp_stacks_address new = {.module = module, .address = address};
	struct sp_idmap *map;
	uint32_t number;
	int r;

	while (stacks->n_place_modules <= module)
		if (!sp_array_add(&stacks->place_by_address, &stacks->n_place_modules,
				  &stacks->place_modules_room))
			return -ENOMEM;
	map = &stacks->place_by_address[module];
	number = sp_idmap_get(map, address);
	if (number != SP_IDMAP_NONE) {
		*ret_place = number;
		return 0;
	}
	r = new_place(stacks, &new, &number);
	if (r == 0)
		r = sp_idmap_set(map, address, number);
	if (r == 0)
		r = sp_symbols_add(stacks->symbols, module, address);
	if (r == 0)
		*ret_place = number;
	return r;
}

int sp_stacks_add_kernel_place(struct sp_stacks *stacks, const char *name, uint32_t *ret_place)
{
	struct sp_stacks_address new = {.module = SP_STACKS_NONE};
	uint32_t number;
	int r = sp_pool_number(stacks->texts, name, &new.kernel_name);

	if (r < 0)
		return r;
	number = sp_idmap_get(&stacks->place_by_kernel_name, new.kernel_name);
	if (number == SP_IDMAP_NONE) {
		r = new_place(stacks, &new, &number);
		if (r == 0)
			r = sp_idmap_set(&stacks->place_by_kernel_name, new.kernel_name, number);
	}
	if (r == 0)
		*ret_place = number;
	return r;
}

/* ---- chains of callers ---- */

static bool is_chain(const struct sp_stacks *stacks, uint32_t number, const uint32_t *places,
		     uint32_t n, unsigned end)
{
	const struct sp_stacks_chain *chain = &stacks->chains[number];

	return chain->n == n && chain->end == end &&
	       (!n || !memcmp(stacks->frames + chain->first, places, n * sizeof(*places)));
}

static int new_chain(struct sp_stacks *stacks, const uint32_t *places, uint32_t n, unsigned end,
		     uint64_t hash, uint32_t *ret_callers)
{
	struct sp_stacks_chain *chain;
	size_t room = stacks->frames_room;

	if (stacks->n_chains > SP_STACKS_MAX_NUMBER - 1)
		return -E2BIG;
	while (room - stacks->n_frames < n)
		room += room / 2 + SP_STACKS_MAX_FRAMES;
	if (room > stacks->frames_room) {
		uint32_t *frames = reallocarray(stacks->frames, room, sizeof(*frames));

		if (!frames)
			return -ENOMEM;
		stacks->frames = frames;
		stacks->frames_room = room;
	}
	if (sp_hash_add(&stacks->chain_by_frames, hash, (uint32_t)stacks->n_chains) < 0)
		return -ENOMEM;
	chain = sp_array_add(&stacks->chains, &stacks->n_chains, &stacks->chains_room);
	if (!chain)
		return -ENOMEM;
	*chain = (struct sp_stacks_chain){stacks->n_frames, n, (uint8_t)end};
	if (n)
		memcpy(stacks->frames + stacks->n_frames, places, n * sizeof(*places));
	stacks->n_frames += n;
	*ret_callers = (uint32_t)(stacks->n_chains - 1);
	return 0;
}

int sp_stacks_add_callers(struct sp_stacks *stacks, const uint32_t *places, uint32_t n,
			  unsigned end, uint32_t *ret_callers)
{
	uint64_t hash = sp_hash_word(sp_hash_seed(), (uint64_t)n << 8 | end);
	uint32_t number;
	size_t at;

	for (uint32_t i = 0; i < n; i++)
		hash = sp_hash_word(hash, places[i]);
	number = sp_hash_first(&stacks->chain_by_frames, hash, &at);
	while (number != SP_HASH_NONE && !is_chain(stacks, number, places, n, end))
		number = sp_hash_next(&stacks->chain_by_frames, hash, &at);
	if (number != SP_HASH_NONE) {
		*ret_callers = number;
		return 0;
	}
	if (n > stacks->options.max_caller_frames - stacks->n_frames)
		return sp_stacks_add_callers(stacks, NULL, 0, SP_STACKS_LEFT_OUT, ret_callers);
	return new_chain(stacks, places, n, end, hash, ret_callers);
}

/* ---- rows ---- */

int sp_stacks_add_sample(struct sp_stacks *stacks, uint32_t regions, uint32_t callers,
			 uint32_t place)
{
	uint64_t hash = sp_hash_word(sp_hash_seed(), (uint64_t)regions << 32 | callers);
	struct sp_stack_row *row;
	uint32_t number;
	size_t at;

	hash = sp_hash_word(hash, place);
	number = sp_hash_first(&stacks->row_by_key, hash, &at);
	while (number != SP_HASH_NONE) {
		row = &stacks->rows[number];
		if (row->regions == regions && row->callers == callers && row->place == place) {
			row->samples++;
			return 0;
		}
		number = sp_hash_next(&stacks->row_by_key, hash, &at);
	}
	if (stacks->n_rows > SP_STACKS_MAX_NUMBER - 1)
		return -E2BIG;
	if (sp_hash_add(&stacks->row_by_key, hash, (uint32_t)stacks->n_rows) < 0)
		return -ENOMEM;
	row = sp_array_add(&stacks->rows, &stacks->n_rows, &stacks->rows_room);
	if (!row)
		return -ENOMEM;
	*row = (struct sp_stack_row){regions, callers, place, 1};
	return 0;
}

/* ---- looking ---- */

size_t sp_stacks_n_rows(const struct sp_stacks *stacks)
{
	return stacks->n_rows;
}

const struct sp_stack_row *sp_stacks_row(const struct sp_stacks *stacks, size_t index)
{
	return &stacks->rows[index];
}

uint32_t sp_stacks_region_of(const struct sp_stacks *stacks, uint32_t regions, uint32_t *ret_around)
{
	*ret_around = stacks->region_chains[regions].around;
	return stacks->region_chains[regions].region;
}

const char *sp_stacks_region_name(const struct sp_stacks *stacks, uint32_t region)
{
	return sp_pool_at(stacks->names, region);
}

uint32_t sp_stacks_n_regions(const struct sp_stacks *stacks)
{
	return sp_pool_count(stacks->names);
}

uint32_t sp_stacks_callers(const struct sp_stacks *stacks, uint32_t callers,
			   const uint32_t **ret_places, unsigned *ret_end)
{
	const struct sp_stacks_chain *chain = &stacks->chains[callers];

	*ret_places = chain->n ? stacks->frames + chain->first : NULL;
	*ret_end = chain->end;
	return chain->n;
}

const struct sp_stack_place *sp_stacks_place(const struct sp_stacks *stacks, uint32_t place)
{
	return &stacks->places[place].place;
}

const struct sp_stack_function *sp_stacks_function(const struct sp_stacks *stacks,
						   uint32_t function)
{
	return &stacks->functions[function];
}

bool sp_stacks_is_cut(unsigned end)
{
	switch (end) {
	case SP_STACK_UNKNOWN:
	case SP_STACK_COMPLETE:
	case SP_STACK_LEAF:
	case SP_STACK_TRUNCATED:
	case SP_STACK_FRAME_POINTERS:
	case SP_STACKS_LEFT_OUT:
		return false;
	default:
		return true;
	}
}

uint64_t sp_stacks_ends(const struct sp_stacks *stacks, unsigned end)
{
	return end <= SP_STACKS_LEFT_OUT ? stacks->ends[end] : 0;
}

uint64_t sp_stacks_module_samples(const struct sp_stacks *stacks, uint32_t module)
{
	return module < stacks->n_module_samples ? stacks->module_samples[module] : 0;
}

uint64_t sp_stacks_module_nameless(const struct sp_stacks *stacks, uint32_t module)
{
	return module < stacks->n_module_samples ? stacks->module_nameless[module] : 0;
}

uint64_t sp_stacks_regions_cut(const struct sp_stacks *stacks)
{
	return stacks->regions_cut;
}

static bool has_line(const struct sp_stack_place *place)
{
	for (uint32_t i = 0; i < place->n_frames; i++)
		if (place->frames[i].line)
			return true;
	return false;
}

uint64_t sp_stacks_lineless(const struct sp_stacks *stacks)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < sp_stacks_n_rows(stacks); i++) {
		const struct sp_stack_row *row = sp_stacks_row(stacks, i);
		const struct sp_stack_place *place = NULL;
		const uint32_t *callers;
		unsigned end;
		uint32_t n = sp_stacks_callers(stacks, row->callers, &callers, &end);

		if (row->place != SP_STACKS_NONE)
			place = sp_stacks_place(stacks, row->place);
		for (uint32_t k = 0; place && place->kernel && k < n; k++)
			place = sp_stacks_place(stacks, callers[k]);
		if (!place || !has_line(place))
			samples += row->samples;
	}
	return samples;
}
