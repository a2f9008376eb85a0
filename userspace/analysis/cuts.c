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

#include "formats/util.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

#define MOST 3 /* places that a sentence names */
#define BEGAN_BEFORE 5

static const char *const reasons[SP_CUT_KINDS] = {
	"ended with the region around %s, so the times may be wrong: an early return, or a missing "
	"end",
	"ended with %s thread",
	"ended when %s process executed another program",
	"%s still open when the recording ended: cut there",
	"ended when %s function was seen to have returned",
	"began before the recording, or the fork of %s process: cut there",
};
static const char *const words[SP_CUT_KINDS][2] = {
	{"it", "them"},	 {"its", "their"}, {"its", "their"},
	{"was", "were"}, {"its", "their"}, {"its", "their"},
};

const char *sp_cut_name(unsigned kind)
{
	static const char *const names[SP_CUT_KINDS] = {
		"closed_by_outer", "closed_by_exit",	  "closed_by_exec",
		"open_at_end",	   "closed_by_unwinding", "began_before",
	};

	return kind < SP_CUT_KINDS ? names[kind] : "";
}

void sp_cuts_free(struct sp_cuts *cuts)
{
	sp_pool_free(cuts->keys);
	free(cuts->places);
	*cuts = (struct sp_cuts){0};
}

/* A place in words, without directories. To free(). */
static char *tell_place(const char *region, const char *file, int64_t line)
{
	char *text;
	int n = file[0] && line > 0
			? asprintf(&text, "%s at %s:%" PRId64, region, sp_base_name(file), line)
			: asprintf(&text, "%s", region);

	return n < 0 ? NULL : text;
}

int sp_cuts_add(struct sp_cuts *cuts, const char *region, const char *file, int64_t line,
		unsigned kind, uint64_t count)
{
	sp_cleanup(sp_freep) char *text = tell_place(region, file, line);
	struct sp_cut_place *place;
	uint32_t number;
	int r;

	if (!cuts->keys)
		cuts->keys = sp_pool_new();
	if (!text || !cuts->keys)
		return -ENOMEM;
	r = sp_pool_number(cuts->keys, text, &number);
	if (r < 0)
		return r;
	if (number == cuts->n) {
		place = sp_array_add(&cuts->places, &cuts->n, &cuts->room);
		if (!place)
			return -ENOMEM;
		*place = (struct sp_cut_place){.text = sp_pool_at(cuts->keys, number)};
	}
	sp_add_capped(&cuts->places[number].counts[kind], count);
	return 0;
}

struct ranked {
	uint64_t count;
	const char *text;
};

static int by_count(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->text, y->text);
}

/* The places with calls of the kind, most first; to free(). */
static struct ranked *rank(const struct sp_cuts *cuts, unsigned kind, size_t *ret_n,
			   uint64_t *ret_sum)
{
	struct ranked *list = calloc(cuts->n + 1, sizeof(*list));
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; list && i < cuts->n; i++) {
		uint64_t count = cuts->places[i].counts[kind];

		if (!count)
			continue;
		list[n++] = (struct ranked){count, cuts->places[i].text};
		sp_add_capped(&sum, count);
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
	fprintf(out, "%s call%s ", sp_show_count(sum).text, sp_plural(sum));
	if (kind != BEGAN_BEFORE)
		fprintf(out, "had no end of %s own and ", sum == 1 ? "its" : "their");
	fprintf(out, reasons[kind], words[kind][sum != 1]);
	for (size_t i = 0; i < n && i < MOST; i++)
		fprintf(out, "%s%s \xc3\x97 %s", i ? ", " : " (", sp_show_count(list[i].count).text,
			list[i].text);
	if (n > MOST)
		fprintf(out, ", and at %zu more place%s", n - MOST, sp_plural(n - MOST));
	putc(')', out);
	if (fclose(out) != 0) {
		free(text);
		*ret_r = -ENOMEM;
		return NULL;
	}
	return text;
}
