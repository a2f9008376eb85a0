/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_fold.h - the rows of a region as a table can tell them apart.
 *
 * Two template instances of one line look alike once their names are shortened, and the probes of
 * sp-trace are a dozen symbols that say nothing about the program: either becomes one row. JSON and
 * CSV have the rows as they were counted, which is how they agree with scope-profiler's.
 */
#ifndef SP_CMD_LINES_FOLD_H
#define SP_CMD_LINES_FOLD_H

#include <stdint.h>

#include "userspace/analysis/lines.h"

struct sp_lines_folded {
	const struct sp_lines_row *row; /* the hottest of them; NULL: the probes of sp-trace */
	char *function;			/* safe to print, at most so many columns */
	uint64_t samples;
};

#define SP_LINES_WHOLE SIZE_MAX

/* Hottest first; @columns: room for a function's name, SP_LINES_WHOLE: names are not shortened.
 * NULL without memory. Samples add up to those of the region. Costs a name and a sort of all rows.
 */
struct sp_lines_folded *sp_lines_fold(const struct sp_lines_region *region, size_t columns,
				      size_t *ret_n);
void sp_lines_folded_free(struct sp_lines_folded *folded, size_t n); /* NULL is fine */

#endif
