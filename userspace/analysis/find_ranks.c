/* SPDX-License-Identifier: BSD-2-Clause
 *
 * find_ranks.c - which of the found files has which rank in the result.
 *
 * Invariant: after it no two traces have one rank, nor two files of samples, and no two numbers of
 * a file have become one. Traces are settled first, in order; a file that has to move gets new
 * numbers for all of its ranks, so what was together stays together.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/find.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"
#include "userspace/base/text.h"

enum { TOLD = 8 }; /* moved files that all are told of; of the rest the number */

struct settling {
	struct sp_found *found;
	struct sp_idmap traces;	 /* file that has a rank of the result */
	struct sp_idmap samples; /* the same for samples */
	struct sp_idmap places;	 /* trace file that had a rank in its set */
	uint64_t next;		 /* lowest rank after the highest */
	size_t moved;
};

static void settling_free(struct settling *all)
{
	sp_idmap_free(&all->traces);
	sp_idmap_free(&all->samples);
	sp_idmap_free(&all->places);
}

static bool is_samples(const struct sp_found_file *file)
{
	return sp_profile_info(file->profile)->format == SP_FORMAT_SPS;
}

static uint32_t n_ranks(const struct sp_found_file *file)
{
	return sp_profile_info(file->profile)->n_ranks;
}

/* Rank number @index of a file in the result. */
static uint32_t rank_of(const struct sp_found_file *file, uint32_t index)
{
	return file->ranks ? file->ranks[index] : sp_profile_rank(file->profile, index);
}

static uint64_t place(const struct sp_found_file *file, uint32_t rank)
{
	return (uint64_t)file->set << 32 | rank;
}

/* ---- traces that a .h5 file beside them has, too ---- */

struct named_calls {
	const char *name;
	uint64_t calls;
};

static int compare_names(const void *a, const void *b)
{
	const struct named_calls *one = a, *two = b;

	return strcmp(one->name, two->name);
}

/* The regions with calls of a rank, by name, each once; to free(). */
static struct named_calls *tally(struct sp_profile *profile, uint32_t rank, size_t *ret_n)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct named_calls *all = calloc((size_t)info->n_rows + 1, sizeof(*all));
	size_t n = 0, kept = 0;

	for (uint32_t i = 0; all && i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);

		if (row->rank == rank && row->stats.calls)
			all[n++] = (struct named_calls){sp_profile_region(profile, row->region),
							row->stats.calls};
	}
	if (!all)
		return NULL;
	qsort(all, n, sizeof(*all), compare_names);
	for (size_t i = 0; i < n; i++) {
		if (kept && !strcmp(all[kept - 1].name, all[i].name))
			all[kept - 1].calls += all[i].calls;
		else
			all[kept++] = all[i];
	}
	*ret_n = kept;
	return all;
}

/* 1 if both have the same calls on a rank, as far as their numbers tell. */
static int have_same_calls(struct sp_profile *a, struct sp_profile *b, uint32_t rank)
{
	size_t n, m;
	sp_cleanup(sp_freep) struct named_calls *one = tally(a, rank, &n);
	sp_cleanup(sp_freep) struct named_calls *two = tally(b, rank, &m);

	if (!one || !two)
		return -ENOMEM;
	if (n != m)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (strcmp(one[i].name, two[i].name) != 0 || one[i].calls != two[i].calls)
			return 0;
	return 1;
}

static bool holds(const struct sp_found_file *file, uint32_t rank)
{
	for (uint32_t k = 0; k < n_ranks(file); k++)
		if (sp_profile_rank(file->profile, k) == rank)
			return true;
	return false;
}

/* Leaves out the trace @file of a folder spt/ if a .h5 file of its set has its calls. */
static int leave_out_twin(struct sp_found *found, struct sp_found_file *file,
			  const struct sp_idmap *hdf5)
{
	uint32_t rank = n_ranks(file) ? sp_profile_rank(file->profile, 0) : 0;
	uint32_t twin = n_ranks(file) ? sp_idmap_get(hdf5, place(file, rank)) : SP_IDMAP_NONE;
	int same;

	if (twin == SP_IDMAP_NONE)
		return 0;
	same = have_same_calls(file->profile, found->files[twin].profile, rank);
	if (same <= 0)
		return same;
	file->left_out = true;
	return sp_found_note(found, true, "%s is left out: its calls are in %s", file->path,
			     found->files[twin].path);
}

static int leave_out_twins(struct sp_found *found)
{
	struct sp_idmap hdf5 = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < found->n_files; i++) {
		const struct sp_found_file *file = &found->files[i];

		if (!found->sets[file->set].root ||
		    sp_profile_info(file->profile)->format != SP_FORMAT_HDF5)
			continue;
		for (uint32_t k = 0; r == 0 && k < n_ranks(file); k++)
			r = sp_idmap_set(&hdf5, place(file, sp_profile_rank(file->profile, k)),
					 (uint32_t)i);
	}
	for (size_t i = 0; r == 0 && i < found->n_files; i++) {
		struct sp_found_file *file = &found->files[i];

		if (file->in_spt_folder && found->sets[file->set].root &&
		    sp_profile_info(file->profile)->format == SP_FORMAT_SPT)
			r = leave_out_twin(found, file, &hdf5);
	}
	sp_idmap_free(&hdf5);
	return r;
}

/* ---- conflicts ---- */

/* Whether two files are of one recording, but of different jobs, or one without a rank. */
static bool are_apart(const struct sp_found *found, const struct sp_found_file *a,
		      const struct sp_found_file *b)
{
	const struct sp_found_set *one = &found->sets[a->set], *two = &found->sets[b->set];

	return one != two && one->root && two->root && !strcmp(one->root, two->root);
}

static int refuse(struct sp_found *found, const struct sp_found_file *owner,
		  const struct sp_found_file *file, uint32_t rank)
{
	return sp_found_fail(found, -EEXIST, "%s and %s both hold rank %" PRIu32, owner->path,
			     file->path, rank);
}

/* Gives all ranks of a file new numbers. @other had the first of them. */
static int move(struct settling *all, struct sp_found_file *file, const struct sp_found_file *other)
{
	uint32_t n = n_ranks(file);
	bool minor;

	file->ranks = calloc((size_t)n + 1, sizeof(*file->ranks));
	if (!file->ranks)
		return -ENOMEM;
	if (all->next + n > UINT32_MAX)
		return sp_found_fail(all->found, -ERANGE,
				     "%s: cannot get ranks of its own, since the highest rank is "
				     "%" PRIu64,
				     file->path, all->next - 1);
	for (uint32_t k = 0; k < n; k++)
		file->ranks[k] = (uint32_t)all->next++;
	file->moved = true;
	minor = ++all->moved > TOLD;
	if (n == 1)
		return sp_found_note(
			all->found, minor,
			"rank %" PRIu32 " of %s is rank %" PRIu32 " now: %s has its number",
			sp_profile_rank(file->profile, 0), file->path, file->ranks[0], other->path);
	return sp_found_note(all->found, minor,
			     "the %" PRIu32 " ranks of %s (%" PRIu32 " to %" PRIu32
			     ") are ranks %" PRIu32 " to %" PRIu32 " now: %s has their numbers",
			     n, file->path, sp_profile_rank(file->profile, 0),
			     sp_profile_rank(file->profile, n - 1), file->ranks[0],
			     file->ranks[n - 1], other->path);
}

/* Takes the ranks of a file in @map, after moving it if they are taken. */
static int claim(struct settling *all, struct sp_idmap *map, size_t index)
{
	struct sp_found_file *file = &all->found->files[index];
	int r = 0;

	for (uint32_t k = 0; r == 0 && k < n_ranks(file) && !file->moved; k++) {
		uint32_t rank = rank_of(file, k), owner = sp_idmap_get(map, rank);

		if (owner == SP_IDMAP_NONE)
			continue;
		if (!all->found->renumber &&
		    !are_apart(all->found, file, &all->found->files[owner]))
			return refuse(all->found, &all->found->files[owner], file, rank);
		free(file->ranks);
		file->ranks = NULL;
		r = move(all, file, &all->found->files[owner]);
	}
	for (uint32_t k = 0; r == 0 && k < n_ranks(file); k++)
		r = sp_idmap_set(map, rank_of(file, k), (uint32_t)index);
	return r;
}

/* ---- samples ---- */

/* "dir/heat_rank00000.h5" and "dir/spt/heat_rank00000.spt" are of one name. */
static bool has_name_of(const struct sp_found_file *file, const struct sp_found_file *other)
{
	const char *a = sp_base_name(file->path), *b = sp_base_name(other->path);
	const char *dot = strrchr(a, '.');

	return dot && !strncmp(a, b, (size_t)(dot - a) + 1) && !strchr(b + (dot - a) + 1, '.');
}

/* The trace that a file of samples belongs to, or NULL. */
static const struct sp_found_file *trace_of(const struct settling *all,
					    const struct sp_found_file *file)
{
	const struct sp_found *found = all->found;
	uint32_t rank = sp_profile_rank(file->profile, 0);
	uint32_t at = sp_idmap_get(&all->places, place(file, rank));

	/* Where two of a set had one rank, places has the first; the name knows better. */
	if (at != SP_IDMAP_NONE && all->moved && !has_name_of(file, &found->files[at]))
		for (size_t i = 0; i < found->n_files; i++)
			if (found->files[i].set == file->set && !found->files[i].left_out &&
			    !is_samples(&found->files[i]) && holds(&found->files[i], rank) &&
			    has_name_of(file, &found->files[i]))
				return &found->files[i];
	if (at != SP_IDMAP_NONE)
		return &found->files[at];
	/* In another folder, then; but what stands apart in a recording is apart. */
	at = sp_idmap_get(&all->traces, rank);
	return at == SP_IDMAP_NONE || are_apart(found, file, &found->files[at]) ? NULL
										: &found->files[at];
}

static int note_samples(struct sp_found *found, const struct sp_found_file *file,
			const struct sp_found_file *trace)
{
	uint64_t n = sp_profile_info(file->profile)->n_samples;
	uint64_t has = sp_profile_info(trace->profile)->n_samples;

	if (!has || !n)
		return 0;
	return sp_found_note(found, n <= has,
			     "the %" PRIu64 " samples of %s are left out: %s has %s", n, file->path,
			     trace->path,
			     n <= has ? "them with their stacks" : "samples of its own");
}

static int settle_samples(struct settling *all, size_t index)
{
	struct sp_found *found = all->found;
	struct sp_found_file *file = &found->files[index];
	const struct sp_found_file *trace = trace_of(all, file);
	uint32_t rank = sp_profile_rank(file->profile, 0), owner;
	int r = 0;

	if (trace && trace->ranks) {
		file->ranks = calloc(1, sizeof(*file->ranks));
		if (!file->ranks)
			return -ENOMEM;
		for (uint32_t k = 0; k < n_ranks(trace); k++)
			if (sp_profile_rank(trace->profile, k) == rank)
				file->ranks[0] = trace->ranks[k];
	}
	owner = trace ? SP_IDMAP_NONE : sp_idmap_get(&all->traces, rank);
	if (trace)
		r = note_samples(found, file, trace);
	else if (owner != SP_IDMAP_NONE)
		r = move(all, file, &found->files[owner]);
	return r < 0 ? r : claim(all, &all->samples, index);
}

/* ---- all of it ---- */

static int note_rest(struct settling *all)
{
	struct sp_found *found = all->found;
	size_t rest = all->moved > TOLD ? all->moved - TOLD : 0;
	int r = !rest ? 0
		      : sp_found_note(found, false, "%zu more file%s new ranks (-v tells which)",
				      rest, rest == 1 ? " has" : "s have");

	if (rest && r == 0)
		found->notes[found->n_notes - 1].sum = true;
	return r;
}

static int settle(struct settling *all)
{
	struct sp_found *found = all->found;
	int r = leave_out_twins(found);

	for (size_t i = 0; i < found->n_files; i++)
		for (uint32_t k = 0; k < n_ranks(&found->files[i]); k++) {
			uint64_t rank = sp_profile_rank(found->files[i].profile, k);

			all->next = rank >= all->next ? rank + 1 : all->next;
		}
	for (size_t i = 0; r == 0 && i < found->n_files; i++) {
		struct sp_found_file *file = &found->files[i];

		if (file->left_out || is_samples(file))
			continue;
		r = claim(all, &all->traces, i);
		for (uint32_t k = 0; r == 0 && k < n_ranks(file); k++) {
			uint64_t key = place(file, sp_profile_rank(file->profile, k));

			if (sp_idmap_get(&all->places, key) == SP_IDMAP_NONE)
				r = sp_idmap_set(&all->places, key, (uint32_t)i);
		}
	}
	for (size_t i = 0; r == 0 && i < found->n_files; i++)
		if (is_samples(&found->files[i]))
			r = settle_samples(all, i);
	return r ? r : note_rest(all);
}

int sp_found_settle(struct sp_found *found)
{
	struct settling all = {.found = found};
	int r = settle(&all);

	settling_free(&all);
	return r;
}
