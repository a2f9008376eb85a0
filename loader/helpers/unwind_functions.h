/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_functions.h - the functions that a file's symbol tables name.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_FUNCTIONS_H
#define SP_LOADER_HELPERS_UNWIND_FUNCTIONS_H

#include "loader/helpers/elf_file.h"

/* Gets each function that has a size and lies within executable code; the same one perhaps several
 * times. A negative return ends the walk. */
typedef int (*sp_unwind_function_cb)(uint64_t start, uint64_t size, void *arg);

/* Walks through .symtab, or .dynsym where that was stripped, and .init and .fini, whose symbols
 * have no size. Damaged tables have no functions. 0, or what the callback said. */
int sp_unwind_functions(struct sp_elf_file *file, sp_unwind_function_cb cb, void *arg);

#endif
