/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_runs.c - free runs, sorted by place and joined with their neighbours; closed ones wait in
 * a queue of their own. Few of either: a search is a walk.
 */
#include "loader/unwind_runs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"

struct run {
	uint64_t first, count;
	uint64_t open; /* ns; of closed ones */
};

struct list {
	struct run *runs;
	size_t count, room;
};

struct sp_unwind_runs {
	uint64_t boundary, places;
	struct list free, closed;
};

int sp_unwind_runs_new(uint64_t boundary, struct sp_unwind_runs **ret_runs)
{
	struct sp_unwind_runs *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->boundary = boundary;
	*ret_runs = r;
	return 0;
}

static int insert(struct list *list, size_t at, struct run run)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct run *more = realloc(list->runs, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->runs = more;
		list->room = room;
	}
	memmove(list->runs + at + 1, list->runs + at, (list->count - at) * sizeof(run));
	list->runs[at] = run;
	list->count++;
	return 0;
}

static void drop(struct list *list, size_t at)
{
	list->count--;
	memmove(list->runs + at, list->runs + at + 1, (list->count - at) * sizeof(list->runs[0]));
}

static int may_join(const struct sp_unwind_runs *r, const struct run *a, const struct run *b)
{
	return a->first + a->count == b->first && (!r->boundary || b->first % r->boundary);
}

static void free_now(struct sp_unwind_runs *r, struct run run)
{
	struct list *list = &r->free;
	size_t low = sp_search(list->count, i, list->runs[i].first < run.first);

	if (low < list->count && may_join(r, &run, &list->runs[low])) {
		list->runs[low].first = run.first;
		list->runs[low].count += run.count;
	} else if (insert(list, low, run) < 0) {
		r->places -= run.count;
		return;
	}
	if (low && may_join(r, &list->runs[low - 1], &list->runs[low])) {
		list->runs[low - 1].count += list->runs[low].count;
		drop(list, low);
	}
}

static void open_closed(struct sp_unwind_runs *r, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->closed.count; i++)
		if (r->closed.runs[i].open <= now)
			free_now(r, r->closed.runs[i]);
		else
			r->closed.runs[kept++] = r->closed.runs[i];
	r->closed.count = kept;
}

int sp_unwind_runs_take(struct sp_unwind_runs *r, uint64_t count, uint64_t now, uint64_t *ret_first)
{
	if (r->closed.count)
		open_closed(r, now);
	for (size_t i = 0; i < r->free.count; i++) {
		struct run *run = &r->free.runs[i];

		if (run->count < count)
			continue;
		*ret_first = run->first;
		run->first += count;
		run->count -= count;
		r->places -= count;
		if (!run->count)
			drop(&r->free, i);
		return 0;
	}
	return r->closed.count ? -EAGAIN : -ENOSPC;
}

void sp_unwind_runs_give(struct sp_unwind_runs *r, uint64_t first, uint64_t count, uint64_t open)
{
	struct run run = {first, count, open};

	if (!count)
		return;
	r->places += count;
	if (!open)
		free_now(r, run);
	else if (insert(&r->closed, r->closed.count, run) < 0)
		r->places -= count;
}

uint64_t sp_unwind_runs_free_places(const struct sp_unwind_runs *r)
{
	return r->places;
}

void sp_unwind_runs_free(struct sp_unwind_runs *r)
{
	if (!r)
		return;
	free(r->free.runs);
	free(r->closed.runs);
	free(r);
}
