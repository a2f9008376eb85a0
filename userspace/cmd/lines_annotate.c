/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_annotate.c - gathers the samples of a source file's lines.
 *
 * A file may go by several names (-I. and -I../src): they are one if they are equal when made
 * plain.
 */
#include "userspace/cmd/lines_annotate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/cmd/lines_listing.h"

static void listings_done(struct listings *listings)
{
	for (size_t i = 0; i < listings->n; i++) {
		free(listings->all[i].path);
		free(listings->all[i].lines);
	}
	free(listings->all);
}

/* ---- gathering ---- */

/* True if the path ends with @end, from the beginning of a name on. */
static bool ends_with(const char *path, const char *end)
{
	size_t length = strlen(path), n = strlen(end);

	return n && length >= n && !strcmp(path + length - n, end) &&
	       (length == n || end[0] == '/' || path[length - n - 1] == '/');
}

static struct listing *find_listing(struct listings *listings, size_t from, const char *path)
{
	for (size_t i = from; i < listings->n; i++)
		if (!strcmp(listings->all[i].path, path))
			return &listings->all[i];
	return NULL;
}

static int add_row(struct listing *listing, const struct sp_lines_row *row)
{
	struct annotated_line *line =
		sp_array_add(&listing->lines, &listing->n_lines, &listing->room);

	if (!line)
		return -ENOMEM;
	*line = (struct annotated_line){row->line, row->samples};
	listing->samples += row->samples;
	if (row->built.tv_sec &&
	    (!listing->built.tv_sec || row->built.tv_sec < listing->built.tv_sec))
		listing->built = row->built;
	return 0;
}

/* Adds the rows of a region to the listings from number @from on. */
static int add_region(const struct sp_annotate *annotate, struct listings *listings, size_t from,
		      const struct sp_lines_region *region)
{
	for (size_t i = 0; i < region->n_rows; i++) {
		const struct sp_lines_row *row = &region->rows[i];
		sp_cleanup(sp_freep) char *path = row->line ? sp_own_plain(row->file) : NULL;
		struct listing *listing;
		size_t asked = 0;
		int r;

		if (!row->line)
			continue;
		if (!path)
			return -ENOMEM;
		while (asked < annotate->n_files && !ends_with(path, annotate->files[asked]))
			asked++;
		if (asked == annotate->n_files)
			continue;
		listing = find_listing(listings, from, path);
		if (!listing) {
			listing = sp_array_add(&listings->all, &listings->n, &listings->room);
			if (!listing)
				return -ENOMEM;
			listing->path = sp_take(path);
			listing->file = row->file;
			listing->asked = annotate->files[asked];
			listing->all = !annotate->each_region;
			listing->region = annotate->each_region ? region->name : NULL;
		}
		r = add_row(listing, row);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct annotated_line *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

static void join_lines(struct listing *listing)
{
	size_t kept = 0;

	qsort(listing->lines, listing->n_lines, sizeof(*listing->lines), compare_lines);
	for (size_t i = 0; i < listing->n_lines; i++) {
		if (kept && listing->lines[kept - 1].line == listing->lines[i].line)
			listing->lines[kept - 1].samples += listing->lines[i].samples;
		else
			listing->lines[kept++] = listing->lines[i];
	}
	listing->n_lines = kept;
}

static int gather(const struct sp_annotate *annotate, struct listings *listings)
{
	const struct sp_lines_view *view = annotate->view;
	uint64_t total = 0;
	int r = 0;

	for (size_t i = 0; i < view->n_regions && r == 0; i++) {
		size_t from = annotate->each_region ? listings->n : 0;

		total = (annotate->each_region ? 0 : total) + view->regions[i]->samples;
		r = add_region(annotate, listings, from, view->regions[i]);
		for (size_t k = from; k < listings->n; k++)
			listings->all[k].total = total;
	}
	for (size_t i = 0; i < listings->n; i++)
		join_lines(&listings->all[i]);
	return r;
}

/* ---- all ---- */

/* Each file that was asked for must be one with samples: a slip of the finger is told. */
static int check_found(const struct sp_annotate *annotate, const struct listings *listings)
{
	for (size_t i = 0; i < annotate->n_files; i++) {
		bool found = false;

		for (size_t k = 0; k < listings->n && !found; k++)
			found = ends_with(listings->all[k].path, annotate->files[i]);
		if (found)
			continue;
		sp_lines_note_modules(annotate->view, stderr);
		sp_log_error("no sample counts for a line of a file %s", annotate->files[i]);
		if (annotate->other)
			sp_log_hint("Inlined code counts for your own code that called it: %s "
				    "shows where it was written.",
				    annotate->other);
		return -ENOENT;
	}
	return 0;
}

static int compare_listings(const void *a, const void *b)
{
	const struct listing *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return strcmp(x->path, y->path);
}

int sp_annotate_show(const struct sp_annotate *annotate)
{
	sp_cleanup(listings_done) struct listings listings = {0};
	int r = gather(annotate, &listings);

	if (r < 0) {
		sp_log_error("out of memory");
		return r;
	}
	r = check_found(annotate, &listings);
	if (r < 0)
		return r;
	if (!annotate->each_region)
		qsort(listings.all, listings.n, sizeof(*listings.all), compare_listings);
	if (annotate->json) {
		sp_listings_write_json(annotate, &listings);
	} else if (annotate->csv) {
		sp_listings_write_csv(annotate, &listings);
	} else {
		sp_lines_show_notes(annotate->view);
		for (size_t i = 0; i < listings.n; i++)
			sp_listing_show(annotate, &listings.all[i]);
	}
	return 0;
}
