/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gaps.c - see gaps.h.
 */
#include "userspace/analysis/gaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"
#include "userspace/base/array.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

#define MOST_SPANS 64 /* more of them are joined: a gap never becomes less by that */
#define MOST_NAMED 3
#define CHUNK 8192 /* calls read at once */

int sp_gaps_add(struct sp_gaps *gaps, struct sp_profile *profile, size_t input, size_t file,
		bool first, struct sp_error *error)
{
	const struct sp_thread_row *threads;
	const struct sp_loss_row *rows;
	size_t n, n_threads;
	int r = sp_profile_losses(profile, &rows, &n, error);

	if (r == 0 && n)
		r = sp_profile_threads(profile, &threads, &n_threads, error);
	for (size_t i = 0; r == 0 && i < n; i++) {
		bool known = rows[i].thread >= 0 && (uint64_t)rows[i].thread < n_threads;
		const struct sp_thread_row *thread = known ? &threads[rows[i].thread] : NULL;
		struct sp_gap *gap;

		if ((!known && !first) || !rows[i].count)
			continue;
		gap = sp_array_add(&gaps->items, &gaps->n, &gaps->room);
		if (!gap)
			return sp_error_set(error, -ENOMEM, 0, "out of memory");
		*gap = (struct sp_gap){
			.input = input,
			.file = file,
			.cause = sp_loss_find(rows[i].cause),
			.name = rows[i].cause,
			.thread = known ? thread->name : NULL,
			.region = rows[i].region[0] ? rows[i].region : NULL,
			.source = rows[i].file[0] && rows[i].line > 0 ? rows[i].file : NULL,
			.line = rows[i].line,
			.cpu = rows[i].cpu,
			.tid = known ? thread->native_id : -1,
			.index = known ? thread->index : -1,
			.rank = known ? thread->rank : rows[i].rank,
			.count = rows[i].count,
			.first = rows[i].first_ns,
			.last = rows[i].last_ns,
		};
	}
	return r;
}

void sp_gaps_free(struct sp_gaps *gaps)
{
	free(gaps->items);
	*gaps = (struct sp_gaps){0};
}

/* ---- in words ---- */

struct share {
	char name[160];
	uint64_t count;
};

static void name_cpu(const struct sp_gap *gap, char *out, size_t room)
{
	if (gap->cpu >= 0)
		snprintf(out, room, "%lld", (long long)gap->cpu);
}

static void name_thread(const struct sp_gap *gap, char *out, size_t room)
{
	if (gap->tid >= 0)
		snprintf(out, room, "%.100s/%lld", gap->thread ? gap->thread : "",
			 (long long)gap->tid);
}

static void name_region(const struct sp_gap *gap, char *out, size_t room)
{
	if (gap->region && gap->source)
		snprintf(out, room, "%.100s at %.40s:%" PRId64, gap->region,
			 sp_base_name(gap->source), gap->line);
	else if (gap->region)
		snprintf(out, room, "%s", gap->region);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct share *)a)->name, ((const struct share *)b)->name);
}

static int by_count(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_name(a, b);
}

static bool is_of(const struct sp_gap *gap, const char *cause, size_t input)
{
	return (input == SIZE_MAX || gap->input == input) && !strcmp(gap->name, cause);
}

/* "in regions leaf: 40, outer: 2 and 3 more": who shares a cause, largest first. Who has all of it
 * needs no number: "in region leaf". */
static int tell_shares(const struct sp_gaps *gaps, const char *cause, size_t input,
		       void (*name)(const struct sp_gap *, char *, size_t), const char *what,
		       const char **between, FILE *out)
{
	struct share *all = calloc(gaps->n + 1, sizeof(*all));
	size_t n = 0, kept = 0;
	uint64_t sum = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < gaps->n; i++) {
		if (!is_of(&gaps->items[i], cause, input))
			continue;
		sum += gaps->items[i].count;
		all[n].count = gaps->items[i].count;
		name(&gaps->items[i], all[n].name, sizeof(all[n].name));
		n += all[n].name[0] != 0;
	}
	qsort(all, n, sizeof(*all), by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(all[kept].name, all[i].name))
			sp_add_capped(&all[kept].count, all[i].count);
		else
			all[++kept] = all[i];
	n = n ? kept + 1 : 0;
	qsort(all, n, sizeof(*all), by_count);
	if (n)
		fprintf(out, "%s%s%s", *between, what, sp_plural(n));
	for (size_t i = 0; i < n && i < MOST_NAMED; i++) {
		fprintf(out, "%s%s", i ? ", " : " ", all[i].name);
		if (all[i].count != sum)
			fprintf(out, ": %s", sp_show_count(all[i].count).text);
	}
	if (n > MOST_NAMED)
		fprintf(out, " and %zu more", n - MOST_NAMED);
	if (n)
		*between = "; ";
	free(all);
	return 0;
}

static void tell_times(const struct sp_gaps *gaps, const char *cause, size_t input, int64_t start,
		       const char *between, FILE *out)
{
	uint64_t first = UINT64_MAX, last = 0, origin = start > 0 ? (uint64_t)start : 0;

	for (size_t i = 0; i < gaps->n; i++) {
		const struct sp_gap *gap = &gaps->items[i];

		if (!is_of(gap, cause, input) || !gap->last)
			continue;
		first = gap->first < first ? gap->first : first;
		last = gap->last > last ? gap->last : last;
	}
	if (!last)
		return;
	if (first < origin)
		origin = first;
	if (first == last)
		fprintf(out, "%sat ", between);
	else
		fprintf(out, "%sfrom %.6f to ", between, (double)(first - origin) / 1e9);
	fprintf(out, "%.6f s%s", (double)(last - origin) / 1e9,
		start > 0 ? " of the run" : " of CLOCK_MONOTONIC");
}

char *sp_gaps_tell(const struct sp_gaps *gaps, const char *cause, size_t input, int64_t start)
{
	const char *between = "";
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int r;

	if (!out)
		return NULL;
	r = tell_shares(gaps, cause, input, name_cpu, "on CPU", &between, out);
	if (r == 0)
		r = tell_shares(gaps, cause, input, name_thread, "in thread", &between, out);
	if (r == 0)
		r = tell_shares(gaps, cause, input, name_region, "in region", &between, out);
	tell_times(gaps, cause, input, start, between, out);
	if (fclose(out) || r < 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* ---- what they touch ---- */

struct span {
	uint64_t first, last;
	int64_t thread; /* -1 any */
	uint32_t rank;	/* UINT32_MAX any */
};

struct sp_gap_spans {
	size_t n;
	struct span items[];
};

static int compare(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

static void join(struct span *into, const struct span *from)
{
	into->first = from->first < into->first ? from->first : into->first;
	into->last = from->last > into->last ? from->last : into->last;
	into->thread = into->thread == from->thread ? into->thread : -1;
	into->rank = into->rank == from->rank ? into->rank : UINT32_MAX;
}

int sp_gap_spans_new(const struct sp_gaps *gaps, enum sp_loss_of of, size_t input, size_t file,
		     struct sp_gap_spans **ret_spans)
{
	struct sp_gap_spans *spans = calloc(1, sizeof(*spans) + gaps->n * sizeof(spans->items[0]));

	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < gaps->n; i++) {
		const struct sp_gap *gap = &gaps->items[i];

		if (gap->region || gap->input != input || sp_loss_of(gap->cause) != of ||
		    (gap->index >= 0 && gap->file != file))
			continue;
		spans->items[spans->n++] = (struct span){
			.first = gap->last ? gap->first : 0,
			.last = gap->last ? gap->last : UINT64_MAX,
			.thread = gap->index,
			.rank = gap->rank,
		};
	}
	qsort(spans->items, spans->n, sizeof(spans->items[0]), compare);
	while (spans->n > MOST_SPANS) {
		size_t kept = 0;

		for (size_t i = 0; i < spans->n; i += 2) {
			spans->items[kept] = spans->items[i];
			if (i + 1 < spans->n)
				join(&spans->items[kept], &spans->items[i + 1]);
			kept++;
		}
		spans->n = kept;
	}
	*ret_spans = spans;
	return 0;
}

bool sp_gap_spans_empty(const struct sp_gap_spans *spans)
{
	return !spans->n;
}

bool sp_gap_spans_touch(const struct sp_gap_spans *spans, uint32_t rank, int64_t thread,
			int64_t start, int64_t end)
{
	uint64_t first = start < 0 ? 0 : (uint64_t)start,
		 last = end < start ? first : (uint64_t)end;

	for (size_t i = 0; i < spans->n; i++) {
		const struct span *span = &spans->items[i];

		if ((span->rank == UINT32_MAX || span->rank == rank) &&
		    (span->thread < 0 || thread < 0 || span->thread == thread) &&
		    first <= span->last && last >= span->first)
			return true;
	}
	return false;
}

int sp_gap_spans_touch_row(const struct sp_gap_spans *spans, struct sp_profile *profile,
			   uint32_t number, bool *ret, struct sp_error *error)
{
	const struct sp_row *row = sp_profile_row(profile, number);
	bool threads = sp_profile_info(profile)->columns & SP_CALLS_thread;
	struct sp_calls calls = {0};
	bool touched = sp_profile_info(profile)->aggregate;
	int64_t *buffer = malloc(3 * CHUNK * sizeof(*buffer));
	int r = 0;

	if (!buffer)
		return sp_error_set(error, -ENOMEM, 0, "out of memory");
	calls.start = buffer;
	calls.end = buffer + CHUNK;
	if (threads)
		calls.thread = buffer + 2 * CHUNK;
	for (uint64_t at = 0; r == 0 && at < row->stats.calls && !touched;) {
		size_t n = row->stats.calls - at < CHUNK ? (size_t)(row->stats.calls - at) : CHUNK;

		r = sp_profile_read_calls(profile, number, at, n, &calls, error);
		for (size_t i = 0; r == 0 && i < n && !touched; i++)
			touched =
				sp_gap_spans_touch(spans, row->rank, threads ? calls.thread[i] : -1,
						   calls.start[i], calls.end[i]);
		at += n;
	}
	free(buffer);
	*ret = touched;
	return r;
}

void sp_gap_spans_free(struct sp_gap_spans *spans)
{
	free(spans);
}
