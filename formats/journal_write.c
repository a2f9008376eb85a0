/* SPDX-License-Identifier: BSD-2-Clause
 *
 * journal_write.c - appending to a journal.
 *
 * Invariant: what is in the file ends with a whole block after every call, unless the process dies
 * inside write(2); then the reader drops that one block.
 *
 * Room on the disk is taken before it is needed, and some of it is kept for the end: the account of
 * what a full disk cost must not be among what does not fit.
 */
#include "formats/journal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include "formats/crc32c.h"

struct stream {
	struct sp_codec_state codec;
	size_t used; /* bytes of data, header included */
	uint32_t events;
	uint8_t data[SP_JOURNAL_BLOCK_BYTES];
};

#define RESERVE (256u << 10) /* bytes that are kept for the end, if the file may be much larger */
#define STEP (4u << 20)	     /* that are taken at once */

struct sp_journal_writer {
	int fd;
	uint64_t bytes, sequence, lost;
	uint64_t room, limit; /* bytes: taken on the disk, and that the file may have */
	uint64_t reserve;
	bool no_room;	      /* the file system cannot take it beforehand */
	bool ending;	      /* the reserve may be used */
	sp_journal_lost_cb on_lost;
	void *on_lost_arg;
	size_t stream_count;
	struct stream **streams; /* by number; the recorder's own is at 0, CPU n at n + 1 */
};

static int write_all(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int take_room(struct sp_journal_writer *w, uint64_t bytes)
{
	int r;

	do
		r = fallocate(w->fd, FALLOC_FL_KEEP_SIZE, (off_t)w->room, (off_t)bytes);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	w->room += bytes;
	return 0;
}

/* Makes sure that @bytes more can be written, and the reserve after them. */
static int make_room(struct sp_journal_writer *w, size_t bytes)
{
	uint64_t wanted = w->bytes + bytes + (w->ending ? 0 : w->reserve);
	int r;

	if (wanted > w->limit)
		return w->ending ? 0 : -EFBIG; /* at the very end, what can be written is */
	if (w->no_room || wanted <= w->room)
		return 0;
	r = take_room(w, wanted - w->room > STEP ? wanted - w->room : STEP);
	if (r == -ENOSPC || r == -EDQUOT)
		r = take_room(w, wanted - w->room);
	if (w->ending || r == 0)
		return 0;
	w->no_room = r != -ENOSPC && r != -EDQUOT;
	return w->no_room ? 0 : r;
}

/* Tells of each event of a block. */
static void tell_lost(struct sp_journal_writer *w, const uint8_t *at, size_t bytes, uint16_t stream)
{
	struct sp_codec_state *codec = calloc(1, sizeof(*codec));
	char *text = sp_schema_text();
	struct sp_schema *schema = NULL;
	struct sp_event event;
	size_t used;

	if (text && codec && sp_schema_parse(text, strlen(text), &schema, NULL) == 0)
		for (; bytes && sp_codec_decode(schema, codec, at, bytes, &event, &used) == 0;
		     at += used, bytes -= used)
			w->on_lost(w->on_lost_arg, stream, &event);
	sp_schema_free(schema);
	free(text);
	free(codec);
}

/* @block has room for the header in front of its payload. */
static int write_block(struct sp_journal_writer *w, uint8_t *block, size_t bytes, uint16_t kind,
		       uint16_t stream, uint32_t events)
{
	struct sp_block_header h = {
		.magic = SP_JOURNAL_BLOCK_MAGIC,
		.bytes = (uint32_t)(bytes - sizeof(h)),
		.kind = kind,
		.stream = stream,
		.events = events,
		.sequence = w->sequence,
	};
	int r;

	memcpy(block, &h, sizeof(h));
	h.crc = sp_crc32c(0, block, bytes);
	memcpy(block, &h, sizeof(h));
	r = make_room(w, bytes);
	if (r == 0) {
		r = write_all(w->fd, block, bytes);
		if (r < 0 && ftruncate(w->fd, (off_t)w->bytes) == 0) {
			(void)lseek(w->fd, (off_t)w->bytes, SEEK_SET);
			w->room = w->bytes;
		}
	}
	if (r < 0) {
		w->lost += events;
		if (w->on_lost && kind == SP_BLOCK_EVENTS)
			tell_lost(w, block + sizeof(h), bytes - sizeof(h), stream);
		return r;
	}
	w->bytes += bytes;
	w->sequence++;
	return 0;
}

static int flush_stream(struct sp_journal_writer *w, size_t index)
{
	struct stream *s = w->streams[index];
	uint16_t number = index ? (uint16_t)(index - 1) : SP_STREAM_RECORDER;
	int r = 0;

	if (!s || !s->events)
		return 0;
	r = write_block(w, s->data, s->used, SP_BLOCK_EVENTS, number, s->events);
	s->used = sizeof(struct sp_block_header);
	s->events = 0;
	memset(&s->codec, 0, sizeof(s->codec));
	return r;
}

static int write_schema(struct sp_journal_writer *w)
{
	char *text = sp_schema_text();
	uint8_t *block = NULL;
	size_t n = text ? strlen(text) : 0;
	int r = -ENOMEM;

	if (text)
		block = malloc(sizeof(struct sp_block_header) + n);
	if (block) {
		memcpy(block + sizeof(struct sp_block_header), text, n);
		r = write_block(w, block, sizeof(struct sp_block_header) + n, SP_BLOCK_SCHEMA,
				SP_STREAM_RECORDER, 0);
	}
	free(block);
	free(text);
	return r;
}

int sp_journal_writer_new(int fd, struct sp_journal_writer **ret_writer)
{
	struct sp_journal_writer *w = calloc(1, sizeof(*w));
	struct rlimit limit;
	int r = -ENOMEM;

	if (!w) {
		close(fd);
		return r;
	}
	w->fd = fd;
	w->limit = UINT64_MAX;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		w->limit = limit.rlim_cur;
	w->reserve = w->limit / 8 < RESERVE ? w->limit / 8 : RESERVE;
	r = write_all(fd, (const uint8_t *)SP_JOURNAL_MAGIC, 8);
	w->bytes = 8;
	if (r == 0)
		r = write_schema(w);
	if (r < 0) {
		sp_journal_writer_free(w);
		return r;
	}
	*ret_writer = w;
	return 0;
}

static int find_stream(struct sp_journal_writer *w, unsigned number, size_t *ret_index)
{
	size_t index = number == SP_STREAM_RECORDER ? 0 : (size_t)number + 1;

	if (index >= w->stream_count) {
		struct stream **more = realloc(w->streams, (index + 1) * sizeof(*more));

		if (!more)
			return -ENOMEM;
		memset(more + w->stream_count, 0, (index + 1 - w->stream_count) * sizeof(*more));
		w->streams = more;
		w->stream_count = index + 1;
	}
	if (!w->streams[index]) {
		w->streams[index] = calloc(1, sizeof(struct stream));
		if (!w->streams[index])
			return -ENOMEM;
		w->streams[index]->used = sizeof(struct sp_block_header);
	}
	*ret_index = index;
	return 0;
}

/* An event too long for a stream's buffer gets a block of its own. */
static int add_huge(struct sp_journal_writer *w, uint16_t number, const struct sp_head *event,
		    size_t bound)
{
	struct sp_codec_state *codec = calloc(1, sizeof(*codec));
	uint8_t *block = malloc(sizeof(struct sp_block_header) + bound);
	int r = -ENOMEM;

	if (codec && block && bound <= SP_JOURNAL_BLOCK_MAX) {
		size_t n = sp_codec_encode(codec, event, block + sizeof(struct sp_block_header));

		r = write_block(w, block, sizeof(struct sp_block_header) + n, SP_BLOCK_EVENTS,
				number, 1);
	} else {
		w->lost++;
	}
	free(block);
	free(codec);
	return r;
}

int sp_journal_add(struct sp_journal_writer *w, unsigned number, const struct sp_head *event)
{
	size_t bound = sp_codec_bound(event), index;
	struct stream *s;
	int r = find_stream(w, number, &index);

	if (r < 0) {
		w->lost++;
		return r;
	}
	s = w->streams[index];
	if (s->used + bound > sizeof(s->data))
		r = flush_stream(w, index);
	if (bound > sizeof(s->data) - sizeof(struct sp_block_header)) {
		int r2 = add_huge(w, (uint16_t)number, event, bound);

		return r < 0 ? r : r2;
	}
	s->used += sp_codec_encode(&s->codec, event, s->data + s->used);
	s->events++;
	return r;
}

int sp_journal_flush(struct sp_journal_writer *w)
{
	int first = 0;

	for (size_t i = 0; i < w->stream_count; i++) {
		int r = flush_stream(w, i);

		if (r < 0 && first == 0)
			first = r;
	}
	return first;
}

void sp_journal_on_lost(struct sp_journal_writer *w, sp_journal_lost_cb cb, void *arg)
{
	w->on_lost = cb;
	w->on_lost_arg = arg;
}

void sp_journal_use_reserve(struct sp_journal_writer *w)
{
	w->ending = true;
}

uint64_t sp_journal_bytes(const struct sp_journal_writer *w)
{
	return w->bytes;
}

uint64_t sp_journal_in_hand(const struct sp_journal_writer *w)
{
	return w->room > w->bytes ? w->room - w->bytes : 0;
}

uint64_t sp_journal_lost(const struct sp_journal_writer *w)
{
	return w->lost;
}

int sp_journal_writer_free(struct sp_journal_writer *w)
{
	int r;

	if (!w)
		return 0;
	r = sp_journal_flush(w);
	if (w->room > w->bytes && ftruncate(w->fd, (off_t)w->bytes) < 0 && r == 0)
		r = -errno;
	for (size_t i = 0; i < w->stream_count; i++)
		free(w->streams[i]);
	free(w->streams);
	close(w->fd);
	free(w);
	return r;
}
