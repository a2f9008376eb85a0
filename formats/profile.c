// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile.c - columns of calls, running statistics, and the freeing of what readers made.
 *
 * Invariant of struct sp_stats: m2 and mean describe exactly the calls counted (Chan's pooling of
 * blocks, whose error does not grow with the number of calls); an unknown value never turns into a
 * known one.
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

/* Statistics of one block of calls, n > 0. */
static void block_stats(struct sp_stats *block, const int64_t *starts, const int64_t *ends,
			size_t n)
{
	int64_t total = 0, minimum = INT64_MAX, maximum = INT64_MIN;
	int64_t start_minimum = INT64_MAX, end_maximum = INT64_MIN;
	double sum = 0, mean, m2 = 0;

	for (size_t i = 0; i < n; i++) {
		int64_t duration = sp_wrap_sub(ends[i], starts[i]);

		total = sp_wrap_add(total, duration);
		sum += (double)duration;
		minimum = duration < minimum ? duration : minimum;
		maximum = duration > maximum ? duration : maximum;
		start_minimum = starts[i] < start_minimum ? starts[i] : start_minimum;
		end_maximum = ends[i] > end_maximum ? ends[i] : end_maximum;
	}
	mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double difference = (double)sp_wrap_sub(ends[i], starts[i]) - mean;

		m2 += difference * difference;
	}
	*block = (struct sp_stats){.calls = n,
				   .total = total,
				   .self = 0,
				   .minimum = minimum,
				   .maximum = maximum,
				   .first = sp_wrap_sub(ends[0], starts[0]),
				   .last = sp_wrap_sub(ends[n - 1], starts[n - 1]),
				   .start_minimum = start_minimum,
				   .end_maximum = end_maximum,
				   .mean = mean,
				   .m2 = m2};
}

void sp_stats_add(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
		  const int64_t *child_ns, const int64_t *gpu_ns, size_t n)
{
	enum { BLOCK = 4096 };

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;
		struct sp_stats block;
		int64_t children = 0;
		bool known = child_ns != NULL;

		block_stats(&block, starts + at, ends + at, some);
		for (size_t i = at; known && i < at + some; i++) {
			known = child_ns[i] >= 0;
			children = sp_wrap_add(children, child_ns[i]);
		}
		block.self = known ? sp_wrap_sub(block.total, children) : -1;
		for (size_t i = at; gpu_ns && i < at + some; i++) {
			if (gpu_ns[i] < 0)
				continue;
			block.gpu_calls++;
			block.gpu_total = sp_wrap_add(block.gpu_total, gpu_ns[i]);
		}
		sp_stats_merge(stats, &block);
	}
}

void sp_stats_merge(struct sp_stats *stats, const struct sp_stats *other)
{
	double n, m, difference;

	if (!other->calls)
		return;
	if (!stats->calls) {
		*stats = *other;
		return;
	}
	n = (double)stats->calls;
	m = (double)other->calls;
	difference = other->mean - stats->mean;
	if (stats->m2 < 0 || other->m2 < 0)
		stats->m2 = -1;
	else
		stats->m2 += other->m2 + difference * difference * n * m / (n + m);
	stats->mean += difference * m / (n + m);
	stats->calls += other->calls;
	stats->total = sp_wrap_add(stats->total, other->total);
	stats->self =
		stats->self < 0 || other->self < 0 ? -1 : sp_wrap_add(stats->self, other->self);
	stats->minimum = other->minimum < stats->minimum ? other->minimum : stats->minimum;
	stats->maximum = other->maximum > stats->maximum ? other->maximum : stats->maximum;
	stats->last = other->last;
	if (stats->start_minimum < 0 || other->start_minimum < 0)
		stats->start_minimum = -1;
	else if (other->start_minimum < stats->start_minimum)
		stats->start_minimum = other->start_minimum;
	if (stats->end_maximum < 0 || other->end_maximum < 0)
		stats->end_maximum = -1;
	else if (other->end_maximum > stats->end_maximum)
		stats->end_maximum = other->end_maximum;
	stats->gpu_calls += other->gpu_calls;
	stats->gpu_total = sp_wrap_add(stats->gpu_total, other->gpu_total);
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
