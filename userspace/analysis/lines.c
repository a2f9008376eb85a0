/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines.c - counts addresses for each (region, module), then folds addresses into lines.
 *
 * Counting by address first keeps the cost of a sample at two hash lookups, and looks up each
 * address once however often it was hit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/lines_private.h"
#include "userspace/base/array.h"

int sp_lines_new(struct sp_symbols *symbols, struct sp_lines **ret_lines)
{
	struct sp_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return -ENOMEM;
	lines->symbols = symbols;
	lines->names = sp_pool_new();
	if (!lines->names) {
		free(lines);
		return -ENOMEM;
	}
	*ret_lines = lines;
	return 0;
}

void sp_lines_free(struct sp_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->n_places; i++) {
		sp_idmap_free(&lines->places[i].by_address);
		free(lines->places[i].hits);
	}
	sp_idmap_free(&lines->by_pair);
	free(lines->places);
	free(lines->regions);
	free(lines->rows);
	free(lines->stored);
	sp_pool_free(lines->names);
	if (lines->texts)
		sp_pool_free(lines->texts);
	free(lines);
}

int sp_lines_add_region(struct sp_lines *lines, const char *name, uint32_t *ret_region)
{
	return sp_pool_number(lines->names, name, ret_region);
}

bool sp_lines_knows_region(const struct sp_lines *lines, const char *name)
{
	for (uint32_t i = 0; i < sp_pool_count(lines->names); i++)
		if (!strcmp(sp_pool_at(lines->names, i), name))
			return true;
	return false;
}

static int find_place(struct sp_lines *lines, uint32_t region, uint32_t module,
		      struct place **ret_place)
{
	uint64_t key = (uint64_t)region << 32 | module;
	uint32_t index;
	struct place *place;
	int r;

	if (lines->last < lines->n_places && lines->places[lines->last].region == region &&
	    lines->places[lines->last].module == module) {
		*ret_place = &lines->places[lines->last];
		return 0;
	}
	index = sp_idmap_get(&lines->by_pair, key);
	if (index == SP_IDMAP_NONE) {
		place = sp_array_add(&lines->places, &lines->n_places, &lines->places_room);
		if (!place)
			return -ENOMEM;
		place->region = region;
		place->module = module;
		index = (uint32_t)(lines->n_places - 1);
		r = sp_idmap_set(&lines->by_pair, key, index);
		if (r < 0)
			return r;
	}
	lines->last = index;
	*ret_place = &lines->places[index];
	return 0;
}

int sp_lines_add(struct sp_lines *lines, uint32_t region, uint32_t module, uint64_t address,
		 uint64_t count)
{
	struct place *place;
	struct hit *hit;
	uint32_t index;
	int r;

	if (module == SP_LINES_NO_MODULE)
		address = 0;
	r = find_place(lines, region, module, &place);
	if (r < 0)
		return r;
	index = sp_idmap_get(&place->by_address, address);
	if (index != SP_IDMAP_NONE) {
		place->hits[index].samples += count;
		return 0;
	}
	if (place->n_hits >= SP_IDMAP_NONE)
		return -E2BIG;
	r = sp_idmap_set(&place->by_address, address, (uint32_t)place->n_hits);
	if (r < 0)
		return r;
	hit = sp_array_add(&place->hits, &place->n_hits, &place->hits_room);
	if (!hit)
		return -ENOMEM;
	*hit = (struct hit){address, count};
	lines->n_addresses++;
	return module == SP_LINES_NO_MODULE || lines->known
		       ? 0
		       : sp_symbols_add(lines->symbols, module, address);
}

void sp_lines_look_up(struct sp_lines *lines, bool look_up)
{
	lines->known = !look_up;
}

size_t sp_lines_n_addresses(const struct sp_lines *lines)
{
	return lines->n_addresses;
}

uint64_t sp_lines_module_samples(const struct sp_lines *lines, uint32_t module)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < lines->n_places; i++)
		for (size_t k = 0; lines->places[i].module == module && k < lines->places[i].n_hits;
		     k++)
			samples += lines->places[i].hits[k].samples;
	return samples;
}

/* ---- rows ---- */

/* Texts of the symbols are equal where their pointers are. Pointers give any order that brings
 * equal rows together. */
static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static int compare_keys(const void *a, const void *b)
{
	const struct sp_lines_row *x = a, *y = b;
	int order = compare_pointers(x->file, y->file);

	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	if (!order)
		order = compare_pointers(x->function, y->function);
	return order ? order : compare_pointers(x->module, y->module);
}

/* Hottest first; then by names, so that the order does not depend on chance. */
static int compare_rows(const void *a, const void *b)
{
	const struct sp_lines_row *x = a, *y = b;
	int order = (x->samples < y->samples) - (x->samples > y->samples);

	if (!order)
		order = strcmp(x->file, y->file);
	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	if (!order)
		order = strcmp(x->function, y->function);
	return order ? order : strcmp(x->module ? x->module : "", y->module ? y->module : "");
}

/* Which frame counts. */
struct choice {
	enum sp_lines_attribution attribution;
	struct sp_own *own;
};

static struct sp_frame choose_frame(const struct sp_symbol *symbol,
				    const struct sp_symbols_module *module,
				    const struct choice *choice)
{
	struct sp_frame frame = sp_symbol_innermost(symbol);

	if (choice->attribution == SP_LINES_OWN)
		return sp_own_frame(choice->own, symbol, module ? module->path : NULL);
	while (choice->attribution == SP_LINES_OUTERMOST && sp_frame_leave(&frame))
		;
	return frame;
}

/* A file that was built anew after the recording says nothing about when its copy in the archive
 * was. */
static struct timespec when_built(const struct sp_lines *lines,
				  const struct sp_symbols_module *module)
{
	bool later = lines->written.tv_sec && module->changed.tv_sec > lines->written.tv_sec;

	return later ? lines->written : module->changed;
}

void sp_lines_set_written(struct sp_lines *lines, struct timespec written)
{
	lines->written = written;
}

static struct sp_lines_row make_row(const struct sp_lines *lines, const struct place *place,
				    const struct hit *hit, const struct choice *choice)
{
	const struct sp_symbols_module *module = sp_symbols_module(lines->symbols, place->module);
	const struct sp_symbol *symbol =
		sp_symbols_find(lines->symbols, place->module, hit->address);
	const struct sp_frame frame = choose_frame(symbol, module, choice);

	return (struct sp_lines_row){
		.function = frame.function,
		.raw = frame.raw,
		.file = frame.file,
		.line = frame.line,
		.module = module && !frame.line ? module->path : NULL,
		.samples = hit->samples,
		.built = module ? when_built(lines, module) : (struct timespec){0},
	};
}

/* Joins equal neighbours; returns how many are left. */
static size_t join_rows(struct sp_lines_row *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (!kept || compare_keys(&rows[kept - 1], &rows[i])) {
			rows[kept++] = rows[i];
			continue;
		}
		rows[kept - 1].samples += rows[i].samples;
		/* The older build decides if a source file is newer. */
		if (rows[i].built.tv_sec < rows[kept - 1].built.tv_sec)
			rows[kept - 1].built = rows[i].built;
	}
	return kept;
}

void sp_lines_sort_region(struct sp_lines_region *region, struct sp_lines_row *rows)
{
	qsort(rows, region->n_rows, sizeof(*rows), compare_keys);
	region->n_rows = join_rows(rows, region->n_rows);
	qsort(rows, region->n_rows, sizeof(*rows), compare_rows);
	region->rows = rows;
}

static int compare_regions(const void *a, const void *b)
{
	const struct sp_lines_region *x = a, *y = b;

	if (!x->name != !y->name)
		return x->name ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

void sp_lines_sort_regions(struct sp_lines *lines)
{
	qsort(lines->regions, lines->n_regions, sizeof(*lines->regions), compare_regions);
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = *(struct place *const *)a, *y = *(struct place *const *)b;

	if (x->region != y->region)
		return x->region < y->region ? -1 : 1;
	return (x->module > y->module) - (x->module < y->module);
}

/* Makes the region of the places [from, to) out of rows that begin at @rows. */
static struct sp_lines_region make_region(struct sp_lines *lines, struct place **places, size_t n,
					  struct sp_lines_row *rows, const struct choice *choice)
{
	struct sp_lines_region region = {
		.name = places[0]->region == SP_LINES_NO_REGION
				? NULL
				: sp_pool_at(lines->names, places[0]->region),
		.rows = rows,
	};

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < places[i]->n_hits; k++) {
			rows[region.n_rows++] =
				make_row(lines, places[i], &places[i]->hits[k], choice);
			region.samples += places[i]->hits[k].samples;
		}
	sp_lines_sort_region(&region, rows);
	return region;
}

int sp_lines_count(struct sp_lines *lines, enum sp_lines_attribution attribution,
		   struct sp_own *own)
{
	struct choice choice = {attribution, own};
	struct place **places = calloc(lines->n_places + 1, sizeof(*places));
	size_t n_rows = 0, at = 0;

	free(lines->rows);
	free(lines->regions);
	lines->n_regions = 0;
	for (size_t i = 0; i < lines->n_places; i++)
		n_rows += lines->places[i].n_hits;
	lines->rows = calloc(n_rows + 1, sizeof(*lines->rows));
	lines->regions = calloc(lines->n_places + 1, sizeof(*lines->regions));
	if (!places || !lines->rows || !lines->regions) {
		free(places);
		return -ENOMEM;
	}
	for (size_t i = 0; i < lines->n_places; i++)
		places[i] = &lines->places[i];
	qsort(places, lines->n_places, sizeof(*places), compare_places);
	for (size_t from = 0, to; from < lines->n_places; from = to) {
		struct sp_lines_region *region = &lines->regions[lines->n_regions++];
		size_t hits = 0;

		for (to = from; to < lines->n_places && places[to]->region == places[from]->region;
		     to++)
			hits += places[to]->n_hits;
		*region = make_region(lines, places + from, to - from, lines->rows + at, &choice);
		at += hits;
	}
	free(places);
	sp_lines_sort_regions(lines);
	return 0;
}

size_t sp_lines_n_regions(const struct sp_lines *lines)
{
	return lines->n_regions;
}

const struct sp_lines_region *sp_lines_region(const struct sp_lines *lines, size_t index)
{
	return index < lines->n_regions ? &lines->regions[index] : NULL;
}

uint64_t sp_lines_unknown(const struct sp_lines *lines)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < lines->n_regions; i++)
		for (size_t k = 0; k < lines->regions[i].n_rows; k++)
			samples += lines->regions[i].rows[k].line
					   ? 0
					   : lines->regions[i].rows[k].samples;
	return samples;
}
