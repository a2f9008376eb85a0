/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_fold.c - see lines_fold.h.
 */
#include "userspace/cmd/lines_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/analysis/probes.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

static bool is_probe(const struct sp_lines_row *row)
{
	struct sp_frame frame = {.function = row->function, .raw = row->raw, .file = row->file};

	return sp_is_probe(&frame, row->module);
}

/* The function, and where its line is unknown also whose it is. */
static char *name_of(const struct sp_lines_row *row, size_t columns)
{
	sp_cleanup(sp_freep) char *text = NULL, *name = NULL;

	bool bracketed = row->module && row->module[0] == '['; /* [vdso] and its like, no files */

	if (bracketed && !strcmp(row->function, "??"))
		return sp_text_escape(row->module);
	name = columns == SP_LINES_WHOLE ? strdup(row->function) : sp_name_shorten(row->function);
	if (!name || !row->module)
		return name ? sp_text_escape(name) : NULL;
	if (asprintf(&text, bracketed ? "%s %s" : "%s [%s]", name, sp_base_name(row->module)) < 0) {
		text = NULL;
		return NULL;
	}
	return sp_text_escape(text);
}

static char *show_function(const struct sp_lines_row *row, size_t columns)
{
	sp_cleanup(sp_freep) char *name = name_of(row, columns);
	char *cut = NULL;

	if (!name || sp_text_width(name) <= columns)
		return name ? strdup(name) : NULL;
	return asprintf(&cut, "%.*s\xe2\x80\xa6", (int)sp_text_fit(name, columns - 1), name) < 0
		       ? NULL
		       : cut;
}

/* Probes first, then by what is shown of a row; the hottest of equal ones before the others. */
static int by_looks(const void *a, const void *b)
{
	const struct sp_lines_folded *x = a, *y = b;
	int r = (x->row != NULL) - (y->row != NULL);

	if (r == 0 && x->row) {
		r = (x->row->line > y->row->line) - (x->row->line < y->row->line);
		if (r == 0)
			r = strcmp(x->row->file, y->row->file);
		if (r == 0)
			r = strcmp(x->function, y->function);
	}
	return r ? r : (x->samples < y->samples) - (x->samples > y->samples);
}

static int by_samples(const void *a, const void *b)
{
	const struct sp_lines_folded *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples < y->samples ? 1 : -1;
	return by_looks(a, b);
}

static bool look_alike(const struct sp_lines_folded *x, const struct sp_lines_folded *y)
{
	if (!x->row || !y->row)
		return x->row == y->row;
	return x->row->line == y->row->line && !strcmp(x->row->file, y->row->file) &&
	       !strcmp(x->function, y->function);
}

void sp_lines_folded_free(struct sp_lines_folded *folded, size_t n)
{
	for (size_t i = 0; folded && i < n; i++)
		free(folded[i].function);
	free(folded);
}

struct sp_lines_folded *sp_lines_fold(const struct sp_lines_region *region, size_t columns,
				      size_t *ret_n)
{
	struct sp_lines_folded *all = calloc(region->n_rows + 1, sizeof(*all));
	size_t n = 0;

	if (!all)
		return NULL;
	for (size_t i = 0; i < region->n_rows; i++) {
		const struct sp_lines_row *row = &region->rows[i];
		bool probe = is_probe(row);

		all[i].row = probe ? NULL : row;
		all[i].samples = row->samples;
		all[i].function = probe ? strdup(SP_PROBES_NAME) : show_function(row, columns);
		if (!all[i].function) {
			sp_lines_folded_free(all, region->n_rows);
			return NULL;
		}
	}
	qsort(all, region->n_rows, sizeof(*all), by_looks);
	for (size_t i = 0; i < region->n_rows; i++) {
		if (n && look_alike(&all[n - 1], &all[i])) {
			all[n - 1].samples += all[i].samples;
			free(all[i].function);
		} else {
			all[n++] = all[i];
		}
	}
	qsort(all, n, sizeof(*all), by_samples);
	*ret_n = n;
	return all;
}
