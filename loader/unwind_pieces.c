/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_pieces.c - see unwind_pieces.h.
 */
#include "loader/unwind_pieces.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"

static int make_room(struct sp_unwind_pieces *pieces, size_t more)
{
	size_t room = pieces->room ? pieces->room : 32;
	struct sp_unwind_piece *list;

	if (pieces->count + more <= pieces->room)
		return 0;
	while (room < pieces->count + more)
		room *= 2;
	list = realloc(pieces->list, room * sizeof(*list));
	if (!list)
		return -ENOMEM;
	pieces->list = list;
	pieces->room = room;
	return 0;
}

/* The first piece that ends behind the address. */
static size_t first_behind(const struct sp_unwind_pieces *pieces, uint64_t address)
{
	return sp_search(pieces->count, i, pieces->list[i].end <= address);
}

static void insert(struct sp_unwind_pieces *pieces, size_t at, struct sp_unwind_piece piece)
{
	memmove(pieces->list + at + 1, pieces->list + at, (pieces->count - at) * sizeof(piece));
	pieces->list[at] = piece;
	pieces->count++;
	if (piece.file)
		sp_unwind_cache_hold(piece.file);
}

static void drop(struct sp_unwind_pieces *pieces, size_t at, uint64_t now)
{
	if (pieces->list[at].file)
		sp_unwind_cache_release(pieces->list[at].file, now);
	pieces->count--;
	memmove(pieces->list + at, pieces->list + at + 1,
		(pieces->count - at) * sizeof(pieces->list[0]));
}

static void cut_front(struct sp_unwind_piece *piece, uint64_t start)
{
	piece->offset += start - piece->start;
	piece->start = start;
}

/* Takes [start, end) out. There is room for one more piece. Returns where that is. */
static size_t uncover(struct sp_unwind_pieces *pieces, uint64_t start, uint64_t end, uint64_t now)
{
	size_t at = first_behind(pieces, start);
	struct sp_unwind_piece *p = &pieces->list[at];

	if (at < pieces->count && p->start < start) {
		if (p->end > end) { /* a hole in its middle */
			struct sp_unwind_piece rest = *p;

			cut_front(&rest, end);
			p->end = start;
			insert(pieces, at + 1, rest);
			return at + 1;
		}
		p->end = start;
		at++;
	}
	while (at < pieces->count && pieces->list[at].end <= end)
		drop(pieces, at, now);
	if (at < pieces->count && pieces->list[at].start < end)
		cut_front(&pieces->list[at], end);
	return at;
}

static bool continues(const struct sp_unwind_piece *a, const struct sp_unwind_piece *b)
{
	return a->end == b->start && a->file == b->file && a->flags == b->flags &&
	       (!a->file || a->offset + (a->end - a->start) == b->offset);
}

static void join_neighbours(struct sp_unwind_pieces *pieces, size_t at, uint64_t now)
{
	if (at + 1 < pieces->count && continues(&pieces->list[at], &pieces->list[at + 1])) {
		pieces->list[at].end = pieces->list[at + 1].end;
		drop(pieces, at + 1, now);
	}
	if (at && continues(&pieces->list[at - 1], &pieces->list[at])) {
		pieces->list[at - 1].end = pieces->list[at].end;
		drop(pieces, at, now);
	}
}

bool sp_unwind_pieces_has(const struct sp_unwind_pieces *pieces,
			  const struct sp_unwind_piece *piece)
{
	size_t at = first_behind(pieces, piece->start);
	const struct sp_unwind_piece *p = &pieces->list[at];

	return at < pieces->count && p->start <= piece->start && p->end >= piece->end &&
	       p->file == piece->file && p->flags == piece->flags &&
	       (!p->file || p->offset + (piece->start - p->start) == piece->offset);
}

int sp_unwind_pieces_add(struct sp_unwind_pieces *pieces, const struct sp_unwind_piece *piece,
			 uint64_t now)
{
	size_t at;

	if (make_room(pieces, 2) < 0)
		return -ENOMEM;
	at = uncover(pieces, piece->start, piece->end, now);
	if (pieces->count >= SP_UNWIND_MOST_PIECES)
		return -E2BIG;
	insert(pieces, at, *piece);
	join_neighbours(pieces, at, now);
	return 0;
}

const struct sp_unwind_piece *sp_unwind_pieces_find(const struct sp_unwind_pieces *pieces,
						    uint64_t address)
{
	size_t at = first_behind(pieces, address);

	return at < pieces->count && pieces->list[at].start <= address ? &pieces->list[at] : NULL;
}

int sp_unwind_pieces_copy(struct sp_unwind_pieces *pieces, const struct sp_unwind_pieces *from)
{
	pieces->list = malloc((from->count + 1) * sizeof(*pieces->list));
	if (!pieces->list)
		return -ENOMEM;
	if (from->count)
		memcpy(pieces->list, from->list, from->count * sizeof(*pieces->list));
	pieces->count = from->count;
	pieces->room = from->count + 1;
	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->list[i].file)
			sp_unwind_cache_hold(pieces->list[i].file);
	return 0;
}

void sp_unwind_pieces_free(struct sp_unwind_pieces *pieces, uint64_t now)
{
	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->list[i].file)
			sp_unwind_cache_release(pieces->list[i].file, now);
	free(pieces->list);
	*pieces = (struct sp_unwind_pieces){0};
}
