/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_stored.c - rows out of line profiles that were made when the recording was.
 *
 * Texts are kept once each, so that equal ones are equal pointers, as those of the symbols are.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/lines_private.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"

/* The line of that number in the text of a function, without the blanks around it; "" none. */
static char *find_line(const struct sp_line_profile *profile, int64_t line)
{
	const char *at = profile->source, *end;

	for (int64_t k = profile->source_first_line; at && k < line; k++) {
		at = strchr(at, '\n');
		at += at != NULL;
	}
	if (!at || line < profile->source_first_line)
		return strdup("");
	while (*at != '\n' && isspace((unsigned char)*at))
		at++;
	end = strchrnul(at, '\n');
	while (end > at && isspace((unsigned char)end[-1]))
		end--;
	return strndup(at, (size_t)(end - at));
}

static int add_line(struct sp_lines *lines, uint32_t region, const struct sp_line_profile *profile,
		    size_t index, struct timespec written)
{
	struct sp_lines_stored *stored =
		sp_array_add(&lines->stored, &lines->n_stored, &lines->stored_room);
	sp_cleanup(sp_freep) char *text = find_line(profile, profile->lines[index]);
	const char *function, *file, *kept = NULL;

	if (!stored || !text)
		return -ENOMEM;
	*stored = (struct sp_lines_stored){0};
	function = sp_pool_add(lines->texts, profile->function);
	file = sp_pool_add(lines->texts, *profile->filename ? profile->filename : "??");
	if (*text)
		kept = sp_pool_add(lines->texts, text);
	if (!function || !file || (*text && !kept))
		return -ENOMEM;
	stored->region = region;
	stored->row = (struct sp_lines_row){
		.function = function,
		.raw = function,
		.file = file,
		.line = (uint32_t)profile->lines[index],
		.samples = (uint64_t)profile->hits[index],
		.built = written,
		.text = kept,
	};
	return 0;
}

int sp_lines_add_stored(struct sp_lines *lines, const struct sp_line_profile *profile,
			const char *no_region, struct timespec written)
{
	uint32_t region = SP_LINES_NO_REGION;
	int r = 0;

	if (!lines->texts)
		lines->texts = sp_pool_new();
	if (!lines->texts)
		return -ENOMEM;
	if (strcmp(profile->region, no_region) != 0)
		r = sp_lines_add_region(lines, profile->region, &region);
	for (size_t i = 0; i < profile->n && r == 0; i++)
		if (profile->hits[i] > 0 && profile->lines[i] >= 0 &&
		    profile->lines[i] <= INT32_MAX)
			r = add_line(lines, region, profile, i, written);
	return r;
}

uint64_t sp_lines_n_stored(const struct sp_lines *lines, uint64_t *ret_unknown)
{
	uint64_t samples = 0;

	*ret_unknown = 0;
	for (size_t i = 0; i < lines->n_stored; i++) {
		samples += lines->stored[i].row.samples;
		*ret_unknown += lines->stored[i].row.line ? 0 : lines->stored[i].row.samples;
	}
	return samples;
}

static int by_region(const void *a, const void *b)
{
	const struct sp_lines_stored *x = a, *y = b;

	return (x->region > y->region) - (x->region < y->region);
}

int sp_lines_count_stored(struct sp_lines *lines)
{
	size_t n = lines->n_stored;

	free(lines->rows);
	free(lines->regions);
	lines->n_regions = 0;
	lines->rows = calloc(n + 1, sizeof(*lines->rows));
	lines->regions = calloc(n + 1, sizeof(*lines->regions));
	if (!lines->rows || !lines->regions)
		return -ENOMEM;
	if (n)
		qsort(lines->stored, n, sizeof(*lines->stored), by_region);
	for (size_t from = 0, to; from < n; from = to) {
		struct sp_lines_region *region = &lines->regions[lines->n_regions++];
		uint32_t number = lines->stored[from].region;

		*region = (struct sp_lines_region){
			.name = number == SP_LINES_NO_REGION ? NULL
							     : sp_pool_at(lines->names, number)};
		for (to = from; to < n && lines->stored[to].region == number; to++) {
			lines->rows[to] = lines->stored[to].row;
			region->samples += lines->rows[to].samples;
			region->n_rows++;
		}
		sp_lines_sort_region(region, lines->rows + from);
	}
	sp_lines_sort_regions(lines);
	return 0;
}
