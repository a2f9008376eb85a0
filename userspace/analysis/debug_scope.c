/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_scope.c - see debug_scope.h.
 *
 * Entries do not know their parents, but stand in order: of the children of an entry, the last that
 * does not begin behind the one that is looked for has it. gcc, the compiler that leaves linker
 * names out, says where siblings are, so what is not on the way is skipped.
 *
 * Entries are a file's: references may lead in circles, and nesting may go on and on.
 */
#include "userspace/analysis/debug_scope.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"

#define MAX_DEPTH 64  /* of nested scopes */
#define MAX_ORIGINS 8 /* from an instance to what was written */
#define MAX_WITHIN 4  /* functions within functions */
#define MAX_PARTS 16  /* of a type: pointers to pointers */
#define MAX_PARAMETERS 64
#define MAX_TEXT 16384 /* of what stands around a function */

static bool is_class(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* The entry where the function was written: in its class, or in the function around it. */
static Dwarf_Die origin_of(const Dwarf_Die *instance)
{
	Dwarf_Die die = *instance;
	Dwarf_Attribute attribute;

	for (int i = 0; i < MAX_ORIGINS; i++) {
		Dwarf_Die origin;

		if ((!dwarf_attr(&die, DW_AT_abstract_origin, &attribute) &&
		     !dwarf_attr(&die, DW_AT_specification, &attribute)) ||
		    !dwarf_formref_die(&attribute, &origin))
			break;
		die = origin;
	}
	return die;
}

/* The child of @parent that is @offset, or has it. */
static bool find_child(Dwarf_Die *parent, Dwarf_Off offset, Dwarf_Die *ret_child, long *steps)
{
	Dwarf_Off before = dwarf_dieoffset(parent);
	Dwarf_Die die;
	bool found = false;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		Dwarf_Off at = dwarf_dieoffset(&die);

		if (at > offset || at <= before || --*steps < 0)
			break;
		before = at;
		*ret_child = die;
		found = true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return found && *steps >= 0;
}

static bool has_call_operator(Dwarf_Die *class, long *steps)
{
	Dwarf_Die die;

	if (dwarf_child(class, &die) != 0)
		return false;
	do {
		const char *name =
			dwarf_tag(&die) == DW_TAG_subprogram ? dwarf_diename(&die) : NULL;

		if (name && !strncmp(name, "operator()", strlen("operator()")))
			return true;
	} while (--*steps > 0 && dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Which of the lambdas in @parent @class is, from 1; 0: it is none. */
static unsigned int count_lambdas(Dwarf_Die *parent, Dwarf_Die *class, long *steps)
{
	Dwarf_Off offset = dwarf_dieoffset(class);
	unsigned int n = 0;
	Dwarf_Die die;

	if (!has_call_operator(class, steps) || dwarf_child(parent, &die) != 0)
		return 0;
	do {
		if (dwarf_dieoffset(&die) >= offset)
			break;
		n += is_class(&die) && !dwarf_diename(&die) && has_call_operator(&die, steps);
	} while (--*steps > 0 && dwarf_siblingof(&die, &die) == 0);
	return n + 1;
}

static const char *linker_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute)
		       ? dwarf_formstring(&attribute)
		       : NULL;
}

static char *find_scope(Dwarf_Die *die, long *steps, int within);

/* "sim::solve(int)": all of it, so that what was found so far is to be forgotten. */
static char *name_function(Dwarf_Die *die, long *steps, int within)
{
	const char *linker = linker_name(die), *plain = dwarf_diename(die);
	char *name = linker ? sp_name_demangle(linker) : NULL;
	sp_cleanup(sp_freep) char *scope = NULL;

	if (name || !plain)
		return name;
	scope = within < MAX_WITHIN ? find_scope(die, steps, within + 1) : NULL;
	if (!scope)
		return strdup(plain);
	return asprintf(&name, "%s::%s", scope, plain) < 0 ? NULL : name;
}

/* What an entry on the way is called, behind what is around it, which is freed. NULL: no more. */
static char *add_part(char *around, Dwarf_Die *parent, Dwarf_Die *die, long *steps, int within)
{
	sp_cleanup(sp_freep) char *before = around;
	const char *name = dwarf_diename(die);
	char lambda[32], *text = NULL;
	unsigned int number;

	if (dwarf_tag(die) == DW_TAG_subprogram)
		return name_function(die, steps, within);
	if (dwarf_tag(die) == DW_TAG_namespace) {
		name = name ? name : "(anonymous namespace)";
	} else if (!is_class(die)) {
		return sp_take(before);
	} else if (!name) {
		number = count_lambdas(parent, die, steps);
		snprintf(lambda, sizeof(lambda), "{lambda#%u}", number);
		name = number > 1 ? lambda : number ? "{lambda}" : "{unnamed type}";
	}
	if (strlen(before) + strlen(name) > MAX_TEXT ||
	    asprintf(&text, "%s%s%s", before, *before ? "::" : "", name) < 0)
		return NULL;
	return text;
}

static char *find_scope(Dwarf_Die *die, long *steps, int within)
{
	Dwarf_Die target = origin_of(die), at, child;
	Dwarf_Off offset = dwarf_dieoffset(&target);
	char *text = strdup("");
	bool whole = false;

	if (!dwarf_diecu(&target, &at, NULL, NULL)) {
		free(text);
		return NULL;
	}
	for (int depth = 0; depth < MAX_DEPTH && text; depth++) {
		if (!find_child(&at, offset, &child, steps))
			break;
		whole = dwarf_dieoffset(&child) == offset;
		if (whole)
			break;
		text = add_part(text, &at, &child, steps, within);
		at = child;
	}
	if (text && whole && *text)
		return text;
	free(text);
	return NULL;
}

/* ---- parameters ---- */

/* "Grid<double, 3> const*", as far as types have names. */
static void put_type(FILE *out, Dwarf_Die *die)
{
	char behind[MAX_PARTS * 8] = "";
	Dwarf_Attribute attribute;
	Dwarf_Die type = *die;

	for (int i = 0; i < MAX_PARTS; i++) {
		static const struct {
			int tag;
			const char *text;
		} parts[] = {{DW_TAG_pointer_type, "*"},	   {DW_TAG_reference_type, "&"},
			     {DW_TAG_rvalue_reference_type, "&&"}, {DW_TAG_const_type, " const"},
			     {DW_TAG_volatile_type, ""},	   {DW_TAG_restrict_type, ""}};
		char rest[sizeof(behind)];
		size_t k = 0;

		if (!dwarf_attr_integrate(&type, DW_AT_type, &attribute) ||
		    !dwarf_formref_die(&attribute, &type)) {
			fprintf(out, "void%s", behind);
			return;
		}
		while (k < sp_array_size(parts) && parts[k].tag != dwarf_tag(&type))
			k++;
		if (k == sp_array_size(parts))
			break;
		strcpy(rest, behind);
		snprintf(behind, sizeof(behind), "%s%s", parts[k].text, rest);
	}
	fprintf(out, "%s%s", dwarf_diename(&type) ? dwarf_diename(&type) : "?", behind);
}

static void put_parameters(FILE *out, Dwarf_Die *function)
{
	const char *separator = "";
	Dwarf_Die die;
	int left = MAX_PARAMETERS;

	fputc('(', out);
	if (dwarf_child(function, &die) == 0)
		do {
			if (dwarf_tag(&die) != DW_TAG_formal_parameter ||
			    dwarf_hasattr_integrate(&die, DW_AT_artificial))
				continue;
			fputs(separator, out);
			separator = ", ";
			put_type(out, &die);
		} while (--left && dwarf_siblingof(&die, &die) == 0);
	fputc(')', out);
}

char *sp_debug_qualified(Dwarf_Die *die, long *steps)
{
	sp_cleanup(sp_freep) char *scope = find_scope(die, steps, 0);
	Dwarf_Die origin = origin_of(die);
	const char *name = dwarf_diename(&origin);
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!name || !(out = open_memstream(&text, &size)))
		return NULL;
	fprintf(out, "%s%s%s", scope ? scope : "", scope ? "::" : "", name);
	put_parameters(out, &origin);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
