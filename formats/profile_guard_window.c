// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_window.c - what stands where in the memory that a guard and its child share.
 *
 * Invariant: the columns of calls in a half follow each other, start and end first, then as
 * profile_tables.def lists them, each at a multiple of 8 bytes.
 */
#include <string.h>

#include "formats/profile_guard_internal.h"

/* Columns 0 and 1 are start and end. */
static size_t column_size(unsigned int c)
{
	return c < 2 ? sizeof(int64_t) : sp_h5_type_size(sp_h5_call_columns[c - 2].type);
}

static bool has_column(uint32_t columns, unsigned int c)
{
	return columns & (c == 0 ? SP_GUARD_START : c == 1 ? SP_GUARD_END : 1u << (c - 2));
}

static void **column_of(struct sp_calls *calls, unsigned int c)
{
	return c == 0	? (void **)&calls->start
	       : c == 1 ? (void **)&calls->end
			: (void **)(void *)((char *)calls + sp_h5_call_columns[c - 2].offset);
}

enum { N_COLUMNS = SP_CALLS_N_COLUMNS + 2 };
_Static_assert(SP_CALLS_N_COLUMNS < 30, "start and end have bits beside the columns'");

size_t sp_guard_element(uint32_t op, uint32_t columns)
{
	size_t size = 0;

	if (op == SP_GUARD_SAMPLES)
		return sizeof(struct sp_sample_row);
	if (op != SP_GUARD_CALLS)
		return sizeof(uint64_t);
	for (unsigned int c = 0; c < N_COLUMNS; c++)
		size += has_column(columns, c) ? column_size(c) : 0;
	return size;
}

size_t sp_guard_capacity(uint32_t op, uint32_t columns)
{
	size_t padding = sizeof(uint64_t) * N_COLUMNS, element = sp_guard_element(op, columns);

	return (SP_GUARD_HALF - padding) / (element ? element : 1);
}

struct sp_calls sp_guard_view(void *half, uint32_t columns, size_t n, size_t at)
{
	struct sp_calls view = {0};
	char *column = half;

	for (unsigned int c = 0; c < N_COLUMNS; c++) {
		if (!has_column(columns, c))
			continue;
		*column_of(&view, c) = column + column_size(c) * at;
		column += (column_size(c) * n + 7) / 8 * 8;
	}
	return view;
}

uint32_t sp_guard_columns(const struct sp_calls *calls)
{
	struct sp_calls all = *calls;
	uint32_t columns = 0;

	for (unsigned int c = 0; c < N_COLUMNS; c++)
		if (*column_of(&all, c))
			columns |= c == 0 ? SP_GUARD_START : c == 1 ? SP_GUARD_END : 1u << (c - 2);
	return columns;
}

void sp_guard_copy_calls(const struct sp_calls *to, size_t at, const struct sp_calls *view,
			 uint32_t columns, size_t n)
{
	struct sp_calls all = *to, from = *view;

	for (unsigned int c = 0; c < N_COLUMNS; c++) {
		size_t size = column_size(c);

		if (has_column(columns, c))
			memcpy((char *)*column_of(&all, c) + at * size, *column_of(&from, c),
			       n * size);
	}
}
