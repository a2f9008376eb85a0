/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/recorder.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/codec.h"
#include "loader/clock.h"
#include "loader/ledger.h"
#include "loader/unwritten.h"
#include "userspace/base/cleanup.h"

struct sp_recorder {
	struct sp_journal_writer *journal;
	struct sp_recorder_counts counts;
	struct sp_ledger *ledger;
	struct sp_unwritten *unwritten;
	struct sp_bpf_skipped skipped; /* noted so far */
	uint64_t asked;		       /* ns, when that was */
	int error;
};

static void on_unwritten(void *arg, unsigned stream, const struct sp_event *event)
{
	struct sp_recorder *r = arg;

	if (event->head->type == SP_EV_call)
		r->counts.calls--;
	else if (event->head->type == SP_EV_sample)
		r->counts.samples--;
	if (event->head->type == SP_EV_call || event->head->type == SP_EV_sample)
		r->counts.lost++;
	sp_unwritten_add(r->unwritten, stream, event, sp_now());
}

int sp_recorder_new(int fd, unsigned cpus, struct sp_recorder **ret_recorder)
{
	struct sp_recorder *r = calloc(1, sizeof(*r));
	int e;

	if (!r || sp_ledger_new(cpus, &r->ledger) < 0 || sp_unwritten_new(&r->unwritten) < 0) {
		close(fd);
		sp_recorder_free(r);
		return -ENOMEM;
	}
	e = sp_journal_writer_new(fd, &r->journal);
	if (e < 0) {
		sp_recorder_free(r);
		return e;
	}
	sp_journal_on_lost(r->journal, on_unwritten, r);
	r->asked = sp_now();
	*ret_recorder = r;
	return 0;
}

static void note_error(struct sp_recorder *r, int e)
{
	if (e < 0 && r->error == 0)
		r->error = e;
}

void sp_recorder_add(struct sp_recorder *r, unsigned stream, const struct sp_head *event)
{
	if (event->type == SP_EV_call)
		r->counts.calls++;
	else if (event->type == SP_EV_sample)
		r->counts.samples++;
	note_error(r, sp_journal_add(r->journal, stream, event));
}

void sp_recorder_add_text(struct sp_recorder *r, const struct sp_head *event, ...)
{
	const struct sp_event_desc *desc = sp_event_find(event->type);
	size_t tail = 0;
	sp_cleanup(sp_freep) char *copy = NULL;
	const char *s;
	uint64_t n;
	va_list ap;

	va_start(ap, event);
	while ((s = va_arg(ap, const char *)))
		tail += strlen(s) + 1;
	va_end(ap);
	copy = malloc(desc->bytes + tail + 1);
	if (!copy) {
		note_error(r, -ENOMEM);
		return;
	}
	memcpy(copy, event, desc->bytes);
	tail = desc->bytes;
	va_start(ap, event);
	while ((s = va_arg(ap, const char *))) {
		memcpy(copy + tail, s, strlen(s) + 1);
		tail += strlen(s) + 1;
	}
	va_end(ap);
	n = tail - desc->bytes;
	if (n)
		n--; /* the last string ends with the tail */
	memcpy(copy + sizeof(struct sp_head), &n, sizeof(n));
	sp_recorder_add(r, SP_STREAM_RECORDER, (const struct sp_head *)copy);
}

void sp_recorder_meta(struct sp_recorder *r, const char *key, const char *format, ...)
{
	struct sp_ev_meta ev = {.head = {.type = SP_EV_meta}};
	sp_cleanup(sp_freep) char *value = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&value, format, ap) < 0)
		value = NULL;
	va_end(ap);
	if (value)
		sp_recorder_add_text(r, &ev.head, key, value, NULL);
	else
		note_error(r, -ENOMEM);
}

/* Of several tries the one that took least; its error is half of that. */
void sp_recorder_clock(struct sp_recorder *r)
{
	struct sp_ev_clock best = {.error = INT64_MAX};

	for (int i = 0; i < 8; i++) {
		int64_t before = sp_clock(CLOCK_MONOTONIC);
		int64_t real = sp_clock(CLOCK_REALTIME);
		int64_t boot = sp_clock(CLOCK_BOOTTIME);
		int64_t after = sp_clock(CLOCK_MONOTONIC);

		if ((after - before + 1) / 2 < best.error)
			best = (struct sp_ev_clock){
				.monotonic = before + (after - before) / 2,
				.realtime = real,
				.boottime = boot,
				.error = (after - before + 1) / 2,
			};
	}
	best.head = (struct sp_head){.type = SP_EV_clock};
	sp_recorder_add(r, SP_STREAM_RECORDER, &best.head);
}

void sp_recorder_lost(struct sp_recorder *r, struct sp_ev_loss *gap)
{
	unsigned cause = gap->cause;

	if (!gap->count || cause >= SP_LOSS_MAX)
		return;
	gap->head = (struct sp_head){.type = SP_EV_loss};
	if (cause == SP_LOSS_CALL_RING_FULL || cause == SP_LOSS_SAMPLE_RING_FULL ||
	    cause == SP_LOSS_STORAGE || cause == SP_LOSS_DEPTH ||
	    cause == SP_LOSS_PROGRAM_SKIPPED || cause == SP_LOSS_SAMPLE_THROTTLED)
		r->counts.lost += gap->count;
	else if (sp_loss_is_gap(cause))
		r->counts.gaps[cause] += gap->count;
	sp_recorder_add(r, SP_STREAM_RECORDER, &gap->head);
}

void sp_recorder_lost_since(struct sp_recorder *r, unsigned cause, int cpu, uint64_t since)
{
	struct sp_ev_loss gap = {
		.first = since, .last = sp_now(), .count = 1, .cause = cause, .cpu = cpu};

	sp_recorder_lost(r, &gap);
}

static void on_gap(void *arg, struct sp_ev_loss *gap)
{
	sp_recorder_lost(arg, gap);
}

void sp_recorder_losses(struct sp_recorder *r, struct sp_bpf *bpf, uint64_t now, bool all)
{
	sp_ledger_read(r->ledger, bpf, now, all, on_gap, r);
}

void sp_recorder_skipped(struct sp_recorder *r, const struct sp_bpf *bpf)
{
	struct sp_bpf_skipped skipped = sp_bpf_skipped(bpf);
	struct sp_ev_loss gap = {.first = r->asked, .last = sp_now(), .cpu = -1};

	gap.cause = SP_LOSS_PROGRAM_SKIPPED;
	gap.count = skipped.others - r->skipped.others;
	sp_recorder_lost(r, &gap);
	gap.cause = SP_LOSS_SAMPLE_THROTTLED;
	gap.count = skipped.samples - r->skipped.samples;
	sp_recorder_lost(r, &gap);
	r->skipped = skipped;
	r->asked = gap.last;
}

/* Counted as lost already. */
static void on_refused(void *arg, struct sp_ev_loss *gap)
{
	gap->head = (struct sp_head){.type = SP_EV_loss};
	sp_recorder_add(arg, SP_STREAM_RECORDER, &gap->head);
}

void sp_recorder_unwritten(struct sp_recorder *r)
{
	sp_journal_use_reserve(r->journal);
	sp_recorder_flush(r);
	sp_unwritten_take(r->unwritten, on_refused, r);
}

void sp_recorder_end(struct sp_recorder *r, uint64_t time, const char *reason)
{
	struct sp_ev_end ev = {
		.head = {.type = SP_EV_end},
		.time = time,
		.calls = r->counts.calls,
		.samples = r->counts.samples,
	};

	sp_recorder_add_text(r, &ev.head, reason, NULL);
}

void sp_recorder_flush(struct sp_recorder *r)
{
	note_error(r, sp_journal_flush(r->journal));
}

int sp_recorder_error(const struct sp_recorder *r)
{
	return r->error;
}

struct sp_recorder_counts sp_recorder_counts(const struct sp_recorder *r)
{
	struct sp_recorder_counts counts = r->counts;

	counts.bytes = sp_journal_bytes(r->journal);
	counts.in_hand = sp_journal_in_hand(r->journal);
	return counts;
}

void sp_recorder_free(struct sp_recorder *r)
{
	if (!r)
		return;
	note_error(r, sp_journal_writer_free(r->journal));
	sp_ledger_free(r->ledger);
	sp_unwritten_free(r->unwritten);
	free(r);
}
