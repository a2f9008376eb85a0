/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks.c - keeps distinct stacks and counts them; names their frames in the end.
 *
 * Invariant: chains of regions and of callers, places and functions are kept once each, so that
 * equal ones have equal numbers, and rows are equal where their three numbers are.
 */
#include "userspace/analysis/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_CALLER_FRAMES ((uint64_t)128 << 20)
#define MAX_NUMBER (UINT32_MAX - 1)

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
		if (stacks->n_region_chains > MAX_NUMBER - 1)
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

	if (stacks->n_places > MAX_NUMBER - 1)
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

	if (stacks->n_chains > MAX_NUMBER - 1)
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
	if (stacks->n_rows > MAX_NUMBER - 1)
		return -E2BIG;
	if (sp_hash_add(&stacks->row_by_key, hash, (uint32_t)stacks->n_rows) < 0)
		return -ENOMEM;
	row = sp_array_add(&stacks->rows, &stacks->n_rows, &stacks->rows_room);
	if (!row)
		return -ENOMEM;
	*row = (struct sp_stack_row){regions, callers, place, 1};
	return 0;
}

static int compare_chains(const void *a, const void *b, void *data)
{
	const struct sp_stacks *stacks = data;
	const struct sp_stacks_chain *x = &stacks->chains[*(const uint32_t *)a];
	const struct sp_stacks_chain *y = &stacks->chains[*(const uint32_t *)b];
	uint64_t m = x->first + x->n, n = y->first + y->n;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	for (uint32_t i = x->n < y->n ? x->n : y->n; i; i--)
		if (stacks->frames[--m] != stacks->frames[--n])
			return stacks->frames[m] < stacks->frames[n] ? -1 : 1;
	return x->n != y->n ? (x->n < y->n ? -1 : 1) : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sp_stack_row *x = a, *y = b;

	if (x->regions != y->regions)
		return x->regions < y->regions ? -1 : 1;
	if (x->callers != y->callers)
		return x->callers < y->callers ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

/* Numbers the chains anew, by their callers from the outermost inwards, so that stacks that begin
 * alike are neighbours: who walks the rows finds what it needs where it was just before. */
static int sort_rows(struct sp_stacks *stacks)
{
	size_t n = stacks->n_chains;
	sp_cleanup(sp_freep) uint32_t *order = malloc((n + 1) * sizeof(*order));
	sp_cleanup(sp_freep) uint32_t *numbers = malloc((n + 1) * sizeof(*numbers));
	struct sp_stacks_chain *chains = malloc((n + 1) * sizeof(*chains));

	if (!order || !numbers || !chains) {
		free(chains);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	if (n)
		qsort_r(order, n, sizeof(*order), compare_chains, stacks);
	for (size_t i = 0; i < n; i++) {
		chains[i] = stacks->chains[order[i]];
		numbers[order[i]] = (uint32_t)i;
	}
	free(stacks->chains);
	stacks->chains = chains;
	for (size_t i = 0; i < stacks->n_rows; i++)
		stacks->rows[i].callers = numbers[stacks->rows[i].callers];
	if (stacks->n_rows)
		qsort(stacks->rows, stacks->n_rows, sizeof(*stacks->rows), compare_rows);
	return 0;
}

/* ---- names ---- */

static uint64_t hash_text(const char *text)
{
	uint64_t hash = sp_hash_seed(), word = 0;
	size_t left = strlen(text);

	for (; left >= sizeof(word); text += sizeof(word), left -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = sp_hash_word(hash, word);
	}
	word = left;
	memcpy(&word, text, left);
	return sp_hash_word(hash, word ^ (uint64_t)left << 56);
}

/* Functions of one name are one, whatever the file: a program that was built twice is still the
 * same to its reader. */
static int add_function(struct sp_stacks *stacks, const struct sp_stack_function *new,
			uint32_t *ret_function)
{
	uint64_t hash = sp_hash_word(hash_text(new->name), new->kind);
	struct sp_stack_function *function;
	uint32_t number;
	size_t at;

	number = sp_hash_first(&stacks->function_by_name, hash, &at);
	while (number != SP_HASH_NONE) {
		function = &stacks->functions[number];
		if (function->kind == new->kind && !strcmp(function->name, new->name)) {
			if (strcmp(function->module, new->module) != 0)
				function->module = "";
			*ret_function = number;
			return 0;
		}
		number = sp_hash_next(&stacks->function_by_name, hash, &at);
	}
	if (stacks->n_functions > MAX_NUMBER - 1)
		return -E2BIG;
	if (sp_hash_add(&stacks->function_by_name, hash, (uint32_t)stacks->n_functions) < 0)
		return -ENOMEM;
	function = sp_array_add(&stacks->functions, &stacks->n_functions, &stacks->functions_room);
	if (!function)
		return -ENOMEM;
	*function = *new;
	*ret_function = (uint32_t)(stacks->n_functions - 1);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "[libfoo.so]"; "[vdso]" is that already. */
static int name_module(struct sp_stacks *stacks, const struct sp_symbols_module *module,
		       struct sp_stack_function *ret_function)
{
	sp_cleanup(sp_freep) char *name = NULL;
	const char *base = base_name(module->path);

	*ret_function = (struct sp_stack_function){
		.raw = "", .module = module->path, .kind = SP_STACK_NO_NAME};
	if (!strncmp(module->path, "//anon", 6) || !strncmp(base, "[anon", 5) || !*base) {
		ret_function->name = "[jit]";
		ret_function->kind = SP_STACK_JIT;
		return 0;
	}
	if (base[0] == '[') {
		ret_function->name = base;
		return 0;
	}
	if (asprintf(&name, "[%s]", base) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	ret_function->name = sp_pool_add(stacks->texts, name);
	return ret_function->name ? 0 : -ENOMEM;
}

static int add_frame(struct sp_stacks *stacks, const struct sp_stack_function *function,
		     const char *file, uint32_t line, bool inlined)
{
	struct sp_stack_frame *frame = sp_array_add(&stacks->place_frames, &stacks->n_place_frames,
						    &stacks->place_frames_room);

	if (!frame)
		return -ENOMEM;
	*frame = (struct sp_stack_frame){.line = line, .file = file, .inlined = inlined};
	return add_function(stacks, function, &frame->function);
}

static int add_special(struct sp_stacks *stacks, size_t number)
{
	const struct sp_stacks_address *place = &stacks->places[number];
	struct sp_stack_function function = {
		.name = "[unknown]", .raw = "", .module = "", .kind = SP_STACK_NOWHERE};

	if (number == SP_STACKS_JIT) {
		function.name = "[jit]";
		function.kind = SP_STACK_JIT;
	} else if (number != SP_STACKS_NOWHERE) {
		function.name = place->kernel_name == SP_STACKS_NONE
					? "[kernel]"
					: sp_pool_at(stacks->texts, place->kernel_name);
		function.kind = SP_STACK_KERNEL;
	}
	return add_frame(stacks, &function, "", 0, false);
}

static int add_symbol(struct sp_stacks *stacks, const struct sp_stacks_address *place)
{
	const struct sp_symbols_module *module = sp_symbols_module(stacks->symbols, place->module);
	const struct sp_symbol *symbol =
		sp_symbols_find(stacks->symbols, place->module, place->address);
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < symbol->n_frames; i++) {
		const struct sp_frame *from = &symbol->frames[i];
		struct sp_stack_function function = {.name = from->function,
						     .raw = from->raw,
						     .module = module->path,
						     .kind = SP_STACK_USER};
		bool file = from->file[0] && strcmp(from->file, "??") != 0;

		if (!from->function[0] || !strcmp(from->function, "??"))
			r = name_module(stacks, module, &function);
		if (r == 0)
			r = add_frame(stacks, &function, file ? from->file : "", from->line,
				      i + 1 < symbol->n_frames);
	}
	return r;
}

static int name_places(struct sp_stacks *stacks)
{
	sp_cleanup(sp_freep) size_t *first = calloc(stacks->n_places, sizeof(*first));

	if (!first)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_places; i++) {
		const struct sp_stacks_address *place = &stacks->places[i];
		int r;

		first[i] = stacks->n_place_frames;
		r = place->module == SP_STACKS_NONE ? add_special(stacks, i)
						    : add_symbol(stacks, place);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < stacks->n_places; i++) {
		size_t end = i + 1 < stacks->n_places ? first[i + 1] : stacks->n_place_frames;
		struct sp_stack_place *place = &stacks->places[i].place;

		place->frames = stacks->place_frames + first[i];
		place->n_frames = (uint32_t)(end - first[i]);
		place->kernel = stacks->functions[place->frames->function].kind == SP_STACK_KERNEL;
	}
	return 0;
}

/* ---- counts ---- */

/* Counts the rows [from, to), which have the same callers, for the modules in their stacks. */
static void count_modules(struct sp_stacks *stacks, size_t from, size_t to, size_t *seen)
{
	const struct sp_stacks_chain *chain = &stacks->chains[stacks->rows[from].callers];
	uint64_t samples = 0;

	for (size_t i = from; i < to; i++)
		samples += stacks->rows[i].samples;
	stacks->ends[chain->end] += samples;
	for (uint32_t i = 0; i < chain->n; i++) {
		uint32_t module = stacks->places[stacks->frames[chain->first + i]].module;

		if (module != SP_STACKS_NONE && seen[module] != to) {
			seen[module] = to;
			stacks->module_samples[module] += samples;
		}
	}
	for (size_t i = from; i < to; i++) {
		const struct sp_stack_row *row = &stacks->rows[i];
		uint32_t module = row->place == SP_STACKS_NONE ? SP_STACKS_NONE
							       : stacks->places[row->place].module;

		if (module != SP_STACKS_NONE && seen[module] != to)
			stacks->module_samples[module] += row->samples;
	}
}

static int count_rows(struct sp_stacks *stacks)
{
	sp_cleanup(sp_freep) size_t *seen = NULL;

	if (sort_rows(stacks) < 0)
		return -ENOMEM;
	stacks->n_module_samples = sp_symbols_n_modules(stacks->symbols);
	stacks->module_samples =
		calloc(stacks->n_module_samples + 1, sizeof(*stacks->module_samples));
	seen = calloc(stacks->n_module_samples + 1, sizeof(*seen));
	if (!stacks->module_samples || !seen)
		return -ENOMEM;
	for (size_t from = 0, to; from < stacks->n_rows; from = to) {
		to = from + 1;
		while (to < stacks->n_rows &&
		       stacks->rows[to].regions == stacks->rows[from].regions &&
		       stacks->rows[to].callers == stacks->rows[from].callers)
			to++;
		count_modules(stacks, from, to, seen);
	}
	return 0;
}

int sp_stacks_resolve(struct sp_stacks *stacks)
{
	int r;

	/* What only helps to find is not needed any more. */
	sp_hash_free(&stacks->row_by_key);
	sp_hash_free(&stacks->chain_by_frames);
	r = sp_symbols_resolve(stacks->symbols);
	if (r == 0)
		r = name_places(stacks);
	return r < 0 ? r : count_rows(stacks);
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

uint32_t sp_stacks_n_functions(const struct sp_stacks *stacks)
{
	return (uint32_t)stacks->n_functions;
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
