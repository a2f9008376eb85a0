/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_hints.c - the functions of a unit by their places in the source.
 *
 * clang before 17 names what it cuts out of functions .omp_outlined. and no more, and later
 * versions number them for the whole module. But each has the line of its construct, so it is of
 * the function that begins last before that line, and the lines of the constructs number them.
 *
 * As in debug_unit.c, the walk only goes forward, and is bounded in depth.
 */
#include "userspace/analysis/debug_hints.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "userspace/analysis/debug_scope.h"
#include "userspace/base/array.h"
#include "userspace/base/idmap.h"

#define MAX_DEPTH 400
#define MAX_FUNCTIONS (4u << 20)
#define MAX_ORIGINS 8
#define MAX_PARAMETERS 16

enum kind { WRITTEN, OUTLINED, TASK, TASK_BODY, OTHER };

struct function {
	Dwarf_Off offset;
	Dwarf_Die die;
	const char *module;
	uint32_t file, line;
	enum kind kind;
};

struct sp_debug_hints {
	Dwarf_Die unit;
	bool fortran, walked, same_file; /* the unit's files 0 and 1 are one */
	Dwarf_Off walked_to;
	struct function *by_offset;
	size_t n_functions, room;
	struct function *by_place; /* those with a line, by file and line */
	size_t n_placed;
	bool cxx;
	long steps;		/* left for scopes */
	struct sp_idmap scopes; /* offset of a function's entry: index in texts */
	char **texts;		/* NULL: there is nothing around it */
	size_t n_texts, texts_room;
};

/* ---- all functions of the unit ---- */

static uint32_t read_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (!dwarf_attr_integrate(die, name, &attribute) ||
	    dwarf_formudata(&attribute, &value) != 0 || value > INT32_MAX)
		return 0;
	return (uint32_t)value;
}

static const char *linker_name(Dwarf_Die *die)
{
	static const unsigned int names[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2; i++) {
		const char *name = NULL;

		if (dwarf_attr_integrate(die, names[i], &attribute))
			name = dwarf_formstring(&attribute);
		if (name && *name)
			return name;
	}
	return dwarf_diename(die);
}

/* A construct is counted where its function is made; the inlined half of it (_debug__), and what
 * belongs to it, have lines of their own. */
static enum kind kind_of(const char *name)
{
	if (!name || !strstr(name, ".omp"))
		return name && strstr(name, "_omp_fn.") ? OTHER : WRITTEN;
	if (strstr(name, "_debug__"))
		return OTHER;
	if (strstr(name, ".omp_outlined"))
		return OUTLINED;
	return !strncmp(name, ".omp_task_entry.", 16) ? TASK : OTHER;
}

/* A task is two functions: its entry, and its body, which stands inlined in that. */
static bool is_task_body(Dwarf_Die *die)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return false;
	for (int i = 0; i < MAX_PARAMETERS; i++) {
		const char *name = dwarf_diename(&child);

		if (dwarf_tag(&child) == DW_TAG_formal_parameter && name &&
		    !strcmp(name, ".part_id."))
			return true;
		if (dwarf_siblingof(&child, &child) != 0)
			break;
	}
	return false;
}

/* clang lists the source of a unit twice in DWARF 5, and its functions have either number. */
static bool has_same_file(Dwarf_Die *unit)
{
	Dwarf_Files *files;
	const char *names[2];
	size_t n;

	if (dwarf_getsrcfiles(unit, &files, &n) != 0 || n < 2)
		return false;
	for (size_t i = 0; i < 2; i++)
		names[i] = dwarf_filesrc(files, i, NULL, NULL);
	return names[0] && names[1] && !strcmp(names[0], names[1]);
}

static uint32_t read_file(const struct sp_debug_hints *hints, Dwarf_Die *die)
{
	uint32_t file = read_number(die, DW_AT_decl_file);

	return file == 1 && hints->same_file ? 0 : file;
}

/* A function is defined once: what only declares it, and its instances, do not count. */
static bool is_definition(Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_declaration) && !dwarf_hasattr(die, DW_AT_abstract_origin);
}

static int add_function(struct sp_debug_hints *hints, Dwarf_Die *die, const char *module)
{
	struct function *function;

	if (hints->n_functions >= MAX_FUNCTIONS)
		return 0;
	function = sp_array_add(&hints->by_offset, &hints->n_functions, &hints->room);
	if (!function)
		return -ENOMEM;
	*function = (struct function){
		.offset = dwarf_dieoffset(die),
		.die = *die,
		.module = module,
		.file = read_file(hints, die),
		.line = is_definition(die) ? read_number(die, DW_AT_decl_line) : 0,
		.kind = kind_of(linker_name(die)),
	};
	if (function->kind == OUTLINED && is_task_body(die))
		function->kind = TASK_BODY;
	return 0;
}

static bool may_hold_functions(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	default:
		return false;
	}
}

static int walk(struct sp_debug_hints *hints, Dwarf_Die *parent, const char *module, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die), r = 0;

		if (dwarf_dieoffset(&die) <= hints->walked_to)
			return 0;
		hints->walked_to = dwarf_dieoffset(&die);
		if (tag == DW_TAG_subprogram)
			r = add_function(hints, &die, module);
		if (r == 0 && may_hold_functions(tag))
			/* What is inside of a procedure is not the module's. */
			r = walk(hints, &die, tag == DW_TAG_module ? dwarf_diename(&die) : NULL,
				 depth + 1);
		if (r < 0)
			return r;
	} while (dwarf_siblingof(&die, &die) == 0);
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

static int compare_offsets(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

static void walk_once(struct sp_debug_hints *hints)
{
	if (hints->walked)
		return;
	hints->walked = true;
	hints->walked_to = dwarf_dieoffset(&hints->unit);
	hints->same_file = !hints->fortran && has_same_file(&hints->unit);
	if (walk(hints, &hints->unit, NULL, 0) < 0 || !hints->n_functions)
		return;
	/* The walk went forward, so they are in order. */
	hints->by_place = calloc(hints->n_functions, sizeof(*hints->by_place));
	if (!hints->by_place)
		return;
	for (size_t i = 0; i < hints->n_functions; i++)
		if (hints->by_offset[i].line)
			hints->by_place[hints->n_placed++] = hints->by_offset[i];
	if (hints->n_placed)
		qsort(hints->by_place, hints->n_placed, sizeof(*hints->by_place), compare_places);
}

/* ---- life cycle ---- */

static bool is_fortran(int language)
{
	switch (language) {
	case DW_LANG_Fortran77:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
	case 0x2d: /* Fortran 18, of DWARF 6 */
		return true;
	default:
		return false;
	}
}

static bool is_cxx(int language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++ 17 and 20, of DWARF 6 */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

int sp_debug_hints_new(const Dwarf_Die *unit, struct sp_debug_hints **ret_hints)
{
	struct sp_debug_hints *hints = calloc(1, sizeof(*hints));

	if (!hints)
		return -ENOMEM;
	hints->unit = *unit;
	hints->fortran = is_fortran(dwarf_srclang(&hints->unit));
	hints->cxx = is_cxx(dwarf_srclang(&hints->unit));
	hints->steps = SP_SCOPE_STEPS;
	*ret_hints = hints;
	return 0;
}

void sp_debug_hints_free(struct sp_debug_hints *hints)
{
	if (!hints)
		return;
	for (size_t i = 0; i < hints->n_texts; i++)
		free(hints->texts[i]);
	free(hints->texts);
	sp_idmap_free(&hints->scopes);
	free(hints->by_offset);
	free(hints->by_place);
	free(hints);
}

/* ---- looking up ---- */

/* The entry that a concrete or inlined instance is of. */
static const struct function *find_function(const struct sp_debug_hints *hints,
					    const Dwarf_Die *instance)
{
	Dwarf_Die die = *instance;
	Dwarf_Attribute attribute;
	struct function key;

	for (int i = 0; i < MAX_ORIGINS; i++) {
		Dwarf_Die origin;

		if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(&die, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &origin))
			break;
		die = origin;
	}
	key.offset = dwarf_dieoffset(&die);
	return hints->n_functions ? bsearch(&key, hints->by_offset, hints->n_functions,
					    sizeof(*hints->by_offset), compare_offsets)
				  : NULL;
}

/* How many functions that were written begin on this line. */
static size_t count_written(const struct sp_debug_hints *hints, size_t at)
{
	const struct function *all = hints->by_place;
	size_t n = 1;

	for (size_t i = at; i-- > 0 && all[i].file == all[at].file && all[i].line == all[at].line;)
		n += all[i].kind == WRITTEN;
	return n;
}

static void find_parent(const struct sp_debug_hints *hints, const struct function *outlined,
			enum kind counted, struct sp_name_hints *names)
{
	const struct function *all = hints->by_place;
	/* Behind the last one on the line, or before it. */
	size_t at = sp_search(hints->n_placed, i,
			      all[i].file < outlined->file || (all[i].file == outlined->file &&
							       all[i].line <= outlined->line));
	uint32_t last = 0;
	unsigned int number = 0;

	while (at-- > 0 && all[at].file == outlined->file) {
		Dwarf_Die die = all[at].die;

		if (all[at].kind == WRITTEN) {
			/* Of instances of a template none can be told to be the parent. */
			names->parent_is_one_of = count_written(hints, at) > 1;
			names->parent =
				names->parent_is_one_of ? dwarf_diename(&die) : linker_name(&die);
			names->construct = number;
			return;
		}
		if (all[at].kind == counted && all[at].line != last) {
			number++;
			last = all[at].line;
		}
	}
}

/* What is around a function of C++, which others cannot call, so that its linker name was left out.
 */
static const char *find_whole(struct sp_debug_hints *hints, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;
	bool external = false, has_origin;
	uint64_t key;
	uint32_t index;
	char **text;

	if (dwarf_attr_integrate(die, DW_AT_external, &attribute) &&
	    dwarf_formflag(&attribute, &external) == 0 && external)
		return NULL; /* main, extern "C" */
	has_origin = dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
		     dwarf_formref_die(&attribute, &origin);
	key = dwarf_dieoffset(has_origin ? &origin : die);
	index = sp_idmap_get(&hints->scopes, key);
	if (index != SP_IDMAP_NONE)
		return hints->texts[index];
	text = sp_array_add(&hints->texts, &hints->n_texts, &hints->texts_room);
	if (!text)
		return NULL;
	*text = sp_debug_qualified(die, &hints->steps);
	/* Without memory it is looked for again. */
	sp_idmap_set(&hints->scopes, key, (uint32_t)(hints->n_texts - 1));
	return *text;
}

void sp_debug_hints_find(struct sp_debug_hints *hints, const Dwarf_Die *die,
			 const struct sp_debug_name *name, struct sp_name_hints *ret_names)
{
	bool cut_out = name && name->cut_out;
	const struct function *found;
	Dwarf_Die entry = *die;

	*ret_names = (struct sp_name_hints){.fortran = hints->fortran};
	if (hints->cxx && !cut_out && name && strncmp(name->text, "_Z", 2) != 0 && hints->steps > 0)
		ret_names->whole = find_whole(hints, &entry);
	if (!hints->fortran && !cut_out)
		return;
	walk_once(hints);
	found = find_function(hints, die);
	if (hints->fortran) {
		ret_names->name = dwarf_diename(&entry);
		ret_names->module = found ? found->module : NULL;
	}
	if (cut_out && found && found->line) {
		ret_names->task = found->kind == TASK_BODY;
		find_parent(hints, found,
			    found->kind == TASK_BODY || strstr(name->text, ".omp_task_entry")
				    ? TASK
				    : OUTLINED,
			    ret_names);
	}
}
