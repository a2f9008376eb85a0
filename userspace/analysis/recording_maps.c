/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recording_maps.c - which file an address of a process belonged to, and where in it.
 *
 * Invariant: maps of a process stand together by start address, and each knows the highest end up
 * to it, so a look-up walks back only over maps that can still cover the address.
 */
#include "userspace/analysis/recording_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/search.h"
#include "userspace/base/cleanup.h"

#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
#define MAX_FORKS 64 /* generations that a look-up follows */
#define ELF_FIXED 2  /* ET_EXEC */

static int compare_maps(const void *a, const void *b)
{
	const struct sp_map *x = a, *y = b;

	if (x->process != y->process)
		return COMPARE(x->process, y->process);
	if (x->start != y->start)
		return COMPARE(x->start, y->start);
	return COMPARE(x->time, y->time);
}

static int compare_segments(const void *a, const void *b)
{
	const struct sp_segment *x = a, *y = b;

	return x->image != y->image ? COMPARE(x->image, y->image)
				    : COMPARE(x->file_offset, y->file_offset);
}

static int compare_files(const struct sp_image *x, uint64_t device, uint64_t inode)
{
	return x->device != device ? COMPARE(x->device, device) : COMPARE(x->inode, inode);
}

static int by_file(const void *a, const void *b, void *images)
{
	const struct sp_image *x = (struct sp_image *)images + *(const uint32_t *)a;
	const struct sp_image *y = (struct sp_image *)images + *(const uint32_t *)b;
	int r = compare_files(x, y->device, y->inode);

	return r ? r : COMPARE(x, y);
}

/* The last of the images with this device and inode in an order by file. */
static uint32_t find_image(const struct sp_recording *rec, const uint32_t *order, uint64_t device,
			   uint64_t inode)
{
	size_t low = sp_search(rec->n_images, i,
			       compare_files(&rec->images[order[i]], device, inode) <= 0);

	if (!low || !inode || compare_files(&rec->images[order[low - 1]], device, inode))
		return SP_NONE;
	return order[low - 1];
}

static size_t first_segment(const struct sp_recording *rec, uint32_t image)
{
	return sp_search(rec->n_segments, i, rec->segments[i].image < image);
}

/* Run-time address minus link-time address. Without the file's segments, as if offsets were
 * addresses, which is how most files are linked. */
static uint64_t bias_of(const struct sp_recording *rec, const struct sp_map *map)
{
	const struct sp_image *image = map->image == SP_NONE ? NULL : &rec->images[map->image];
	uint64_t length = map->end - map->start;

	if (image && image->elf_type == ELF_FIXED)
		return 0;
	for (size_t i = image ? first_segment(rec, image->number) : 0; image && i < rec->n_segments;
	     i++) {
		const struct sp_segment *segment = &rec->segments[i];

		if (segment->image != image->number)
			break;
		/* A mapping is whole pages, so it may begin before its segment does. */
		if (segment->file_offset < map->file_offset + length &&
		    map->file_offset < segment->file_offset + segment->file_size)
			return map->start - map->file_offset -
			       (segment->address - segment->file_offset);
	}
	return map->start - map->file_offset;
}

int sp_recording_sort_maps(struct sp_recording *rec)
{
	sp_cleanup(sp_freep) uint32_t *order = malloc((rec->n_images + 1) * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < rec->n_images; i++)
		order[i] = (uint32_t)i;
	if (rec->n_images)
		qsort_r(order, rec->n_images, sizeof(*order), by_file, rec->images);
	if (rec->n_segments)
		qsort(rec->segments, rec->n_segments, sizeof(*rec->segments), compare_segments);
	if (rec->n_maps)
		qsort(rec->maps, rec->n_maps, sizeof(*rec->maps), compare_maps);
	for (size_t i = 0; i < rec->n_maps; i++) {
		struct sp_map *map = &rec->maps[i];
		struct sp_process *process = &rec->processes[map->process];

		if (!process->map_count)
			process->first_map = i;
		map->reach =
			process->map_count && map[-1].reach > map->end ? map[-1].reach : map->end;
		process->map_count++;
		map->image = find_image(rec, order, map->device, map->inode);
		map->bias = bias_of(rec, map);
	}
	return 0;
}

static uint32_t find_own(const struct sp_recording *rec, const struct sp_process *process,
			 uint64_t ip, uint64_t time)
{
	const struct sp_map *maps = rec->maps + process->first_map;
	size_t low = sp_search(process->map_count, i, maps[i].start <= ip);
	uint32_t before = SP_NONE, after = SP_NONE;

	while (low-- > 0 && maps[low].reach > ip) {
		uint32_t index = (uint32_t)(process->first_map + low);

		if (maps[low].end <= ip)
			continue;
		if (maps[low].time <= time) {
			if (before == SP_NONE || maps[low].time > rec->maps[before].time)
				before = index;
		} else if (after == SP_NONE || maps[low].time < rec->maps[after].time) {
			after = index;
		}
	}
	return before != SP_NONE ? before : after;
}

uint32_t sp_recording_find_map(const struct sp_recording *rec, uint32_t process, uint64_t ip,
			       uint64_t time)
{
	for (int generation = 0; generation < MAX_FORKS && process != SP_NONE && process;
	     generation++) {
		const struct sp_process *at = &rec->processes[process];
		uint32_t found = find_own(rec, at, ip, time);

		if (found != SP_NONE || at->from_exec || !at->parent)
			return found;
		/* What the parent mapped after the fork is not the child's. */
		if (at->first && at->first < time)
			time = at->first;
		process = sp_idmap_get(&rec->process_by_number, at->parent);
	}
	return SP_NONE;
}
