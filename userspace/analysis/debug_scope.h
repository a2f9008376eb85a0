/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_scope.h - the whole name of a function of C++ that has no linker name: namespaces,
 * classes, functions.
 *
 * Compilers write linker names of what other files can call. The call operator of a lambda in
 * main(), a static function, and whatever is in an anonymous namespace have a plain name alone, by
 * which nobody finds them.
 */
#ifndef SP_ANALYSIS_DEBUG_SCOPE_H
#define SP_ANALYSIS_DEBUG_SCOPE_H

#include <elfutils/libdw.h>

#define SP_SCOPE_STEPS \
	2000000 /* entries of a unit to look at, enough for any that people write \
		 */

/* The whole name of the function @die, a subprogram or an inlined call, as debug information has
 * it: "sim::(anonymous namespace)::Op::operator()(double)", "main::{lambda#2}::operator()(int)"; to
 * free(). Types of parameters stand without what is around them: they tell overloads apart. NULL:
 * it has no name, or there is no memory. *@steps counts down with what was looked at: at 0 it is
 * without its scope. */
char *sp_debug_qualified(Dwarf_Die *die, long *steps);

#endif
