/* SPDX-License-Identifier: BSD-2-Clause
 *
 * journal_read.c - reading a journal, of any recorder, dead or alive.
 *
 * Invariant: memory is bounded by the longest block (SP_JOURNAL_BLOCK_MAX), and is taken for bytes
 * that the file has, not for what a header claims.
 */
#include "formats/journal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/crc32c.h"
#include "formats/util.h"

struct sp_journal {
	int fd;
	uint64_t file_bytes, offset; /* of the next block */
	uint64_t first_block;	     /* after the schema */
	uint64_t sequence;
	struct sp_schema *schema;
	struct sp_codec_state codec;
	struct sp_event event;
	struct sp_block_header header;
	uint8_t *block;
	size_t room, at; /* at: in the payload */
	uint32_t events_left;
	const char *reason; /* why reading stopped early */
	bool cut;	    /* in the middle of a block */
	struct sp_journal_state state;
};

static int read_at(int fd, void *data, size_t bytes, uint64_t offset)
{
	uint8_t *p = data;

	while (bytes) {
		ssize_t n = pread(fd, p, bytes, (off_t)offset);

		if (n < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (n == 0)
			return -ENODATA;
		p += n;
		offset += (uint64_t)n;
		bytes -= (size_t)n;
	}
	return 0;
}

static int stop(struct sp_journal *j, const char *reason)
{
	j->reason = reason;
	j->events_left = 0;
	return 0;
}

static int stop_cut(struct sp_journal *j)
{
	j->cut = true;
	return stop(j, "the last block is cut off");
}

static bool header_is_sane(const struct sp_journal *j)
{
	return j->header.magic == SP_JOURNAL_BLOCK_MAGIC &&
	       j->header.bytes <= SP_JOURNAL_BLOCK_MAX && j->header.sequence == j->sequence;
}

/* All events of a block have been read. */
static void finish_block(struct sp_journal *j)
{
	if (j->header.kind != SP_BLOCK_EVENTS || j->at == j->header.bytes)
		return;
	j->state.unused += j->header.bytes - j->at;
	if (!j->state.unused_offset)
		j->state.unused_offset = j->state.offset;
	j->at = j->header.bytes;
}

/* Reads the next block. 1, 0 at the end of what is good, -errno. */
static int next_block(struct sp_journal *j)
{
	uint32_t crc;
	uint64_t left = j->file_bytes - j->offset;
	int r;

	if (j->reason || left == 0)
		return 0;
	if (left < sizeof(j->header))
		return stop_cut(j);
	r = read_at(j->fd, &j->header, sizeof(j->header), j->offset);
	if (r < 0)
		return r == -ENODATA ? stop(j, "the file became shorter while it was read") : r;
	if (!header_is_sane(j))
		return stop(j, "a block's header is damaged");
	if (left - sizeof(j->header) < j->header.bytes)
		return stop_cut(j);
	/* Not NULL for an empty payload either. */
	if (!j->block || j->header.bytes > j->room) {
		uint8_t *more = realloc(j->block, j->header.bytes + 1);

		if (!more)
			return -ENOMEM;
		j->block = more;
		j->room = j->header.bytes;
	}
	r = read_at(j->fd, j->block, j->header.bytes, j->offset + sizeof(j->header));
	if (r < 0)
		return r == -ENODATA ? stop(j, "the file became shorter while it was read") : r;
	crc = j->header.crc;
	j->header.crc = 0;
	if (sp_crc32c(sp_crc32c(0, &j->header, sizeof(j->header)), j->block, j->header.bytes) !=
	    crc)
		return stop(j, "a block's checksum is wrong");
	j->state.block = j->sequence++;
	j->state.offset = j->offset;
	j->state.unknown_blocks +=
		j->header.kind != SP_BLOCK_EVENTS && j->header.kind != SP_BLOCK_SCHEMA;
	j->offset += sizeof(j->header) + j->header.bytes;
	j->at = 0;
	j->events_left = j->header.kind == SP_BLOCK_EVENTS ? j->header.events : 0;
	memset(&j->codec, 0, sizeof(j->codec));
	return 1;
}

/* Why there is no whole block at the beginning. */
static int no_schema(const struct sp_journal *j, struct sp_error *err)
{
	if (!j->file_bytes)
		return sp_error_set(err, -SP_E_TRUNCATED, 0,
				    "is empty: nothing was recorded, nothing can be recovered");
	if (j->file_bytes <= 8 || j->cut)
		return sp_error_set(err, -SP_E_TRUNCATED, j->file_bytes,
				    "ends inside its schema, the first block: no event was written "
				    "yet, so nothing can be recovered");
	return sp_error_set(err, -SP_E_DAMAGED, 8, "its first block, the schema, is damaged: %s",
			    j->reason);
}

static int read_start(struct sp_journal *j, struct sp_error *err)
{
	char magic[8];
	struct stat st;
	int r;

	if (fstat(j->fd, &st) < 0)
		return sp_error_set(err, -errno, 0, "cannot be examined: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sp_error_set(err, -EINVAL, 0, "is not a regular file");
	j->file_bytes = (uint64_t)st.st_size;
	r = read_at(j->fd, magic, j->file_bytes < 8 ? j->file_bytes : 8, 0);
	if (r < 0)
		return sp_error_set(err, r, 0, "cannot be read: %s", strerror(-r));
	if (j->file_bytes >= 8 && !memcmp(magic, SP_JOURNAL_MAGIC, 7) &&
	    magic[7] != SP_JOURNAL_MAGIC[7])
		return sp_error_set(err, -SP_E_VERSION, 7,
				    "is a journal of version '%c'; this program knows version %c",
				    magic[7], SP_JOURNAL_MAGIC[7]);
	if (memcmp(magic, SP_JOURNAL_MAGIC, j->file_bytes < 8 ? j->file_bytes : 8))
		return sp_error_set(err, -SP_E_FORMAT, 0, "is not a journal of sp-trace");
	j->offset = 8;
	r = j->file_bytes <= 8 ? 0 : next_block(j);
	if (r < 0)
		return sp_error_set(err, r, 8, "cannot be read: %s", strerror(-r));
	if (r == 0)
		return no_schema(j, err);
	if (j->header.kind != SP_BLOCK_SCHEMA)
		return sp_error_set(err, -SP_E_DAMAGED, 8, "its first block is no schema");
	j->first_block = j->offset;
	return sp_schema_parse((const char *)j->block, j->header.bytes, &j->schema, err);
}

int sp_journal_open_fd(int fd, struct sp_journal **ret_journal, struct sp_error *err)
{
	struct sp_journal *j = calloc(1, sizeof(*j));
	int r;

	if (!j) {
		close(fd);
		return sp_error_set(err, -ENOMEM, 0, "out of memory");
	}
	j->fd = fd;
	r = read_start(j, err);
	if (r < 0) {
		sp_journal_free(j);
		return r;
	}
	*ret_journal = j;
	return 0;
}

int sp_journal_open(const char *path, struct sp_journal **ret_journal, struct sp_error *err)
{
	uint64_t size;
	int fd, r = sp_open_regular(path, &fd, &size, err);

	return r < 0 ? r : sp_journal_open_fd(fd, ret_journal, err);
}

int sp_journal_next_any(struct sp_journal *j, const struct sp_event **ret_event)
{
	for (;;) {
		size_t used = 0;
		int r;

		if (!j->events_left) {
			if (!j->reason)
				finish_block(j);
			r = next_block(j);
			if (r <= 0)
				return r;
			continue;
		}
		r = sp_codec_decode(j->schema, &j->codec, j->block + j->at, j->header.bytes - j->at,
				    &j->event, &used);
		if (r < 0)
			return stop(j,
				    "a block's events are damaged although its checksum is right");
		j->at += used;
		j->events_left--;
		j->state.unknown_events += j->event.head->type == SP_EV_NONE;
		*ret_event = &j->event;
		return 1;
	}
}

int sp_journal_next(struct sp_journal *j, const struct sp_event **ret_event)
{
	int r;

	do
		r = sp_journal_next_any(j, ret_event);
	while (r == 1 && (*ret_event)->head->type == SP_EV_NONE);
	return r;
}

const struct sp_schema *sp_journal_schema(const struct sp_journal *j)
{
	return j->schema;
}

uint64_t sp_journal_value(const struct sp_journal *j, unsigned index)
{
	return index < SP_MAX_FIELDS ? j->codec.last[j->event.id][2 + index] : 0;
}

void sp_journal_state(const struct sp_journal *j, struct sp_journal_state *ret_state)
{
	*ret_state = j->state;
}

unsigned sp_journal_stream(const struct sp_journal *j)
{
	return j->header.stream;
}

void sp_journal_rewind(struct sp_journal *j)
{
	j->offset = j->first_block;
	j->sequence = 1;
	j->events_left = 0;
	j->reason = NULL;
	j->cut = false;
	j->state = (struct sp_journal_state){0};
	j->header.kind = SP_BLOCK_SCHEMA; /* nothing of a block is left over */
}

bool sp_journal_intact(const struct sp_journal *j, uint64_t *ret_good_bytes,
		       uint64_t *ret_file_bytes, const char **ret_reason)
{
	*ret_good_bytes = j->offset;
	*ret_file_bytes = j->file_bytes;
	*ret_reason = j->reason ? j->reason : "";
	return !j->reason;
}

void sp_journal_free(struct sp_journal *j)
{
	if (!j)
		return;
	sp_schema_free(j->schema);
	free(j->block);
	close(j->fd);
	free(j);
}
