/* SPDX-License-Identifier: BSD-2-Clause
 *
 * name_fortran.c - procedures of modules, one decoder for each way to spell them.
 *
 * gfortran and flang were looked at (12; 16 and 19); Intel, NAG, IBM and Cray as they document it.
 * Identifiers are in lower case in all of them. nvfortran's heat_step_ cannot be told from an
 * external procedure: that takes debug information.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/name_parts.h"
#include "userspace/base/cleanup.h"

static bool in_identifier(char c)
{
	return islower((unsigned char)c) || isdigit((unsigned char)c) || c == '_';
}

/* True if [from, end) is an identifier in lower case. */
static bool is_identifier(const char *from, const char *end)
{
	if (from >= end || !islower((unsigned char)*from))
		return false;
	while (from < end && in_identifier(*from))
		from++;
	return from == end;
}

static char *join(const char *module, const char *end, const char *procedure, size_t length)
{
	char *name;

	return asprintf(&name, "%.*s::%.*s", (int)(end - module), module, (int)length, procedure) <
			       0
		       ? NULL
		       : name;
}

/* gfortran, what procedures with ENTRY statements have in common: master.0.step. Where the name of
 * the first of them begins, else @name. */
static const char *skip_master(const char *name)
{
	size_t digits;

	if (strncmp(name, "master.", 7) != 0)
		return name;
	digits = strspn(name + 7, "0123456789");
	return digits && name[7 + digits] == '.' ? name + 8 + digits : name;
}

static char *from_entries(const char *base)
{
	const char *name = skip_master(base), *end = base + strlen(base);

	if (name == base)
		return NULL;
	end -= end > name && end[-1] == '_';
	return is_identifier(name, end) ? strndup(name, (size_t)(end - name)) : NULL;
}

/* What gfortran writes for derived types: __copy_heat_Field */
static bool is_generated(const char *name)
{
	if (strncmp(name, "__", 2) != 0 || !name[2])
		return false;
	while (isalnum((unsigned char)*name) || *name == '_')
		name++;
	return !*name;
}

/* gfortran __heat_MOD_step, in a submodule __heat.sub_MOD_step; IBM's XL __heat_NMOD_step */
static char *from_gnu(const char *base)
{
	static const char *const marks[] = {"_MOD_", "_NMOD_"};
	const char *module = base + 2, *mark = NULL, *dot, *procedure;
	size_t kind = 0;
	char *name;

	if (strncmp(base, "__", 2) != 0)
		return NULL;
	for (; kind < sp_array_size(marks) && !mark; kind++)
		mark = strstr(module, marks[kind]);
	if (!mark)
		return NULL;
	procedure = skip_master(mark + strlen(marks[kind - 1]));
	if (!is_identifier(procedure, procedure + strlen(procedure)) && !is_generated(procedure))
		return NULL;
	dot = memchr(module, '.', (size_t)(mark - module));
	if (!is_identifier(module, dot ? dot : mark) || (dot && !is_identifier(dot + 1, mark)))
		return NULL;
	if (!dot)
		return join(module, mark, procedure, strlen(procedure));
	return asprintf(&name, "%.*s::%.*s::%s", (int)(dot - module), module, (int)(mark - dot - 1),
			dot + 1, procedure) < 0
		       ? NULL
		       : name;
}

/* flang: a letter before each scope: _QMheatPstep, _QMheatSsubPstep, _QMheatFstepPinner. */
static char *from_flang(const char *base)
{
	size_t length = strlen(base), used = 0;
	char *name;

	if (strncmp(base, "_Q", 2) != 0)
		return NULL;
	if (!strcmp(base, "_QQmain"))
		return strdup("main program");
	name = malloc(2 * length + 1);
	for (const char *at = base + 2; name && *at && strchr("MSFPB", *at);) {
		char tag = *at++;
		const char *end = at;

		while (in_identifier(*end))
			end++;
		/* As scopes, the main program has no name, and blocks have numbers. */
		if (!is_identifier(at, end) && tag != 'B' && (tag != 'F' || end > at))
			break;
		if (tag != 'B' && end > at)
			used += (size_t)sprintf(name + used, "%s%.*s", used ? "::" : "",
						(int)(end - at), at);
		if (tag == 'P' && !*end)
			return name;
		if (tag == 'P')
			break;
		at = end;
	}
	free(name);
	return NULL;
}

/* ifort, ifx: heat_mp_step_, in a submodule heat@sub_mp_step_; with -standard-semantics, and from
 * NAG's compiler: heat_MP_step */
static char *from_intel(const char *base)
{
	const char *mark = strstr(base, "_MP_"), *end = base + strlen(base), *at;
	char *name;

	if (!mark) {
		mark = strstr(base, "_mp_");
		if (!mark || end[-1] != '_')
			return NULL;
		end--;
	} else if (end[-1] == '_') {
		end--;
	}
	at = memchr(base, '@', (size_t)(mark - base));
	if (!is_identifier(base, at ? at : mark) || (at && !is_identifier(at + 1, mark)) ||
	    !is_identifier(mark + 4, end))
		return NULL;
	if (!at)
		return join(base, mark, mark + 4, (size_t)(end - mark - 4));
	return asprintf(&name, "%.*s::%.*s::%.*s", (int)(at - base), base, (int)(mark - at - 1),
			at + 1, (int)(end - mark - 4), mark + 4) < 0
		       ? NULL
		       : name;
}

/* Cray: step$heat_ */
static char *from_cray(const char *base)
{
	const char *mark = strchr(base, '$'), *end = base + strlen(base);

	if (!mark || end[-1] != '_' || !is_identifier(base, mark) ||
	    !is_identifier(mark + 1, end - 1))
		return NULL;
	return join(mark + 1, end - 1, base, (size_t)(mark - base));
}

char *sp_name_fortran(const char *base)
{
	static char *(*const decoders[])(const char *) = {from_gnu, from_entries, from_flang,
							  from_intel, from_cray};

	if (!*base)
		return NULL;
	for (size_t i = 0; i < sp_array_size(decoders); i++) {
		char *name = decoders[i](base);

		if (name)
			return name;
	}
	return NULL;
}
