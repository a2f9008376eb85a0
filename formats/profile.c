// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile.c - columns of calls, and the freeing of what readers made.
 */
#include "formats/profile.h"

#include <stdlib.h>
#include <string.h>

#include "formats/util.h"

int sp_calls_alloc(struct sp_calls *calls, size_t capacity, unsigned int columns)
{
	struct sp_calls made = {0};
	bool complete;

	made.start = calloc(capacity, sizeof(*made.start));
	made.end = calloc(capacity, sizeof(*made.end));
	complete = made.start && made.end;
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	if (columns & SP_CALLS_##field) { \
		made.field = calloc(capacity, sizeof(*made.field)); \
		complete &= made.field != NULL; \
	}
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
	if (!complete) {
		sp_calls_free(&made);
		return -ENOMEM;
	}
	*calls = made;
	return 0;
}

void sp_calls_free(struct sp_calls *calls)
{
	free(calls->start);
	free(calls->end);
#define SP_CALL_COLUMN(type, field, path, default, doc) free(calls->field);
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
	memset(calls, 0, sizeof(*calls));
}

static void free_texts(const char *const *texts, size_t n)
{
	for (size_t i = 0; texts && i < n; i++)
		free((char *)texts[i]);
	free((void *)texts);
}

void sp_facts_free(struct sp_fact *facts, size_t n)
{
	for (size_t i = 0; facts && i < n; i++) {
		free((char *)facts[i].key);
		free((char *)facts[i].text);
		free_texts(facts[i].items, facts[i].n_items);
	}
	free(facts);
}

void sp_extras_free(struct sp_extras *extras)
{
	for (size_t i = 0; i < extras->n_perf_events; i++) {
		struct sp_perf_events *events = &extras->perf_events[i];

		free((char *)events->region);
		free_texts(events->names, events->n);
		free((void *)events->values);
	}
	for (size_t i = 0; i < extras->n_line_profiles; i++) {
		struct sp_line_profile *profile = &extras->line_profiles[i];

		free((char *)profile->region);
		free((char *)profile->filename);
		free((char *)profile->function);
		free((char *)profile->source);
		free((void *)profile->lines);
		free((void *)profile->hits);
		free((void *)profile->times);
	}
	for (size_t i = 0; i < extras->n_likwid; i++) {
		struct sp_likwid *likwid = &extras->likwid[i];

		free((char *)likwid->tag);
		free((char *)likwid->group_name);
		free((char *)likwid->source);
		free((void *)likwid->cpus);
		free((void *)likwid->times);
		free((void *)likwid->call_counts);
		free_texts(likwid->event_names, likwid->n_events);
		free_texts(likwid->counter_names, likwid->n_counters);
		free_texts(likwid->metric_names, likwid->n_metrics);
		free((void *)likwid->events);
		free((void *)likwid->metrics);
	}
	for (size_t i = 0; i < extras->n_likwid_environments; i++)
		sp_facts_free((struct sp_fact *)extras->likwid_environments[i].facts,
			      extras->likwid_environments[i].n);
	free(extras->perf_events);
	free(extras->line_profiles);
	free(extras->likwid);
	free(extras->likwid_environments);
	*extras = (struct sp_extras){0};
}
