/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_fdes.c - sorts entries, and settles which of two counts.
 *
 * Invariant: after sorting, an entry begins to count where the one before it ends, or later.
 */
#include "loader/helpers/unwind_fdes.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/base/array.h"

int sp_unwind_fdes_add(struct sp_unwind_fdes *fdes, const struct sp_unwind_fde *fde,
		       struct sp_error *err)
{
	struct sp_unwind_fde *grown;

	if (fdes->count == SP_UNWIND_MAX_FDES)
		return sp_error_set(err, -SP_E_COUNT, 0,
				    "its call frame information has more than %u FDEs",
				    SP_UNWIND_MAX_FDES);
	grown = sp_array_grow(fdes->at, fdes->count, &fdes->room, sizeof(*fde));
	if (!grown)
		return sp_error_set(err, -ENOMEM, 0, "no memory for its FDEs");
	fdes->at = grown;
	fdes->at[fdes->count++] = *fde;
	return 0;
}

/* By start, stable: the linker has sorted most of them, and qsort() may take calls that are
 * forbidden here. */
static void merge_runs(const struct sp_unwind_fde *from, struct sp_unwind_fde *to, size_t n,
		       size_t width)
{
	for (size_t low = 0; low < n; low += 2 * width) {
		size_t middle = low + width < n ? low + width : n;
		size_t high = low + 2 * width < n ? low + 2 * width : n;
		size_t a = low, b = middle;

		for (size_t i = low; i < high; i++)
			to[i] = b == high || (a < middle && from[a].start <= from[b].start)
					? from[a++]
					: from[b++];
	}
}

static int sort(struct sp_unwind_fdes *fdes, struct sp_error *err)
{
	struct sp_unwind_fde *other;
	size_t sorted = 1;

	while (sorted < fdes->count && fdes->at[sorted - 1].start <= fdes->at[sorted].start)
		sorted++;
	if (sorted >= fdes->count)
		return 0;
	other = malloc(fdes->room * sizeof(*other));
	if (!other)
		return sp_error_set(err, -ENOMEM, 0, "no memory to sort its FDEs");
	for (size_t width = 1; width < fdes->count; width *= 2) {
		struct sp_unwind_fde *was = fdes->at;

		merge_runs(was, other, fdes->count, width);
		fdes->at = other;
		other = was;
	}
	free(other);
	return 0;
}

/* Makes them disjoint. */
static void cut(struct sp_unwind_fdes *fdes)
{
	uint64_t end = 0;
	size_t kept = 0;

	for (size_t i = 0; i < fdes->count; i++) {
		struct sp_unwind_fde fde = fdes->at[i];

		if (fde.end <= end)
			continue;
		if (fde.from < end)
			fde.from = end;
		end = fde.end;
		fdes->at[kept++] = fde;
	}
	fdes->count = kept;
}

int sp_unwind_fdes_sort(struct sp_unwind_fdes *fdes, struct sp_error *err)
{
	int r = sort(fdes, err);

	if (r == 0)
		cut(fdes);
	return r;
}

void sp_unwind_fdes_keep_in_gaps(struct sp_unwind_fdes *fdes, const struct sp_unwind_fdes *others)
{
	size_t kept = 0, next = 0;

	for (size_t i = 0; i < fdes->count; i++) {
		struct sp_unwind_fde fde = fdes->at[i];

		while (next < others->count && others->at[next].end <= fde.from)
			next++;
		if (next == others->count || others->at[next].from >= fde.end)
			fdes->at[kept++] = fde;
	}
	fdes->count = kept;
}

bool sp_unwind_fdes_are_away(const struct sp_unwind_fdes *fdes, uint64_t start, uint64_t end)
{
	size_t low = sp_search(fdes->count, i, fdes->at[i].end <= start);

	return low == fdes->count || fdes->at[low].from >= end;
}

void sp_unwind_fdes_shorten(const struct sp_unwind_fdes *fdes, struct sp_unwind_fde *fde)
{
	for (size_t i = 0; i < fdes->count && fde->start < fde->end; i++) {
		if (fdes->at[i].end <= fde->start)
			continue;
		if (fdes->at[i].from < fde->end)
			fde->end = fdes->at[i].from;
		return;
	}
}
