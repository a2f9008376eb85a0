/* SPDX-License-Identifier: BSD-2-Clause
 *
 * table.c - see table.h.
 */
#include "userspace/base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

#define MAX_COLUMNS 24
#define LEAST_WIDTH 12 /* that a cut column keeps */

struct sp_table {
	struct {
		const char *title;
		enum sp_table_align align;
	} columns[MAX_COLUMNS];
	size_t n_columns;
	char **cells;
	size_t n_cells, room;
	bool failed;
};

struct sp_table *sp_table_new(void)
{
	return calloc(1, sizeof(struct sp_table));
}

void sp_table_free(struct sp_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void sp_table_column(struct sp_table *table, const char *title, enum sp_table_align align)
{
	if (table->n_columns == MAX_COLUMNS || table->n_cells) {
		table->failed = true;
		return;
	}
	table->columns[table->n_columns].title = title;
	table->columns[table->n_columns++].align = align;
}

void sp_table_cell(struct sp_table *table, const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL;
	char **cell = sp_array_add(&table->cells, &table->n_cells, &table->room);
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	if (cell && text)
		*cell = sp_text_escape(text);
	if (!cell || !*cell)
		table->failed = true;
}

bool sp_has_colours(FILE *out)
{
	const char *terminal = getenv("TERM");

	return isatty(fileno(out)) && !getenv("NO_COLOR") && terminal &&
	       strcmp(terminal, "dumb") != 0;
}

size_t sp_terminal_width(FILE *out)
{
	struct winsize size;

	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

static void measure(const struct sp_table *table, size_t *widths, size_t limit)
{
	size_t sum = 0, widest = MAX_COLUMNS;

	for (size_t i = 0; i < table->n_columns; i++)
		widths[i] = sp_text_width(table->columns[i].title);
	for (size_t i = 0; i < table->n_cells; i++) {
		size_t width = sp_text_width(table->cells[i]), column = i % table->n_columns;

		if (width > widths[column])
			widths[column] = width;
	}
	for (size_t i = 0; i < table->n_columns; i++) {
		sum += widths[i] + (i > 0) * 2;
		if (table->columns[i].align == SP_TABLE_LEFT &&
		    (widest == MAX_COLUMNS || widths[i] > widths[widest]))
			widest = i;
	}
	if (limit && sum > limit && widest != MAX_COLUMNS) {
		size_t excess = sum - limit, most = widths[widest];

		most = most > LEAST_WIDTH ? most - LEAST_WIDTH : 0;
		widths[widest] -= excess < most ? excess : most;
	}
}

/* @blanks: owed by the cells before; a line has none at its end. */
static void print_cell(const struct sp_table *table, size_t column, const char *text, size_t width,
		       size_t *blanks, FILE *out)
{
	size_t used = sp_text_width(text), pad;
	bool cut = used > width, right = table->columns[column].align == SP_TABLE_RIGHT;
	size_t bytes = cut ? sp_text_fit(text, width - 1) : strlen(text);

	if (cut) {
		sp_cleanup(sp_freep) char *kept = strndup(text, bytes);

		used = (kept ? sp_text_width(kept) : width - 1) + 1;
	}
	pad = used < width ? width - used : 0;
	*blanks += (column ? 2 : 0) + (right ? pad : 0);
	if (*text) {
		fprintf(out, "%*s", (int)*blanks, "");
		fwrite(text, 1, bytes, out);
		*blanks = 0;
	}
	if (cut)
		fputs("\xe2\x80\xa6", out);
	*blanks += right ? 0 : pad;
	if (column + 1 == table->n_columns) {
		fputs("\n", out);
		*blanks = 0;
	}
}

int sp_table_print(const struct sp_table *table, FILE *out)
{
	size_t widths[MAX_COLUMNS] = {0}, blanks = 0;
	bool bold = sp_has_colours(out);

	if (table->failed || !table->n_columns)
		return -ENOMEM;
	measure(table, widths, sp_terminal_width(out));
	if (bold)
		fputs("\033[1m", out);
	for (size_t i = 0; i < table->n_columns; i++)
		print_cell(table, i, table->columns[i].title, widths[i], &blanks, out);
	if (bold)
		fputs("\033[0m", out);
	for (size_t i = 0; i < table->n_cells; i++)
		print_cell(table, i % table->n_columns, table->cells[i],
			   widths[i % table->n_columns], &blanks, out);
	return 0;
}
