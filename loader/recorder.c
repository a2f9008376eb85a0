/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/recorder.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loader/clock.h"
#include "userspace/base/cleanup.h"

struct sp_recorder {
	struct sp_journal_writer *journal;
	struct sp_recorder_counts counts;
	int error;
	unsigned cpus;
	uint64_t seen[]; /* losses noted, by CPU, then cause */
};

int sp_recorder_new(int fd, unsigned cpus, struct sp_recorder **ret_recorder)
{
	struct sp_recorder *r = calloc(1, sizeof(*r) + cpus * SP_LOSS_MAX * sizeof(r->seen[0]));
	int e;

	if (!r) {
		close(fd);
		return -ENOMEM;
	}
	r->cpus = cpus;
	e = sp_journal_writer_new(fd, &r->journal);
	if (e < 0) {
		free(r);
		return e;
	}
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

static void note_loss(struct sp_recorder *r, unsigned cause, int cpu, uint64_t count,
		      uint64_t first, uint64_t last)
{
	struct sp_ev_loss ev = {
		.head = {.type = SP_EV_loss},
		.first = first,
		.last = last,
		.count = count,
		.cause = cause,
		.cpu = cpu,
	};

	if (cause == SP_LOSS_CALL_RING_FULL || cause == SP_LOSS_SAMPLE_RING_FULL ||
	    cause == SP_LOSS_STORAGE || cause == SP_LOSS_DEPTH || cause == SP_LOSS_DISK ||
	    cause == SP_LOSS_PROGRAM_SKIPPED)
		r->counts.lost += count;
	sp_recorder_add(r, SP_STREAM_RECORDER, &ev.head);
}

void sp_recorder_losses(struct sp_recorder *r, const struct sp_bpf *bpf)
{
	for (unsigned cpu = 0; cpu < r->cpus; cpu++)
		for (unsigned cause = 1; cause < SP_LOSS_MAX; cause++) {
			uint64_t *seen = &r->seen[cpu * SP_LOSS_MAX + cause];
			struct sp_loss_count loss;

			if (sp_bpf_losses(bpf, cpu, cause, &loss) < 0 || loss.count == *seen)
				continue;
			note_loss(r, cause, (int)cpu, loss.count - *seen, loss.first, loss.last);
			*seen = loss.count;
		}
}

void sp_recorder_lost(struct sp_recorder *r, unsigned cause, int cpu, uint64_t count)
{
	if (count)
		note_loss(r, cause, cpu, count, 0, sp_now());
}

void sp_recorder_lost_since(struct sp_recorder *r, unsigned cause, uint64_t since)
{
	note_loss(r, cause, -1, 1, since, sp_now());
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
	counts.lost += sp_journal_lost(r->journal);
	return counts;
}

void sp_recorder_free(struct sp_recorder *r)
{
	if (!r)
		return;
	note_error(r, sp_journal_writer_free(r->journal));
	free(r);
}
