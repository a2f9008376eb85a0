/* SPDX-License-Identifier: BSD-2-Clause
 *
 * journal.h - the recorder's append-only file, from which all final files are made.
 *
 * A magic number, then blocks; each has its length, its kind, a sequence number and a CRC-32C, and can
 * be unpacked alone. The first block is the schema: names and types of all fields of all events. A
 * recorder that dies leaves a file whose whole blocks are all good; a reader stops at the first that
 * is not. FORMAT.md has the layout byte by byte.
 *
 * One thread at a time may use a writer or a reader.
 */
#ifndef SP_FORMATS_JOURNAL_H
#define SP_FORMATS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/api.h"
#include "formats/codec.h"
#include "formats/error.h"

SP_API_BEGIN

#define SP_JOURNAL_MAGIC "SPTRJNL1"
#define SP_JOURNAL_BLOCK_MAGIC 0x4b4c4253u /* "SBLK" */
#define SP_JOURNAL_BLOCK_BYTES (64 * 1024) /* a writer's block is no longer, but for one huge event */
#define SP_JOURNAL_BLOCK_MAX (16 * 1024 * 1024) /* a reader refuses longer ones */

enum sp_block_kind {
	SP_BLOCK_SCHEMA = 1, /* text, see sp_schema_text() */
	SP_BLOCK_EVENTS = 2, /* packed events */
};

/* Little-endian on disk. */
struct sp_block_header {
	uint32_t magic;
	uint32_t bytes;	   /* of the payload that follows */
	uint16_t kind;	   /* enum sp_block_kind */
	uint16_t stream;   /* ring that it was drained from: CPU, or SP_STREAM_RECORDER */
	uint32_t events;   /* in it */
	uint64_t sequence; /* of the block in the file, from 0 */
	uint32_t reserved;
	uint32_t crc; /* of this header with crc 0, then the payload */
};

#define SP_STREAM_RECORDER 0xffffu

/* ---- writing ---- */

struct sp_journal_writer;

/* Starts a journal on @fd, which must be an empty regular file open for writing; takes it over, also
 * on failure. Writes the schema. */
int sp_journal_writer_new(int fd, struct sp_journal_writer **ret_writer);

/* Adds a record that passed sp_event_check(). It is on disk (that is, in the kernel's hands) after the
 * next flush. @stream < 0xffff, or SP_STREAM_RECORDER.
 * -ENOSPC, -EDQUOT, -EIO … when a block could not be written: its events are lost and counted, and the
 * file is cut back to the last whole block, so that it stays readable. */
int sp_journal_add(struct sp_journal_writer *writer, unsigned stream, const struct sp_head *event);

/* Called with each event that could not be written, once, with the stream that it was added to. */
typedef void (*sp_journal_lost_cb)(void *arg, unsigned stream, const struct sp_event *event);
void sp_journal_on_lost(struct sp_journal_writer *writer, sp_journal_lost_cb cb, void *arg);
/* A journal keeps some room on the disk in hand, where the file system can do that: a write fails
 * with -ENOSPC before it is used up. From now on it may be: for what is to be said at the end. */
void sp_journal_use_reserve(struct sp_journal_writer *writer);

/* Hands all that was added to the kernel. */
int sp_journal_flush(struct sp_journal_writer *writer);

uint64_t sp_journal_bytes(const struct sp_journal_writer *writer);
/* What the file has of the disk beyond these. */
uint64_t sp_journal_in_hand(const struct sp_journal_writer *writer);
/* Events that could not be written. */
uint64_t sp_journal_lost(const struct sp_journal_writer *writer);

/* Flushes and closes. NULL is fine. Returns the flush's result. */
int sp_journal_writer_free(struct sp_journal_writer *writer);

/* ---- reading ---- */

struct sp_journal;

/* -SP_E_FORMAT when it is not a journal, -SP_E_VERSION when it is a newer one, -SP_E_TRUNCATED when it ends before its schema does,
 * -SP_E_DAMAGED when that is wrong; a journal without one whole event is fine. */
int sp_journal_open(const char *path, struct sp_journal **ret_journal, struct sp_error *err);
/* The same on a descriptor, which it takes over, also on failure. */
int sp_journal_open_fd(int fd, struct sp_journal **ret_journal, struct sp_error *err);

/* The next event: 1, or 0 at the end of what is readable, or -errno (out of memory, I/O). Events that
 * this version does not know are passed over. @ret_event is valid until the next call. */
int sp_journal_next(struct sp_journal *journal, const struct sp_event **ret_event);
/* Stream of the event that sp_journal_next() gave last. */
unsigned sp_journal_stream(const struct sp_journal *journal);

/* ---- for those that show or check a journal as it stands ---- */

/* As sp_journal_next(), but also gives the events that this version does not know: their head's
 * type is SP_EV_NONE, their id and values are the recording's. */
int sp_journal_next_any(struct sp_journal *journal, const struct sp_event **ret_event);
/* How the recording describes its events. */
const struct sp_schema *sp_journal_schema(const struct sp_journal *journal);
/* Field @index, by that schema, of the event that was given last; signed ones are extended. */
uint64_t sp_journal_value(const struct sp_journal *journal, unsigned index);

/* Where the reading stands, and what has been passed over so far. */
struct sp_journal_state {
	uint64_t block;		 /* number of the block that was read last */
	uint64_t offset;	 /* where it begins in the file */
	uint64_t unknown_blocks; /* of a kind that this version does not know */
	uint64_t unknown_events;
	uint64_t unused;	/* bytes behind the last events of blocks, which no writer leaves */
	uint64_t unused_offset; /* the first block with such bytes, 0 none */
};
void sp_journal_state(const struct sp_journal *journal, struct sp_journal_state *ret_state);

void sp_journal_rewind(struct sp_journal *journal);

/* After sp_journal_next() returned 0: whether the file ended on a block's end, how many bytes were
 * read as whole blocks, and if not intact why not. */
bool sp_journal_intact(const struct sp_journal *journal, uint64_t *ret_good_bytes,
		       uint64_t *ret_file_bytes, const char **ret_reason);

void sp_journal_free(struct sp_journal *journal);

SP_API_END

#endif
