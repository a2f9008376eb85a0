/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_round.c - one round: all rings are drained, their streams joined, and everything is
 * handed to the journal.
 */
#include "loader/session_state.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "loader/facts.h"
#include "loader/prearm.h"
#include "userspace/base/log.h"

#define HOLD_MOST_NS 100000000u
#define TABLES_MOST_NS 60000000u /* for the tables of one program that starts */

void sp_session_finish(struct sp_session *s, const char *format, ...)
{
	va_list ap;

	if (s->reason[0])
		return;
	va_start(ap, format);
	vsnprintf(s->reason, sizeof(s->reason), format, ap);
	va_end(ap);
}

static void on_event(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes)
{
	struct sp_session *s = arg;

	(void)bytes;
	if (event->type == SP_EV_task || event->type == SP_EV_task_exit) {
		if (event->type == SP_EV_task)
			sp_processes_task(s->processes, (const struct sp_ev_task *)event);
		else
			sp_processes_exit(s->processes, (const struct sp_ev_task_exit *)event);
	}
	if (event->type == SP_EV_sample) {
		sp_stacks_add(&s->stacks, s->unwind, (const struct sp_ev_sample *)event);
		if (s->kallsyms)
			sp_kallsyms_add(s->kallsyms, (const struct sp_ev_sample *)event);
	}
	if (event->type == SP_EV_stack_copy && s->sizes.stacks == SP_STACKS_EH)
		sp_stacks_add_copy(&s->stacks);
	if (event->type == SP_EV_dynamic_site)
		sp_facts_add_name(s->recorder, s->look, (const struct sp_ev_dynamic_site *)event);
	else
		sp_recorder_add(s->recorder, cpu == SP_RING_CONTROL ? SP_STREAM_RECORDER : cpu,
				event);
}

/* The side band tells of all processes of the machine. */
static void note_whose(struct sp_session *s, pid_t pid)
{
	if (sp_processes_has(s->processes, pid))
		s->heard_of_ours = true;
	else
		s->heard_of_others = true;
}

static void on_map(void *arg, const struct sp_mapping *mapping)
{
	note_whose(arg, mapping->pid);
	sp_processes_map(((struct sp_session *)arg)->processes, mapping);
}

static void on_exec(void *arg, pid_t pid, uint64_t time)
{
	note_whose(arg, pid);
	sp_processes_exec(((struct sp_session *)arg)->processes, pid, time);
}

static void on_sideband_lost(void *arg, unsigned cpu, uint64_t since, uint64_t count)
{
	struct sp_session *s = arg;
	struct sp_ev_loss gap = {
		.first = since,
		.last = sp_now(),
		.count = count,
		.cause = SP_LOSS_MAPPING,
		.cpu = (int)cpu,
	};

	sp_recorder_lost(s->recorder, &gap);
}

static void on_throttled(void *arg, unsigned cpu, uint64_t time, bool on)
{
	struct sp_session *s = arg;
	struct sp_ev_loss gap;
	bool lost = on ? sp_throttle_on(s->throttle, cpu, time, &gap)
		       : sp_throttle_off(s->throttle, cpu, time, &gap);

	s->heard_of_others = true; /* it comes with every timer tick, and can wait */
	if (lost)
		sp_recorder_lost(s->recorder, &gap);
}

static void on_lost_samples(void *arg, unsigned cpu, uint64_t since, uint64_t count)
{
	struct sp_session *s = arg;
	struct sp_ev_loss gap = {
		.first = since,
		.last = sp_now(),
		.count = count,
		.cause = SP_LOSS_SAMPLE_THROTTLED,
		.cpu = (int)cpu,
	};

	sp_recorder_lost(s->recorder, &gap);
}

void sp_session_note_throttled(struct sp_session *s)
{
	struct sp_ev_loss gap;

	for (unsigned cpu = 0; cpu < sp_bpf_cpus(s->bpf); cpu++)
		if (sp_throttle_finish(s->throttle, cpu, &gap))
			sp_recorder_lost(s->recorder, &gap);
}

/* Rings fill while something is waited for that may not come. Of threads and mappings, nothing is
 * looked at before that is done. */
static void on_wait(void *arg)
{
	struct sp_session *s = arg;
	unsigned fill;

	(void)sp_rings_drain(s->rings, &fill);
	sp_sideband_take(s->sideband);
	sp_recorder_flush(s->recorder);
}

static const struct sp_sideband_ops sideband_ops = {
	.map = on_map,
	.exec = on_exec,
	.lost = on_sideband_lost,
	.throttled = on_throttled,
	.lost_samples = on_lost_samples,
};

int sp_session_join(struct sp_session *s)
{
	int r = sp_rings_new(s->bpf, on_event, s, &s->rings);

	if (r < 0)
		return r;
	sp_look_meanwhile(s->look, on_wait, s);
	sp_images_meanwhile(s->images, on_wait, s);
	sp_bpf_meanwhile(s->bpf, on_wait, s);
	return sp_sideband_start(sp_bpf_cpus(s->bpf), &sideband_ops, s, &s->sideband);
}

/* One round. Sets how full the fullest ring was, of 256. */
void sp_session_drain(struct sp_session *s, unsigned *ret_fill)
{
	uint64_t begin = sp_now();
	int r = sp_rings_drain_control(s->rings);

	s->heard_of_ours = s->heard_of_others = false;
	if (r == 0)
		r = sp_sideband_drain(s->sideband, begin);
	if (s->unwind) /* first, since the next step may wait for a helper */
		sp_unwind_commit(s->unwind);
	if (r == 0)
		r = sp_processes_commit(s->processes);
	if (r == 0)
		r = sp_rings_drain(s->rings, ret_fill);
	if (r < 0) {
		sp_log_error("cannot read what the kernel recorded: %s", strerror(-r));
		s->failed = true;
		sp_session_finish(s, "reading failed: %s", strerror(-r));
	}
	sp_recorder_losses(s->recorder, s->bpf, begin, false);
	s->round = begin;
	sp_recorder_flush(s->recorder);
	r = sp_recorder_error(s->recorder);
	if (r < 0 && !s->reason[0]) {
		sp_log_error("cannot write to %s: %s", s->output.directory, strerror(-r));
		sp_log_hint("the recording ends here; what was written so far is kept");
		s->failed = true;
		sp_session_finish(s, "writing failed: %s", strerror(-r));
	}
}

void sp_session_await_tables(struct sp_session *s, uint64_t most_ns)
{
	uint64_t until = sp_now() + most_ns;
	unsigned fill;

	while (s->unwind && sp_unwind_is_busy(s->unwind) && sp_now() < until &&
	       (s->began || sp_session_go_on() == 0)) {
		struct pollfd p = {.fd = sp_unwind_fd(s->unwind), .events = POLLIN};

		(void)poll(&p, 1, 2);
		sp_session_drain(s, &fill);
	}
}

/* The execs that wait: whose, and of which file, and on it goes. For a while only, since the rings
 * fill meanwhile. */
void sp_session_on_hold(struct sp_session *s)
{
	uint64_t until = sp_now() + HOLD_MOST_NS, waits;
	pid_t pid;
	int fd;

	while (s->hold && sp_now() < until) {
		int r = sp_hold_next(s->hold, &pid, &fd, &waits);
		bool traced;

		if (r < 0)
			sp_log_warning("the process that holds execs was killed: from here on the "
				       "first regions of programs that start may be lost");
		if (r != 1)
			break;

		(void)sp_rings_drain_control(s->rings); /* its fork may have come a moment ago */
		traced = sp_processes_has(s->processes, pid);
		if (traced) {
			(void)sp_prearm_file(s->images, s->look, fd, waits);
			sp_session_await_tables(s, TABLES_MOST_NS);
		} else {
			close(fd);
		}
		sp_hold_answer(s->hold, traced);
	}
}
