// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_read_likwid.c - LIKWID's counters and environment of a rank.
 *
 * Invariant: a matrix has a row for each of its names and a column for each thread.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_read_extras.h"
#include "formats/utf8.h"
#include "formats/util.h"

/* Reads a matrix of @n_names rows and as many columns as there are threads. */
static int read_matrix(struct sp_h5_extras *reader, const char *path, const char *name,
		       uint64_t n_names, uint64_t n_threads, const double **ret_values,
		       struct sp_error *error)
{
	sp_cleanup_free char *full = sp_h5_join(path, name);
	double *values;
	uint64_t sides[2];
	int r;

	if (!full)
		return sp_h5_extras_no_memory(error);
	r = sp_h5_read_reals(reader->file, full, 2, &values, sides, error);
	if (r)
		return r;
	if (sides[0] == n_names && (sides[1] == n_threads || !n_names)) {
		*ret_values = values;
		return sp_h5_extras_count(reader, n_names * n_threads, full, error);
	}
	free(values);
	return sp_error_set(error, -SP_E_DAMAGED, 0,
			    "%s has %" PRIu64 " × %" PRIu64 " elements instead of %" PRIu64
			    " × %" PRIu64,
			    full, sides[0], sides[1], n_names, n_threads);
}

static int read_likwid_names(hid_t group, struct sp_likwid *likwid, const char *name,
			     struct sp_error *error)
{
	struct {
		const char *key;
		const char *const **names;
		size_t *n;
	} lists[] = {
		{"event_names", &likwid->event_names, &likwid->n_events},
		{"counter_names", &likwid->counter_names, &likwid->n_counters},
		{"metric_names", &likwid->metric_names, &likwid->n_metrics},
	};
	bool found;
	int r = sp_h5_extras_text(group, "tag", name, &likwid->tag, error);

	if (!r)
		r = sp_h5_read_number_attribute(group, "group_id", &found, &likwid->group_id,
						error);
	if (!r)
		r = sp_h5_extras_text(group, "group_name", "", &likwid->group_name, error);
	if (!r)
		r = sp_h5_extras_text(group, "source", "", &likwid->source, error);
	for (size_t i = 0; !r && i < sizeof(lists) / sizeof(lists[0]); i++) {
		char **names;

		r = sp_h5_read_texts_attribute(group, lists[i].key, &names, lists[i].n, error);
		if (!r)
			*lists[i].names = (const char *const *)names;
	}
	if (!r && likwid->n_counters && likwid->n_counters != likwid->n_events)
		r = sp_error_set(error, -SP_E_DAMAGED, 0,
				 "counter_names has %zu names, and there are %zu events",
				 likwid->n_counters, likwid->n_events);
	return r;
}

int sp_h5_extras_likwid_region(struct sp_h5_extras *reader, const char *path, const char *name,
			       struct sp_error *error)
{
	sp_cleanup_h5 hid_t group = -1;
	sp_cleanup_free char *repaired = sp_utf8_repair(name);
	struct sp_extras *extras = &reader->extras;
	struct sp_likwid *likwid;
	uint64_t n = SP_H5_ANY_LENGTH, n_cpus = SP_H5_ANY_LENGTH;
	int r = sp_h5_extras_open(reader->file, path, &group, error);

	if (r)
		return r;
	if (!repaired || sp_array_reserve((void **)&extras->likwid, &reader->likwid,
					  extras->n_likwid, sizeof(*likwid)))
		return sp_h5_extras_no_memory(error);
	likwid = &extras->likwid[extras->n_likwid++];
	*likwid = (struct sp_likwid){.rank = reader->rank, .group_id = -1};
	r = read_likwid_names(group, likwid, repaired, error);
	if (!r)
		r = sp_h5_extras_once(&reader->tags, likwid->tag, path, error);
	if (r)
		return sp_h5_extras_name(error, r, path);
	r = sp_h5_extras_integers(reader, path, "call_counts", SP_H5_s64, &n, &likwid->call_counts,
				  error);
	if (!r)
		r = sp_h5_extras_integers(reader, path, "cpus", SP_H5_s64, &n_cpus, &likwid->cpus,
					  error);
	if (!r && n_cpus != n && n_cpus)
		r = sp_error_set(error, -SP_E_DAMAGED, 0,
				 "%s/cpus has %" PRIu64 " elements instead of %" PRIu64, path,
				 n_cpus, n);
	if (!r)
		r = sp_h5_extras_reals(reader, path, "times", n, &likwid->times, error);
	if (!r)
		r = read_matrix(reader, path, "events", likwid->n_events, n, &likwid->events,
				error);
	if (!r)
		r = read_matrix(reader, path, "metrics", likwid->n_metrics, n, &likwid->metrics,
				error);
	if (r)
		return r;
	likwid->n_threads = n;
	if (!n_cpus) { /* LIKWID's marker interface does not say */
		free((void *)likwid->cpus);
		likwid->cpus = NULL;
	}
	return sp_h5_extras_count(reader, 3 * n, path, error);
}

int sp_h5_extras_likwid_environment(struct sp_h5_extras *reader, const char *path,
				    struct sp_error *error)
{
	struct sp_extras *extras = &reader->extras;
	struct sp_fact *facts;
	size_t n, kept = 0;
	int r = sp_h5_read_facts(reader->file, path, &facts, &n, error);

	if (r)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(facts[i].key, "num_regions") != 0) {
			struct sp_fact fact = facts[i];

			facts[i] = facts[kept];
			facts[kept++] = fact;
		}
	}
	if (kept < n) /* num_regions itself: keys are unique */
		sp_h5_fact_free(&facts[kept]);
	if (!kept) {
		free(facts);
		return 0;
	}
	if (sp_array_reserve((void **)&extras->likwid_environments, &reader->environments,
			     extras->n_likwid_environments, sizeof(*extras->likwid_environments))) {
		sp_facts_free(facts, kept);
		return sp_h5_extras_no_memory(error);
	}
	extras->likwid_environments[extras->n_likwid_environments++] =
		(struct sp_likwid_environment){reader->rank, kept, facts};
	return 0;
}
