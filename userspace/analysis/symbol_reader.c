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
#include "userspace/base/cleanup.h"

#define MAX_MESSAGE (SP_WORKER_MAX_TEXT + 64)

static int take_text(const struct sp_symbol_sink *sink, uint32_t kind, uint32_t status,
		     const unsigned char *bytes, size_t size)
{
	sp_cleanup(sp_freep) char *text = strndup((const char *)bytes, size);

	if (!text)
		return -ENOMEM;
	switch (kind) {
	case SP_WORKER_STATUS:
		return sink->status(sink->context, status, text);
	case SP_WORKER_DEBUG_FILE:
		return sink->debug_file(sink->context, text);
	default:
		return sink->text(sink->context, text);
	}
}

static bool is_text(const struct sp_worker_reader *reader, uint32_t number)
{
	return number < reader->n_texts || number == SP_WORKER_NO_TEXT;
}

static int take_place(const struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
		      const unsigned char *bytes, size_t size)
{
	struct sp_worker_frame frames[SP_WORKER_MAX_FRAMES];
	size_t n = (size - sizeof(uint32_t)) / sizeof(frames[0]);
	uint32_t index;

	memcpy(&index, bytes, sizeof(index));
	if (index >= reader->n_addresses || n > SP_WORKER_MAX_FRAMES ||
	    size != sizeof(index) + n * sizeof(frames[0]))
		return -EBADMSG;
	memcpy(frames, bytes + sizeof(index), n * sizeof(frames[0]));
	for (size_t i = 0; i < n; i++)
		if (!is_text(reader, frames[i].function) || !is_text(reader, frames[i].raw) ||
		    !is_text(reader, frames[i].file))
			return -EBADMSG;
	return sink->place(sink->context, index, frames, (uint32_t)n);
}

static int take_message(struct sp_worker_reader *reader, const struct sp_symbol_sink *sink,
			uint32_t kind, const unsigned char *bytes, size_t size)
{
	uint32_t number = 0;
	int r;

	if (kind == SP_WORKER_STATUS || kind == SP_WORKER_PLACE) {
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
	case SP_WORKER_PLACE:
		return take_place(reader, sink, bytes, size);
	case SP_WORKER_END:
		reader->finished = 1;
		return 0;
	default:
		return -EBADMSG;
	}
}

static int append(struct sp_worker_reader *reader, const void *bytes, size_t size)
{
	if (reader->used + size > reader->capacity) {
		size_t capacity = (reader->used + size) * 2;
		unsigned char *grown = realloc(reader->buffer, capacity);

		if (!grown)
			return -ENOMEM;
		reader->buffer = grown;
		reader->capacity = capacity;
	}
	memcpy(reader->buffer + reader->used, bytes, size);
	reader->used += size;
	return 0;
}

int sp_worker_feed(struct sp_worker_reader *reader, const void *bytes, size_t size,
		   const struct sp_symbol_sink *sink)
{
	size_t at = 0;
	int r = append(reader, bytes, size);

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
	*reader = (struct sp_worker_reader){0};
}
