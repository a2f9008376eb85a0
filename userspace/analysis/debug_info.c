/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_info.c - the units of one ELF file by address, and its symbol table where they know
 * nothing.
 *
 * libdwfl finds and opens the files (separate debug files, compressed sections, .gnu_debugdata).
 * The tables here are our own, since libdw's lookups walk a unit, or the symbol table, anew for
 * every address, and find no unit at all where the compiler wrote no .debug_aranges (clang).
 */
#include "userspace/analysis/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/debug_package.h"
#include "userspace/analysis/debug_rows.h"
#include "userspace/analysis/debug_unit.h"
#include "userspace/analysis/symbol_table.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/files.h"

#define DEFAULT_DEBUG_PATH "+:.debug:/usr/lib/debug"
#define MAX_BUILD_ID 64
#define MAX_UNIT_RANGES (64u << 20)

struct unit_range {
	uint64_t low, high;
	uint64_t reach; /* highest end of this range and those before it */
	uint32_t unit;
};

struct sp_debug_info {
	Dwfl_Callbacks callbacks;
	char *debug_path;
	Dwfl *dwfl;
	Dwfl_Module *module;
	GElf_Addr elf_bias;
	Dwarf *dwarf;
	Dwarf_Addr dwarf_bias;
	const char *lines_file;
	struct sp_debug_sections sections;
	struct sp_pool *paths;		  /* of source files */
	struct sp_debug_package *package; /* of split DWARF, NULL none */
	bool package_sought;
	size_t n_lost; /* units whose functions are in a file that is not there */
	struct sp_debug_unit_place *units;
	size_t n_units, units_capacity;
	struct unit_range *ranges;
	size_t n_ranges, ranges_capacity;
	struct sp_symbol_table *symbols; /* NULL until one is looked for */
};

/* ---- opening ---- */

static void say(char reason[SP_DEBUG_REASON], const char *text)
{
	snprintf(reason, SP_DEBUG_REASON, "%s", text ? text : "unknown error");
}

static int open_regular(const char *path, char reason[SP_DEBUG_REASON])
{
	int fd = sp_file_open(path, NULL);

	if (fd < 0)
		say(reason, fd == -ENOEXEC ? "not a regular file" : strerrordesc_np(-fd));
	return fd;
}

static int check_build_id(struct sp_debug_info *info, const char *expected,
			  char reason[SP_DEBUG_REASON])
{
	Elf *elf = dwfl_module_getelf(info->module, &info->elf_bias);
	char found[2 * MAX_BUILD_ID + 1] = "";
	const void *bits = NULL;
	ssize_t length;

	if (!elf) {
		say(reason, dwfl_errmsg(-1));
		return -ENOEXEC;
	}
	if (!expected || !*expected)
		return 0;
	length = dwelf_elf_gnu_build_id(elf, &bits);
	for (ssize_t i = 0; i < length && i < MAX_BUILD_ID; i++)
		snprintf(found + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
	if (length <= MAX_BUILD_ID && !strcasecmp(found, expected))
		return 0;
	snprintf(reason, SP_DEBUG_REASON, "its build-id is %s, that of the recording %.*s",
		 *found ? found : "missing", 2 * MAX_BUILD_ID, expected);
	return -ESTALE;
}

/* ---- the units by address ---- */

static int add_range(struct sp_debug_info *info, uint64_t low, uint64_t high, size_t unit)
{
	/* The linker leaves units of code that it discarded at 0. */
	if (!low || low >= high || info->n_ranges >= MAX_UNIT_RANGES)
		return 0;
	if (info->n_ranges == info->ranges_capacity) {
		size_t capacity = info->ranges_capacity ? info->ranges_capacity * 2 : 256;
		struct unit_range *grown = reallocarray(info->ranges, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		info->ranges = grown;
		info->ranges_capacity = capacity;
	}
	info->ranges[info->n_ranges++] =
		(struct unit_range){.low = low, .high = high, .unit = (uint32_t)unit};
	return 0;
}

struct sequences {
	struct sp_debug_info *info;
	size_t unit;
};

static int add_sequence(void *context, uint64_t low, uint64_t high)
{
	struct sequences *sequences = context;

	return add_range(sequences->info, low, high, sequences->unit);
}

/* For a unit that does not say where its code is: from its lines. */
static int add_ranges_of_lines(struct sp_debug_info *info, Dwarf_Die *die, size_t unit)
{
	struct sequences sequences = {info, unit};
	Dwarf_Attribute attribute;
	Dwarf_Word offset;

	if (!dwarf_attr(die, DW_AT_stmt_list, &attribute) ||
	    dwarf_formudata(&attribute, &offset) != 0)
		return 0;
	return sp_debug_rows_sequences(&info->sections, offset, sizeof(Elf64_Addr), add_sequence,
				       &sequences);
}

/* The package of split DWARF, which lies beside the program or its debug file. */
static int seek_package(struct sp_debug_info *info)
{
	const char *main_file = NULL;
	int r;

	if (info->package_sought)
		return 0;
	info->package_sought = true;
	dwfl_module_info(info->module, NULL, NULL, NULL, NULL, NULL, &main_file, NULL);
	r = main_file ? sp_debug_package_open(main_file, &info->package) : -ENOENT;
	if (r == -ENOENT && info->lines_file && info->lines_file != main_file)
		r = sp_debug_package_open(info->lines_file, &info->package);
	return r == -ENOMEM ? r : 0;
}

/* The functions of a unit that has but its lines here. */
static int find_split(struct sp_debug_info *info, struct sp_debug_unit_place *place)
{
	uint64_t id = 0;
	int r = seek_package(info);

	if (r < 0)
		return r;
	place->packaged =
		info->package &&
		dwarf_cu_info(place->lines.cu, NULL, NULL, NULL, NULL, &id, NULL, NULL) == 0 &&
		sp_debug_package_find(info->package, id, &place->package);
	info->n_lost += !place->packaged;
	return 0;
}

static int add_unit(struct sp_debug_info *info, Dwarf_Die *die, Dwarf_Die *split, bool skeleton)
{
	struct sp_debug_unit_place *place =
		sp_array_add(&info->units, &info->n_units, &info->units_capacity);
	size_t before = info->n_ranges, number = info->n_units - 1;
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	int r = 0;

	if (!place)
		return -ENOMEM;
	place->lines = *die;
	place->functions = split->addr ? *split : *die;
	if (skeleton && !split->addr)
		r = find_split(info, place);
	while (r == 0 && info->n_ranges < MAX_UNIT_RANGES &&
	       (at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		r = add_range(info, low, high, number);
	if (r == 0 && info->n_ranges == before)
		r = add_ranges_of_lines(info, die, number);
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

static int load_units(struct sp_debug_info *info)
{
	Dwarf_CU *unit = NULL;
	uint64_t reach = 0;
	uint8_t type;
	Dwarf_Die die, split;
	int r;

	while (dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		r = add_unit(info, &die, &split, type == DW_UT_skeleton);
		if (r < 0)
			return r;
	}
	if (info->n_ranges)
		qsort(info->ranges, info->n_ranges, sizeof(*info->ranges), compare_ranges);
	for (size_t i = 0; i < info->n_ranges; i++) {
		if (info->ranges[i].high > reach)
			reach = info->ranges[i].high;
		info->ranges[i].reach = reach;
	}
	return 0;
}

/* The unit with the innermost range around an address, or UINT32_MAX. */
static uint32_t find_unit(const struct sp_debug_info *info, uint64_t address)
{
	size_t low = 0, high = info->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (info->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low-- && info->ranges[low].reach > address)
		if (info->ranges[low].high > address)
			return info->ranges[low].unit;
	return UINT32_MAX;
}

/* ---- life cycle ---- */

static int load(struct sp_debug_info *info)
{
	const char *main_file = NULL, *debug_file = NULL;

	info->dwarf = dwfl_module_getdwarf(info->module, &info->dwarf_bias);
	if (info->dwarf) {
		dwfl_module_info(info->module, NULL, NULL, NULL, NULL, NULL, &main_file,
				 &debug_file);
		info->lines_file = debug_file ? debug_file : main_file;
		if (!sp_debug_sections_find(dwarf_getelf(info->dwarf), false, &info->sections))
			return 0;
		return load_units(info);
	}
	return 0;
}

int sp_debug_info_open(const char *path, const char *build_id, const char *debug_path,
		       struct sp_debug_info **ret_info, char ret_reason[SP_DEBUG_REASON])
{
	struct sp_debug_info *info;
	int fd, r;

	fd = open_regular(path, ret_reason);
	if (fd < 0)
		return fd;
	info = calloc(1, sizeof(*info));
	if (info) {
		info->debug_path = strdup(debug_path ? debug_path : DEFAULT_DEBUG_PATH);
		info->paths = sp_pool_new();
	}
	if (!info || !info->debug_path || !info->paths) {
		close(fd);
		sp_debug_info_free(info);
		say(ret_reason, "out of memory");
		return -ENOMEM;
	}
	info->callbacks.find_elf = dwfl_build_id_find_elf;
	info->callbacks.find_debuginfo = dwfl_standard_find_debuginfo;
	info->callbacks.section_address = dwfl_offline_section_address;
	info->callbacks.debuginfo_path = &info->debug_path;
	info->dwfl = dwfl_begin(&info->callbacks);
	if (info->dwfl) {
		dwfl_report_begin(info->dwfl);
		info->module = dwfl_report_elf(info->dwfl, path, path, fd, 0, true);
		dwfl_report_end(info->dwfl, NULL, NULL);
	}
	if (!info->module) {
		close(fd);
		say(ret_reason, dwfl_errmsg(-1));
		sp_debug_info_free(info);
		return -ENOEXEC;
	}
	r = check_build_id(info, build_id, ret_reason);
	if (r == 0) {
		r = load(info);
		if (r < 0)
			say(ret_reason, "out of memory");
	}
	if (r < 0) {
		sp_debug_info_free(info);
		return r;
	}
	*ret_info = info;
	return 0;
}

void sp_debug_info_free(struct sp_debug_info *info)
{
	if (!info)
		return;
	if (info->dwfl)
		dwfl_end(info->dwfl);
	free(info->debug_path);
	free(info->units);
	free(info->ranges);
	sp_symbol_table_free(info->symbols);
	sp_debug_package_free(info->package);
	sp_pool_free(info->paths);
	free(info);
}

size_t sp_debug_info_n_lost(const struct sp_debug_info *info)
{
	return info->n_lost;
}

bool sp_debug_info_has_lines(const struct sp_debug_info *info, const char **ret_file)
{
	*ret_file = info->lines_file;
	return info->dwarf != NULL;
}

/* ---- looking up ---- */

struct request {
	uint64_t address; /* in the DWARF file's terms */
	size_t index;
	uint32_t unit;
};

static int compare_requests(const void *a, const void *b)
{
	const struct request *x = a, *y = b;

	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* A copy of the function: solve.constprop.0, of solve. */
static bool is_clone(const char *name, const char *function)
{
	size_t length = strlen(function);

	return !strncmp(name, function, length) && name[length] == '.';
}

/* The symbol table names the function that was not inlined where DWARF does not; where DWARF has
 * but the last part of a C++ name (lambdas, for which gcc writes no linker name); where it has
 * a reserved one (__GI___libc_write), since there may be an alias that people know; and clones,
 * which DWARF calls as what they are copies of. */
static const char *better_name(const char *function, const char *symbol)
{
	if (!symbol || !function)
		return symbol ? symbol : function;
	if (is_clone(symbol, function))
		return symbol;
	if (!strncmp(function, "_Z", 2))
		return function;
	if (!strncmp(symbol, "_Z", 2) ||
	    (!strncmp(function, "__", 2) && strncmp(symbol, "__", 2) != 0))
		return symbol;
	return function;
}

/* Names the last frame, that of the function that was not inlined; makes one if there is none. */
static void name_by_symbol(struct sp_debug_info *info, uint64_t address,
			   struct sp_debug_frame *frames, size_t *n_frames)
{
	struct sp_debug_frame *last = &frames[*n_frames ? *n_frames - 1 : 0];

	if (!*n_frames)
		*last = (struct sp_debug_frame){0};
	last->function = better_name(last->function,
				     sp_symbol_table_find(info->symbols, address + info->elf_bias));
	if (!*n_frames && last->function)
		*n_frames = 1;
}

/* sp_debug_is_function */
static bool is_function(void *context, uint64_t address)
{
	struct sp_debug_info *info = context;

	return sp_symbol_table_is_empty(info->symbols) ||
	       sp_symbol_table_find(info->symbols, address + info->dwarf_bias);
}

/* Answers the requests [from, to), all in one unit, or in none. */
static int find_in_unit(struct sp_debug_info *info, const struct request *requests, size_t n,
			const uint64_t *inputs, uint64_t *addresses, sp_debug_found found,
			void *context)
{
	struct sp_debug_frame frames[SP_DEBUG_MAX_INLINED];
	struct sp_debug_unit *unit = NULL;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		addresses[i] = requests[i].address;
	if (requests[0].unit != UINT32_MAX)
		r = sp_debug_unit_read(&info->units[requests[0].unit], &info->sections, addresses,
				       n, info->paths, is_function, info, &unit);
	for (size_t i = 0; i < n && r == 0; i++) {
		size_t n_frames = unit ? sp_debug_unit_find(unit, i, frames) : 0;

		name_by_symbol(info, inputs[requests[i].index], frames, &n_frames);
		r = found(context, requests[i].index, frames, n_frames);
	}
	sp_debug_unit_free(unit);
	return r;
}

int sp_debug_info_find(struct sp_debug_info *info, const uint64_t *inputs, size_t n,
		       sp_debug_found found, void *context)
{
	sp_cleanup(sp_freep) struct request *requests = calloc(n + 1, sizeof(*requests));
	sp_cleanup(sp_freep) uint64_t *addresses = calloc(n + 1, sizeof(*addresses));
	int r = 0;

	if (!requests || !addresses)
		return -ENOMEM;
	if (!info->symbols)
		r = sp_symbol_table_read(info->module, &info->symbols);
	for (size_t i = 0; i < n; i++) {
		uint64_t address = inputs[i] + info->elf_bias - info->dwarf_bias;

		requests[i] = (struct request){address, i, find_unit(info, address)};
	}
	for (size_t i = 1; i < n; i++)
		if (compare_requests(&requests[i - 1], &requests[i]) > 0) {
			qsort(requests, n, sizeof(*requests), compare_requests);
			break;
		}
	for (size_t from = 0, to; from < n && r == 0; from = to) {
		for (to = from + 1; to < n && requests[to].unit == requests[from].unit; to++)
			;
		r = find_in_unit(info, requests + from, to - from, inputs, addresses, found,
				 context);
	}
	return r;
}
