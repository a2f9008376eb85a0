/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_make.h - the table of one ELF file, out of its call frame information.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_MAKE_H
#define SP_LOADER_HELPERS_UNWIND_MAKE_H

#include "formats/error.h"
#include "loader/unwind_scan.h"

/* Costs time and memory linear in the size of the call frame information (n log n where it is not
 * sorted): some 10 ms for a libc, 25 bytes an address at which a rule changes. 0, and then *@err
 * may have a sentence about what is missing (its code is not 0 then); or as in unwind_scan.h. */
int sp_unwind_make(int fd, struct sp_unwind_table *ret_table, struct sp_error *err);

#endif
