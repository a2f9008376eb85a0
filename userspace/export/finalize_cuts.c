/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize_cuts.c - counts the calls of a row that have no begin or end of their own, by the reason
 * and by the place where they began.
 */
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"
#include "userspace/export/finalize_internal.h"

int sp_unit_count_cut(struct sp_unit_writer *w, uint32_t site, unsigned kind)
{
	uint64_t key = (uint64_t)site * SP_CUT_KINDS + kind;
	uint32_t index = sp_idmap_get(&w->cut_by_key, key);
	struct sp_unit_cut *cut;

	if (index != SP_IDMAP_NONE) {
		w->cuts[index].count++;
		return 0;
	}
	index = (uint32_t)w->n_cuts;
	cut = sp_array_add(&w->cuts, &w->n_cuts, &w->cuts_room);
	if (!cut)
		return -ENOMEM;
	*cut = (struct sp_unit_cut){.kind = kind, .site = site, .count = 1};
	return sp_idmap_set(&w->cut_by_key, key, index);
}

static int compare(const void *a, const void *b)
{
	const struct sp_unit_cut *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

int sp_unit_end_cuts(struct sp_unit_writer *w, struct sp_error *error)
{
	const struct sp_recording *rec = w->fin->recording;
	uint32_t region = (uint32_t)w->row; /* as the recording numbers it */
	int r = 0;

	if (w->n_cuts)
		qsort(w->cuts, w->n_cuts, sizeof(*w->cuts), compare);
	for (size_t i = 0; r == 0 && i < w->n_cuts; i++) {
		const struct sp_unit_cut *cut = &w->cuts[i];
		struct sp_place place = sp_recording_place(rec, cut->site);
		struct sp_cut_row row = {
			.region = w->regions[region],
			.rank = w->unit.unit->rank,
			.flag = (uint16_t)(1u << cut->kind),
			.count = cut->count,
			.file = place.file,
			.line = place.line,
		};

		if (sp_cuts_add(&w->fin->result->cuts, rec->regions[region].name, place.file,
				place.line, cut->kind, cut->count) < 0)
			return sp_error_set(error, -ENOMEM, 0, "out of memory");
		SP_FOR_SINKS(w, r, add_cuts, &row, error);
	}
	w->n_cuts = 0;
	sp_idmap_clear(&w->cut_by_key);
	return r;
}
