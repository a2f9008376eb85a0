/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_reader.c - takes apart what a symbol worker sends.
 *
 * The sink sees only numbers that are in range and texts that end, whatever the bytes are.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/symbol_worker.h"
#include "userspace/base/array.h"

#define MAX_MESSAGE (SP_WORKER_MAX_TEXT + 64)

/* The text is ended where it stands: behind it are the next message and room for a byte. */
static int take_text(const struct sp_symbol_sink *sink, uint32_t kind, uint32_t status,
		     unsigned char *bytes, size_t size)
{
	const char *text = (const char *)bytes;
	unsigned char next = bytes[size];
	int r;

	bytes[size] = '\0';
	switch (kind) {
	case SP_WORKER_STATUS:
		r = sink->status(sink->context, status, text);
		break;
	case SP_WORKER_DEBUG_FILE:
		r = sink->debug_file(sink->context, text);
		break;
	default:
		r = sink->text(sink->context, text);
	}
	bytes[size] = next;
	return r;
}

static bool is_text(const struct sp_worker_reader *reader, uint32_t number)
{
	return number < reader->n_texts || number == SP_WORKER_NONE;
}

static int take_link(struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
		     const struct sp_worker_link *link)
{
	uint8_t depth = 1, *kept;
	int r;

	if (!is_text(reader, link->function) || !is_text(reader, link->raw) ||
	    !is_text(reader, link->call_file) ||
	    reader->n_links >= SP_WORKER_MAX_FRAMES * reader->n_addresses)
		return -EBADMSG;
	if (link->around != SP_WORKER_NONE) {
		if (link->around >= reader->n_links)
			return -EBADMSG;
		depth += reader->depths[link->around];
		if (depth > SP_WORKER_MAX_FRAMES)
			return -EBADMSG;
	}
	r = sink->link(sink->context, link);
	if (r)
		return r;
	kept = sp_array_add(&reader->depths, &reader->n_links, &reader->depths_room);
	if (!kept)
		return -ENOMEM;
	*kept = depth;
	return 0;
}

static int take_links(struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
		      const unsigned char *bytes, size_t size)
{
	struct sp_worker_link link;
	int r = size % sizeof(link) ? -EBADMSG : 0;

	for (size_t at = 0; at < size && r == 0; at += sizeof(link)) {
		memcpy(&link, bytes + at, sizeof(link));
		r = take_link(reader, sink, &link);
	}
	return r;
}

static int take_places(const struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
		       const unsigned char *bytes, size_t size)
{
	struct sp_worker_place place;
	int r = size % sizeof(place) ? -EBADMSG : 0;

	for (size_t at = 0; at < size && r == 0; at += sizeof(place)) {
		memcpy(&place, bytes + at, sizeof(place));
		if (place.index >= reader->n_addresses || !is_text(reader, place.file) ||
		    (place.link >= reader->n_links && place.link != SP_WORKER_NONE))
			return -EBADMSG;
		r = sink->place(sink->context, &place);
	}
	return r;
}

static int take_message(struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
			uint32_t kind, unsigned char *bytes, size_t size)
{
	uint32_t number = 0;
	int r;

	if (kind == SP_WORKER_STATUS) {
		if (size < sizeof(number))
			return -EBADMSG;
		memcpy(&number, bytes, sizeof(number));
	}
	switch (kind) {
	case SP_WORKER_STATUS:
		if (number <= SP_SYMBOLS_PENDING || number > SP_SYMBOLS_DAMAGED)
			return -EBADMSG;
		return take_text(sink, kind, number, bytes + sizeof(number), size - sizeof(number));
	case SP_WORKER_DEBUG_FILE:
		return take_text(sink, kind, 0, bytes, size);
	case SP_WORKER_TEXT:
		r = take_text(sink, kind, 0, bytes, size);
		if (r == 0)
			reader->n_texts++;
		return r;
	case SP_WORKER_LINKS:
		return take_links(reader, sink, bytes, size);
	case SP_WORKER_PLACES:
		return take_places(reader, sink, bytes, size);
	case SP_WORKER_END:
		reader->finished = 1;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* With room for one byte more, which ends a text. */
unsigned char *sp_worker_room(struct sp_worker_reader *reader, size_t size)
{
	if (reader->used + size >= reader->capacity) {
		size_t capacity = (reader->used + size + 1) * 2;
		unsigned char *grown = realloc(reader->buffer, capacity);

		if (!grown)
			return NULL;
		reader->buffer = grown;
		reader->capacity = capacity;
	}
	return reader->buffer + reader->used;
}

int sp_worker_feed(struct sp_worker_reader *reader, const void *bytes, size_t size,
		   const struct sp_symbol_sink *sink)
{
	unsigned char *room = sp_worker_room(reader, size);

	if (!room)
		return -ENOMEM;
	memcpy(room, bytes, size);
	return sp_worker_take(reader, size, sink);
}

int sp_worker_take(struct sp_worker_reader *reader, size_t size, const struct sp_symbol_sink *sink)
{
	size_t at = 0;
	int r = 0;

	reader->used += size;
	while (r == 0 && reader->used - at >= sizeof(struct sp_worker_header)) {
		struct sp_worker_header header;

		memcpy(&header, reader->buffer + at, sizeof(header));
		if (header.bytes > MAX_MESSAGE)
			return -EBADMSG;
		if (reader->used - at - sizeof(header) < header.bytes)
			break;
		r = take_message(reader, sink, header.kind, reader->buffer + at + sizeof(header),
				 header.bytes);
		at += sizeof(header) + header.bytes;
	}
	if (at)
		memmove(reader->buffer, reader->buffer + at, reader->used - at);
	reader->used -= at;
	return r;
}

void sp_worker_reader_done(struct sp_worker_reader *reader)
{
	free(reader->buffer);
	free(reader->depths);
	*reader = (struct sp_worker_reader){0};
}
