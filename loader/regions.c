/* SPDX-License-Identifier: BSD-2-Clause
 *
 * regions.c - collects and merges the region sites of a binary.
 */
#include "loader/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"

/* The @index-th string of a tail after which elfscan has put a NUL. */
static char *copy_string(const struct sp_head *event, unsigned index)
{
	size_t left;
	const char *at = sp_event_tail(event, &left);

	for (; index && left; index--) {
		size_t n = strnlen(at, left);

		n += n < left;
		at += n;
		left -= n;
	}
	return strndup(at, left);
}

static int add_site(struct sp_regions *regions, const struct sp_ev_site *ev)
{
	struct sp_region *region = sp_array_add(&regions->at, &regions->count, &regions->room);

	if (!region)
		return -ENOMEM;
	region->name = copy_string(&ev->head, 0);
	region->file = copy_string(&ev->head, 1);
	region->tags = copy_string(&ev->head, 2);
	region->line = ev->line;
	region->flags = ev->flags;
	region->hash = ev->hash;
	return region->name && region->file && region->tags ? 0 : -ENOMEM;
}

int sp_regions_add(struct sp_regions *regions, const struct sp_head *event)
{
	const struct sp_ev_probe *probe = (const struct sp_ev_probe *)event;

	switch (event->type) {
	case SP_EV_image:
		regions->build_id = copy_string(event, 1);
		return regions->build_id ? 0 : -ENOMEM;
	case SP_EV_segment:
		if (!regions->code.image)
			regions->code = *(const struct sp_ev_segment *)event;
		return 0;
	case SP_EV_probe:
		if (probe->kind == SP_PROBE_BEGIN) {
			regions->has_begin = true;
			regions->begin_semaphore = probe->semaphore;
		} else {
			regions->has_end = true;
			regions->end_semaphore = probe->semaphore;
		}
		return 0;
	case SP_EV_site:
		return add_site(regions, (const struct sp_ev_site *)event);
	default:
		return 0;
	}
}

static int compare_names(const struct sp_region *a, const struct sp_region *b)
{
	if (a->hash != b->hash)
		return (a->hash > b->hash) - (a->hash < b->hash);
	return strcmp(a->name, b->name);
}

/* Ends after the begins of their name. */
static int by_name(const void *a, const void *b)
{
	const struct sp_region *x = a, *y = b;
	int order = compare_names(x, y);

	return order ? order : (int)(x->flags & SP_SITE_END) - (int)(y->flags & SP_SITE_END);
}

static int by_place(const void *a, const void *b)
{
	const struct sp_region *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (order == 0)
		order = (x->line > y->line) - (x->line < y->line);
	if (order == 0)
		order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->tags, y->tags);
}

static void free_region(struct sp_region *region)
{
	free(region->name);
	free(region->file);
	free(region->tags);
}

void sp_regions_merge(struct sp_regions *regions)
{
	size_t kept = 0;
	bool begun = false;

	if (!regions->count)
		return;
	qsort(regions->at, regions->count, sizeof(*regions->at), by_name);
	for (size_t i = 0; i < regions->count; i++) {
		struct sp_region *region = &regions->at[i];

		if (i == 0 || !kept || compare_names(&regions->at[kept - 1], region))
			begun = false;
		if (!(region->flags & SP_SITE_END))
			begun = true;
		if (begun && (region->flags & SP_SITE_END))
			free_region(region);
		else
			regions->at[kept++] = *region;
	}
	regions->count = kept;
	qsort(regions->at, regions->count, sizeof(*regions->at), by_place);
	kept = 1;
	for (size_t i = 1; i < regions->count; i++)
		if (by_place(&regions->at[kept - 1], &regions->at[i]))
			regions->at[kept++] = regions->at[i];
		else
			free_region(&regions->at[i]);
	regions->count = kept;
}

void sp_regions_clear(struct sp_regions *regions)
{
	for (size_t i = 0; i < regions->count; i++)
		free_region(&regions->at[i]);
	free(regions->at);
	free(regions->build_id);
	memset(regions, 0, sizeof(*regions));
}

const char *sp_region_kind(const struct sp_region *region)
{
	if (region->flags & SP_SITE_END)
		return "end only";
	if (region->flags & SP_SITE_FUNCTION)
		return "function";
	return region->flags & SP_SITE_LEXICAL ? "scope" : "block";
}
