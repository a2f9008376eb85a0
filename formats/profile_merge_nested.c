// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_merge_nested.c - ids, parents, depths and times of children of calls whose file has none,
 * from their nesting.
 *
 * They are computed for a rank at once, when its first row is read, and kept in a temporary file,
 * since the rows are read one after the other. Calls are numbered in order of entry, which gives a
 * parent a smaller id than its children.
 *
 * Invariant: what stands before a window's first call is in the file; what is in the window is not.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/profile_merge_internal.h"
#include "formats/profile_nest.h"
#include "formats/search.h"
#include "formats/util.h"

enum {
	BUDGET = 1 << 19, /* calls in the windows of all rows */
	LEAST = 16,
	MOST = 1 << 12,
};

struct nested_call {
	int64_t number, parent, child_ns;
	uint32_t depth, unused;
};

/* The last calls of a row that were entered. */
struct window {
	uint64_t before; /* calls of the rank in earlier rows: place in the file */
	uint64_t first;
	size_t used;
	struct nested_call *calls;
};

struct sp_merge_nested {
	int fd;
	bool filled;
	uint32_t rank; /* what it holds then */
	uint64_t overlaps;
	/* While it is being filled, and afterwards to find a row's place. */
	const uint32_t *rows;
	uint32_t n_rows;
	struct window *windows;
	size_t room; /* calls in a window */
	int failed;
	struct nested_call block[1024];
};

static int put(struct sp_merge_nested *nested, const void *data, size_t size, uint64_t offset)
{
	nested->failed = sp_pwrite_all(nested->fd, data, size, offset);
	return nested->failed;
}

static struct window *window_of(const struct sp_merge_nested *nested, uint32_t row)
{
	return &nested->windows[sp_search(nested->n_rows, i, nested->rows[i] < row)];
}

static int flush(struct sp_merge_nested *nested, struct window *window)
{
	int r = window->used ? put(nested, window->calls, window->used * sizeof(*window->calls),
				   (window->before + window->first) * sizeof(*window->calls))
			     : 0;

	window->first += window->used;
	window->used = 0;
	return r;
}

static int enter_call(void *data, const struct sp_nest_call *call)
{
	struct sp_merge_nested *nested = data;
	struct window *window = window_of(nested, call->row);
	struct nested_call made = {(int64_t)call->number, call->parent, 0, call->depth, 0};
	int r;

	if (call->index != window->first + window->used) { /* a row out of order */
		r = flush(nested, window);
		if (r)
			return r;
		window->first = call->index;
	}
	if (window->used == nested->room) {
		r = flush(nested, window);
		if (r)
			return r;
	}
	window->calls[window->used++] = made;
	return 0;
}

static int leave_call(void *data, const struct sp_nest_call *call)
{
	struct sp_merge_nested *nested = data;
	struct window *window = window_of(nested, call->row);

	if (!call->child_ns)
		return 0;
	if (call->index >= window->first && call->index - window->first < window->used) {
		window->calls[call->index - window->first].child_ns = call->child_ns;
		return 0;
	}
	return put(nested, &call->child_ns, sizeof(call->child_ns),
		   (window->before + call->index) * sizeof(struct nested_call) +
			   offsetof(struct nested_call, child_ns));
}

/* ---- filling ---- */

static void free_windows(struct sp_merge_nested *nested)
{
	for (uint32_t i = 0; nested->windows && i < nested->n_rows; i++)
		free(nested->windows[i].calls);
	free(nested->windows);
	nested->windows = NULL;
}

static int make_windows(struct sp_merge_nested *nested, struct sp_profile *profile)
{
	uint64_t before = 0;

	nested->room = BUDGET / ((size_t)nested->n_rows + 1);
	nested->room = nested->room < LEAST ? LEAST : nested->room > MOST ? MOST : nested->room;
	nested->windows = calloc((size_t)nested->n_rows + 1, sizeof(*nested->windows));
	if (!nested->windows)
		return -ENOMEM;
	for (uint32_t i = 0; i < nested->n_rows; i++) {
		uint64_t calls = profile->rows[nested->rows[i]].stats.calls;
		struct window *window = &nested->windows[i];

		window->before = before;
		before += calls;
		window->calls = calloc(calls < nested->room ? (size_t)calls + 1 : nested->room,
				       sizeof(*window->calls));
		if (!window->calls)
			return -ENOMEM;
	}
	return 0;
}

static int failed_file(struct sp_error *error, int code, const char *what)
{
	return sp_error_set(error, code, 0, "the temporary file for its nesting cannot be %s: %s",
			    what, strerror(-code));
}

/* In the merged profile, so that of calls that coincide the one of its earlier region is the outer
 * one. */
static int fill(struct sp_merge_nested *nested, struct sp_profile *profile, uint32_t rank,
		struct sp_error *error)
{
	struct sp_nest_visitor visitor = {enter_call, leave_call, nested};
	int r;

	nested->filled = false;
	nested->failed = 0;
	free_windows(nested);
	if (nested->fd < 0) {
		r = sp_temporary_open(&nested->fd, error);
		if (r)
			return r;
	} else if (ftruncate(nested->fd, 0)) {
		return failed_file(error, -errno, "emptied");
	}
	r = sp_profile_rows_of_rank(profile, rank, &nested->rows, &nested->n_rows, error);
	if (r)
		return r;
	if (make_windows(nested, profile))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_profile_nest(profile, rank, &visitor, &nested->overlaps, error);
	for (uint32_t i = 0; !r && i < nested->n_rows; i++)
		r = flush(nested, &nested->windows[i]);
	if (nested->failed)
		return failed_file(error, nested->failed, "written");
	if (r)
		return r;
	for (uint32_t i = 0; i < nested->n_rows; i++) {
		free(nested->windows[i].calls);
		nested->windows[i].calls = NULL;
	}
	nested->filled = true;
	nested->rank = rank;
	return 0;
}

/* ---- reading ---- */

static void copy_out(const struct sp_merge_nested *nested, const struct sp_merge_part *part,
		     size_t n, size_t at, const struct sp_calls *calls)
{
	for (size_t i = 0; i < n; i++) {
		const struct nested_call *call = &nested->block[i];

		if (calls->id && part->nested & SP_CALLS_id)
			calls->id[at + i] = call->number;
		if (calls->parent && part->nested & SP_CALLS_parent)
			calls->parent[at + i] = call->parent;
		if (calls->depth && part->nested & SP_CALLS_depth)
			calls->depth[at + i] =
				call->depth > UINT16_MAX ? UINT16_MAX : (uint16_t)call->depth;
		/* Where calls overlap, nobody knows what time is whose. */
		if (calls->child_ns && part->nested & SP_CALLS_child_ns)
			calls->child_ns[at + i] = nested->overlaps ? -1 : call->child_ns;
	}
}

static bool is_wanted(const struct sp_merge_part *part, const struct sp_calls *calls)
{
	return (calls->id && part->nested & SP_CALLS_id) ||
	       (calls->parent && part->nested & SP_CALLS_parent) ||
	       (calls->depth && part->nested & SP_CALLS_depth) ||
	       (calls->child_ns && part->nested & SP_CALLS_child_ns);
}

int sp_merge_fill_nested(struct sp_merge *merge, const struct sp_merge_part *part, uint32_t row,
			 uint64_t first, size_t n, const struct sp_calls *calls,
			 struct sp_error *error)
{
	uint32_t rank = merge->profile->rows[row].rank;
	struct sp_merge_nested *nested = merge->nested;
	enum { BLOCK = sizeof(nested->block) / sizeof(nested->block[0]) };
	int r = 0;

	if (!is_wanted(part, calls))
		return 0;
	if (!nested) {
		nested = merge->nested = calloc(1, sizeof(*nested));
		if (!nested)
			return sp_error_set(error, -ENOMEM, 0, "no memory");
		nested->fd = -1;
	}
	if (!nested->filled || nested->rank != rank) {
		r = fill(nested, merge->profile, rank, error);
		if (r)
			return r;
	}
	first += window_of(nested, row)->before;
	for (size_t at = 0; at < n; at += BLOCK) {
		size_t some = n - at < BLOCK ? n - at : BLOCK;

		r = sp_pread_all(nested->fd, nested->block, some * sizeof(*nested->block),
				 (first + at) * sizeof(*nested->block));
		if (r)
			return failed_file(error, r, "read");
		copy_out(nested, part, some, at, calls);
	}
	return 0;
}

void sp_merge_free_nested(struct sp_merge_nested *nested)
{
	if (!nested)
		return;
	free_windows(nested);
	if (nested->fd >= 0)
		close(nested->fd);
	free(nested);
}
