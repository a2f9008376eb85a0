/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_space.c - see unwind_space.h.
 *
 * Invariant: a place (ranges of the kernel's array) has as many users as spaces that the kernel was
 * told to find there.
 */
#include "loader/unwind_space.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind_ranges.h"
#include "loader/unwind_runs.h"

#define BUCKETS 1024
/* Ranges that the changes of one space may keep closed at a time. */
#define MOST_CLOSED 16384u

struct place {
	size_t users;
	uint32_t first, count;
};

struct space {
	struct space *next, *next_dirty;
	uint32_t process, parent;
	uint64_t born, last_fork; /* ns */
	struct sp_unwind_pieces pieces;
	struct place *place; /* NULL: the kernel has none */
	bool dirty, unfit;
	uint64_t next_update; /* ns */
};

struct sp_unwind_spaces {
	struct sp_bpf *bpf;
	struct sp_unwind_range *array;
	struct sp_unwind_runs *runs;
	struct sp_unwind_ranges scratch;
	struct space *buckets[BUCKETS], *dirty;
	struct sp_unwind_spaces_stats stats;
};

int sp_unwind_spaces_new(struct sp_bpf *bpf, struct sp_unwind_spaces **ret_spaces)
{
	struct sp_unwind_spaces *s = calloc(1, sizeof(*s));
	int r = s ? sp_unwind_runs_new(0, &s->runs) : -ENOMEM;

	if (r == 0) {
		s->bpf = bpf;
		s->array = sp_bpf_unwind_ranges(bpf);
		r = s->array ? 0 : -ENOMEM;
	}
	if (r < 0) {
		sp_unwind_spaces_free(s);
		return r;
	}
	sp_unwind_runs_give(s->runs, 0, SP_UNWIND_RANGES, 0);
	*ret_spaces = s;
	return 0;
}

static struct space **find(const struct sp_unwind_spaces *s, uint32_t process)
{
	struct space **at = (struct space **)&s->buckets[process % BUCKETS];

	while (*at && (*at)->process != process)
		at = &(*at)->next;
	return at;
}

static void make_dirty(struct sp_unwind_spaces *s, struct space *space)
{
	if (space->dirty)
		return;
	space->dirty = true;
	space->next_dirty = s->dirty;
	s->dirty = space;
}

static void drop_place(struct sp_unwind_spaces *s, struct place *place, uint64_t now)
{
	if (!place || --place->users)
		return;
	sp_unwind_runs_give(s->runs, place->first, place->count, now + SP_UNWIND_GRACE_NS);
	s->stats.ranges -= place->count;
	free(place);
}

/* ---- processes ---- */

static int copy_parent(struct sp_unwind_spaces *s, struct space *space, struct space *parent)
{
	int r = sp_unwind_pieces_copy(&space->pieces, &parent->pieces);

	if (r < 0)
		return r;
	if (space->born > parent->last_fork)
		parent->last_fork = space->born;
	if (parent->place &&
	    sp_bpf_unwind_set_space(
		    s->bpf, space->process,
		    (struct sp_unwind_space){parent->place->first, parent->place->count}) == 0) {
		space->place = parent->place;
		space->place->users++;
	}
	if (parent->dirty || !space->place)
		make_dirty(s, space);
	return 0;
}

int sp_unwind_spaces_add(struct sp_unwind_spaces *s, uint32_t process, uint32_t parent,
			 uint64_t time)
{
	struct space **at = find(s, process), *space, *from;
	int r = 0;

	if (*at)
		return -EEXIST;
	from = parent ? *find(s, parent) : NULL;
	space = calloc(1, sizeof(*space));
	if (!space)
		return -ENOMEM;
	space->process = process;
	space->parent = parent;
	space->born = time;
	if (from)
		r = copy_parent(s, space, from);
	if (r < 0) {
		free(space);
		return r;
	}
	space->next = *at;
	*at = space;
	s->stats.spaces++;
	return parent && !from ? -ENOENT : 0;
}

static void free_space(struct sp_unwind_spaces *s, struct space *space, uint64_t now)
{
	sp_unwind_pieces_free(&space->pieces, now);
	drop_place(s, space->place, now);
	free(space);
}

void sp_unwind_spaces_remove(struct sp_unwind_spaces *s, uint32_t process, uint64_t now)
{
	struct space **at = find(s, process), *space = *at;

	if (!space)
		return;
	*at = space->next;
	for (struct space **d = &s->dirty; space->dirty && *d; d = &(*d)->next_dirty)
		if (*d == space) {
			*d = space->next_dirty;
			break;
		}
	(void)sp_bpf_unwind_forget_space(s->bpf, process);
	s->stats.spaces--;
	free_space(s, space, now);
}

/* ---- mappings ---- */

static int map_one(struct sp_unwind_spaces *s, struct space *space,
		   const struct sp_unwind_piece *piece, uint64_t time)
{
	int r;

	if (sp_unwind_pieces_has(&space->pieces, piece))
		return 0;
	r = sp_unwind_pieces_add(&space->pieces, piece, time);
	if (r != -ENOMEM)
		make_dirty(s, space);
	return r;
}

int sp_unwind_spaces_map(struct sp_unwind_spaces *s, uint32_t process,
			 const struct sp_unwind_piece *piece, uint64_t time)
{
	struct space *space = *find(s, process);
	int r;

	if (!space)
		return -ENOENT;
	if (piece->start >= piece->end)
		return 0;
	r = map_one(s, space, piece, time);
	/* Forks are told of by another stream, which is read before this one. */
	if (time >= space->last_fork)
		return r;
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct space *child = s->buckets[i]; child; child = child->next)
			if (child->parent == process && child->born > time)
				(void)sp_unwind_spaces_map(s, child->process, piece, time);
	return r;
}

const struct sp_unwind_piece *sp_unwind_spaces_find(const struct sp_unwind_spaces *s,
						    uint32_t process, uint64_t address)
{
	const struct space *space = *find(s, process);

	return space ? sp_unwind_pieces_find(&space->pieces, address) : NULL;
}

void sp_unwind_spaces_changed(struct sp_unwind_spaces *s, const struct sp_unwind_file *file)
{
	for (size_t i = 0; i < BUCKETS && file->users; i++)
		for (struct space *space = s->buckets[i]; space; space = space->next)
			for (size_t k = 0; k < space->pieces.count && !space->dirty; k++)
				if (space->pieces.list[k].file == file)
					make_dirty(s, space);
}

/* ---- the kernel's side ---- */

static bool is_same(const struct sp_unwind_spaces *s, const struct place *place)
{
	return place && place->count == s->scratch.count &&
	       !memcmp(s->array + place->first, s->scratch.list,
		       place->count * sizeof(s->array[0]));
}

/* 0, or -errno: -EAGAIN and -ENOSPC for want of places. */
static int update(struct sp_unwind_spaces *s, struct space *space, uint64_t now)
{
	struct place *place;
	uint64_t first;
	int r = sp_unwind_ranges_make(&s->scratch, space->pieces.list, space->pieces.count);

	if (r < 0 || !s->scratch.count || is_same(s, space->place))
		return r;
	place = malloc(sizeof(*place));
	if (!place)
		return -ENOMEM;
	r = sp_unwind_runs_take(s->runs, s->scratch.count, now, &first);
	if (r < 0) {
		free(place);
		return r;
	}
	*place = (struct place){1, (uint32_t)first, (uint32_t)s->scratch.count};
	s->stats.ranges += place->count;
	memcpy(s->array + first, s->scratch.list, place->count * sizeof(s->array[0]));
	r = sp_bpf_unwind_set_space(s->bpf, space->process,
				    (struct sp_unwind_space){place->first, place->count});
	if (r < 0) {
		drop_place(s, place, now);
		return r;
	}
	drop_place(s, space->place, now);
	space->place = place;
	space->next_update = now + place->count * (SP_UNWIND_GRACE_NS / MOST_CLOSED);
	return 0;
}

void sp_unwind_spaces_commit(struct sp_unwind_spaces *s, uint64_t now)
{
	struct space *list = s->dirty;

	s->dirty = NULL;
	while (list) {
		struct space *space = list;
		int r = now < space->next_update ? -EAGAIN : update(s, space, now);

		list = space->next_dirty;
		space->dirty = false;
		if (r < 0)
			make_dirty(s, space);
		if (r < 0 && r != -EAGAIN) {
			s->stats.unfit += !space->unfit;
			space->unfit = true;
			space->next_update = now + SP_UNWIND_GRACE_NS;
		}
	}
}

void sp_unwind_spaces_stats(const struct sp_unwind_spaces *s,
			    struct sp_unwind_spaces_stats *ret_stats)
{
	*ret_stats = s->stats;
}

void sp_unwind_spaces_free(struct sp_unwind_spaces *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (s->buckets[i]) {
			struct space *space = s->buckets[i];

			s->buckets[i] = space->next;
			free_space(s, space, 0);
		}
	sp_unwind_runs_free(s->runs);
	free(s->scratch.list);
	free(s);
}
