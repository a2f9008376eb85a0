// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_guard_content.c - facts, tables, extras and rows over a guard's pipe.
 *
 * Invariant: whatever is received can be freed as if a reader had made it, also after a failure in
 * its middle, and selects nothing that is not there.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/profile_guard_pipe.h"

static void texts(struct sp_pipe *pipe, const char *const **array, size_t *n)
{
	void *made = (void *)*array;

	sp_pipe_array(pipe, &made, n, sizeof(char *));
	*array = made;
	for (size_t i = 0; i < *n && !pipe->failed; i++)
		sp_pipe_text(pipe, (const char **)made + i);
}

/* @n × @m numbers. */
static void numbers(struct sp_pipe *pipe, const void **array, size_t n, size_t m)
{
	void *made = (void *)*array;
	size_t all;

	if (__builtin_mul_overflow(n, m, &all))
		sp_pipe_fail(pipe, -EBADMSG);
	else
		sp_pipe_numbers(pipe, &made, all, sizeof(uint64_t));
	*array = made;
}

/* All arrays of numbers here are of 8 bytes each. */
#define numbers_of(pipe, field, n, m) \
	do { \
		const void *array_ = (field); \
		_Static_assert(sizeof(*(field)) == sizeof(uint64_t), "8 bytes each"); \
		numbers((pipe), &array_, (n), (m)); \
		(field) = array_; \
	} while (0)

static void fact(struct sp_pipe *pipe, struct sp_fact *fact)
{
	uint32_t kind = fact->kind;

	sp_pipe_text(pipe, &fact->key);
	sp_pipe_text(pipe, &fact->text);
	sp_pipe_value(pipe, fact->number);
	sp_pipe_value(pipe, fact->real);
	sp_pipe_value(pipe, kind);
	texts(pipe, &fact->items, &fact->n_items);
	if (!pipe->receiving)
		return;
	if (kind > SP_FACT_REALS)
		sp_pipe_fail(pipe, -EBADMSG);
	else
		fact->kind = (enum sp_fact_kind)kind;
	fact->is_number = fact->kind == SP_FACT_NUMBER;
}

void sp_pipe_facts(struct sp_pipe *pipe, struct sp_fact **facts, size_t *n)
{
	void *array = *facts;

	sp_pipe_array(pipe, &array, n, sizeof(struct sp_fact));
	*facts = array;
	for (size_t i = 0; i < *n && !pipe->failed; i++)
		fact(pipe, &(*facts)[i]);
}

void sp_pipe_table(struct sp_pipe *pipe, enum sp_h5_table which, void **rows, size_t *n)
{
	const struct sp_h5_table_def *table = &sp_h5_tables[which];

	sp_pipe_array(pipe, rows, n, table->row_size);
	for (size_t i = 0; i < *n && !pipe->failed; i++) {
		char *row = (char *)*rows + i * table->row_size;

		sp_pipe_bytes(pipe, row, table->row_size);
		for (size_t c = 0; c < table->n_columns; c++) {
			const char **text = (void *)(row + table->columns[c].offset);

			if (table->columns[c].type != SP_H5_str)
				continue;
			/* The pointer that came with the bytes is the child's. */
			if (pipe->receiving)
				*text = NULL;
			sp_pipe_text(pipe, text);
		}
	}
}

static void perf_events(struct sp_pipe *pipe, struct sp_perf_events *events)
{
	sp_pipe_value(pipe, events->rank);
	sp_pipe_text(pipe, &events->region);
	sp_pipe_value(pipe, events->calls);
	texts(pipe, &events->names, &events->n);
	numbers_of(pipe, events->values, events->n, 1);
}

static void line_profile(struct sp_pipe *pipe, struct sp_line_profile *profile)
{
	uint64_t n = profile->n;

	sp_pipe_value(pipe, profile->rank);
	sp_pipe_text(pipe, &profile->region);
	sp_pipe_text(pipe, &profile->filename);
	sp_pipe_text(pipe, &profile->function);
	sp_pipe_value(pipe, profile->first_line);
	sp_pipe_value(pipe, profile->unit);
	sp_pipe_text_or_null(pipe, &profile->source);
	sp_pipe_value(pipe, profile->source_first_line);
	sp_pipe_value(pipe, n);
	numbers_of(pipe, profile->lines, n, 1);
	numbers_of(pipe, profile->hits, n, 1);
	numbers_of(pipe, profile->times, n, 1);
	if (pipe->receiving)
		profile->n = n;
}

static void likwid(struct sp_pipe *pipe, struct sp_likwid *likwid)
{
	uint64_t n_threads = likwid->n_threads, n_cpus = likwid->cpus ? n_threads : 0;

	sp_pipe_value(pipe, likwid->rank);
	sp_pipe_text(pipe, &likwid->tag);
	sp_pipe_value(pipe, likwid->group_id);
	sp_pipe_text(pipe, &likwid->group_name);
	sp_pipe_text(pipe, &likwid->source);
	sp_pipe_value(pipe, n_threads);
	sp_pipe_value(pipe, n_cpus);
	numbers_of(pipe, likwid->cpus, n_cpus, 1);
	numbers_of(pipe, likwid->times, n_threads, 1);
	numbers_of(pipe, likwid->call_counts, n_threads, 1);
	texts(pipe, &likwid->event_names, &likwid->n_events);
	texts(pipe, &likwid->counter_names, &likwid->n_counters);
	numbers_of(pipe, likwid->events, likwid->n_events, n_threads);
	texts(pipe, &likwid->metric_names, &likwid->n_metrics);
	numbers_of(pipe, likwid->metrics, likwid->n_metrics, n_threads);
	if (!pipe->receiving)
		return;
	likwid->n_threads = n_threads;
	if (!n_cpus) {
		free((void *)likwid->cpus);
		likwid->cpus = NULL;
	}
	if ((likwid->n_counters && likwid->n_counters != likwid->n_events) ||
	    (n_cpus && n_cpus != n_threads))
		sp_pipe_fail(pipe, -EBADMSG);
}

static void environment(struct sp_pipe *pipe, struct sp_likwid_environment *environment)
{
	struct sp_fact *facts = (struct sp_fact *)environment->facts;

	sp_pipe_value(pipe, environment->rank);
	sp_pipe_facts(pipe, &facts, &environment->n);
	environment->facts = facts;
}

#define EACH(pipe, extras, field, move) \
	do { \
		void *array_ = (extras)->field; \
		sp_pipe_array((pipe), &array_, &(extras)->n_##field, sizeof(*(extras)->field)); \
		(extras)->field = array_; \
		for (size_t i_ = 0; i_ < (extras)->n_##field && !(pipe)->failed; i_++) \
			move((pipe), &(extras)->field[i_]); \
	} while (0)

void sp_pipe_extras(struct sp_pipe *pipe, struct sp_extras *extras)
{
	EACH(pipe, extras, perf_events, perf_events);
	EACH(pipe, extras, line_profiles, line_profile);
	EACH(pipe, extras, likwid, likwid);
	EACH(pipe, extras, likwid_environments, environment);
}

void sp_pipe_row(struct sp_pipe *pipe, struct sp_row *row)
{
	sp_pipe_value(pipe, row->region);
	sp_pipe_value(pipe, row->rank);
	sp_pipe_value(pipe, row->source_line);
	sp_pipe_value(pipe, row->stats);
	sp_pipe_text(pipe, &row->source_file);
	sp_pipe_text(pipe, &row->source_text);
	sp_pipe_text(pipe, &row->tags);
}

void sp_pipe_check(struct sp_pipe *pipe, struct sp_profile_check *check)
{
	uint8_t done = check->done;

	sp_pipe_value(pipe, done);
	check->done = done != 0;
	sp_pipe_value(pipe, check->objects);
	sp_pipe_value(pipe, check->attributes);
	sp_pipe_value(pipe, check->bytes);
	sp_pipe_value(pipe, check->beyond);
	sp_pipe_value(pipe, check->next_object);
	sp_pipe_value(pipe, check->next_value);
}
