// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_group.c - what is in an HDF5 group, by name.
 *
 * Invariant: a list has at most SP_PROFILE_MAX_REGIONS names; whoever opens one of them by its path
 * has sp_h5_exists() refuse links that lead elsewhere.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read.h"
#include "formats/util.h"

char *sp_h5_join(const char *path, const char *name)
{
	char *joined;

	return asprintf(&joined, "%s/%s", strcmp(path, "/") == 0 ? "" : path, name) < 0 ? NULL
											: joined;
}

void sp_h5_names_free(struct sp_h5_names *names)
{
	sp_h5_free_texts(names->names, names->n);
	*names = (struct sp_h5_names){0};
}

struct listing {
	struct sp_h5_names names;
	int failure;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
	struct listing *listing = data;
	struct sp_h5_names *names = &listing->names;

	(void)group;
	(void)info;
	if (names->n == SP_PROFILE_MAX_REGIONS)
		listing->failure = -SP_E_COUNT;
	else if (sp_array_reserve((void **)&names->names, &names->capacity, names->n,
				  sizeof(char *)))
		listing->failure = -ENOMEM;
	if (listing->failure)
		return -1;
	names->names[names->n] = strdup(name);
	if (!names->names[names->n]) {
		listing->failure = -ENOMEM;
		return -1;
	}
	names->n++;
	return 0;
}

/* Whether the group knows in what order its links were made. */
static bool has_order(hid_t group)
{
	sp_cleanup_h5 hid_t properties = H5Gget_create_plist(group);
	unsigned int flags = 0;

	return properties >= 0 && H5Pget_link_creation_order(properties, &flags) >= 0 &&
	       flags & H5P_CRT_ORDER_TRACKED;
}

int sp_h5_list(hid_t file, const char *path, struct sp_h5_names *ret_names, struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = H5Oopen(file, path, H5P_DEFAULT);
	struct listing listing = {0};
	hsize_t at = 0;

	if (group < 0)
		return sp_h5_read_failed(error, path);
	if (H5Iget_type(group) != H5I_GROUP)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not a group", path);
	if (H5Literate(group, has_order(group) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME, H5_ITER_INC,
		       &at, add_name, &listing) >= 0) {
		*ret_names = listing.names;
		return 0;
	}
	sp_h5_names_free(&listing.names);
	if (listing.failure == -SP_E_COUNT)
		return sp_error_set(error, -SP_E_COUNT, 0, "%s has more than %u members", path,
				    SP_PROFILE_MAX_REGIONS);
	if (listing.failure)
		return sp_error_set(error, listing.failure, 0, "no memory");
	return sp_h5_read_failed(error, path);
}

int sp_h5_is_group(hid_t file, const char *path, struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	int r = sp_h5_exists(file, path, error);

	if (r <= 0)
		return r;
	group = H5Oopen(file, path, H5P_DEFAULT);
	if (group < 0)
		return sp_h5_read_failed(error, path);
	if (H5Iget_type(group) != H5I_GROUP)
		return sp_error_set(error, -SP_E_DAMAGED, 0, "%s is not a group", path);
	return 1;
}

/* ---- ranks ---- */

/* The number in "rank<digits>"; -1 if it is another name, UINT64_MAX / 2 if it is too large. */
static int64_t rank_number(const char *name)
{
	uint64_t rank = 0;

	if (strncmp(name, "rank", 4) != 0 || !name[4])
		return -1;
	for (const char *digit = name + 4; *digit; digit++) {
		if (*digit < '0' || *digit > '9')
			return -1;
		if (rank < UINT32_MAX)
			rank = rank * 10 + (uint64_t)(*digit - '0');
	}
	return (int64_t)rank;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct sp_h5_rank *left = a, *right = b;

	return (left->rank > right->rank) - (left->rank < right->rank);
}

void sp_h5_free_ranks(struct sp_h5_rank *ranks, size_t n)
{
	for (size_t i = 0; ranks && i < n; i++)
		free(ranks[i].path);
	free(ranks);
}

int sp_h5_list_ranks(hid_t file, struct sp_h5_rank **ret_ranks, size_t *ret_n,
		     struct sp_error *error)
{
	sp_cleanup_h5_names struct sp_h5_names names = {0};
	struct sp_h5_rank *ranks;
	size_t n = 0;
	int r = sp_h5_list(file, "/", &names, error);

	if (r)
		return r;
	ranks = calloc(names.n + 1, sizeof(*ranks));
	if (!ranks)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	for (size_t i = 0; !r && i < names.n; i++) {
		int64_t rank = rank_number(names.names[i]);

		if (rank < 0)
			continue;
		if (rank >= UINT32_MAX) {
			r = sp_error_set(error, -SP_E_COUNT, 0, "/%.64s is a rank beyond %u",
					 names.names[i], UINT32_MAX - 1);
			break;
		}
		ranks[n].rank = (uint32_t)rank;
		ranks[n].path = sp_h5_join("/", names.names[i]);
		if (!ranks[n++].path)
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
	}
	if (!r)
		qsort(ranks, n, sizeof(*ranks), compare_ranks);
	for (size_t i = 1; !r && i < n; i++)
		if (ranks[i].rank == ranks[i - 1].rank)
			r = sp_error_set(error, -SP_E_DAMAGED, 0, "%.64s and %.64s are one rank",
					 ranks[i - 1].path, ranks[i].path);
	if (r) {
		sp_h5_free_ranks(ranks, n);
		return r;
	}
	*ret_ranks = ranks;
	*ret_n = n;
	return 0;
}
