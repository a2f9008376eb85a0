/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_rows.c - see write_rows.h. Invariant: no region and rank have two rows more than in the
 * profile.
 */
#include "userspace/export/write_rows.h"

#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"

enum { SAMPLES = 1 << 12 }; /* read at once */

struct listing {
	struct sp_profile *profile;
	const struct sp_profile_info *info;
	struct sp_write_row *rows;
	size_t n, room;
	bool *has_row;	       /* of each region */
	struct sp_idmap ranks; /* those with rows in the profile */
	struct sp_idmap made;  /* rank and region of the rows that were made */
};

static void listing_free(struct listing *list)
{
	free(list->rows);
	free(list->has_row);
	sp_idmap_free(&list->ranks);
	sp_idmap_free(&list->made);
}

static int add(struct listing *list, uint32_t rank, uint32_t region, uint32_t row)
{
	struct sp_write_row *new = sp_array_add(&list->rows, &list->n, &list->room);

	if (!new)
		return -ENOMEM;
	*new = (struct sp_write_row){rank, region, row};
	list->has_row[region] = true;
	return 0;
}

static int add_rows(struct listing *list)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < list->info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(list->profile, i);

		r = add(list, row->rank, row->region, i);
		if (r == 0 && sp_idmap_get(&list->ranks, row->rank) == SP_IDMAP_NONE)
			r = sp_idmap_set(&list->ranks, row->rank, 0);
	}
	return r;
}

static bool all_ranks_have_rows(const struct listing *list)
{
	for (uint32_t i = 0; i < list->info->n_ranks; i++)
		if (sp_idmap_get(&list->ranks, sp_profile_rank(list->profile, i)) == SP_IDMAP_NONE)
			return false;
	return true;
}

/* A row for a sample that no row tells of. */
static int add_sampled(struct listing *list, const struct sp_sample_row *sample)
{
	uint64_t key = (uint64_t)sample->rank << 32 | (uint32_t)sample->region;
	int r;

	if (sample->region < 0 || sample->region >= list->info->n_regions ||
	    sp_idmap_get(&list->ranks, sample->rank) != SP_IDMAP_NONE ||
	    sp_idmap_get(&list->made, key) != SP_IDMAP_NONE)
		return 0;
	r = sp_idmap_set(&list->made, key, 0);
	return r ? r : add(list, sample->rank, (uint32_t)sample->region, SP_WRITE_NO_ROW);
}

static int add_rows_of_samples(struct listing *list, struct sp_error *error)
{
	sp_cleanup(sp_freep) struct sp_sample_row *block = malloc(SAMPLES * sizeof(*block));
	uint64_t n = list->info->n_samples;
	int r = block ? 0 : -ENOMEM;

	for (uint64_t at = 0; r == 0 && at < n; at += SAMPLES) {
		size_t some = n - at < SAMPLES ? (size_t)(n - at) : SAMPLES;

		r = sp_profile_read_samples(list->profile, at, some, block, error);
		if (r < 0)
			return r;
		for (size_t i = 0; r == 0 && i < some; i++)
			r = add_sampled(list, &block[i]);
	}
	return r < 0 ? sp_error_set(error, r, 0, "out of memory") : 0;
}

static int add_lonely_regions(struct listing *list)
{
	uint32_t lowest = list->info->n_ranks ? sp_profile_rank(list->profile, 0) : 0;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < list->info->n_regions; i++)
		if (!list->has_row[i])
			r = add(list, lowest, i, SP_WRITE_NO_ROW);
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct sp_write_row *one = a, *two = b;

	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	if (one->row != two->row)
		return one->row < two->row ? -1 : 1;
	return one->region < two->region ? -1 : one->region > two->region;
}

int sp_write_list_rows(struct sp_profile *profile, struct sp_write_row **ret_rows, size_t *ret_n,
		       struct sp_error *error)
{
	sp_cleanup(listing_free) struct listing list = {
		.profile = profile,
		.info = sp_profile_info(profile),
	};
	int r = -ENOMEM;

	list.has_row = calloc((size_t)list.info->n_regions + 1, sizeof(*list.has_row));
	list.rows = malloc(sizeof(*list.rows)); /* so that no rows are no NULL */
	list.room = list.rows ? 1 : 0;
	if (list.has_row && list.rows)
		r = add_rows(&list);
	if (r < 0)
		return sp_error_set(error, r, 0, "out of memory");
	if (!all_ranks_have_rows(&list)) {
		r = add_rows_of_samples(&list, error);
		if (r < 0)
			return r;
	}
	if (add_lonely_regions(&list) < 0)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	qsort(list.rows, list.n, sizeof(*list.rows), compare_rows);
	*ret_rows = sp_take(list.rows);
	*ret_n = list.n;
	return 0;
}
