// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_extras.c - "likwid", "line_profile" and "sp_trace" of a JSON profile.
 *
 * Invariant: an element is added to the extras only when it is complete and consistent; what it was
 * read into is freed otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

#define N_FIELDS(fields) (sizeof(fields) / sizeof(fields[0]))
#define FIELD(type, key, how, member, required) \
	{ \
		key, sp_json_read_##how, offsetof(struct type, member), required \
	}

static int no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "no memory");
}

/* A text that is there, if only as "". */
static int settle(char **text, struct sp_error *error)
{
	if (!*text)
		*text = strdup("");
	return *text ? 0 : no_memory(error);
}

/* ---- LIKWID ---- */

struct likwid {
	char *tag, *group_name, *source;
	int64_t group_id;
	struct sp_json_integers cpus, call_counts;
	struct sp_json_reals times, events, metrics;
	struct sp_json_texts event_names, counter_names, metric_names;
};

static void free_likwid(struct likwid *likwid)
{
	free(likwid->tag);
	free(likwid->group_name);
	free(likwid->source);
	free(likwid->cpus.values);
	free(likwid->call_counts.values);
	free(likwid->times.values);
	free(likwid->events.values);
	free(likwid->metrics.values);
	sp_json_free_texts(&likwid->event_names);
	sp_json_free_texts(&likwid->counter_names);
	sp_json_free_texts(&likwid->metric_names);
}
#define cleanup_likwid __attribute__((cleanup(free_likwid)))

static int check_likwid(struct sp_json_profile *json, const struct likwid *likwid, uint64_t offset,
			struct sp_error *error)
{
	size_t threads = likwid->times.n;

	if (likwid->call_counts.n != threads || (likwid->cpus.n && likwid->cpus.n != threads))
		return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
				      "tag \"%.40s\" has %zu times, %zu call counts and %zu CPUs",
				      likwid->tag, threads, likwid->call_counts.n, likwid->cpus.n);
	if (likwid->events.n != likwid->event_names.n * threads ||
	    likwid->metrics.n != likwid->metric_names.n * threads)
		return sp_json_refuse(
			json, -SP_E_DAMAGED, offset, error,
			"tag \"%.40s\" has a table whose size is not that of its names "
			"and threads",
			likwid->tag);
	if (likwid->counter_names.n && likwid->counter_names.n != likwid->event_names.n)
		return sp_json_refuse(json, -SP_E_DAMAGED, offset, error,
				      "tag \"%.40s\" has %zu events and %zu counters", likwid->tag,
				      likwid->event_names.n, likwid->counter_names.n);
	return 0;
}

/* LIKWID's marker interface does not say which CPUs they were: there is no list, or (from us, since
 * scope-profiler's reader must have one) a list of -1. */
static bool cpus_are_known(const struct sp_json_integers *cpus)
{
	for (size_t i = 0; i < cpus->n; i++)
		if (cpus->values[i] != -1)
			return true;
	return false;
}

/* Moves what was read into the extras. */
static int keep_likwid(struct sp_json_profile *json, struct likwid *likwid, uint32_t rank,
		       struct sp_error *error)
{
	struct sp_extras *extras = &json->extras;

	if (sp_array_reserve((void **)&extras->likwid, &json->likwid_capacity, extras->n_likwid,
			     sizeof(*extras->likwid)))
		return no_memory(error);
	if (!cpus_are_known(&likwid->cpus)) {
		free(likwid->cpus.values);
		likwid->cpus.values = NULL;
	}
	extras->likwid[extras->n_likwid++] = (struct sp_likwid){
		.rank = rank,
		.tag = likwid->tag,
		.group_id = likwid->group_id,
		.group_name = likwid->group_name,
		.source = likwid->source,
		.n_threads = likwid->times.n,
		.cpus = likwid->cpus.values,
		.times = likwid->times.values,
		.call_counts = likwid->call_counts.values,
		.n_events = likwid->event_names.n,
		.event_names = (const char *const *)likwid->event_names.values,
		.n_counters = likwid->counter_names.n,
		.counter_names = (const char *const *)likwid->counter_names.values,
		.events = likwid->events.values,
		.n_metrics = likwid->metric_names.n,
		.metric_names = (const char *const *)likwid->metric_names.values,
		.metrics = likwid->metrics.values,
	};
	*likwid = (struct likwid){0};
	return 0;
}

static int read_tag(struct sp_json_profile *json, const struct sp_json_token *token, uint32_t rank,
		    struct likwid *likwid, struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(likwid, "tag", text, tag, false),
		FIELD(likwid, "group_id", integer, group_id, false),
		FIELD(likwid, "group_name", text, group_name, false),
		FIELD(likwid, "cpus", integers, cpus, false),
		FIELD(likwid, "times", reals, times, false),
		FIELD(likwid, "call_counts", integers, call_counts, false),
		FIELD(likwid, "event_names", texts, event_names, false),
		FIELD(likwid, "counter_names", texts, counter_names, false),
		FIELD(likwid, "events", reals, events, false),
		FIELD(likwid, "metric_names", texts, metric_names, false),
		FIELD(likwid, "metrics", reals, metrics, false),
		FIELD(likwid, "source", text, source, false),
	};
	int r = sp_json_read_object(json, token, fields, N_FIELDS(fields), likwid, NULL, error);

	if (!r)
		r = settle(&likwid->group_name, error);
	if (!r)
		r = settle(&likwid->source, error);
	if (!r)
		r = check_likwid(json, likwid, token->offset, error);
	return r ? r : keep_likwid(json, likwid, rank, error);
}

static int read_rank_likwid(struct sp_json_profile *json, const struct sp_json_token *token,
			    uint32_t rank, struct sp_error *error)
{
	struct sp_intern tags = {0};
	int r = 0;

	if (token->kind != SP_JSON_OBJECT)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "must be objects with a key for each tag");
	while (!r) {
		cleanup_likwid struct likwid likwid = {.group_id = -1};
		struct sp_json_token next;
		uint32_t number;
		bool new = false;

		r = sp_json_pull_next(json->json, &next, error);
		if (r || next.kind == SP_JSON_OBJECT_END)
			break;
		/* The tag is the key, unless the element says another. */
		next.kind = SP_JSON_TEXT;
		r = sp_json_read_text(json, &next, &likwid.tag, error);
		if (!r)
			r = sp_json_pull_next(json->json, &next, error);
		if (!r)
			r = read_tag(json, &next, rank, &likwid, error);
		if (r)
			break;
		if (sp_intern_add(&tags, json->extras.likwid[json->extras.n_likwid - 1].tag,
				  &number, &new))
			r = no_memory(error);
		else if (!new)
			r = sp_json_refuse(json, -SP_E_DAMAGED, next.offset, error,
					   "tag \"%.40s\" comes twice on rank %u",
					   sp_intern_text(&tags, number), rank);
	}
	sp_intern_free(&tags);
	return r;
}

int sp_json_read_likwid(struct sp_json_profile *json, const struct sp_json_token *token,
			void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_likwid, error);
}

/* ---- line profiles ---- */

struct lines {
	char *region, *filename, *function, *source;
	int64_t first_line, source_first_line;
	double unit;
	struct sp_json_integers lines, hits;
	struct sp_json_reals times;
};

static void free_lines(struct lines *lines)
{
	free(lines->region);
	free(lines->filename);
	free(lines->function);
	free(lines->source);
	free(lines->lines.values);
	free(lines->hits.values);
	free(lines->times.values);
}
#define cleanup_lines __attribute__((cleanup(free_lines)))

static int keep_lines(struct sp_json_profile *json, struct lines *lines, uint32_t rank,
		      struct sp_error *error)
{
	struct sp_extras *extras = &json->extras;

	if (sp_array_reserve((void **)&extras->line_profiles, &json->line_profiles_capacity,
			     extras->n_line_profiles, sizeof(*extras->line_profiles)))
		return no_memory(error);
	extras->line_profiles[extras->n_line_profiles++] = (struct sp_line_profile){
		.rank = rank,
		.region = lines->region,
		.filename = lines->filename,
		.function = lines->function,
		.first_line = lines->first_line,
		.unit = lines->unit,
		.source = lines->source,
		.source_first_line = lines->source_first_line,
		.n = lines->lines.n,
		.lines = lines->lines.values,
		.hits = lines->hits.values,
		.times = lines->times.values,
	};
	*lines = (struct lines){0};
	return 0;
}

static int read_lines(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(lines, "region", text, region, false),
		FIELD(lines, "filename", text, filename, false),
		FIELD(lines, "function", text, function, false),
		FIELD(lines, "first_lineno", integer, first_line, false),
		FIELD(lines, "line_numbers", integers, lines, false),
		FIELD(lines, "hits", integers, hits, false),
		FIELD(lines, "times", reals, times, false),
		FIELD(lines, "unit", real, unit, false),
		FIELD(lines, "source", text, source, false),
		FIELD(lines, "source_first_lineno", integer, source_first_line, false),
	};
	cleanup_lines struct lines lines = {.unit = 1};
	int r = sp_json_read_object(json, token, fields, N_FIELDS(fields), &lines, NULL, error);

	if (!r)
		r = settle(&lines.region, error);
	if (!r)
		r = settle(&lines.filename, error);
	if (!r)
		r = settle(&lines.function, error);
	if (r)
		return r;
	if (lines.hits.n != lines.lines.n || lines.times.n != lines.lines.n)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "function \"%.40s\" has %zu lines, %zu hits and %zu times",
				      lines.function, lines.lines.n, lines.hits.n, lines.times.n);
	return keep_lines(json, &lines, *(uint32_t *)target, error);
}

static int read_rank_lines(struct sp_json_profile *json, const struct sp_json_token *token,
			   uint32_t rank, struct sp_error *error)
{
	return sp_json_read_list(json, token, read_lines, &rank, error);
}

int sp_json_read_line_profiles(struct sp_json_profile *json, const struct sp_json_token *token,
			       void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_lines, error);
}

/* ---- in order ---- */

struct place {
	uint32_t rank;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *left = a, *right = b;

	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->index > right->index) - (left->index < right->index);
}

/* Sorts elements, each of which begins with its rank, and leaves those of a rank as they stand. */
static int sort_by_rank(void **elements, size_t n, size_t size, struct sp_error *error)
{
	sp_cleanup_free struct place *places = calloc(n + 1, sizeof(*places));
	char *sorted = n ? calloc(n, size) : NULL;

	if (!n)
		return 0;
	if (!places || !sorted) {
		free(sorted);
		return no_memory(error);
	}
	for (size_t i = 0; i < n; i++) {
		places[i].index = i;
		memcpy(&places[i].rank, (char *)*elements + i * size, sizeof(places[i].rank));
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * size, (char *)*elements + places[i].index * size, size);
	free(*elements);
	*elements = sorted;
	return 0;
}

int sp_json_finish_extras(struct sp_json_profile *json, struct sp_error *error)
{
	struct sp_extras *extras = &json->extras;
	int r;

#define SORT(list) \
	_Static_assert(offsetof(__typeof__(*extras->list), rank) == 0, "its rank comes first"); \
	r = sort_by_rank((void **)&extras->list, extras->n_##list, sizeof(*extras->list), error); \
	if (r) \
	return r
	SORT(perf_events);
	SORT(line_profiles);
	SORT(likwid);
	SORT(likwid_environments);
#undef SORT
	json->profile->extras = *extras;
	json->profile->extras_loaded = true;
	*extras = (struct sp_extras){0};
	return 0;
}
