/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_units.c - see debug_units.h.
 *
 * The tables here are our own, since libdw's lookups walk a unit anew for every address, and find
 * no unit at all where the compiler wrote no .debug_aranges (clang).
 */
#include "userspace/analysis/debug_units.h"

#include <dwarf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>

#include "userspace/analysis/debug_head.h"
#include "userspace/analysis/debug_layout.h"
#include "userspace/analysis/debug_package.h"
#include "userspace/analysis/debug_rows.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_UNIT_RANGES (64u << 20)
/* Of reading a unit again, and of looking up an address, in nanoseconds. */
#define BYTE_COST 1
#define ADDRESS_COST 150

struct unit_range {
	uint64_t low, high;
	uint64_t reach; /* highest end of this range and those before it */
	uint32_t unit;
};

struct unit {
	uint64_t entry; /* the unit's own, in .debug_info */
	uint64_t size;	/* of its entries */
	bool placed;	/* asked for */
	struct sp_debug_unit_place place;
};

struct sp_debug_units {
	Dwarf *dwarf;
	const struct sp_debug_sections *sections;
	const char *files[2];
	struct sp_debug_package *package; /* of split DWARF, NULL none */
	bool package_sought;
	size_t n_lost; /* units whose functions are in a file that is not there */
	struct unit *units;
	size_t n_units, units_room;
	struct unit_range *ranges;
	size_t n_ranges, ranges_room;
};

/* ---- the units by address ---- */

static int add_range(struct sp_debug_units *units, uint64_t low, uint64_t high, size_t unit)
{
	struct unit_range *range;

	/* The linker leaves units of code that it discarded at 0. */
	if (!low || low >= high || units->n_ranges >= MAX_UNIT_RANGES)
		return 0;
	range = sp_array_add(&units->ranges, &units->n_ranges, &units->ranges_room);
	if (!range)
		return -ENOMEM;
	*range = (struct unit_range){.low = low, .high = high, .unit = (uint32_t)unit};
	return 0;
}

struct sequences {
	struct sp_debug_units *units;
	size_t unit;
};

static int add_sequence(void *context, uint64_t low, uint64_t high)
{
	struct sequences *sequences = context;

	return add_range(sequences->units, low, high, sequences->unit);
}

/* For a unit that does not say where its code is: from its lines, at @offset (UINT64_MAX: none). */
static int add_ranges_of_lines(struct sp_debug_units *units, uint64_t offset, size_t unit)
{
	struct sequences sequences = {units, unit};

	if (offset == UINT64_MAX)
		return 0;
	return sp_debug_rows_sequences(units->sections, offset, sizeof(Elf64_Addr), add_sequence,
				       &sequences);
}

/* The package of split DWARF, which lies beside the program or its debug file. */
static int seek_package(struct sp_debug_units *units)
{
	int r = -ENOENT;

	if (units->package_sought)
		return 0;
	units->package_sought = true;
	for (int i = 0; i < 2 && r == -ENOENT; i++)
		if (units->files[i])
			r = sp_debug_package_open(units->files[i], &units->package);
	return r == -ENOMEM ? r : 0;
}

/* The functions of a unit that has but its lines here. */
static int find_split(struct sp_debug_units *units, struct sp_debug_unit_place *place)
{
	uint64_t id = 0;
	int r = seek_package(units);

	if (r < 0)
		return r;
	place->packaged =
		units->package &&
		dwarf_cu_info(place->lines.cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) == 0 &&
		sp_debug_package_find(units->package, id, &place->package);
	units->n_lost += !place->packaged;
	return 0;
}

static struct unit *add_unit(struct sp_debug_units *units, uint64_t entry)
{
	struct unit *unit = sp_array_add(&units->units, &units->n_units, &units->units_room);

	if (unit)
		unit->entry = entry;
	return unit;
}

/* ---- … as libdw has them ---- */

/* Bytes of a unit's entries, as its header says. */
static uint64_t size_of(const struct sp_debug_units *units, const struct sp_debug_unit_place *place)
{
	Dwarf_Die die = place->lines;
	struct sp_bytes bytes =
		sp_bytes_from(units->sections->info, dwarf_dieoffset(&die) - dwarf_cuoffset(&die));

	return place->packaged ? place->package.info.size : sp_bytes_number(&bytes, 4);
}

static int ask_unit(struct sp_debug_units *units, Dwarf_Die *die, Dwarf_Die *split, bool skeleton)
{
	struct unit *unit = add_unit(units, dwarf_dieoffset(die));
	size_t before = units->n_ranges, number = units->n_units - 1;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int r = 0;

	if (!unit)
		return -ENOMEM;
	unit->place.lines = *die;
	unit->place.functions = split->addr ? *split : *die;
	unit->placed = true;
	if (skeleton && !split->addr)
		r = find_split(units, &unit->place);
	unit->size = size_of(units, &unit->place);
	while (r == 0 && units->n_ranges < MAX_UNIT_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		r = add_range(units, low, high, number);
	if (r == 0 && units->n_ranges == before)
		r = add_ranges_of_lines(units, sp_debug_number(die, DW_AT_stmt_list, UINT64_MAX),
					number);
	return r;
}

static int ask_units(struct sp_debug_units *units)
{
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die, split;
	int r = 0;

	while (r == 0 && dwarf_get_units(units->dwarf, unit, &unit, NULL, &type, &die, &split) == 0)
		if (type == DW_UT_compile || type == DW_UT_skeleton)
			r = ask_unit(units, &die, &split, type == DW_UT_skeleton);
	return r;
}

/* ---- … and as their own entries have them ---- */

/* -ENOTSUP: libdw must be asked, for all. */
static int skim_units(struct sp_debug_units *units)
{
	struct sp_debug_head head = {.unit.sections = units->sections};
	GElf_Ehdr header;
	int r = 0;

	/* Of object files libdw has relocated its own copies. */
	if (!gelf_getehdr(dwarf_getelf(units->dwarf), &header) || header.e_type == ET_REL)
		return -ENOTSUP;
	for (; r == 0 && head.unit.start < units->sections->info.size;
	     head.unit.start = head.unit.end) {
		size_t before = units->n_ranges;
		struct sequences sequences = {units, units->n_units};
		struct unit *unit;

		r = sp_debug_head_read(&head);
		if (r < 0 || !head.compiled)
			continue;
		unit = add_unit(units, head.unit.entries);
		if (!unit)
			return -ENOMEM;
		unit->size = head.unit.end - head.unit.start;
		r = sp_skim_ranges(&head.unit, &head.entry, add_sequence, &sequences);
		if (r == 0 && units->n_ranges == before)
			r = add_ranges_of_lines(units, head.lines, sequences.unit);
	}
	return r;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return (x->unit > y->unit) - (x->unit < y->unit);
}

static int load_units(struct sp_debug_units *units)
{
	uint64_t reach = 0;
	int r = skim_units(units);

	if (r == -ENOTSUP) {
		units->n_units = units->n_ranges = 0;
		r = ask_units(units);
	}
	if (r < 0)
		return r;
	if (units->n_ranges)
		qsort(units->ranges, units->n_ranges, sizeof(*units->ranges), compare_ranges);
	for (size_t i = 0; i < units->n_ranges; i++) {
		if (units->ranges[i].high > reach)
			reach = units->ranges[i].high;
		units->ranges[i].reach = reach;
	}
	return 0;
}

int sp_debug_units_load(Dwarf *dwarf, const struct sp_debug_sections *sections,
			const char *const files[2], struct sp_debug_units **ret_units)
{
	struct sp_debug_units *units = calloc(1, sizeof(*units));
	int r;

	if (!units)
		return -ENOMEM;
	units->dwarf = dwarf;
	units->sections = sections;
	units->files[0] = files[0];
	units->files[1] = files[1];
	r = load_units(units);
	if (r < 0) {
		sp_debug_units_free(units);
		return r;
	}
	*ret_units = units;
	return 0;
}

void sp_debug_units_free(struct sp_debug_units *units)
{
	if (!units)
		return;
	sp_debug_package_free(units->package);
	free(units->units);
	free(units->ranges);
	free(units);
}

const struct sp_debug_unit_place *sp_debug_units_place(struct sp_debug_units *units,
						       uint32_t number)
{
	struct unit *unit = &units->units[number];

	if (!unit->placed) {
		unit->placed = true;
		if (dwarf_offdie(units->dwarf, unit->entry, &unit->place.lines))
			unit->place.functions = unit->place.lines;
	}
	return unit->place.lines.addr ? &unit->place : NULL;
}

size_t sp_debug_units_n_lost(const struct sp_debug_units *units)
{
	return units->n_lost;
}

/* ---- addresses by unit ---- */

/* The unit with the innermost range around an address. *at, 0 at first, goes along with addresses
 * that ascend: it is the first range that begins behind. */
static uint32_t find_unit(const struct sp_debug_units *units, uint64_t address, size_t *at)
{
	size_t low;

	while (*at < units->n_ranges && units->ranges[*at].low <= address)
		++*at;
	for (low = *at; low-- && units->ranges[low].reach > address;)
		if (units->ranges[low].high > address)
			return units->ranges[low].unit;
	return SP_DEBUG_NO_UNIT;
}

static int compare_chunks(const void *a, const void *b)
{
	const struct sp_debug_chunk *x = a, *y = b;

	if (x->cost != y->cost)
		return x->cost > y->cost ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Adds the chunks of a unit: one, but more where that is so long that the others would wait for
 * it. */
static int add_chunks(const struct sp_debug_units *units, uint32_t unit, uint32_t first, uint32_t n,
		      uint32_t most, struct sp_debug_division *division, size_t *room)
{
	uint64_t read = unit == SP_DEBUG_NO_UNIT ? 0 : BYTE_COST * units->units[unit].size;
	uint32_t pieces = (n + most - 1) / most;

	if (read > (uint64_t)ADDRESS_COST * n)
		pieces = 1;
	for (uint32_t i = 0; i < pieces; i++) {
		uint32_t from = (uint32_t)((uint64_t)n * i / pieces);
		uint32_t to = (uint32_t)((uint64_t)n * (i + 1) / pieces);
		struct sp_debug_chunk *chunk =
			sp_array_add(&division->chunks, &division->n_chunks, room);

		if (!chunk)
			return -ENOMEM;
		*chunk = (struct sp_debug_chunk){unit, first + from, to - from,
						 read + (uint64_t)ADDRESS_COST * (to - from)};
	}
	return 0;
}

/* Puts the addresses in order of their units, those of none last, and leaves in @counts where each
 * unit's end. */
static void sort_by_unit(const uint32_t *unit_of, uint32_t n, uint32_t *counts, size_t n_units,
			 uint32_t *indices)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		counts[unit_of[i]]++;
	for (size_t unit = 0; unit <= n_units; unit++) {
		uint32_t count = counts[unit];

		counts[unit] = sum;
		sum += count;
	}
	for (uint32_t i = 0; i < n; i++)
		indices[counts[unit_of[i]]++] = i;
}

int sp_debug_units_divide(const struct sp_debug_units *units, const uint64_t *addresses, uint32_t n,
			  uint64_t shift, unsigned int processes,
			  struct sp_debug_division *ret_division)
{
	size_t n_units = units ? units->n_units : 0, room = 0, at = 0;
	sp_cleanup(sp_freep) uint32_t *unit_of = malloc((n + 1ul) * sizeof(*unit_of));
	sp_cleanup(sp_freep) uint32_t *ends = calloc(n_units + 1, sizeof(*ends));
	uint32_t most = n / (processes ? processes : 1) + 1, first = 0;
	int r = 0;

	*ret_division = (struct sp_debug_division){
		.indices = malloc((n + 1ul) * sizeof(*ret_division->indices)),
	};
	if (!unit_of || !ends || !ret_division->indices)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t unit =
			units ? find_unit(units, addresses[i] + shift, &at) : SP_DEBUG_NO_UNIT;

		unit_of[i] = unit == SP_DEBUG_NO_UNIT ? (uint32_t)n_units : unit;
	}
	sort_by_unit(unit_of, n, ends, n_units, ret_division->indices);
	for (size_t unit = 0; unit <= n_units && r == 0; first = ends[unit++])
		if (ends[unit] > first)
			r = add_chunks(units, unit == n_units ? SP_DEBUG_NO_UNIT : (uint32_t)unit,
				       first, ends[unit] - first, most, ret_division, &room);
	if (r == 0 && ret_division->n_chunks)
		qsort(ret_division->chunks, ret_division->n_chunks, sizeof(*ret_division->chunks),
		      compare_chunks);
	return r;
}

void sp_debug_division_done(struct sp_debug_division *division)
{
	free(division->indices);
	free(division->chunks);
}
