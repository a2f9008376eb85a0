/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_annotate.c - gathers the samples of a source file's lines, and prints them beside its text.
 *
 * A file may go by several names (-I. and -I../src): they are one if they are equal when made
 * plain. What is printed as text was escaped; tabs become blanks before.
 */
#include "userspace/cmd/lines_annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/json.h"
#include "userspace/base/log.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/sample_notes.h"

#define TAB 8
#define HOT 0.1
#define WARM 0.01

struct annotated_line {
	uint32_t line;
	uint64_t samples;
};

/* One file in one listing. */
struct listing {
	const char *region; /* NULL: of all that is shown */
	bool all;
	char *path;	   /* plain */
	const char *file;  /* as debug information has it */
	const char *asked; /* as the user has it */
	struct timespec built;
	uint64_t samples, total;      /* in the file; in what the listing is of */
	struct annotated_line *lines; /* ascending */
	size_t n_lines, room;
};

struct listings {
	struct listing *all;
	size_t n, room;
};

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

/* ---- text ---- */

/* A line of the file with its tabs as blanks, safe to print. */
static char *show_text(const char *text)
{
	size_t room = strlen(text) * TAB + 1, used = 0, columns = 0;
	sp_cleanup(sp_freep) char *wide = malloc(room);

	if (!wide)
		return NULL;
	for (; *text; text++) {
		if (*text != '\t') {
			wide[used++] = *text;
			columns += ((unsigned char)*text & 0xc0) != 0x80;
			continue;
		}
		do
			wide[used++] = ' ';
		while (++columns % TAB);
	}
	wide[used] = '\0';
	return sp_text_escape(wide);
}

static uint64_t samples_at(const struct listing *listing, size_t *at, uint32_t line)
{
	while (*at < listing->n_lines && listing->lines[*at].line < line)
		++*at;
	return *at < listing->n_lines && listing->lines[*at].line == line
		       ? listing->lines[*at].samples
		       : 0;
}

/* True if the line is near one with samples; @next is the first of these at or behind it. */
static bool is_near(const struct listing *listing, size_t next, uint32_t line, size_t context)
{
	return context == SP_ANNOTATE_ALL ||
	       (next < listing->n_lines && listing->lines[next].line - line <= context) ||
	       (next > 0 && line - listing->lines[next - 1].line <= context);
}

struct columns {
	int samples, line;
	bool colours;
};

static void print_line(const struct listing *listing, const struct columns *columns, uint32_t line,
		       uint64_t samples, const char *text)
{
	double share = (double)samples / (double)listing->total;
	const char *colour = !columns->colours || !samples ? ""
			     : share >= HOT		   ? "\033[1;31m"
			     : share >= WARM		   ? "\033[33m"
							   : "";
	sp_cleanup(sp_freep) char *shown = show_text(text);

	if (samples)
		printf("%s%*s  %7s", colour, columns->samples, sp_show_count(samples).text,
		       sp_show_share(share).text);
	else
		printf("%*s", columns->samples + 9, "");
	printf("  %*" PRIu32, columns->line, line);
	if (shown && *shown)
		printf("  %s", shown);
	printf("%s\n", *colour ? "\033[0m" : "");
}

static int digits(uint64_t number)
{
	int n = 1;

	while (number /= 10)
		n++;
	return n;
}

/* Of a file without its text: the lines with samples alone. */
static void print_lines(const struct listing *listing, const struct columns *columns, size_t from)
{
	for (size_t i = from; i < listing->n_lines; i++)
		print_line(listing, columns, listing->lines[i].line, listing->lines[i].samples, "");
}

static void print_file(const struct listing *listing, const struct columns *columns,
		       const char *const *text, size_t n_lines, size_t context)
{
	size_t next = 0;
	bool left_out = false;

	for (size_t i = 0; i < n_lines && i < UINT32_MAX - 1; i++) {
		uint32_t line = (uint32_t)i + 1;
		uint64_t samples = samples_at(listing, &next, line);

		if (!is_near(listing, next, line, context)) {
			left_out = true;
			continue;
		}
		if (left_out)
			printf("%*s…\n", columns->samples + 10 + columns->line, "");
		left_out = false;
		print_line(listing, columns, line, samples, text[i]);
	}
	while (next < listing->n_lines && listing->lines[next].line <= n_lines)
		next++;
	print_lines(listing, columns, next);
}

/* The file that debug information names or, if it is not there, the one that the user did. */
static enum sp_source_state find_text(const struct sp_annotate *annotate,
				      const struct listing *listing, const char *const **ret_text,
				      size_t *ret_n)
{
	struct sp_sources *sources = annotate->view->sources;
	enum sp_source_state state = SP_SOURCE_MISSING;

	*ret_n = 0;
	if (!sources)
		return state;
	state = sp_sources_file(sources, listing->path, listing->built, ret_text, ret_n);
	if (state == SP_SOURCE_MISSING)
		state = sp_sources_file(sources, listing->asked, listing->built, ret_text, ret_n);
	return state;
}

static void show_listing(const struct sp_annotate *annotate, const struct listing *listing)
{
	const char *const *text = NULL;
	size_t n_lines = 0;
	enum sp_source_state state = find_text(annotate, listing, &text, &n_lines);
	struct columns columns = {7, 4, sp_has_colours(stdout)};
	uint32_t last = listing->n_lines ? listing->lines[listing->n_lines - 1].line : 0;

	for (size_t i = 0; i < listing->n_lines; i++) {
		int width = (int)strlen(sp_show_count(listing->lines[i].samples).text);

		columns.samples = width > columns.samples ? width : columns.samples;
	}
	if (digits(n_lines > last ? n_lines : last) > columns.line)
		columns.line = digits(n_lines > last ? n_lines : last);
	printf("\n%s", columns.colours ? "\033[1m" : "");
	sp_text_print(stdout, listing->path);
	printf("%s", columns.colours ? "\033[0m" : "");
	if (!listing->all) {
		fputs("  ", stdout);
		sp_text_print(stdout, listing->region ? listing->region : SP_LINES_NO_REGION_NAME);
	}
	printf("  %s of %s sample%s, %s\n", sp_show_count(listing->samples).text,
	       sp_show_count(listing->total).text, listing->total == 1 ? "" : "s",
	       sp_show_share((double)listing->samples / (double)listing->total).text);
	if (state == SP_SOURCE_NEWER)
		sp_sample_note(stdout,
			       "this file was changed after the program was built: its lines may "
			       "have moved");
	else if (state == SP_SOURCE_MISSING && annotate->view->sources)
		sp_sample_note(stdout, "there is no such file here: only lines with samples are "
				       "shown");
	printf("%*s  %7s  %*s\n", columns.samples, "samples", "share", columns.line, "line");
	print_file(listing, &columns, text, n_lines, annotate->context);
}

/* ---- JSON and CSV ---- */

static void write_json(const struct sp_annotate *annotate, const struct listings *listings)
{
	static const char *const states[] = {
		[SP_SOURCE_FOUND] = "found",
		[SP_SOURCE_MISSING] = "missing",
		[SP_SOURCE_NEWER] = "changed",
	};
	struct sp_json json = {.out = stdout};

	sp_json_open_object(&json, NULL);
	sp_json_open_array(&json, "files");
	for (size_t i = 0; i < listings->n; i++) {
		const struct listing *listing = &listings->all[i];
		const char *const *text = NULL;
		size_t n = 0;
		enum sp_source_state state = find_text(annotate, listing, &text, &n);

		sp_json_open_object(&json, NULL);
		sp_json_text(&json, "file", listing->path);
		if (!listing->all)
			sp_json_text(&json, "region", listing->region);
		sp_json_unsigned(&json, "samples", listing->samples);
		sp_json_unsigned(&json, "samples_in_all", listing->total);
		sp_json_text(&json, "source", states[state]);
		sp_json_open_array(&json, "lines");
		for (size_t k = 0; k < listing->n_lines; k++) {
			const struct annotated_line *line = &listing->lines[k];

			sp_json_open_object(&json, NULL);
			sp_json_unsigned(&json, "line", line->line);
			sp_json_unsigned(&json, "samples", line->samples);
			sp_json_real(&json, "share",
				     (double)line->samples / (double)listing->total);
			if (line->line <= n)
				sp_json_text(&json, "source", text[line->line - 1]);
			sp_json_close_object(&json);
		}
		sp_json_close_array(&json);
		sp_json_close_object(&json);
	}
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	sp_json_end(&json);
}

static void write_csv(const struct sp_annotate *annotate, const struct listings *listings)
{
	puts("region,file,line,samples,share,source");
	for (size_t i = 0; i < listings->n; i++) {
		const struct listing *listing = &listings->all[i];
		const char *const *text = NULL;
		size_t n = 0;

		find_text(annotate, listing, &text, &n);
		for (size_t k = 0; k < listing->n_lines; k++) {
			const struct annotated_line *line = &listing->lines[k];

			sp_report_csv_text(stdout, listing->all	     ? ""
						   : listing->region ? listing->region
								     : SP_LINES_NO_REGION_NAME);
			putchar(',');
			sp_report_csv_text(stdout, listing->path);
			printf(",%" PRIu32 ",%" PRIu64 ",%.6f,", line->line, line->samples,
			       (double)line->samples / (double)listing->total);
			sp_report_csv_source(stdout, line->line <= n ? text[line->line - 1] : "");
			putchar('\n');
		}
	}
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
		write_json(annotate, &listings);
	} else if (annotate->csv) {
		write_csv(annotate, &listings);
	} else {
		sp_lines_show_notes(annotate->view);
		for (size_t i = 0; i < listings.n; i++)
			show_listing(annotate, &listings.all[i]);
	}
	return 0;
}
