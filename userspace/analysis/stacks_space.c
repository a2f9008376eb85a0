/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_space.c - what an address of a stack is an address of.
 *
 * An address means something in a space alone: a process, or, where one mapping took the place of
 * another, one of the times between such changes.
 *
 * Invariant: mappings of a process stand by start, each with the highest end of those up to it that
 * lie over one another; in one space an address has one place.
 */
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/analysis/stacks_private.h"
#include "userspace/base/array.h"

#define EPOCH_BITS 28 /* changes of mappings that are told apart */
#define MAX_OVER 1024 /* mappings looked at for an address */

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

void sp_stacks_spaces_done(struct sp_stacks_spaces *spaces)
{
	for (size_t i = 0; spaces->processes && i < spaces->n_processes + 2; i++) {
		free(spaces->processes[i].mappings);
		free(spaces->processes[i].changes);
	}
	for (size_t i = 0; i < spaces->n_spaces; i++)
		sp_idmap_free(&spaces->spaces[i].place_by_address);
	sp_idmap_free(&spaces->space_by_key);
	sp_sample_modules_done(&spaces->modules);
	free(spaces->processes);
	free(spaces->spaces);
	free(spaces->kernel);
	*spaces = (struct sp_stacks_spaces){0};
}

/* ---- what is where ---- */

static int compare_mappings(const void *a, const void *b)
{
	const struct sp_stacks_mapping *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->since != y->since)
		return x->since < y->since ? -1 : 1;
	return (x->module > y->module) - (x->module < y->module);
}

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Sorts a process's mappings, and finds the times at which one takes another's place. */
static int sort_process(struct sp_stacks_process *process)
{
	size_t n = 0;

	if (!process->n)
		return 0;
	qsort(process->mappings, process->n, sizeof(*process->mappings), compare_mappings);
	process->changes = calloc(process->n, sizeof(*process->changes));
	if (!process->changes)
		return -ENOMEM;
	for (size_t from = 0, to; from < process->n; from = to) {
		uint64_t reach = process->mappings[from].end;

		/* Those that lie over one another, if only through others. */
		for (to = from;
		     to < process->n && (to == from || process->mappings[to].start < reach); to++) {
			if (process->mappings[to].end > reach)
				reach = process->mappings[to].end;
			process->mappings[to].reach = reach;
		}
		for (size_t i = from; to - from > 1 && i < to; i++)
			process->changes[n++] = process->mappings[i].since;
	}
	qsort(process->changes, n, sizeof(*process->changes), compare_times);
	for (size_t i = 0; i < n; i++)
		if (!process->n_changes ||
		    process->changes[process->n_changes - 1] != process->changes[i])
			process->changes[process->n_changes++] = process->changes[i];
	return 0;
}

static int add_mapping(struct sp_stacks_process *process, const struct sp_module_row *row,
		       uint32_t number)
{
	struct sp_stacks_mapping *mapping =
		sp_array_add(&process->mappings, &process->n, &process->room);

	if (!mapping)
		return -ENOMEM;
	*mapping = (struct sp_stacks_mapping){
		.start = row->start, .end = row->end, .since = row->mapped_ns, .module = number};
	return 0;
}

static int read_mappings(struct sp_stacks_spaces *spaces, struct sp_profile *profile,
			 struct sp_error *error)
{
	const struct sp_process_row *rows;
	int r = sp_profile_processes(profile, &rows, &spaces->n_processes, error);

	if (r < 0)
		return r;
	spaces->processes = calloc(spaces->n_processes + 2, sizeof(*spaces->processes));
	if (!spaces->processes)
		return out_of_memory(error);
	for (size_t i = 0; r == 0 && i < spaces->modules.n; i++) {
		const struct sp_module_row *row = &spaces->modules.rows[i];

		size_t process =
			row->process < spaces->n_processes ? row->process : spaces->n_processes + 1;

		r = add_mapping(&spaces->processes[process], row, (uint32_t)i);
		if (r == 0)
			r = add_mapping(&spaces->processes[spaces->n_processes], row, (uint32_t)i);
	}
	for (size_t i = 0; r == 0 && i < spaces->n_processes + 2; i++)
		r = sort_process(&spaces->processes[i]);
	return r < 0 ? out_of_memory(error) : 0;
}

/* The mapping that held an address at a time: of several the last before it, else the first after
 * it. */
static uint32_t find_module(const struct sp_stacks_process *process, uint64_t address,
			    uint64_t time)
{
	const struct sp_stacks_mapping *best = NULL;
	size_t low = sp_search(process->n, i, process->mappings[i].start <= address);

	for (int steps = 0; low-- > 0 && process->mappings[low].reach > address && steps < MAX_OVER;
	     steps++) {
		const struct sp_stacks_mapping *mapping = &process->mappings[low];

		if (mapping->end <= address)
			continue;
		if (!best ||
		    (mapping->since <= time ? best->since > time || mapping->since > best->since
					    : best->since > time && mapping->since < best->since))
			best = mapping;
	}
	return best ? best->module : SP_STACKS_NONE;
}

static int compare_kernel(const void *a, const void *b)
{
	const struct sp_stacks_kernel *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int read_kernel(struct sp_stacks_spaces *spaces, struct sp_profile *profile,
		       struct sp_error *error)
{
	const struct sp_kernel_symbol_row *rows;
	int r = sp_profile_kernel_symbols(profile, &rows, &spaces->n_kernel, error);

	if (r < 0) {
		spaces->n_kernel = 0;
		return r;
	}
	spaces->kernel = calloc(spaces->n_kernel + 1, sizeof(*spaces->kernel));
	if (!spaces->kernel)
		return out_of_memory(error);
	for (size_t i = 0; i < spaces->n_kernel; i++)
		spaces->kernel[i] = (struct sp_stacks_kernel){rows[i].rank, rows[i].address,
							      rows[i].end, rows[i].name};
	if (spaces->n_kernel)
		qsort(spaces->kernel, spaces->n_kernel, sizeof(*spaces->kernel), compare_kernel);
	return 0;
}

static const struct sp_stacks_kernel *find_kernel(const struct sp_stacks_spaces *spaces,
						  uint32_t rank, uint64_t address)
{
	struct sp_stacks_kernel key = {.rank = rank, .address = address};
	size_t low = sp_search(spaces->n_kernel, i, compare_kernel(&spaces->kernel[i], &key) <= 0);
	const struct sp_stacks_kernel *found;

	found = low ? &spaces->kernel[low - 1] : NULL;
	if (found && found->rank == rank && (!found->end || address < found->end) && found->name[0])
		return found;
	return rank == UINT32_MAX ? NULL : find_kernel(spaces, UINT32_MAX, address);
}

/* ---- spaces and places ---- */

/* How many changes of a process's mappings there were before a time. */
static size_t epoch_of(const struct sp_stacks_process *process, uint64_t time)
{
	return sp_search(process->n_changes, i, process->changes[i] <= time);
}

/* A sample's process: its thread's, else its module's, else any. */
static uint32_t process_of(const struct sp_stacks_spaces *spaces,
			   const struct sp_sample_row *sample)
{
	uint32_t process = UINT32_MAX;

	if (sample->thread >= 0 && (uint64_t)sample->thread < spaces->n_threads)
		process = spaces->threads[sample->thread].process;
	if (process >= spaces->n_processes && sample->module >= 0 &&
	    (uint64_t)sample->module < spaces->modules.n)
		process = spaces->modules.rows[sample->module].process;
	return process < spaces->n_processes ? process : (uint32_t)spaces->n_processes;
}

int sp_stacks_spaces_find(struct sp_stacks_spaces *spaces, const struct sp_sample_row *sample,
			  uint32_t *ret_space)
{
	uint32_t process = process_of(spaces, sample), number;
	size_t epoch = epoch_of(&spaces->processes[process], sample->time_ns);
	/* A process is of one rank; where it is unknown, the rank still says whose kernel it is. */
	uint64_t key =
		process < spaces->n_processes ? process : (uint64_t)process + 1 + sample->rank;
	struct sp_stacks_space *space;

	key = key << EPOCH_BITS | (epoch & (((uint64_t)1 << EPOCH_BITS) - 1));

	number = sp_idmap_get(&spaces->space_by_key, key);
	if (number == SP_IDMAP_NONE) {
		number = (uint32_t)spaces->n_spaces;
		if (sp_idmap_set(&spaces->space_by_key, key, number) < 0)
			return -ENOMEM;
		space = sp_array_add(&spaces->spaces, &spaces->n_spaces, &spaces->spaces_room);
		if (!space)
			return -ENOMEM;
		*space = (struct sp_stacks_space){
			.process = process, .rank = sample->rank, .time = sample->time_ns};
	}
	*ret_space = number;
	return 0;
}

static int new_place(struct sp_stacks_spaces *spaces, const struct sp_stacks_space *space,
		     uint64_t address, bool kernel, uint32_t *ret_place)
{
	const struct sp_stacks_kernel *symbol;
	uint32_t module;

	if (kernel) {
		symbol = find_kernel(spaces, space->rank, address);
		if (symbol)
			return sp_stacks_add_kernel_place(spaces->stacks, symbol->name, ret_place);
		*ret_place = SP_STACKS_KERNEL;
		return 0;
	}
	module = find_module(&spaces->processes[space->process], address, space->time);
	if (module == SP_STACKS_NONE)
		module = find_module(&spaces->processes[spaces->n_processes + 1], address,
				     space->time);
	if (module == SP_STACKS_NONE) {
		*ret_place = SP_STACKS_JIT;
		return 0;
	}
	return sp_stacks_add_place(spaces->stacks, spaces->modules.numbers[module],
				   address - spaces->modules.biases[module], ret_place);
}

int sp_stacks_spaces_place(struct sp_stacks_spaces *spaces, uint32_t number, uint64_t address,
			   bool kernel, uint32_t *ret_place)
{
	struct sp_stacks_space *space = &spaces->spaces[number];
	/* Addresses of the kernel have their highest bit set, those of programs do not. */
	uint64_t key = kernel ? address | (uint64_t)1 << 63 : address & ~((uint64_t)1 << 63);
	uint32_t place = sp_idmap_get(&space->place_by_address, key);
	int r = 0;

	if (place == SP_IDMAP_NONE) {
		r = new_place(spaces, space, address, kernel, &place);
		if (r == 0)
			r = sp_idmap_set(&space->place_by_address, key, place);
	}
	if (r == 0)
		*ret_place = place;
	return r;
}

int sp_stacks_spaces_read(struct sp_stacks_spaces *spaces, struct sp_stacks *stacks,
			  struct sp_profile *profile, struct sp_error *error)
{
	int r = sp_sample_modules_read(profile, stacks->symbols, &spaces->modules, error);

	spaces->stacks = stacks;
	if (r == 0)
		r = read_mappings(spaces, profile, error);
	if (r == 0)
		r = read_kernel(spaces, profile, error);
	if (r == 0)
		r = sp_profile_threads(profile, &spaces->threads, &spaces->n_threads, error);
	return r;
}
