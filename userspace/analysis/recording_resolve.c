/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_resolve.c - settles, once all events are in, who belongs where.
 *
 * Invariant: after it every lane has a process, every process with a call or sample has a unit,
 * every lane of such a process has a thread index, and every used site has a region.
 */
#include "userspace/analysis/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile.h"
#include "userspace/analysis/recording_events.h"
#include "userspace/analysis/recording_maps.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

#define MAX_GENERATIONS 1024 /* forks that a rank is inherited over */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

static uint32_t *sorted_indices(size_t n, int (*compare)(const void *, const void *, void *),
				void *arg)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));

	for (size_t i = 0; order && i < n; i++)
		order[i] = (uint32_t)i;
	if (order)
		qsort_r(order, n, sizeof(*order), compare, arg);
	return order;
}

static int by_tid_and_time(const void *a, const void *b, void *lanes)
{
	const struct sp_lane *x = (struct sp_lane *)lanes + *(const uint32_t *)a;
	const struct sp_lane *y = (struct sp_lane *)lanes + *(const uint32_t *)b;

	return x->tid != y->tid	      ? COMPARE(x->tid, y->tid)
	       : x->first != y->first ? COMPARE(x->first, y->first)
				      : COMPARE(x->id, y->id);
}

/* A thread id that begins again, by exec or reuse, ends the lane that had it. */
static int end_lanes(struct sp_recording *rec)
{
	sp_cleanup(sp_freep) uint32_t *order =
		sorted_indices(rec->n_lanes, by_tid_and_time, rec->lanes);

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i + 1 < rec->n_lanes; i++) {
		struct sp_lane *lane = &rec->lanes[order[i]];
		const struct sp_lane *next = &rec->lanes[order[i + 1]];

		if (lane->tid && lane->tid == next->tid && !lane->end)
			lane->end = next->first;
	}
	return 0;
}

static void sum_processes(struct sp_recording *rec)
{
	for (size_t i = 0; i < rec->n_lanes; i++) {
		struct sp_lane *lane = &rec->lanes[i];
		struct sp_process *process;

		if (lane->process == SP_NONE)
			lane->process = 0;
		rec->made_up_lanes += !lane->announced;
		process = &rec->processes[lane->process];
		process->calls += lane->calls;
		process->samples += lane->samples;
		if (lane->first && (!process->first || lane->first < process->first))
			process->first = lane->first;
		if (!lane->end)
			process->end = UINT64_MAX;
		else if (lane->end > process->end)
			process->end = lane->end;
	}
	for (size_t i = 0; i < rec->n_processes; i++)
		if (rec->processes[i].end == UINT64_MAX)
			rec->processes[i].end = 0;
	for (size_t i = 0; i < rec->n_losses; i++) {
		const struct sp_loss *loss = &rec->losses[i];
		uint32_t lane = loss->lane ? sp_idmap_get(&rec->lane_by_id, loss->lane) : SP_NONE;

		if (lane != SP_NONE && sp_loss_of(loss->cause) != SP_LOSS_OF_FACTS)
			rec->processes[rec->lanes[lane].process].lost = true;
	}
}

/* What a process image without a description of its own has from the one that it came from. */
static void inherit(struct sp_recording *rec, struct sp_process *process)
{
	const struct sp_process *ancestor = process;
	size_t steps = 0;
	bool same_program = true;

	while (!ancestor->described && ancestor->parent && steps++ < MAX_GENERATIONS) {
		uint32_t index = sp_idmap_get(&rec->process_by_number, ancestor->parent);

		if (index == SP_NONE || index == 0)
			return;
		same_program = same_program && !ancestor->from_exec;
		ancestor = &rec->processes[index];
	}
	if (!ancestor->described || ancestor == process)
		return;
	process->rank = ancestor->rank;
	process->size = ancestor->size;
	process->rank_source = ancestor->rank_source;
	process->job = ancestor->job;
	if (same_program) {
		process->exe = ancestor->exe;
		process->command_line = ancestor->command_line;
		process->user = ancestor->user;
		process->group = ancestor->group;
	}
}

void sp_recording_user(const struct sp_recording *rec, struct sp_user *ret_user)
{
	const struct sp_process *first = NULL;

	*ret_user = (struct sp_user){0};
	for (size_t i = 0; i < rec->n_processes; i++) {
		const struct sp_process *process = &rec->processes[i];

		if (process->unit == SP_NONE)
			continue;
		if (!process->user || !process->group ||
		    (first && (process->user != first->user || process->group != first->group)))
			return;
		first = process;
	}
	if (first)
		*ret_user = (struct sp_user){
			.uid = first->user - 1, .gid = first->group - 1, .known = true};
	if (geteuid() == 0)
		sp_user_find_groups(ret_user);
}

static bool is_active(const struct sp_process *process)
{
	return process->calls || process->samples || process->lost;
}

static int compare_units(const void *a, const void *b)
{
	const struct sp_unit *x = a, *y = b;
	int r = strcmp(x->job, y->job);

	return r		      ? r
	       : x->other != y->other ? COMPARE(x->other, y->other)
				      : COMPARE(x->rank, y->rank);
}

static int add_unit(struct sp_recording *rec, const struct sp_process *process, bool any_rank)
{
	struct sp_unit *unit = sp_array_add(&rec->units, &rec->n_units, &rec->units_room);

	if (!unit)
		return -ENOMEM;
	unit->job = process->job;
	unit->rank = process->rank < 0 ? 0 : (uint32_t)process->rank;
	unit->other = any_rank && process->rank < 0;
	unit->size = process->size;
	return 0;
}

static uint32_t find_unit(const struct sp_recording *rec, const struct sp_process *process,
			  bool any_rank)
{
	struct sp_unit wanted = {
		.job = process->job,
		.rank = process->rank < 0 ? 0 : (uint32_t)process->rank,
		.other = any_rank && process->rank < 0,
	};
	const struct sp_unit *unit =
		bsearch(&wanted, rec->units, rec->n_units, sizeof(wanted), compare_units);

	return (uint32_t)(unit - rec->units);
}

static void unite_equal_units(struct sp_recording *rec)
{
	size_t n = 0;

	if (rec->n_units)
		qsort(rec->units, rec->n_units, sizeof(*rec->units), compare_units);
	for (size_t i = 0; i < rec->n_units; i++) {
		if (n && !compare_units(&rec->units[n - 1], &rec->units[i])) {
			if (rec->units[i].size > rec->units[n - 1].size)
				rec->units[n - 1].size = rec->units[i].size;
		} else {
			rec->units[n++] = rec->units[i];
		}
		rec->several_jobs |= strcmp(rec->units[0].job, rec->units[i].job) != 0;
	}
	rec->n_units = n;
}

static int make_units(struct sp_recording *rec)
{
	struct sp_process *unknown = &rec->processes[0];
	bool any_rank = false;
	int r;

	for (size_t i = 1; i < rec->n_processes; i++)
		any_rank |= is_active(&rec->processes[i]) && rec->processes[i].rank >= 0;
	for (size_t i = 1; i < rec->n_processes; i++) {
		if (!is_active(&rec->processes[i]))
			continue;
		r = add_unit(rec, &rec->processes[i], any_rank);
		if (r < 0)
			return r;
	}
	unite_equal_units(rec);
	/* Records of nobody known belong to the only unit there is, else to the ones without a
	 * rank. */
	if (rec->n_units == 1 && is_active(unknown)) {
		unknown->rank = rec->units[0].other ? -1 : (int32_t)rec->units[0].rank;
		unknown->job = rec->units[0].job;
		any_rank &= !rec->units[0].other;
	} else if (is_active(unknown) || !rec->n_units) {
		if (rec->n_units)
			unknown->job = rec->units[0].job;
		r = add_unit(rec, unknown, any_rank);
		if (r < 0)
			return r;
		unite_equal_units(rec);
	}
	for (size_t i = 0; i < rec->n_processes; i++)
		if (is_active(&rec->processes[i]))
			rec->processes[i].unit = find_unit(rec, &rec->processes[i], any_rank);
	return 0;
}

static int by_first(const void *a, const void *b, void *lanes)
{
	const struct sp_lane *x = (struct sp_lane *)lanes + *(const uint32_t *)a;
	const struct sp_lane *y = (struct sp_lane *)lanes + *(const uint32_t *)b;

	return x->first != y->first ? COMPARE(x->first, y->first) : COMPARE(x->id, y->id);
}

static int processes_by_first(const void *a, const void *b, void *processes)
{
	const struct sp_process *x = (struct sp_process *)processes + *(const uint32_t *)a;
	const struct sp_process *y = (struct sp_process *)processes + *(const uint32_t *)b;

	return x->first != y->first ? COMPARE(x->first, y->first) : COMPARE(x->number, y->number);
}

static int number_threads(struct sp_recording *rec)
{
	sp_cleanup(sp_freep) uint32_t *lanes = sorted_indices(rec->n_lanes, by_first, rec->lanes);
	sp_cleanup(sp_freep) uint32_t *processes =
		sorted_indices(rec->n_processes, processes_by_first, rec->processes);

	if (!lanes || !processes)
		return -ENOMEM;
	for (size_t i = 0; i < rec->n_processes; i++) {
		struct sp_process *process = &rec->processes[processes[i]];

		if (process->unit == SP_NONE)
			continue;
		process->row = rec->units[process->unit].processes++;
		rec->units[process->unit].calls += process->calls;
		rec->units[process->unit].samples += process->samples;
	}
	for (size_t i = 0; i < rec->n_lanes; i++) {
		struct sp_lane *lane = &rec->lanes[lanes[i]];
		struct sp_process *process = &rec->processes[lane->process];

		if (process->unit == SP_NONE)
			continue;
		lane->thread = rec->units[process->unit].threads++;
		process->threads++;
	}
	return 0;
}

static int by_number(const void *a, const void *b, void *sites)
{
	const struct sp_site *x = (struct sp_site *)sites + *(const uint32_t *)a;
	const struct sp_site *y = (struct sp_site *)sites + *(const uint32_t *)b;

	return COMPARE(x->number, y->number);
}

/* A site that was never described is a region of its own: its calls are real. */
static const char *name_unknown(struct sp_recording *rec, const struct sp_site *site)
{
	bool dynamic = site->number & SP_SITE_DYNAMIC;
	char name[64];

	snprintf(name, sizeof(name), "[unknown region %s%u]", dynamic ? "d" : "",
		 site->number & ~SP_SITE_DYNAMIC);
	rec->unknown_sites++;
	rec->unknown_site_calls += site->calls;
	return sp_pool_add(rec->strings, name);
}

/* Makes the regions of the sites at the ends of regions, or of all others. Ends that no call names
 * make none: the region may be of another recording. */
static int pool_some(struct sp_recording *rec, const uint32_t *order, struct sp_idmap *by_name,
		     bool ends)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < rec->n_sites; i++) {
		struct sp_site *site = &rec->sites[order[i]];
		struct sp_region *region;
		const char *name;

		if (site->is_end != ends)
			continue;
		name = site->name ? site->name : name_unknown(rec, site);
		if (!name)
			return -ENOMEM;
		site->name = name;
		/* Equal strings of the pool have one address. */
		site->region = sp_idmap_get(by_name, (uintptr_t)name);
		if (site->region != SP_NONE)
			rec->regions[site->region].begins += !ends;
		if (site->region != SP_NONE || (ends && !site->calls && !site->samples))
			continue;
		site->region = (uint32_t)rec->n_regions;
		if (rec->n_regions >= SP_PROFILE_MAX_REGIONS)
			r = -E2BIG;
		else if (!(region = sp_array_add(&rec->regions, &rec->n_regions,
						 &rec->regions_room)))
			r = -ENOMEM;
		else
			*region = (struct sp_region){name, order[i], !ends};
		if (r == 0)
			r = sp_idmap_set(by_name, (uintptr_t)name, site->region);
	}
	return r;
}

static int pool_sites(struct sp_recording *rec)
{
	sp_cleanup(sp_freep) uint32_t *order = sorted_indices(rec->n_sites, by_number, rec->sites);
	struct sp_idmap by_name = {0};
	int r = order ? pool_some(rec, order, &by_name, false) : -ENOMEM;

	if (r == 0)
		r = pool_some(rec, order, &by_name, true);
	sp_idmap_free(&by_name);
	return r;
}

int sp_recording_resolve(struct sp_recording *rec)
{
	int r = end_lanes(rec);

	if (r < 0)
		return r;
	sum_processes(rec);
	for (size_t i = 1; i < rec->n_processes; i++)
		if (!rec->processes[i].described)
			inherit(rec, &rec->processes[i]);
	r = make_units(rec);
	if (r == 0)
		r = number_threads(rec);
	if (r == 0)
		r = pool_sites(rec);
	if (r == 0)
		r = sp_recording_sort_maps(rec);
	sp_recording_sort_kernel_symbols(rec);
	sp_recording_sort_befores(rec);
	return r;
}
