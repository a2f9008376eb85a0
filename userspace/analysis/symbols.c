/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols.c - keeps modules, their addresses and what is known of them.
 *
 * Every module keeps its resolved addresses sorted, so that a find is a binary search; what was
 * added since stands apart until the next resolve. Texts are interned: equal ones are equal
 * pointers.
 */
#include "userspace/analysis/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/search.h"
#include "userspace/analysis/symbols_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"
#include "userspace/base/reach.h"

#define PATIENCE_S 60
#define DEBUGINFOD_S 30

/* ---- modules and addresses ---- */

int sp_symbols_new(const struct sp_symbols_options *options, struct sp_symbols **ret_symbols)
{
	struct sp_symbols *symbols = calloc(1, sizeof(*symbols));
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (!symbols)
		return -ENOMEM;
	if (options)
		symbols->options = *options;
	if (!symbols->options.jobs)
		symbols->options.jobs = cpus > 0 ? (unsigned int)cpus : 1;
	if (symbols->options.jobs > SP_SYMBOLS_MAX_JOBS)
		symbols->options.jobs = SP_SYMBOLS_MAX_JOBS;
	if (!symbols->options.patience_s)
		symbols->options.patience_s = PATIENCE_S;
	if (!symbols->options.debuginfod_s)
		symbols->options.debuginfod_s = DEBUGINFOD_S;
	if (!symbols->options.reach && !symbols->options.in_process &&
	    sp_reach_new(&symbols->own_reach) == 0)
		symbols->options.reach = symbols->own_reach;
	symbols->texts = sp_pool_new();
	symbols->keys = sp_pool_new();
	symbols->unknown_text = symbols->texts ? sp_pool_add(symbols->texts, "??") : NULL;
	if (!symbols->unknown_text || !symbols->keys) {
		sp_symbols_free(symbols);
		return -ENOMEM;
	}
	symbols->unknown_call =
		(struct sp_call){.function = symbols->unknown_text, .raw = symbols->unknown_text};
	symbols->unknown = (struct sp_symbol){&symbols->unknown_call, symbols->unknown_text, 0, 1};
	*ret_symbols = symbols;
	return 0;
}

void sp_symbols_free(struct sp_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->n_modules; i++) {
		struct sp_symbols_file *module = &symbols->modules[i];

		while (module->calls) {
			struct sp_symbols_calls *next = module->calls->next;

			free(module->calls);
			module->calls = next;
		}
		free(module->entries);
		free(module->index.starts);
		free(module->pending);
		free(module->reason);
		free(module->debug_file);
		free(module->copies);
		free(module->fetched);
	}
	free(symbols->modules);
	sp_reach_free(symbols->own_reach);
	sp_pool_free(symbols->texts);
	sp_pool_free(symbols->keys);
	free(symbols);
}

struct look {
	struct timespec changed;
	unsigned char head[18];
};

static int look(const void *path, struct sp_reach_answer *answer)
{
	struct stat status;
	sp_cleanup(sp_closep) int fd = sp_file_open(path, &status);
	struct look found = {0};

	if (fd < 0)
		return fd;
	found.changed = status.st_mtim;
	if (pread(fd, found.head, sizeof(found.head), 0) != sizeof(found.head))
		memset(found.head, 0, sizeof(found.head));
	return sp_reach_put(answer, &found, sizeof(found)) ? 0 : -ENOMEM;
}

/* What can be told from the file's first bytes, without libelf: its time, and if it is linked for
 * fixed addresses. -ETIMEDOUT: it does not answer. */
static int look_at_file(const struct sp_symbols *symbols, struct sp_symbols_module *module,
			const char *path)
{
	sp_cleanup(sp_freep) void *bytes = NULL;
	const struct look *found;
	size_t size;
	int r = sp_reach_ask(symbols->options.reach, path, look, path, strlen(path) + 1, &bytes,
			     &size);

	if (r < 0 || size != sizeof(*found))
		return r;
	found = bytes;
	module->changed = found->changed;
	if (memcmp(found->head, "\177ELF", 4) != 0)
		return 0;
	module->fixed_address = (found->head[5] == 2 ? found->head[16] << 8 | found->head[17]
						     : found->head[17] << 8 | found->head[16]) == 2;
	return 0;
}

int sp_symbols_add_module(struct sp_symbols *symbols, const char *path, const char *build_id,
			  uint32_t *ret_module)
{
	sp_cleanup(sp_freep) char *key = NULL;
	struct sp_symbols_file *file;
	uint32_t number;
	int r;

	if (!build_id)
		build_id = "";
	if (asprintf(&key, "%s %s", build_id, path) < 0) {
		key = NULL;
		return -ENOMEM;
	}
	r = sp_pool_number(symbols->keys, key, &number);
	if (r < 0)
		return r;
	if (number == symbols->n_modules) {
		file = sp_array_add(&symbols->modules, &symbols->n_modules,
				    &symbols->modules_capacity);
		if (!file)
			return -ENOMEM;
		file->public.reason = file->public.debug_file = "";
		file->public.path = sp_pool_add(symbols->texts, path);
		file->public.build_id = sp_pool_add(symbols->texts, build_id);
		if (!file->public.path || !file->public.build_id)
			return -ENOMEM;
		file->silent = look_at_file(symbols, &file->public, path) == -ETIMEDOUT;
	}
	*ret_module = number;
	return 0;
}

int sp_symbols_add_copy(struct sp_symbols *symbols, uint32_t number, const char *path)
{
	struct sp_symbols_file *module;
	const char *text, **added;

	if (number >= symbols->n_modules)
		return -EINVAL;
	module = &symbols->modules[number];
	text = sp_pool_add(symbols->texts, path);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < module->n_copies; i++)
		if (module->copies[i] == text)
			return 0;
	added = sp_array_add(&module->copies, &module->n_copies, &module->copies_room);
	if (!added)
		return -ENOMEM;
	*added = text;
	/* Where a build-id can tell, the two do not differ in this. */
	if (!module->public.changed.tv_sec || !*module->public.build_id)
		look_at_file(symbols, &module->public, path);
	return 0;
}

void sp_symbols_set_place(struct sp_symbols *symbols, uint32_t number, uint8_t place)
{
	if (number < symbols->n_modules)
		symbols->modules[number].public.place |= place;
}

struct sp_reach *sp_symbols_reach(const struct sp_symbols *symbols)
{
	return symbols->options.reach;
}

unsigned int sp_symbols_patience_s(const struct sp_symbols *symbols)
{
	return symbols->options.debuginfod_s;
}

size_t sp_symbols_n_modules(const struct sp_symbols *symbols)
{
	return symbols->n_modules;
}

const struct sp_symbols_module *sp_symbols_module(const struct sp_symbols *symbols, uint32_t module)
{
	return module < symbols->n_modules ? &symbols->modules[module].public : NULL;
}

int sp_symbols_add(struct sp_symbols *symbols, uint32_t number, uint64_t address)
{
	struct sp_symbols_file *module;
	uint64_t *added;

	if (number >= symbols->n_modules)
		return -EINVAL;
	module = &symbols->modules[number];
	if (module->n_pending && module->pending[module->n_pending - 1] == address)
		return 0;
	added = sp_array_add(&module->pending, &module->n_pending, &module->pending_capacity);
	if (!added)
		return -ENOMEM;
	*added = address;
	return 0;
}

int sp_symbols_compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* As many parts as entries, or up to twice as many. */
int sp_symbols_index_entries(struct sp_symbols_file *module)
{
	struct sp_symbols_index *index = &module->index;
	size_t n = module->n_entries, at = 0;
	uint64_t span;

	free(index->starts);
	*index = (struct sp_symbols_index){0};
	if (!n || n > UINT32_MAX)
		return 0;
	index->base = module->entries[0].address;
	span = module->entries[n - 1].address - index->base;
	while (span >> index->shift >= 2 * n)
		index->shift++;
	index->n = (size_t)(span >> index->shift) + 1;
	index->starts = malloc((index->n + 1) * sizeof(*index->starts));
	if (!index->starts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (; at <= (module->entries[i].address - index->base) >> index->shift; at++)
			index->starts[at] = (uint32_t)i;
	index->starts[index->n] = (uint32_t)n;
	return 0;
}

struct sp_symbols_entry *sp_symbols_entry_find(const struct sp_symbols_file *module,
					       uint64_t address)
{
	const struct sp_symbols_index *index = &module->index;
	uint64_t at = address - index->base;
	size_t low = 0, high = module->n_entries;

	if (index->starts) {
		if (address < index->base || at >> index->shift >= index->n)
			return NULL;
		low = index->starts[at >> index->shift];
		high = index->starts[(at >> index->shift) + 1];
	}
	low += sp_search(high - low, i, module->entries[low + i].address < address);
	return low < module->n_entries && module->entries[low].address == address
		       ? &module->entries[low]
		       : NULL;
}

const struct sp_symbol *sp_symbols_find(const struct sp_symbols *symbols, uint32_t module,
					uint64_t address)
{
	const struct sp_symbols_entry *entry =
		module < symbols->n_modules
			? sp_symbols_entry_find(&symbols->modules[module], address)
			: NULL;

	return entry && entry->symbol.n_frames ? &entry->symbol : &symbols->unknown;
}

/* In a long list every step to an address's frames is a step to memory that was not looked at
 * lately: here those of many addresses are on their way at a time. */
#define BATCH 32

static void find_batch(const struct sp_symbols *symbols, const struct sp_symbols_file *module,
		       const uint64_t *addresses, size_t n, const struct sp_symbol **ret_found)
{
	const struct sp_symbols_index *index = &module->index;

	for (size_t i = 0; i < n && index->starts; i++) {
		uint64_t at = (addresses[i] - index->base) >> index->shift;

		__builtin_prefetch(&index->starts[at < index->n ? at : 0]);
	}
	for (size_t i = 0; i < n && index->starts; i++) {
		uint64_t at = (addresses[i] - index->base) >> index->shift;

		__builtin_prefetch(&module->entries[index->starts[at < index->n ? at : 0]]);
	}
	for (size_t i = 0; i < n; i++) {
		const struct sp_symbols_entry *entry = sp_symbols_entry_find(module, addresses[i]);

		ret_found[i] = entry && entry->symbol.n_frames ? &entry->symbol : &symbols->unknown;
		__builtin_prefetch(ret_found[i]->innermost);
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(ret_found[i]->innermost->around);
}

void sp_symbols_find_all(const struct sp_symbols *symbols, uint32_t module,
			 const uint64_t *addresses, size_t n, const struct sp_symbol **ret_found)
{
	for (size_t i = 0; i < n; i += BATCH)
		if (module < symbols->n_modules)
			find_batch(symbols, &symbols->modules[module], addresses + i,
				   n - i < BATCH ? n - i : BATCH, ret_found + i);
		else
			for (size_t k = i; k < n && k < i + BATCH; k++)
				ret_found[k] = &symbols->unknown;
}
