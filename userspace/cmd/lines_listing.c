/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_listing.c - source files with samples in the margin: for people, as JSON, as CSV.
 *
 * What is printed as text was escaped; tabs become blanks before.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/json.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/lines_listing.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/sample_notes.h"

#define TAB 8
#define HOT 0.1
#define WARM 0.01

/* The text of a listing's file: the one that debug information names or, if it is not there, the
 * one that the user did. */
static enum sp_source_state text_of(const struct sp_annotate *annotate,
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

void sp_listing_show(const struct sp_annotate *annotate, const struct listing *listing)
{
	const char *const *text = NULL;
	size_t n_lines = 0;
	enum sp_source_state state = text_of(annotate, listing, &text, &n_lines);
	struct columns columns = {7, 4, sp_has_colours(stdout)};
	uint32_t last = listing->n_lines ? listing->lines[listing->n_lines - 1].line : 0;
	const char *silent =
		annotate->view->sources ? sp_sources_silent(annotate->view->sources) : NULL;

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
		sp_text_print(stdout, listing->region ? sp_region_shown(listing->region)
						      : SP_LINES_NO_REGION_NAME);
	}
	printf("  %s of %s sample%s, %s\n", sp_show_count(listing->samples).text,
	       sp_show_count(listing->total).text, sp_plural(listing->total),
	       sp_show_share((double)listing->samples / (double)listing->total).text);
	if (state == SP_SOURCE_NEWER)
		sp_sample_note(stdout,
			       "this file was changed after the program was built: its lines may "
			       "have moved");
	else if (state == SP_SOURCE_MISSING && silent)
		sp_sample_note(stdout,
			       "this file cannot be read (the file system of %s does not answer): "
			       "only lines with samples are shown",
			       silent);
	else if (state == SP_SOURCE_MISSING && annotate->view->sources)
		sp_sample_note(stdout, "there is no such file here: only lines with samples are "
				       "shown");
	printf("%*s  %7s  %*s\n", columns.samples, "samples", "share", columns.line, "line");
	print_file(listing, &columns, text, n_lines, annotate->context);
}

/* ---- JSON and CSV ---- */

void sp_listings_write_json(const struct sp_annotate *annotate, const struct listings *listings)
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
		enum sp_source_state state = text_of(annotate, listing, &text, &n);

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

void sp_listings_write_csv(const struct sp_annotate *annotate, const struct listings *listings)
{
	puts("region,file,line,samples,share,source");
	for (size_t i = 0; i < listings->n; i++) {
		const struct listing *listing = &listings->all[i];
		const char *const *text = NULL;
		size_t n = 0;

		text_of(annotate, listing, &text, &n);
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
