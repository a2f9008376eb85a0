/* SPDX-License-Identifier: BSD-2-Clause
 *
 * names.c - readable names: the parts of a linker name, each made readable, put together again.
 *
 * C++ (and Rust's older scheme) goes through libiberty, as in addr2line -C and perf. Its output is
 * bounded here: substitutions let a name of a hundred bytes stand for gigabytes. Its input, too,
 * since it needs stack in proportion; but not at the kilobyte where the demangler of the C++
 * runtime gives up, which names of templates exceed.
 */
#include "userspace/analysis/names.h"

#include <ctype.h>
#include <demangle.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/name_parts.h"
#include "userspace/base/cleanup.h"

#define MAX_RAW (16u << 10)
#define MAX_READABLE (64u << 10)

/* ---- C++ ---- */

struct demangled {
	jmp_buf too_long;
	size_t used;
	char text[MAX_READABLE];
};

/* libiberty can only be stopped by a jump; it holds nothing but stack. */
static void take_text(const char *text, size_t length, void *context)
{
	struct demangled *out = context;

	if (length >= sizeof(out->text) - out->used)
		longjmp(out->too_long, 1);
	memcpy(out->text + out->used, text, length);
	out->used += length;
}

static char *demangle_cxx(const char *raw)
{
	/* Without a prefix it would take "i" for the type int. */
	bool mangled = !strncmp(raw, "_Z", 2) || !strncmp(raw, "___Z", 4);
	struct demangled *out = mangled ? malloc(sizeof(*out)) : NULL;
	char *name = NULL;

	if (!out)
		return NULL;
	out->used = 0;
	if (setjmp(out->too_long) == 0 &&
	    cplus_demangle_v3_callback(raw, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT,
				       take_text, out))
		name = strndup(out->text, out->used);
	free(out);
	return name;
}

/* ---- what stands around ---- */

/* A procedure of Fortran as debug information knows it, or an external one by its underscore. */
static char *name_by_hints(const char *base, const struct sp_name_hints *hints, bool fortran)
{
	size_t length = strlen(base), known = hints->name ? strlen(hints->name) : 0;
	char *name = NULL, *dot;

	if (!fortran)
		return NULL;
	if (known && hints->module) {
		if (asprintf(&name, "%s::%s", hints->module, hints->name) < 0)
			return NULL;
		/* gfortran's submodules */
		dot = strchr(name, '.');
		if (dot && dot < name + strlen(hints->module) &&
		    asprintf(&dot, "%.*s::%s", (int)(dot - name), name, dot + 1) >= 0) {
			free(name);
			name = dot;
		}
		return name;
	}
	if (known && (!strcmp(base, "MAIN__") || !strcmp(base, "MAIN_") ||
		      (length > known && !strncasecmp(base, hints->name, known) &&
		       strspn(base + known, "_") == length - known)))
		return strdup(hints->name);
	if (length > 1 && base[length - 1] == '_' && islower((unsigned char)base[0]))
		return strndup(base, length - 1);
	return NULL;
}

static char *make_base(const char *base, const struct sp_name_hints *hints, bool fortran)
{
	char *name = hints->whole ? strdup(hints->whole) : demangle_cxx(base);

	if (!name)
		name = sp_name_fortran(base);
	return name ? name : name_by_hints(base, hints, fortran);
}

static void put_constructs(FILE *out, const struct sp_name_parts *parts, bool after_base)
{
	/* Nested ones were found from the inside. */
	for (size_t i = parts->n_constructs; i-- > 0;) {
		const struct sp_name_construct *construct = &parts->constructs[i];

		fprintf(out, "%s[%s", after_base ? " " : "", construct->kind);
		if (construct->line)
			fprintf(out, " line %u", construct->line);
		else if (construct->number)
			fprintf(out, " %u", construct->number);
		fputc(']', out);
		after_base = true;
	}
}

/* [omp 3] of a module, as the linker name counts, becomes [omp 1] of the function it was in. */
static void place_construct(struct sp_name_parts *parts, const struct sp_name_hints *hints)
{
	if (hints->construct && parts->n_constructs && !parts->constructs[0].line)
		parts->constructs[0].number = hints->construct;
	if (hints->task && parts->n_constructs)
		parts->constructs[0].kind = "omp task";
}

char *sp_name_readable(const char *raw, const struct sp_name_hints *hints)
{
	static const struct sp_name_hints none;
	sp_cleanup(sp_freep) char *base = NULL, *readable = NULL, *name = NULL;
	struct sp_name_parts parts;
	const char *shown;
	size_t size;
	FILE *out;

	if (strnlen(raw, MAX_RAW) == MAX_RAW)
		return NULL;
	hints = hints ? hints : &none;
	sp_name_split(raw, &parts);
	base = strndup(parts.base, parts.base_length);
	if (base && !parts.base_length && hints->parent) {
		free(base);
		base = strndup(hints->parent, hints->parent_is_one_of ? strcspn(hints->parent, "<")
								      : strlen(hints->parent));
	}
	if (!base)
		return NULL;
	/* The name that debug information has of an outlined function is not that of its base. */
	readable = make_base(base, parts.n_constructs ? &none : hints,
			     hints->fortran || parts.fortran);
	place_construct(&parts, hints);
	shown = readable ? readable : base;
	if (!readable && !parts.n_constructs && !parts.clone && !*parts.call &&
	    parts.base_length == strlen(raw))
		return NULL;
	if (readable && !parts.n_constructs && !parts.clone && !*parts.call)
		return strcmp(readable, raw) != 0 ? sp_take(readable) : NULL;
	out = open_memstream(&name, &size);
	if (!out)
		return NULL;
	fputs(shown, out);
	put_constructs(out, &parts, *shown);
	if (hints->keep_clones && parts.clone)
		fprintf(out, readable || parts.n_constructs ? " [clone %.*s]" : "%.*s",
			(int)parts.clone_length, parts.clone);
	fputs(parts.call, out);
	if (fclose(out) != 0 || !strcmp(name, raw))
		return NULL;
	return sp_take(name);
}

char *sp_name_demangle(const char *raw)
{
	return sp_name_readable(raw, NULL);
}
