/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_scope.h - what stands around a function of C++ that has no linker name: namespaces,
 * classes, functions.
 *
 * Compilers write linker names of what other files can call. The call operator of a lambda in
 * main(), a static function, and whatever is in an anonymous namespace have a plain name alone, by
 * which nobody finds them.
 */
#ifndef SP_ANALYSIS_DEBUG_SCOPE_H
#define SP_ANALYSIS_DEBUG_SCOPE_H

#include <elfutils/libdw.h>

#define SP_SCOPE_STEPS 2000000 /* entries of a unit to look at, enough for any that people write \
				*/

/* "sim::(anonymous namespace)::Op", "main::{lambda#2}", of the function @die, a subprogram or an
 * inlined call; to free(). NULL: there is nothing around it, or no memory, or *@steps came to an
 * end, which counts down with what was looked at. */
char *sp_debug_scope(Dwarf_Die *die, long *steps);

#endif
