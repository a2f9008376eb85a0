/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_json_parts.c - what stands in a JSON profile beside the regions.
 *
 * Invariant: every number arrives as it is. Ranks are keys, ascending; what a rank has stands in
 * the profile's order.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/export/write_json.h"

/* ---- numbers and facts ---- */

void sp_write_json_real(struct sp_json *json, const char *key, double number)
{
	char text[40];

	if (!isfinite(number)) {
		sp_json_null(json, key);
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, number);
		if (strtod(text, NULL) == number)
			break;
	}
	/* JSON's decimal point is a point, wherever we are. */
	for (char *at = text; *at; at++)
		if (!strchr("+-0123456789e", *at))
			*at = '.';
	if (!strpbrk(text, ".e"))
		strcat(text, ".0");
	sp_json_raw(json, key, text);
}

void sp_write_json_fact(struct sp_json *json, const struct sp_fact *fact)
{
	switch (fact->kind) {
	case SP_FACT_TEXT:
		sp_json_text(json, fact->key, fact->text);
		return;
	case SP_FACT_NUMBER:
		sp_json_signed(json, fact->key, fact->number);
		return;
	case SP_FACT_REAL:
		sp_write_json_real(json, fact->key, fact->real);
		return;
	case SP_FACT_BOOL:
		sp_json_bool(json, fact->key, fact->number);
		return;
	default:
		break;
	}
	sp_json_open_array(json, fact->key);
	for (size_t i = 0; i < fact->n_items; i++) {
		if (fact->kind == SP_FACT_TEXTS)
			sp_json_text(json, NULL, fact->items[i]);
		else if (fact->kind == SP_FACT_NUMBERS)
			sp_json_raw(json, NULL, fact->items[i]);
		else
			sp_write_json_real(json, NULL, strtod(fact->items[i], NULL));
	}
	sp_json_close_array(json);
}

void sp_write_json_raw(struct sp_json *json, const char *key, const char *text)
{
	static const char *const constants[] = {"NaN", "Infinity", "-Infinity"};
	bool quoted = false;

	sp_json_raw(json, key, "");
	while (*text) {
		size_t length = quoted ? 0 : strspn(text, " \t\r\n");

		if (length) {
			text += length;
			continue;
		}
		for (size_t i = 0; !quoted && i < sp_array_size(constants) && !length; i++)
			if (strncmp(text, constants[i], strlen(constants[i])) == 0)
				length = strlen(constants[i]);
		if (length) {
			fputs("null", json->out);
			text += length;
			continue;
		}
		if (*text == '"')
			quoted = !quoted;
		if (quoted && *text == '\\')
			putc_unlocked(*text++, json->out);
		putc_unlocked(*text, json->out);
		if (!quoted && (*text == ',' || *text == ':'))
			putc_unlocked(' ', json->out);
		text++;
	}
}

static void put_integers(struct sp_json *json, const char *key, const int64_t *values, size_t n)
{
	sp_json_open_array(json, key);
	for (size_t i = 0; i < n; i++)
		sp_json_signed(json, NULL, values[i]);
	sp_json_close_array(json);
}

static void put_reals(struct sp_json *json, const char *key, const double *values, size_t n)
{
	sp_json_open_array(json, key);
	for (size_t i = 0; i < n; i++)
		sp_write_json_real(json, NULL, values[i]);
	sp_json_close_array(json);
}

void sp_write_json_texts(struct sp_json *json, const char *key, const char *const *values, size_t n)
{
	sp_json_open_array(json, key);
	for (size_t i = 0; i < n; i++)
		sp_json_text(json, NULL, values[i]);
	sp_json_close_array(json);
}

/* ---- threads and tasks ---- */

struct place {
	uint32_t rank;
	size_t index;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *one = a, *two = b;

	if (one->rank != two->rank)
		return one->rank < two->rank ? -1 : 1;
	return one->index < two->index ? -1 : one->index > two->index;
}

/* Elements by rank, else as they stand: to free(). Each begins with its rank. */
static struct place *order_by_rank(const void *elements, size_t n, size_t size)
{
	struct place *places = calloc(n + 1, sizeof(*places));

	for (size_t i = 0; places && i < n; i++) {
		places[i].index = i;
		memcpy(&places[i].rank, (const char *)elements + i * size, sizeof(places[i].rank));
	}
	if (places)
		qsort(places, n, sizeof(*places), compare_places);
	return places;
}

static int64_t relative(int64_t time, int64_t origin)
{
	return (int64_t)((uint64_t)time - (uint64_t)origin);
}

int sp_write_json_threads(struct sp_profile *profile, int64_t origin, struct sp_json *json,
			  struct sp_error *error)
{
	_Static_assert(offsetof(struct sp_thread_row, rank) == 0, "its rank comes first");
	struct sp_write_json_ranks ranks = {.json = json, .lists = true};
	sp_cleanup(sp_freep) struct place *places = NULL;
	const struct sp_thread_row *threads;
	size_t n;
	int r = sp_profile_threads(profile, &threads, &n, error);

	if (r < 0 || !n)
		return r;
	places = order_by_rank(threads, n, sizeof(*threads));
	if (!places)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	sp_json_open_object(json, "threads");
	for (size_t i = 0; i < n; i++) {
		const struct sp_thread_row *thread = &threads[places[i].index];

		sp_write_json_enter_rank(&ranks, thread->rank);
		sp_json_open_object(json, NULL);
		sp_json_signed(json, "index", thread->index);
		sp_json_text(json, "name", thread->name);
		sp_json_signed(json, "ident", thread->ident);
		sp_json_signed(json, "native_id", thread->native_id);
		sp_json_bool(json, "daemon", thread->daemon);
		sp_json_signed(json, "start_ns", relative(thread->start_ns, origin));
		sp_json_signed(json, "end_ns",
			       thread->end_ns == -1 ? -1 : relative(thread->end_ns, origin));
		sp_json_signed(json, "cpu_ns", thread->cpu_ns);
		sp_json_close_object(json);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
	return 0;
}

int sp_write_json_tasks(struct sp_profile *profile, int64_t origin, struct sp_json *json,
			struct sp_error *error)
{
	_Static_assert(offsetof(struct sp_task_row, rank) == 0, "its rank comes first");
	struct sp_write_json_ranks ranks = {.json = json, .lists = true};
	sp_cleanup(sp_freep) struct place *places = NULL;
	const struct sp_task_row *tasks;
	size_t n;
	int r = sp_profile_tasks(profile, &tasks, &n, error);

	if (r < 0 || !n)
		return r;
	places = order_by_rank(tasks, n, sizeof(*tasks));
	if (!places)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	sp_json_open_object(json, "tasks");
	for (size_t i = 0; i < n; i++) {
		const struct sp_task_row *task = &tasks[places[i].index];

		sp_write_json_enter_rank(&ranks, task->rank);
		sp_json_open_object(json, NULL);
		sp_json_signed(json, "index", task->index);
		sp_json_text(json, "kind", task->kind);
		sp_json_text(json, "name", task->name);
		sp_json_text(json, "coro_name", task->coro_name);
		sp_json_signed(json, "thread_index", task->thread_index);
		sp_json_signed(json, "created_ns", relative(task->created_ns, origin));
		sp_json_signed(json, "done_ns",
			       task->done_ns == -1 ? -1 : relative(task->done_ns, origin));
		sp_json_signed(json, "steps", task->steps);
		sp_json_signed(json, "running_ns", task->running_ns);
		sp_json_signed(json, "suspended_ns", task->suspended_ns);
		sp_json_close_object(json);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
	return 0;
}

/* ---- LIKWID and line profiles ---- */

static void put_matrix(struct sp_json *json, const char *key, const double *values, size_t rows,
		       size_t columns)
{
	sp_json_open_array(json, key);
	for (size_t i = 0; i < rows; i++)
		put_reals(json, NULL, values + i * columns, columns);
	sp_json_close_array(json);
}

/* Where the CPUs are not known: scope-profiler's reader takes their number for that of the columns
 * of the tables, so there must be as many. */
static void put_cpus(struct sp_json *json, const struct sp_likwid *likwid)
{
	bool tables = likwid->n_events || likwid->n_metrics;

	sp_json_open_array(json, "cpus");
	for (size_t i = 0; (likwid->cpus || tables) && i < likwid->n_threads; i++)
		sp_json_signed(json, NULL, likwid->cpus ? likwid->cpus[i] : -1);
	sp_json_close_array(json);
}

int sp_write_json_likwid(struct sp_profile *profile, struct sp_json *json, struct sp_error *error)
{
	struct sp_write_json_ranks ranks = {.json = json};
	const struct sp_extras *extras;
	int r = sp_profile_extras(profile, &extras, error);

	if (r < 0 || !extras->n_likwid)
		return r;
	sp_json_open_object(json, "likwid");
	for (size_t i = 0; i < extras->n_likwid; i++) {
		const struct sp_likwid *likwid = &extras->likwid[i];
		size_t n = likwid->n_threads;

		sp_write_json_enter_rank(&ranks, likwid->rank);
		sp_json_open_object(json, likwid->tag);
		sp_json_text(json, "tag", likwid->tag);
		sp_json_signed(json, "group_id", likwid->group_id);
		sp_json_text(json, "group_name", likwid->group_name);
		put_cpus(json, likwid);
		put_reals(json, "times", likwid->times, n);
		put_integers(json, "call_counts", likwid->call_counts, n);
		sp_write_json_texts(json, "event_names", likwid->event_names, likwid->n_events);
		sp_write_json_texts(json, "counter_names", likwid->counter_names,
				    likwid->n_counters);
		put_matrix(json, "events", likwid->events, likwid->n_events, n);
		sp_write_json_texts(json, "metric_names", likwid->metric_names, likwid->n_metrics);
		put_matrix(json, "metrics", likwid->metrics, likwid->n_metrics, n);
		sp_json_text(json, "source", likwid->source);
		sp_json_close_object(json);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
	return 0;
}

int sp_write_json_line_profiles(struct sp_profile *profile, struct sp_json *json,
				struct sp_error *error)
{
	struct sp_write_json_ranks ranks = {.json = json, .lists = true};
	const struct sp_extras *extras;
	int r = sp_profile_extras(profile, &extras, error);

	if (r < 0 || !extras->n_line_profiles)
		return r;
	sp_json_open_object(json, "line_profile");
	for (size_t i = 0; i < extras->n_line_profiles; i++) {
		const struct sp_line_profile *lines = &extras->line_profiles[i];

		sp_write_json_enter_rank(&ranks, lines->rank);
		sp_json_open_object(json, NULL);
		sp_json_text(json, "region", lines->region);
		sp_json_text(json, "filename", lines->filename);
		sp_json_text(json, "function", lines->function);
		sp_json_signed(json, "first_lineno", lines->first_line);
		put_integers(json, "line_numbers", lines->lines, lines->n);
		put_integers(json, "hits", lines->hits, lines->n);
		put_reals(json, "times", lines->times, lines->n);
		sp_write_json_real(json, "unit", lines->unit);
		if (lines->source) { /* ours: scope-profiler's JSON does not have it */
			sp_json_text(json, "source", lines->source);
			sp_json_signed(json, "source_first_lineno", lines->source_first_line);
		}
		sp_json_close_object(json);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
	return 0;
}
