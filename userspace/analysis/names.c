/* SPDX-License-Identifier: BSD-2-Clause
 *
 * names.c - one decoder for each way in which compilers mangle names, tried in turn.
 *
 * A decoder answers only for what is wholly in its scheme, so a C function that merely looks a bit
 * like it keeps its name.
 */
#include "userspace/analysis/names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"

#define MAX_NAME (64u << 10)

/* Of the C++ ABI; declared in <cxxabi.h>, which only C++ can include. */
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static char *demangle_cxx(const char *raw)
{
	int status = -1;
	char *name;

	/* Without a prefix it would take "i" for the type int. */
	if (strncmp(raw, "_Z", 2) && strncmp(raw, "___Z", 4))
		return NULL;
	name = __cxa_demangle(raw, NULL, NULL, &status);
	if (status != 0) {
		free(name);
		return NULL;
	}
	return name;
}

/* Length of the Fortran identifier at @text, which compilers spell in lower case. */
static size_t identifier_length(const char *text)
{
	size_t n = 0;

	if (!islower((unsigned char)text[0]))
		return 0;
	while (islower((unsigned char)text[n]) || isdigit((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

/* __module_MOD_procedure; clones have a suffix, such as .constprop.0. */
static char *demangle_gfortran(const char *raw)
{
	static const char mark[] = "_MOD_";
	size_t module, procedure;
	char *name;

	if (strncmp(raw, "__", 2))
		return NULL;
	raw += 2;
	module = identifier_length(raw);
	if (!module || strncmp(raw + module, mark + 1, 4)) {
		/* identifier_length swallowed the mark's underscore, or there is no mark. */
		return NULL;
	}
	if (raw[--module] != '_' || !module)
		return NULL;
	procedure = identifier_length(raw + module + 5);
	if (!procedure || (raw[module + 5 + procedure] && raw[module + 5 + procedure] != '.'))
		return NULL;
	if (asprintf(&name, "%.*s::%s", (int)module, raw, raw + module + 5) < 0)
		return NULL;
	return name;
}

char *sp_name_demangle(const char *raw)
{
	static char *(*const decoders[])(const char *) = {demangle_cxx, demangle_gfortran};

	if (raw[0] != '_' || strnlen(raw, MAX_NAME) == MAX_NAME)
		return NULL;
	for (size_t i = 0; i < sp_array_size(decoders); i++) {
		char *name = decoders[i](raw);

		if (name)
			return name;
	}
	return NULL;
}

/* Length of "operator" and the brackets that belong to its name and nest with nothing; 0 if @at, in
 * @name, is not the start of an operator's name. */
static size_t operator_length(const char *name, const char *at)
{
	static const char *const symbols[] = {"<<=", ">>=", "<=>", "->*", "<<", ">>",
					      "<=",  ">=",  "->",  "<",	  ">"}; /* longest first */
	size_t n = strlen("operator");

	if (strncmp(at, "operator", n) || (at > name && at[-1] != ':' && at[-1] != ' ') ||
	    isalnum((unsigned char)at[n]) || at[n] == '_')
		return 0;
	if (!strncmp(at + n, "()", 2))
		return n + 2;
	if (at[n] == ' ') /* operator new */
		return n + 1;
	for (size_t i = 0; i < sp_array_size(symbols); i++)
		if (!strncmp(at + n, symbols[i], strlen(symbols[i])))
			return n + strlen(symbols[i]);
	return n;
}

/* "double f<int>(int)": the return type, which only templates have, ends at the last blank outside
 * of all brackets and before the parameters. */
char *sp_name_shorten(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t length = strlen(name), used = 0, depth = 0;
	char *out = malloc(length * 4 + 1); /* "<" becomes "<…", of 4 bytes */

	if (!out)
		return NULL;
	for (const char *at = name; *at; at++) {
		size_t whole = depth ? 0 : operator_length(name, at);

		if (!depth && !strncmp(at, anonymous, strlen(anonymous)))
			whole = strlen(anonymous);
		if (whole) {
			memcpy(out + used, at, whole);
			used += whole;
			at += whole - 1;
		} else if (strchr("<({", *at)) {
			/* The parameters end the name, unless more of it follows. */
			if (!depth && *at == '(' && !strstr(at, ")::"))
				break;
			if (!depth++)
				used += (size_t)sprintf(out + used, "%c…", *at);
		} else if (strchr(">)}", *at)) {
			depth -= depth > 0;
			if (!depth)
				out[used++] = *at;
		} else if (!depth && *at == ' ') {
			/* What stood before was the return type; but "operator< <int>". */
			used = at[1] == '<' ? used : 0;
		} else if (!depth) {
			out[used++] = *at;
		}
	}
	out[used] = '\0';
	return out;
}
