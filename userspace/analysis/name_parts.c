/* SPDX-License-Identifier: BSD-2-Clause
 *
 * name_parts.c - takes the suffixes off, from the right, and the prefixes of outlined functions.
 *
 * Linear in the length of the name, which may be anything. A suffix must be one that compilers are
 * known to make: a dot as such says nothing (Go, assembler and submodules have them in names).
 */
#include "userspace/analysis/name_parts.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "userspace/base/cleanup.h"

#define MAX_NUMBER 99999999u

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Digits at @text, up to @end; their number comes out, 0 without any. */
static const char *read_number(const char *text, const char *end, unsigned int *number)
{
	*number = 0;
	for (; text < end && isdigit((unsigned char)*text); text++)
		if (*number <= MAX_NUMBER / 10)
			*number = *number * 10 + (unsigned int)(*text - '0');
	return text;
}

static bool is_number(const char *text, const char *end)
{
	unsigned int number;

	return text < end && read_number(text, end, &number) == end;
}

static void add_construct(struct sp_name_parts *parts, const char *kind, unsigned int number,
			  unsigned int line)
{
	if (parts->n_constructs < SP_NAME_MAX_CONSTRUCTS)
		parts->constructs[parts->n_constructs++] =
			(struct sp_name_construct){kind, number, line};
}

/* ---- suffixes ---- */

struct suffix {
	const char *word;
	const char *construct;			/* NULL: a clone */
	enum { NEVER, PERHAPS, ALWAYS } number; /* whether one follows */
};

/* gcc counts _omp_fn from 0; LLVM gives the first of its functions no number, and a number of the
 * whole module to those after it. */
static const struct suffix suffixes[] = {
	{"_omp_fn", "omp", ALWAYS},
	{"_omp_cpyfn", "omp copy", ALWAYS},
	{"_oacc_fn", "acc", ALWAYS},
	{"omp_outlined", "omp", PERHAPS},
	{"omp_outlined_debug__", "omp", PERHAPS},
	{"omp_par", "omp", PERHAPS},
	{"omp_task_entry", "omp task", PERHAPS},
	{"wrapper", NULL, NEVER},
	{"reduction_func", NULL, PERHAPS},
	{"constprop", NULL, PERHAPS},
	{"isra", NULL, PERHAPS},
	{"part", NULL, PERHAPS},
	{"cold", NULL, PERHAPS},
	{"unlikely", NULL, PERHAPS},
	{"hot", NULL, PERHAPS},
	{"warm", NULL, PERHAPS},
	{"lto_priv", NULL, PERHAPS},
	{"llvm", NULL, ALWAYS},
	{"__uniq", NULL, ALWAYS},
	{"__part", NULL, ALWAYS},
	{"clone", NULL, PERHAPS},
	{"simdclone", NULL, PERHAPS},
	{"sra", NULL, PERHAPS},
	{"localalias", NULL, PERHAPS},
	{"extracted", NULL, PERHAPS},
	{"specialized", NULL, PERHAPS},
	{"resolver", NULL, NEVER},
	{"ifunc", NULL, NEVER},
	{"default", NULL, PERHAPS},
};

/* target_clones: solve.avx2.0, solve.arch_haswell.1 */
static bool is_target(const char *word, size_t length)
{
	static const char *const targets[] = {"arch_", "avx",	 "sse", "ssse3",
					      "fma",   "popcnt", "bmi"};

	for (size_t i = 0; i < sp_array_size(targets); i++)
		if (length >= strlen(targets[i]) && begins(word, targets[i]))
			return true;
	return false;
}

static const struct suffix *find_suffix(const char *word, size_t length)
{
	static const struct suffix target = {"", NULL, PERHAPS};

	for (size_t i = 0; i < sp_array_size(suffixes); i++)
		if (strlen(suffixes[i].word) == length && !strncmp(word, suffixes[i].word, length))
			return &suffixes[i];
	return is_target(word, length) ? &target : NULL;
}

/* The last dot in [from, end), NULL if there is none behind the first character. */
static const char *last_dot(const char *from, const char *end)
{
	while (end > from + 1)
		if (*--end == '.')
			return end;
	return NULL;
}

/* Takes one suffix off the end of [base, end). The new end, or NULL if there is none. */
static const char *take_suffix(struct sp_name_parts *parts, const char *end)
{
	const char *dot = last_dot(parts->base, end), *number = NULL, *before;
	const struct suffix *suffix;
	unsigned int count = 0;

	if (!dot)
		return NULL;
	if (is_number(dot + 1, end)) {
		number = dot;
		before = last_dot(parts->base, dot);
		suffix = before ? find_suffix(before + 1, (size_t)(dot - before) - 1) : NULL;
		if (!suffix || suffix->number == NEVER) {
			/* A function inside of a function (gcc), or one of two of that name. */
			parts->clone = dot;
			return dot;
		}
		dot = before;
		read_number(number + 1, end, &count);
	} else {
		suffix = find_suffix(dot + 1, (size_t)(end - dot) - 1);
		if (!suffix || suffix->number == ALWAYS)
			return NULL;
	}
	if (suffix->construct)
		add_construct(parts, suffix->construct, count + 1, 0);
	else
		parts->clone = dot;
	/* "solve..omp_par", "x.omp_outlined_debug__.omp.reduction.reduction_func" */
	if (!strcmp(suffix->word, "omp_par") && dot > parts->base + 1 && dot[-1] == '.') {
		parts->fortran = true;
		return dot - 1;
	}
	if (!strcmp(suffix->word, "reduction_func") && dot - parts->base > 14 &&
	    begins(dot - 14, ".omp.reduction"))
		return parts->clone = dot - 14;
	return dot;
}

/* ---- outlined functions that are named in other ways ---- */

/* icx, ifx: solve_.DIR.OMP.PARALLEL.LOOP.2.split123 */
static bool take_directive(struct sp_name_parts *parts, const char *end)
{
	const char *mark = strstr(parts->base, ".DIR.OMP."), *at;
	unsigned int number;

	if (!mark || mark == parts->base || mark >= end)
		return false;
	at = mark + strlen(".DIR.OMP.");
	while (at < end && (isupper((unsigned char)*at) || *at == '.' || *at == '_'))
		at++;
	read_number(at, end, &number);
	add_construct(parts, "omp", number, 0);
	parts->base_length = (size_t)(mark - parts->base);
	return true;
}

/* icc, ifort: L_solve_12__par_loop0_2.0, where the linker name of the function stands in it. */
static bool take_intel(struct sp_name_parts *parts, const char *end)
{
	static const char *const kinds[] = {"__par_loop", "__par_region", "__par_section", "__task",
					    "__tree_reduce"};
	const char *from = parts->base + 2, *mark = NULL, *digits;
	unsigned int line;

	if (!begins(parts->base, "L_"))
		return false;
	for (size_t i = 0; i < sp_array_size(kinds) && !mark; i++)
		mark = strstr(from, kinds[i]);
	if (!mark || mark >= end)
		return false;
	digits = mark;
	while (digits > from && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == mark || digits < from + 2 || digits[-1] != '_')
		return false;
	read_number(digits, mark, &line);
	add_construct(parts, "omp", 0, line);
	parts->base = from;
	parts->base_length = (size_t)(digits - 1 - from);
	parts->fortran = digits[-2] == '_';
	return true;
}

/* nvc, nvfortran, classic flang: __nv_solve_F1L12_1, __nv_MAIN__F1L38_1_ */
static bool take_nvidia(struct sp_name_parts *parts, const char *end)
{
	const char *from = parts->base + strlen("__nv_"), *mark;
	unsigned int line;

	if (!begins(parts->base, "__nv_"))
		return false;
	for (mark = end - 1; mark > from; mark--)
		if (begins(mark, "_F") && isdigit((unsigned char)mark[2]))
			break;
	if (mark <= from)
		return false;
	for (mark += 2; mark < end && isdigit((unsigned char)*mark); mark++)
		;
	if (mark == end || *mark != 'L' || !isdigit((unsigned char)mark[1]))
		return false;
	read_number(mark + 1, end, &line);
	while (mark > from && !begins(mark, "_F"))
		mark--;
	add_construct(parts, "omp", 0, line);
	parts->base = from;
	parts->base_length = (size_t)(mark - from);
	parts->fortran = parts->base[parts->base_length - 1] == '_';
	return true;
}

/* clang: __omp_offloading_fe00_aac0c8__ZL3lamPd_l25, also with _debug__ behind it. */
static bool take_target(struct sp_name_parts *parts, const char *end)
{
	const char *from = parts->base + strlen("__omp_offloading_"), *mark = NULL;
	unsigned int line;

	if (!begins(parts->base, "__omp_offloading_"))
		return false;
	for (int i = 0; i < 2; i++) {
		const char *part = from;

		while (from < end && isxdigit((unsigned char)*from))
			from++;
		if (from == part || *from != '_')
			return false;
		from++;
	}
	for (const char *at = from + 1; at < end; at++)
		if (begins(at, "_l") && isdigit((unsigned char)at[2]))
			mark = at;
	if (!mark)
		return false;
	read_number(mark + 2, end, &line);
	add_construct(parts, "omp target", 0, line);
	parts->base = from;
	parts->base_length = (size_t)(mark - from);
	return true;
}

/* clang before 17, which does not name the function: .omp_outlined., .omp_outlined..3,
 * .omp_outlined._debug__.1, .omp_task_entry..7; on devices __omp_outlined__2 */
static bool take_nameless(struct sp_name_parts *parts, const char *end)
{
	static const struct {
		const char *name, *kind;
	} known[] = {
		{".omp_outlined._debug__", "omp"},
		{".omp_outlined.", "omp"},
		{"__omp_outlined__", "omp"},
		{".omp_task_entry.", "omp task"},
		{".omp_task_privates_map.", "omp copy"},
		{".omp_task_dup.", "omp copy"},
		{".omp.reduction.reduction_func", "omp reduction"},
		{".omp_combiner.", "omp reduction"},
		{".omp_initializer.", "omp reduction"},
	};

	for (size_t i = 0; i < sp_array_size(known); i++) {
		const char *at = parts->base + strlen(known[i].name);
		unsigned int number = 0;

		if (!begins(parts->base, known[i].name))
			continue;
		if (at < end && *at == '.')
			at++;
		at = read_number(at, end, &number);
		if (at != end && !begins(at, "_debug__"))
			continue;
		add_construct(parts, known[i].kind, number + 1, 0);
		parts->base_length = 0;
		return true;
	}
	return false;
}

/* The version of a symbol, "@@GLIBC_2.14", is nobody's name; "@plt" says that it is a call. */
static const char *find_version(const char *name, const char **call)
{
	const char *at = strrchr(name, '@'), *end = name + strlen(name);

	*call = end;
	if (!at || at == name)
		return end;
	if (!strcmp(at, "@plt"))
		return *call = at;
	/* Submodules of Intel's Fortran: "heat@sub_mp_step_" */
	if (strstr(at, "_mp_") || strstr(at, "_MP_"))
		return end;
	for (const char *c = at + 1; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
			return end;
	while (at > name + 1 && at[-1] == '@')
		at--;
	return at;
}

void sp_name_split(const char *name, struct sp_name_parts *parts)
{
	static bool (*const takers[])(struct sp_name_parts *, const char *) = {
		take_nameless, take_directive, take_intel, take_nvidia, take_target};
	const char *end, *rest, *whole;

	*parts = (struct sp_name_parts){.base = name};
	end = whole = find_version(name, &parts->call);
	if (end == name)
		return;
	for (size_t i = 0; i < sp_array_size(takers); i++)
		if (takers[i](parts, end))
			return;
	while ((rest = take_suffix(parts, end)))
		end = rest;
	parts->base_length = (size_t)(end - name);
	if (parts->clone)
		parts->clone_length = (size_t)(whole - parts->clone);
}
