/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_table.c - line profiles for people.
 *
 * Texts of others go through sp_text_escape before they are measured or printed. Nothing is cut
 * unless the output is a terminal, but for very long names of functions. Rows are folded
 * (lines_fold.h) before the hottest are chosen.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/lines_fold.h"
#include "userspace/cmd/lines_view.h"
#include "userspace/cmd/sample_losses.h"
#include "userspace/cmd/sample_notes.h"

#define MAX_FUNCTION 48 /* columns */
#define MIN_FUNCTION 20
#define MIN_SOURCE 10
#define BEFORE_FUNCTION 44 /* columns, with a place of 22 */

struct style {
	bool colour;
	size_t width; /* of the terminal, 0 none */
};

/* A row as it is printed. Texts are safe. */
struct printed {
	struct sp_shown samples, share;
	char *place, *source;
	const char *function;
};

static struct style find_style(void)
{
	const char *terminal = getenv("TERM");
	struct style style = {0};
	struct winsize size;

	if (!isatty(STDOUT_FILENO))
		return style;
	style.colour = !getenv("NO_COLOR") && terminal && strcmp(terminal, "dumb");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		style.width = size.ws_col;
	return style;
}

/* ---- what to know before reading the tables ---- */

static void note_kernel(const struct sp_sample_files *files, FILE *out)
{
	if (files->in_kernel)
		sp_sample_note(
			out,
			"%s of the samples were in the kernel; they count for the line that "
			"went there",
			sp_show_share((double)files->in_kernel / (double)files->samples).text);
}

static uint64_t module_samples(const void *data, uint32_t module)
{
	return sp_lines_module_samples(data, module);
}

static void note_sources(const struct sp_lines_view *view)
{
	const char *told = NULL;

	for (size_t i = 0; i < view->n_regions; i++)
		for (size_t k = 0; k < view->regions[i]->n_rows && k < view->top; k++) {
			const struct sp_lines_row *row = &view->regions[i]->rows[k];
			enum sp_source_state state;

			sp_lines_source(view, row, &state);
			if (state != SP_SOURCE_NEWER || row->file == told)
				continue;
			sp_sample_note(
				stdout,
				"%s was changed after the program was built: its text is not shown",
				row->file);
			told = row->file;
		}
	if (view->sources && sp_sources_silent(view->sources))
		sp_sample_note(stdout,
			       "the file system of %s does not answer: its text is not shown",
			       sp_sources_silent(view->sources));
}

/* ---- tables ---- */

/* "file.c:12", with the directory's name where another row has a file of that name. */
static char *show_place(const struct sp_lines_folded *rows, size_t n_rows, size_t row)
{
	const struct sp_lines_row *this = rows[row].row;
	const char *name = this ? sp_base_name(this->file) : NULL;
	sp_cleanup(sp_freep) char *text = NULL;

	if (!this)
		return strdup("-");
	for (size_t i = 0; i < n_rows; i++)
		if (rows[i].row && strcmp(rows[i].row->file, this->file) &&
		    !strcmp(sp_base_name(rows[i].row->file), name)) {
			while (name > this->file && name[-1] == '/')
				name--;
			while (name > this->file && name[-1] != '/')
				name--;
			break;
		}
	if (asprintf(&text, "%s:%" PRIu32, name, this->line) < 0) {
		text = NULL;
		return NULL;
	}
	return sp_text_escape(text);
}

static bool print_row(const struct sp_lines_view *view, const struct sp_lines_region *region,
		      const struct sp_lines_folded *rows, size_t n_rows, size_t row,
		      struct printed *printed)
{
	enum sp_source_state state;

	printed->samples = sp_show_count(rows[row].samples);
	printed->share = sp_show_share((double)rows[row].samples / (double)region->samples);
	printed->place = show_place(rows, n_rows, row);
	printed->function = rows[row].function;
	printed->source =
		sp_text_escape(rows[row].row ? sp_lines_source(view, rows[row].row, &state) : "");
	return printed->place && printed->source;
}

/* Prints a safe text, at most @width columns of it, and blanks up to them. */
static void put_left(const char *text, size_t width)
{
	size_t columns = sp_text_width(text), bytes = strlen(text);

	if (columns > width) {
		bytes = sp_text_fit(text, width - 1);
		printf("%.*s…", (int)bytes, text);
		return;
	}
	printf("%s%*s", text, (int)(width - columns), "");
}

static size_t widest(size_t least, size_t columns)
{
	return columns > least ? columns : least;
}

static void print_table(const struct style *style, const struct printed *rows, size_t n)
{
	size_t samples = 7, place = 4, function = 8, used;
	bool source = false;

	for (size_t i = 0; i < n; i++) {
		samples = widest(samples, strlen(rows[i].samples.text));
		place = widest(place, sp_text_width(rows[i].place));
		function = widest(function, sp_text_width(rows[i].function));
		source = source || *rows[i].source;
	}
	used = samples + 7 + place + function + 10;
	source = source && (!style->width || style->width > used + MIN_SOURCE);
	printf("  %*s  %7s  ", (int)samples, "samples", "share");
	put_left("line", place);
	printf("  ");
	put_left("function", source ? function : 8);
	printf("%s\n", source ? "  source" : "");
	for (size_t i = 0; i < n; i++) {
		printf("  %*s  %7s  ", (int)samples, rows[i].samples.text, rows[i].share.text);
		put_left(rows[i].place, place);
		printf("  ");
		put_left(rows[i].function,
			 source && *rows[i].source ? function : sp_text_width(rows[i].function));
		if (source && *rows[i].source) {
			printf("  ");
			if (style->width && sp_text_width(rows[i].source) > style->width - used)
				put_left(rows[i].source, style->width - used);
			else
				fputs(rows[i].source, stdout);
		}
		putchar('\n');
	}
}

/* Room for a function's name, so that a row with a place of usual length fits the terminal. */
static size_t function_columns(const struct style *style)
{
	size_t room = style->width > BEFORE_FUNCTION ? style->width - BEFORE_FUNCTION : 0;

	if (!style->width || room > MAX_FUNCTION)
		return MAX_FUNCTION;
	return widest(MIN_FUNCTION, room);
}

static void show_rows(const struct style *style, const struct sp_lines_view *view,
		      const struct sp_lines_region *region, const struct sp_lines_folded *folded,
		      size_t n_folded)
{
	size_t n = n_folded < view->top ? n_folded : view->top;
	struct printed *rows = calloc(n + 1, sizeof(*rows));
	uint64_t rest = region->samples;
	bool complete = rows != NULL;

	for (size_t i = 0; i < n && complete; i++) {
		complete = print_row(view, region, folded, n, i, &rows[i]);
		rest -= folded[i].samples;
	}
	if (complete)
		print_table(style, rows, n);
	else
		puts("  (out of memory)");
	if (complete && rest)
		printf("  and %s in %s more line%s (--top 0 shows all)\n", sp_show_count(rest).text,
		       sp_show_count(n_folded - n).text, sp_plural(n_folded - n));
	for (size_t i = 0; rows && i < n; i++) {
		free(rows[i].place);
		free(rows[i].source);
	}
	free(rows);
}

static void show_region(const struct style *style, const struct sp_lines_view *view,
			const struct sp_lines_region *region)
{
	struct sp_missing missing = sp_sample_gaps_of(&view->input->files.gaps, region->name);
	size_t n = 0;
	struct sp_lines_folded *folded =
		sp_lines_fold(region, view->wide ? SP_LINES_WHOLE : function_columns(style), &n);

	printf("\n%s", style->colour ? "\033[1m" : "");
	sp_text_print(stdout,
		      region->name ? sp_region_shown(region->name) : SP_LINES_NO_REGION_NAME);
	printf("%s  %s sample%s, %s of all%s%s\n", style->colour ? "\033[0m" : "",
	       sp_show_count(region->samples).text, sp_plural(region->samples),
	       sp_show_share((double)region->samples / (double)view->input->files.samples).text,
	       sp_missing_any(&missing) ? "; missing: " : "", sp_missing_tell(&missing).text);
	if (folded)
		show_rows(style, view, region, folded, n);
	else
		puts("  (out of memory)");
	sp_lines_folded_free(folded, n);
}

/* Lines of programs that are not there any more. */
static void note_stored(const struct sp_sample_modules_note *note, FILE *out)
{
	for (uint32_t i = 0; i < sp_symbols_n_modules(note->symbols); i++) {
		const struct sp_symbols_module *module = sp_symbols_module(note->symbols, i);

		if (!sp_sample_module_samples(note, i))
			continue;
		if (module->status == SP_SYMBOLS_CHANGED)
			sp_sample_note(out, "%s is not the build that was recorded (%s)",
				       module->path, module->reason);
		else if (module->status == SP_SYMBOLS_MISSING)
			sp_sample_note(out, "%s cannot be read (%s)", module->path, module->reason);
	}
	sp_sample_note(out,
		       "so all lines are those that were found when the recording was made, and "
		       "stand in its files; --innermost, --outermost and --own would need the "
		       "programs that ran (sp-trace --archive keeps them)");
}

void sp_lines_note_modules(const struct sp_lines_view *view, FILE *out)
{
	const struct sp_lines_input *input = view->input;
	struct sp_sample_modules_note modules = {
		.files = &input->files,
		.symbols = input->symbols,
		.samples_of = module_samples,
		.data = input->lines,
		.lacking = "lines",
		.shown = "??:0",
	};

	if (input->stored)
		note_stored(&modules, out);
	else
		sp_sample_note_modules(out, &modules);
	if (input->files.samples && !input->stored &&
	    sp_lines_module_samples(input->lines, SP_LINES_NO_MODULE) == input->files.samples)
		sp_sample_note(out, "no sample has an address in a file, so none has a line: was "
				    "it recorded with --stacks none? --stacks leaf is enough for "
				    "lines");
}

void sp_lines_note(const struct sp_lines_view *view, FILE *out)
{
	const struct sp_sample_files *files = &view->input->files;

	sp_sample_note_losses(out, files);
	sp_sample_note_outside(out, files);
	sp_sample_note_other(out, files, "lines");
	note_kernel(files, out);
	sp_lines_note_modules(view, out);
}

void sp_lines_show_notes(const struct sp_lines_view *view)
{
	const struct sp_sample_files *files = &view->input->files;

	sp_lines_note(view, stdout);
	printf("%s sample%s", sp_show_count(files->samples).text, sp_plural(files->samples));
	if (files->hz > 0)
		printf(" at %" PRId64 " Hz", files->hz);
	printf(" from %zu %s\n", files->n, files->n == 1 ? "file" : "files");
}

void sp_lines_show(const struct sp_lines_view *view)
{
	struct style style = find_style();

	if (view->wide)
		style.width = 0;
	note_sources(view);
	sp_lines_show_notes(view);
	for (size_t i = 0; i < view->n_regions; i++)
		show_region(&style, view, view->regions[i]);
}
