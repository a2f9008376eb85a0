/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_names.c - puts the rows in order, names the frames of their places, and counts.
 *
 * Invariant: functions of one name and kind have one number, so that whoever compares functions
 * compares numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/probes.h"
#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

/* ---- order ---- */

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
	if (stacks->n_functions > SP_STACKS_MAX_NUMBER - 1)
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

/* "[libfoo.so]"; "[vdso]" is that already. */
static int name_module(struct sp_stacks *stacks, const struct sp_symbols_module *module,
		       struct sp_stack_function *ret_function)
{
	sp_cleanup(sp_freep) char *name = NULL;
	const char *base = sp_base_name(module->path);

	*ret_function = (struct sp_stack_function){
		.raw = "", .module = module->path, .kind = SP_STACK_NO_NAME};
	if (!strncmp(module->path, "//anon", 6) || !strncmp(base, "[anon", 5) || !*base) {
		ret_function->name = "[jit]";
		ret_function->kind = SP_STACK_JIT;
		return 0;
	}
	if (base[0] == '[') { /* the kernel cuts names to 15 bytes */
		ret_function->name =
			!strcmp(base, "[uprobes-trampo") ? "[uprobes-trampoline]" : base;
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

/* What a frame is of, as it is to be shown. */
static int find_function(struct sp_stacks *stacks, const struct sp_frame *frame,
			 const struct sp_symbols_module *module,
			 struct sp_stack_function *ret_function)
{
	if (sp_is_probe(frame, module->path)) {
		*ret_function = (struct sp_stack_function){.name = SP_PROBES_NAME,
							   .raw = "",
							   .module = "",
							   .kind = SP_STACK_USER,
							   .probe = true};
		return 0;
	}
	*ret_function = (struct sp_stack_function){.name = frame->function,
						   .raw = frame->raw,
						   .module = module->path,
						   .kind = SP_STACK_USER};
	if (!frame->function[0] || !strcmp(frame->function, "??"))
		return name_module(stacks, module, ret_function);
	return 0;
}

/* clang makes two functions of an OpenMP construct, one of which calls the other or has it inlined.
 */
static bool is_half(const struct sp_frame *frame)
{
	const char *raw = frame->raw;

	if (strstr(raw, "_debug__"))
		return strstr(raw, "omp_outlined") || !strncmp(raw, "__omp_offloading_", 17);
	return frame->call->around && strstr(raw, ".omp_outlined");
}

static int add_symbol(struct sp_stacks *stacks, const struct sp_stacks_address *place)
{
	const struct sp_symbols_module *module = sp_symbols_module(stacks->symbols, place->module);
	const struct sp_symbol *symbol =
		sp_symbols_find(stacks->symbols, place->module, place->address);
	struct sp_frame from = sp_symbol_innermost(symbol);
	bool in_probe = false;
	int r;

	do {
		bool file = from.file[0] && strcmp(from.file, "??") != 0;
		bool inlined = from.call->around != NULL;
		struct sp_stack_function function;

		r = find_function(stacks, &from, module, &function);
		if (r == 0 && function.probe && in_probe) /* the same, further out */
			stacks->place_frames[stacks->n_place_frames - 1].inlined = inlined;
		else if (r == 0)
			r = add_frame(stacks, &function, file ? from.file : "", from.line, inlined);
		if (r == 0 && is_half(&from))
			stacks->place_frames[stacks->n_place_frames - 1].half = true;
		in_probe = function.probe;
	} while (r == 0 && sp_frame_leave(&from));
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

/* Rows in which a module was seen: one behind the last, of all its places and of those without a
 * name. */
struct seen {
	size_t all, nameless;
};

static void count_place(struct sp_stacks *stacks, uint32_t number, uint64_t samples, size_t to,
			bool mark, struct seen *seen)
{
	const struct sp_stacks_address *place = &stacks->places[number];
	const struct sp_stack_frame *frame = place->place.frames;
	uint32_t module = place->module;
	bool nameless;

	if (module == SP_STACKS_NONE)
		return;
	nameless = stacks->functions[frame->function].kind == SP_STACK_NO_NAME;
	if (seen[module].all != to)
		stacks->module_samples[module] += samples;
	if (nameless && seen[module].nameless != to)
		stacks->module_nameless[module] += samples;
	if (mark) {
		seen[module].all = to;
		seen[module].nameless = nameless ? to : seen[module].nameless;
	}
}

/* Counts the rows [from, to), which have the same callers, for the modules in their stacks. */
static void count_modules(struct sp_stacks *stacks, size_t from, size_t to, struct seen *seen)
{
	const struct sp_stacks_chain *chain = &stacks->chains[stacks->rows[from].callers];
	uint64_t samples = 0;

	for (size_t i = from; i < to; i++)
		samples += stacks->rows[i].samples;
	stacks->ends[chain->end] += samples;
	for (uint32_t i = 0; i < chain->n; i++)
		count_place(stacks, stacks->frames[chain->first + i], samples, to, true, seen);
	for (size_t i = from; i < to; i++)
		if (stacks->rows[i].place != SP_STACKS_NONE)
			count_place(stacks, stacks->rows[i].place, stacks->rows[i].samples, to,
				    false, seen);
}

static int count_rows(struct sp_stacks *stacks)
{
	sp_cleanup(sp_freep) struct seen *seen = NULL;
	size_t n = sp_symbols_n_modules(stacks->symbols);

	if (sort_rows(stacks) < 0)
		return -ENOMEM;
	stacks->n_module_samples = n;
	stacks->module_samples = calloc(n + 1, sizeof(*stacks->module_samples));
	stacks->module_nameless = calloc(n + 1, sizeof(*stacks->module_nameless));
	seen = calloc(n + 1, sizeof(*seen));
	if (!stacks->module_samples || !stacks->module_nameless || !seen)
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
