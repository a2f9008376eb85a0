/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recorder.h - what goes into the journal: events, and the facts about the recording around them.
 *
 *   sp_recorder_new → meta, clock, add …, losses, flush … → end → free
 *
 * A write that fails is remembered (sp_recorder_error()), not returned by each call: the session
 * looks once a round and ends the recording.
 */
#ifndef SP_LOADER_RECORDER_H
#define SP_LOADER_RECORDER_H

#include <stdint.h>

#include "formats/journal.h"
#include "formats/wire.h"
#include "loader/bpf.h"
#include "loader/clock.h"

struct sp_recorder;

struct sp_recorder_counts {
	uint64_t calls, samples;    /* events in the journal */
	uint64_t lost;		    /* calls and samples that are not */
	uint64_t bytes;		    /* of the journal */
	uint64_t in_hand;	    /* of the disk, taken for the journal beforehand */
	uint64_t gaps[SP_LOSS_MAX]; /* by cause: what nobody knows the calls and samples of */
};

/* Takes over @fd, an empty file, also on failure. */
int sp_recorder_new(int fd, unsigned cpus, struct sp_recorder **ret_recorder);

/* Adds an event as it is. @stream: CPU, or SP_STREAM_RECORDER. */
void sp_recorder_add(struct sp_recorder *recorder, unsigned stream, const struct sp_head *event);
/* Adds a text event: @event with the strings, up to a NULL, NUL-separated as its tail. */
void sp_recorder_add_text(struct sp_recorder *recorder, const struct sp_head *event, ...)
	__attribute__((sentinel));

void sp_recorder_meta(struct sp_recorder *recorder, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Reads the three clocks together. */
void sp_recorder_clock(struct sp_recorder *recorder);
/* Notes what the kernel side lost since the last time; @now, @all: as in sp_ledger_read(). */
void sp_recorder_losses(struct sp_recorder *recorder, struct sp_bpf *bpf, uint64_t now, bool all);
/* The same of runs of programs that the kernel skipped. */
void sp_recorder_skipped(struct sp_recorder *recorder, const struct sp_bpf *bpf);
/* Notes a loss that is counted elsewhere, unless its count is 0. */
void sp_recorder_lost(struct sp_recorder *recorder, struct sp_ev_loss *gap);
/* One loss of unknown size, on a CPU (-1 unknown), from @since to now. */
void sp_recorder_lost_since(struct sp_recorder *recorder, unsigned cause, int cpu, uint64_t since);
/* At the end: uses the room that was kept, and notes what a full disk refused. */
void sp_recorder_unwritten(struct sp_recorder *recorder);
void sp_recorder_end(struct sp_recorder *recorder, uint64_t time, const char *reason);

void sp_recorder_flush(struct sp_recorder *recorder);
/* The first write error, -errno, or 0. */
int sp_recorder_error(const struct sp_recorder *recorder);
struct sp_recorder_counts sp_recorder_counts(const struct sp_recorder *recorder);

/* Flushes and closes. */
void sp_recorder_free(struct sp_recorder *recorder);

#endif
