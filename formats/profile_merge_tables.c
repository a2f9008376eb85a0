// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge_tables.c - the small tables and the extras of the parts, one after the other.
 *
 * Invariant: a row of a part's table stands first[table] rows further on in the merged one, unless
 * nothing refers to the table: losses and clocks that files of one recording repeat stand there
 * once.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_merge_internal.h"
#include "formats/util.h"

#define LOAD(plural, singular) \
	if (!r) { \
		const struct sp_##singular##_row *rows; \
\
		r = sp_profile_##plural(part->profile, &rows, &part->rows[SP_H5_TABLE_##singular], \
					error); \
	}

static int load_part(struct sp_merge_part *part, struct sp_error *error)
{
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	size_t n;
	int r = 0;

	LOAD(threads, thread)
	LOAD(tasks, task)
	LOAD(sites, site)
	LOAD(modules, module)
	LOAD(processes, process)
	LOAD(losses, loss)
	LOAD(cuts, cut)
	LOAD(clocks, clock)
	LOAD(rank_facts, rank_fact)
	LOAD(kernel_symbols, kernel_symbol)
	if (!r)
		r = sp_profile_metadata(part->profile, &facts, &n, error);
	if (!r)
		r = sp_profile_meta(part->profile, &facts, &n, error);
	if (!r)
		r = sp_profile_extras(part->profile, &extras, error);
	return r;
}

int sp_merge_load_tables(struct sp_merge *merge, struct sp_error *error)
{
	for (size_t i = 0; i < merge->n_parts; i++) {
		int r = load_part(&merge->parts[i], error);

		if (r)
			return sp_merge_blame(merge, &merge->parts[i], r, error);
	}
	return 0;
}

int sp_merge_place_tables(struct sp_merge *merge, struct sp_error *error)
{
	for (size_t which = 0; which < SP_H5_N_TABLES; which++) {
		size_t n = 0;

		for (size_t i = 0; i < merge->n_parts; i++) {
			merge->parts[i].first[which] = n;
			n += merge->parts[i].rows[which];
		}
		if (n >= UINT32_MAX)
			return sp_error_set(error, -SP_E_COUNT, 0,
					    "together they have %zu rows in the table %s", n,
					    sp_h5_tables[which].name);
	}
	return 0;
}

/* ---- what files of one recording repeat ---- */

struct repeats {
	struct sp_intern keys;
	size_t *part; /* that a key was first seen in */
	size_t capacity;
};

/* What a loss or a clock's reading is known by, its recording included. */
static int make_key(enum sp_h5_table which, const void *row, const char *recording, char **ret_key)
{
	const struct sp_loss_row *loss = row;
	const struct sp_clock_row *clock = row;
	int n;

	if (which == SP_H5_TABLE_loss)
		n = asprintf(ret_key,
			     "%s\n%s\n%s\n%s\n%" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64
			     " %" PRIu64,
			     recording, loss->cause, loss->region, loss->file, loss->line,
			     loss->cpu, loss->thread, loss->count, loss->first_ns, loss->last_ns);
	else
		n = asprintf(ret_key, "%s\n%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, recording,
			     clock->monotonic_ns, clock->realtime_ns, clock->boottime_ns,
			     clock->error_ns);
	return n < 0 ? -ENOMEM : 0;
}

/* 1 if an earlier part of one of these recordings has the row, 0 if not; it is noted then. */
static int is_repeated(struct repeats *repeats, enum sp_h5_table which, const void *row,
		       size_t part, const char *const *recordings, size_t n)
{
	int repeated = 0;

	for (size_t i = 0; i < n; i++) {
		char *key sp_cleanup_free = NULL;
		uint32_t number;
		bool new;

		if (make_key(which, row, recordings[i], &key)) {
			key = NULL;
			return -ENOMEM;
		}
		if (sp_intern_add(&repeats->keys, key, &number, &new) ||
		    sp_array_reserve((void **)&repeats->part, &repeats->capacity, number,
				     sizeof(*repeats->part)))
			return -ENOMEM;
		if (new)
			repeats->part[number] = part;
		repeated |= repeats->part[number] != part;
	}
	return repeated;
}

/* *@ret_mixed: whether the rows of a table come from more than one recording, or from unknown ones:
 * each is given a rank then, which tells its recording. */
static int are_mixed(const struct sp_merge *merge, enum sp_h5_table which, bool *ret_mixed)
{
	struct sp_intern ids = {0};
	size_t sources = 0, nameless = 0;
	int r = 0;

	for (size_t i = 0; !r && i < merge->n_parts; i++) {
		const char **recordings;
		size_t n;

		if (!merge->parts[i].rows[which])
			continue;
		sources++;
		r = sp_merge_list_recordings(&merge->parts[i], &recordings, &n);
		if (r)
			break;
		nameless += !n;
		for (size_t k = 0; !r && k < n; k++) {
			uint32_t number;

			r = sp_intern_add(&ids, recordings[k], &number, NULL);
		}
		free(recordings);
	}
	*ret_mixed = sources > 1 && (nameless || ids.n > 1);
	sp_intern_free(&ids);
	return r;
}

static void set_rank(enum sp_h5_table which, void *row, uint32_t rank)
{
	struct sp_loss_row *loss = row;
	struct sp_clock_row *clock = row;

	if (which == SP_H5_TABLE_loss)
		loss->rank = loss->rank == UINT32_MAX ? rank : loss->rank;
	else
		clock->rank = clock->rank == UINT32_MAX ? rank : clock->rank;
}

/* Removes repeated rows of a part, which stand at @rows; gives the number of those left. */
static int drop_repeated(struct repeats *repeats, const struct sp_merge *merge,
			 enum sp_h5_table which, size_t part, bool mixed, char *rows, size_t *n)
{
	size_t size = sp_h5_tables[which].row_size, kept = 0, n_recordings;
	const char **recordings;
	int r = sp_merge_list_recordings(&merge->parts[part], &recordings, &n_recordings);

	if (r)
		return r;
	for (size_t i = 0; r >= 0 && i < *n; i++) {
		char *row = rows + i * size;

		r = is_repeated(repeats, which, row, part, recordings, n_recordings);
		if (r)
			continue;
		if (mixed)
			set_rank(which, row, merge->parts[part].lowest);
		memmove(rows + kept++ * size, row, size);
	}
	free(recordings);
	*n = kept;
	return r < 0 ? r : 0;
}

/* ---- rows ---- */

static void move_references(const struct sp_merge_part *part, enum sp_h5_table which, void *row)
{
	struct sp_thread_row *thread = row;
	struct sp_task_row *task = row;
	struct sp_site_row *site = row;
	struct sp_module_row *module = row;
	struct sp_process_row *process = row;
	struct sp_loss_row *loss = row;
	struct sp_cut_row *cut = row;
	struct sp_clock_row *clock = row;
	struct sp_rank_fact_row *fact = row;
	struct sp_kernel_symbol_row *symbol = row;
	uint32_t moved;

	switch (which) {
	case SP_H5_TABLE_thread:
		thread->rank = sp_merge_rank(part, thread->rank);
		thread->process = sp_merge_row(part, SP_H5_TABLE_process, thread->process);
		break;
	case SP_H5_TABLE_task:
		task->rank = sp_merge_rank(part, task->rank);
		break;
	case SP_H5_TABLE_site:
		site->region = sp_merge_region(part, site->region);
		break;
	case SP_H5_TABLE_module:
		module->process = sp_merge_row(part, SP_H5_TABLE_process, module->process);
		break;
	case SP_H5_TABLE_process:
		process->rank = sp_merge_rank(part, process->rank);
		break;
	case SP_H5_TABLE_loss:
		moved = sp_merge_row(part, SP_H5_TABLE_thread, (uint64_t)loss->thread);
		loss->thread = moved == UINT32_MAX ? -1 : (int64_t)moved;
		loss->rank = sp_merge_rank(part, loss->rank);
		break;
	case SP_H5_TABLE_cut:
		cut->region = sp_merge_region(part, cut->region);
		cut->rank = sp_merge_rank(part, cut->rank);
		break;
	case SP_H5_TABLE_clock:
		clock->rank = sp_merge_rank(part, clock->rank);
		break;
	case SP_H5_TABLE_rank_fact:
		fact->rank = sp_merge_rank(part, fact->rank);
		break;
	case SP_H5_TABLE_kernel_symbol:
		symbol->rank = sp_merge_rank(part, symbol->rank);
		break;
	default:
		break;
	}
}

int sp_merge_read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			size_t *ret_n, struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;
	size_t size = sp_h5_tables[which].row_size, n = 0, total = 0;
	bool once = which == SP_H5_TABLE_loss || which == SP_H5_TABLE_clock, mixed = false;
	struct repeats repeats = {0};
	char *rows;
	int r = once ? are_mixed(merge, which, &mixed) : 0;

	for (size_t i = 0; i < merge->n_parts; i++)
		total += merge->parts[i].rows[which];
	if (which == SP_H5_TABLE_rank_fact)
		total += merge->n_differing;
	rows = calloc(total + 1, size);
	if (!rows)
		r = -ENOMEM;
	for (size_t i = 0; !r && i < merge->n_parts; i++) {
		const struct sp_merge_part *part = &merge->parts[i];
		size_t some = part->rows[which];

		if (!some)
			continue;
		memcpy(rows + n * size, part->profile->tables[which].rows, some * size);
		for (size_t k = 0; k < some; k++)
			move_references(part, which, rows + (n + k) * size);
		if (once)
			r = drop_repeated(&repeats, merge, which, i, mixed, rows + n * size, &some);
		n += some;
	}
	if (!r && which == SP_H5_TABLE_rank_fact && merge->n_differing) {
		memcpy(rows + n * size, merge->differing, merge->n_differing * size);
		n += merge->n_differing;
	}
	sp_intern_free(&repeats.keys);
	free(repeats.part);
	if (r) {
		free(rows);
		return sp_error_set(error, r, 0, "no memory");
	}
	*ret_rows = rows;
	*ret_n = n;
	return 0;
}

/* ---- extras ---- */

struct place {
	uint32_t rank;
	uint32_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Sorts structs that begin with a rank, and keeps the order of those of one rank. */
static int sort_by_rank(void **array, size_t n, size_t size)
{
	struct place *places sp_cleanup_free = calloc(n + 1, sizeof(*places));
	char *sorted = calloc(n + 1, size);

	if (!places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		memcpy(&places[i].rank, (char *)*array + i * size, sizeof(uint32_t));
		places[i].index = (uint32_t)i;
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * size, (char *)*array + places[i].index * size, size);
	free(*array);
	*array = sorted;
	return 0;
}

/* Appends structs that begin with a rank. */
static int append_ranked(const struct sp_merge_part *part, void **array, size_t *n,
			 const void *added, size_t some, size_t size)
{
	char *grown;

	if (!some)
		return 0;
	grown = reallocarray(*array, *n + some, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	memcpy(grown + *n * size, added, some * size);
	for (size_t i = *n; i < *n + some; i++) {
		uint32_t rank;

		memcpy(&rank, grown + i * size, sizeof(rank));
		rank = sp_merge_rank(part, rank);
		memcpy(grown + i * size, &rank, sizeof(rank));
	}
	*n += some;
	return 0;
}

#define JOIN(field) \
	for (size_t i = 0; !r && i < merge->n_parts; i++) { \
		const struct sp_extras *from = &merge->parts[i].profile->extras; \
\
		r = append_ranked(&merge->parts[i], (void **)&made.field, &made.n_##field, \
				  from->field, from->n_##field, sizeof(*made.field)); \
	} \
	if (!r) \
		r = sort_by_rank((void **)&made.field, made.n_##field, sizeof(*made.field));

int sp_merge_read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
			 struct sp_error *error)
{
	struct sp_merge *merge = profile->implementation;
	struct sp_extras made = {0};
	int r = 0;

	JOIN(perf_events)
	JOIN(line_profiles)
	JOIN(likwid)
	JOIN(likwid_environments)
	if (r) {
		free(made.perf_events);
		free(made.line_profiles);
		free(made.likwid);
		free(made.likwid_environments);
		return sp_error_set(error, r, 0, "no memory");
	}
	*ret_extras = made;
	return 0;
}
