/* SPDX-License-Identifier: BSD-2-Clause
 *
 * name_parts.h - a linker name in its parts: the function that was written, and what compilers
 * put around its name when they cut it up or copy it.
 */
#ifndef SP_ANALYSIS_NAME_PARTS_H
#define SP_ANALYSIS_NAME_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#define SP_NAME_MAX_CONSTRUCTS 4

/* A part of a program that became a function of its own. */
struct sp_name_construct {
	const char *kind;    /* "omp", "omp target", … */
	unsigned int number; /* from 1, 0 none */
	unsigned int line;   /* in the source, 0 unknown: then the number counts */
};

struct sp_name_parts {
	const char *base; /* inside the name; of length 0 where the name does not tell */
	size_t base_length;
	const char *clone; /* ".constprop.0" and its like, all of them, up to the version; inside */
	size_t clone_length;
	const char *call; /* "@plt", to the end of the name, "" none */
	struct sp_name_construct constructs[SP_NAME_MAX_CONSTRUCTS]; /* innermost first */
	size_t n_constructs;
	bool fortran; /* only compilers for Fortran cut functions up in this way */
};

void sp_name_split(const char *name, struct sp_name_parts *parts);

/* The name of a module's procedure, "module::procedure", if @base is one in the scheme of a
 * compiler for Fortran; to free(). NULL: it is not, or there is no memory. */
char *sp_name_fortran(const char *base);

#endif
