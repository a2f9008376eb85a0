/* SPDX-License-Identifier: BSD-2-Clause
 *
 * names.h - from the linker's names of functions to those that their authors wrote.
 *
 *	_ZN4grid5Field5totalEf			grid::Field::total(float)	C++
 *	__heat_MOD_step, _QMheatPstep,
 *	heat_mp_step_, heat_MP_step, step$heat_	heat::step			Fortran modules
 *	__heat.sub_MOD_step, heat@sub_mp_step_	heat::sub::step			… and submodules
 *	solve._omp_fn.0, L_solve_12__par_loop0_2.0, __nv_solve_F1L12_1,
 *	solve.omp_outlined, .omp_outlined.	solve [omp 1], solve [omp line 12]
 *	solve.constprop.0, solve.cold		solve				clones
 *	memcpy@@GLIBC_2.14			memcpy				versions
 *
 * Only what is wholly in a compiler's scheme is touched. What a name alone does not tell (solve_
 * is solve, if Fortran made it; whose .omp_outlined. is) comes from hints, out of debug
 * information.
 */
#ifndef SP_ANALYSIS_NAMES_H
#define SP_ANALYSIS_NAMES_H

#include <stdbool.h>

/* What debug information says of a function; all zero: nothing. */
struct sp_name_hints {
	bool fortran;	    /* the language of its unit */
	const char *name;   /* in its source (DW_AT_name), NULL unknown */
	const char *module; /* Fortran: the module around it (DW_TAG_module), NULL none */
	/* C++: the whole name of a function for which compilers write no linker name, NULL. Where
	 * the symbol table has one, it is not used, so that inlined calls have the same name. */
	const char *whole;
	/* Of an outlined function: the linker name of the function that it was cut out of (NULL
	 * unknown), and the number of its construct there, from 1 (0 unknown). */
	const char *parent;
	bool parent_is_one_of; /* several functions have the place that tells, as instances of a
				  template: the parent's name without its template arguments */
	unsigned int construct;
	bool task;	  /* it is the body of one, which its name does not tell */
	bool keep_clones; /* "scale(int) [clone .cold]" apart from "scale(int)" */
};

/* A readable form of the linker name @raw, to free(); NULL if @raw is already that (or there is no
 * memory). @raw may be anything: names of more than 16 KiB, and those whose readable form would
 * have more than 64 KiB, are left alone. @hints: NULL none. */
char *sp_name_readable(const char *raw, const struct sp_name_hints *hints);
/* The same without hints. */
char *sp_name_demangle(const char *raw);

/* A readable name for people: the qualified name, without return type, parameters and what stands
 * after them; template arguments stay where they are a word or two, else they are "<…>"; the call
 * operator of a lambda is the lambda.
 *
 *	void std::sort<…long…>(…)		std::sort<…>
 *	float grid::Field<float, 3>::total() const
 *						grid::Field<float, 3>::total
 *	solve(int)::{lambda(double)#2}::operator()(double) const
 *						solve::{lambda#2}
 *
 * Names of other languages stay as they are. To free(); NULL without memory. */
char *sp_name_shorten(const char *name);

/* For people, a region whose name is empty has this one. */
#define SP_NO_NAME "(no name)"

static inline const char *sp_region_shown(const char *name)
{
	return *name ? name : SP_NO_NAME;
}

#endif
