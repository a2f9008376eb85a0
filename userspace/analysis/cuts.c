/* SPDX-License-Identifier: BSD-2-Clause
 *
 * cuts.c - see cuts.h.
 */
#include "userspace/analysis/cuts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/base/units.h"

#define MOST 3 /* regions that a sentence names */
#define BEGAN_BEFORE 5

static const char *const reasons[SP_CUT_KINDS] = {
	"ended with the region around %s, so the times may be wrong: an early return, or a missing "
	"end",
	"ended with %s thread",
	"ended when %s process executed another program",
	"%s still open when the recording ended: cut there",
	"ended when %s function was seen to have returned",
	"began before the recording: cut there",
};
static const char *const words[SP_CUT_KINDS][2] = {
	{"it", "them"},	 {"its", "their"}, {"its", "their"},
	{"was", "were"}, {"its", "their"}, {"", ""},
};

void sp_cuts_free(struct sp_cuts *cuts)
{
	sp_pool_free(cuts->names);
	for (size_t i = 0; i < cuts->n; i++)
		free(cuts->regions[i].file);
	free(cuts->regions);
	*cuts = (struct sp_cuts){0};
}

int sp_cuts_add(struct sp_cuts *cuts, const char *region, unsigned kind, uint64_t count)
{
	return sp_cuts_add_at(cuts, region, "", -1, kind, count);
}

int sp_cuts_add_at(struct sp_cuts *cuts, const char *region, const char *file, int64_t line,
		   unsigned kind, uint64_t count)
{
	const char *slash = strrchr(file, '/');
	uint64_t *sum;
	uint32_t number;
	int r;

	if (!cuts->names)
		cuts->names = sp_pool_new();
	if (!cuts->names)
		return -ENOMEM;
	r = sp_pool_number(cuts->names, region, &number);
	if (r < 0)
		return r;
	while (cuts->n <= number)
		if (!sp_array_add(&cuts->regions, &cuts->n, &cuts->room))
			return -ENOMEM;
	if (file[0] && line > 0 && !cuts->regions[number].file) {
		char *kept = strdup(slash ? slash + 1 : file);

		if (!kept)
			return -ENOMEM;
		cuts->regions[number].file = kept;
		cuts->regions[number].line = line;
	}
	sum = &cuts->regions[number].counts[kind];
	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
	return 0;
}

struct ranked {
	uint64_t count;
	const char *name;
	const struct sp_cut_region *region;
};

static int by_count(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->name, y->name);
}

/* The regions with calls of the kind, most first; to free(). */
static struct ranked *rank(const struct sp_cuts *cuts, unsigned kind, size_t *ret_n,
			   uint64_t *ret_sum)
{
	struct ranked *list = calloc(cuts->n + 1, sizeof(*list));
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; list && i < cuts->n; i++) {
		uint64_t count = cuts->regions[i].counts[kind];

		if (!count)
			continue;
		list[n++] = (struct ranked){count, sp_pool_at(cuts->names, (uint32_t)i),
					    &cuts->regions[i]};
		if (__builtin_add_overflow(sum, count, &sum))
			sum = UINT64_MAX;
	}
	if (list)
		qsort(list, n, sizeof(*list), by_count);
	*ret_n = n;
	*ret_sum = sum;
	return list;
}

char *sp_cuts_tell(const struct sp_cuts *cuts, unsigned kind, int *ret_r)
{
	sp_cleanup(sp_freep) struct ranked *list = NULL;
	char *text = NULL;
	uint64_t sum;
	size_t n, size;
	FILE *out;

	list = rank(cuts, kind, &n, &sum);
	*ret_r = list ? 0 : -ENOMEM;
	if (!list || !n)
		return NULL;
	out = open_memstream(&text, &size);
	if (!out) {
		*ret_r = -ENOMEM;
		return NULL;
	}
	fprintf(out, "%s call%s ", sp_show_count(sum).text, sum == 1 ? "" : "s");
	if (kind != BEGAN_BEFORE)
		fprintf(out, "had no end of %s own and ", sum == 1 ? "its" : "their");
	fprintf(out, reasons[kind], words[kind][sum != 1]);
	for (size_t i = 0; i < n && i < MOST; i++) {
		fprintf(out, "%s%s \xc3\x97 %s", i ? ", " : " (", sp_show_count(list[i].count).text,
			list[i].name);
		if (list[i].region->file)
			fprintf(out, " at %s:%" PRId64, list[i].region->file, list[i].region->line);
	}
	if (n > MOST)
		fprintf(out, ", and %zu more region%s", n - MOST, n - MOST == 1 ? "" : "s");
	putc(')', out);
	if (fclose(out) != 0) {
		free(text);
		*ret_r = -ENOMEM;
		return NULL;
	}
	return text;
}
