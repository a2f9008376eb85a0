/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session.c - a recording: its loop, and its end. Whatever ends it, the journal is closed and
 * converted.
 */
#include "loader/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "formats/codec.h"
#include "loader/convert.h"
#include "loader/limits.h"
#include "loader/session_state.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define SECOND 1000000000u
#define WAIT_LEAST_MS 2
#define WAIT_MOST_MS 20
#define STOP_TRIES 250 /* half a second for threads that were preempted while they wrote a call */

static void on_signal(struct sp_session *s)
{
	int number = sp_session_take_signals(s);

	if (number)
		sp_session_finish(s, "%s", number == SIGINT ? "interrupted" : "terminated");
}

/* Its probes went with it, so from here on there are no regions. */
static void on_keeper_gone(struct sp_session *s)
{
	sp_log_error("sp-keep, the process that keeps the probes, was killed: they are off");
	sp_log_hint("the recording ends here; what was recorded so far is kept");
	s->failed = true;
	sp_session_finish(s, "sp-keep was killed");
}

static void on_cpu_back(void *arg, unsigned cpu)
{
	struct sp_session *s = arg;
	uint64_t since = sp_now() - SECOND;

	sp_log_warning("CPU %u was off and is back: %s of up to a second are missing there", cpu,
		       s->sampler ? "samples and mappings" : "mappings");
	sp_recorder_lost_since(s->recorder, SP_LOSS_MAPPING, (int)cpu, since);
	if (!s->sampler)
		return;
	sp_recorder_lost_since(s->recorder, SP_LOSS_SAMPLE_THROTTLED, (int)cpu, since);
	sp_throttle_forget(s->throttle, cpu);
	if (sp_sampler_restart(s->sampler, cpu) < 0)
		sp_log_warning("CPU %u takes no samples any more", cpu);
}

/* What is looked at now and then: losses, clocks, limits. */
static void check_limits(struct sp_session *s, uint64_t now)
{
	struct sp_recorder_counts counts = sp_recorder_counts(s->recorder);
	double disk = sp_output_disk_use(&s->output, counts.in_hand);

	sp_recorder_skipped(s->recorder, s->bpf);
	if (now >= s->next_minute) {
		sp_recorder_clock(s->recorder);
		s->next_minute = now + 60ull * SECOND;
	}
	if (s->options->max_size && counts.bytes >= s->options->max_size)
		sp_session_finish(s, "the journal reached --max-size");
	if (sp_output_is_removed(&s->output) && !s->reason[0]) {
		sp_log_error("%s was removed while it was written", s->output.journal);
		sp_log_hint("the recording ends here; what was written so far is kept");
		s->failed = true;
		sp_session_finish(s, "the journal was removed");
	}
	if (disk >= s->options->max_disk)
		sp_session_finish(s, "the disk is %.0f %% full", disk * 100);
	if (now >= s->next_second) {
		sp_sideband_check(s->sideband, on_cpu_back);
		s->next_second = now + SECOND;
	}
	s->next_check = now + SECOND / 4;
}

static void check_end(struct sp_session *s, uint64_t now)
{
	if (s->options->duration && now - s->began >= s->options->duration)
		sp_session_finish(s, "--duration is over");
	if (sp_bpf_live(s->bpf) <= 0 && (!s->command || sp_command_ended(s->command)))
		sp_session_finish(s, "the program ended");
}

static void record(struct sp_session *s)
{
	struct pollfd fds[] = {
		{.fd = sp_rings_fd(s->rings), .events = POLLIN},
		{.fd = sp_sideband_fd(s->sideband), .events = POLLIN},
		{.fd = s->signals, .events = POLLIN},
		{.fd = -1, .events = POLLIN}, /* the doorkeeper's, while it lives */
		{.fd = s->unwind ? sp_unwind_fd(s->unwind) : -1, .events = POLLIN},
		{.fd = sp_bpf_keeper_fd(s->bpf), .events = POLLIN},
	};
	int wait = WAIT_LEAST_MS;

	while (!s->reason[0]) {
		unsigned fill = 0;
		uint64_t now;
		bool others;

		fds[3].fd = s->hold ? sp_hold_fd(s->hold) : -1;
		/* What one of ours maps is wanted at once: its first samples need a table. Others
		 * may do as much as they like, and must not keep us busy. */
		others = s->heard_of_others && !s->heard_of_ours;
		fds[1].fd = others ? -1 : sp_sideband_fd(s->sideband);
		(void)poll(fds, sp_array_size(fds),
			   others			       ? WAIT_LEAST_MS
			   : sp_sideband_has_more(s->sideband) ? 0
							       : wait);
		sp_session_on_hold(s);
		on_signal(s);
		if (fds[5].revents)
			on_keeper_gone(s);
		sp_session_drain(s, &fill);
		if (fill >= 64 && wait > WAIT_LEAST_MS)
			wait /= 2;
		else if (fill < 16 && wait < WAIT_MOST_MS)
			wait++;
		now = sp_now();
		if (now >= s->next_check)
			check_limits(s, now);
		check_end(s, now);
		sp_progress_show(&s->progress, now - s->start, sp_recorder_counts(s->recorder));
	}
}

/* Calls whose writers were stopped in the middle. */
static void note_unread(struct sp_session *s, uint64_t time)
{
	for (unsigned cpu = 0; cpu < sp_bpf_cpus(s->bpf); cpu++) {
		struct sp_ev_loss gap = {
			.first = s->round,
			.last = time > s->round ? time : s->round,
			.count = sp_rings_unread(s->rings, cpu),
			.cause = SP_LOSS_CALL_RING_FULL,
			.cpu = (int)cpu,
		};

		sp_recorder_lost(s->recorder, &gap);
	}
}

static bool has_unread(const struct sp_session *s)
{
	for (unsigned cpu = 0; cpu < sp_bpf_cpus(s->bpf); cpu++)
		if (sp_rings_unread(s->rings, cpu))
			return true;
	return false;
}

static void stop(struct sp_session *s)
{
	uint64_t time = 0;
	unsigned fill;
	int r;

	sp_sideband_check(s->sideband, on_cpu_back); /* it is looked for once a second */
	r = sp_bpf_stop(s->bpf, &time);
	sp_throttle_stop(s->throttle, r < 0 ? sp_now() : time);
	sp_sampler_stop(s->sampler);
	if (r < 0)
		sp_log_warning("calls that were still open are missing: %s", strerror(-r));
	sp_session_drain(s, &fill);
	sp_session_drain(s, &fill); /* the side band hands out what is older than a round */
	for (int i = 0; i < STOP_TRIES && has_unread(s); i++) {
		usleep(2000);
		sp_session_drain(s, &fill);
	}
	note_unread(s, time);
	sp_session_note_throttled(s);
	sp_recorder_losses(s->recorder, s->bpf, sp_now(), true);
	sp_recorder_skipped(s->recorder, s->bpf);
	sp_session_write_for_symbols(s);
	sp_recorder_unwritten(s->recorder);
	sp_recorder_clock(s->recorder);
	sp_recorder_meta(s->recorder, "stop_ns", "%llu", (unsigned long long)time);
	sp_recorder_meta(s->recorder, "stop_reason", "%s", s->reason);
	sp_recorder_end(s->recorder, time, s->reason);
	sp_recorder_flush(s->recorder);
	sp_log_status_clear();
}

static void say_tables(struct sp_session *s)
{
	struct sp_unwind_stats t;

	if (!s->unwind)
		return;
	sp_unwind_stats(s->unwind, &t);
	sp_log_verbose("unwind tables: %zu with %s rows and %zu rules in %s; %zu ranges, %zu "
		       "thrown out, %zu failed (%zu for their owner's share)",
		       t.tables, sp_show_count(t.rows).text, t.rules,
		       sp_show_size((double)(t.chunks * sizeof(struct sp_unwind_chunk))).text,
		       t.ranges, t.evicted, t.failed, t.over_share);
}

/* What is missing, and nobody knows how much of it: so it is not among the LOST. */
static void say_gaps(const struct sp_recorder_counts *c)
{
	char text[512];
	size_t used = 0;

	for (unsigned cause = 0; cause < SP_LOSS_MAX; cause++)
		if (c->gaps[cause] && used < sizeof(text))
			used += (size_t)snprintf(
				text + used, sizeof(text) - used, "%s%s × %s", used ? ", " : "",
				sp_show_count(c->gaps[cause]).text, sp_loss_name(cause));
	if (used)
		sp_log_info(
			"besides: %s: regions or names may be missing; sp-report info says when%s",
			text,
			c->gaps[SP_LOSS_ARMED_LATE]
				? ". What the command line names is armed before it starts"
				: "");
}

static void say_end(struct sp_session *s)
{
	struct sp_recorder_counts c = sp_recorder_counts(s->recorder);

	sp_log_info("recording ended after %s (%s): %s call%s, %s sample%s%s%s",
		    sp_show_duration((double)(sp_now() - s->start)).text, s->reason,
		    sp_show_count(c.calls).text, sp_plural(c.calls), sp_show_count(c.samples).text,
		    sp_plural(c.samples), c.lost ? ", LOST: " : "",
		    c.lost ? sp_show_count(c.lost).text : "");
	say_gaps(&c);
	sp_stacks_say(&s->stacks, s->unwind);
	say_tables(s);
	if (s->options->hz && strcmp(s->sample_event, "cycles"))
		sp_log_info("sampled by the CPU clock: this machine has no hardware cycle counter");
	if (s->command && sp_images_armed(s->images) == 0)
		sp_session_say_without_probes(s->program);
}

/* Converts while the probes come off, which takes the kernel a while. */
static int convert(struct sp_session *s)
{
	pid_t pid;
	int r = sp_output_settle(&s->output, s->program, &s->identity);

	if (r == 0)
		r = sp_convert_start(s->options, &s->identity, &s->output, s->program, &pid);
	sp_bpf_disarm_all(s->bpf);
	if (r < 0)
		return 1;
	r = sp_convert_wait(pid, &s->output);
	return r ? 1 : 0;
}

static void close_session(struct sp_session *s)
{
	sp_bpf_disarm_all(s->bpf);
	sp_hold_stop(s->hold);
	sp_sampler_free(s->sampler);
	sp_throttle_free(s->throttle);
	sp_sideband_free(s->sideband);
	sp_rings_free(s->rings);
	sp_processes_free(s->processes);
	sp_images_free(s->images);
	sp_look_free(s->look);
	sp_unwind_free(s->unwind);
	sp_kallsyms_free(s->kallsyms);
	sp_archive_free(s->archive);
	sp_recorder_free(s->recorder);
	sp_bpf_free(s->bpf);
	sp_command_free(s->command);
	sp_output_clear(&s->output);
	sp_identity_clear(&s->identity);
	if (s->signals >= 0)
		close(s->signals);
	free(s->program);
}

/* Waits for a command that runs on after its recording; a second signal leaves it. */
static int wait_for_command(struct sp_session *s)
{
	struct pollfd fd = {.fd = s->signals, .events = POLLIN};
	bool again;
	int number;

	if (!sp_command_ended(s->command) && !sp_log_has_status())
		sp_log_verbose("waiting for the command to end");
	while (!sp_command_ended(s->command)) {
		(void)poll(&fd, 1, 1000);
		again = s->asked;
		number = sp_session_take_signals(s);
		if (number && again)
			return 128 + number;
	}
	return sp_command_status(s->command);
}

int sp_session_run(const struct sp_options *options, const struct sp_command_given *given)
{
	struct sp_session s = {
		.options = options, .given = given, .signals = -1, .output = SP_OUTPUT_NONE};
	int status = 1, number, r;

	r = sp_limits_raise(given);
	if (r == 0)
		r = sp_session_open(&s);
	if (r == 0) {
		s.start = sp_now();
		s.next_check = s.start;
		s.next_minute = s.start;
		s.next_second = s.start + SECOND;
		r = sp_session_start_targets(&s);
		if (r < 0 && s.command && sp_command_ended(s.command))
			status = sp_command_status(s.command);
	}
	if (r == -EINTR && (number = sp_session_take_signals(&s))) {
		sp_log_error("%s before the recording began: nothing was started",
			     number == SIGINT ? "interrupted" : "terminated");
		status = 128 + number;
	}
	if (r == 0) {
		s.began = sp_now();
		sp_session_write_facts(&s);
		if (s.options->pid_count)
			sp_log_info("recording; Ctrl-C ends it");
		record(&s);
		stop(&s);
		sp_session_hurry(&s, false);
		say_end(&s);
		status = convert(&s);
		if (s.failed)
			status = 1;
		if (s.command) {
			int ended = wait_for_command(&s);

			status = status ? status : ended;
		}
	} else {
		if (!sp_log_errors())
			sp_log_error("cannot record: %s", strerror(-r));
		sp_output_discard(&s.output, &s.identity);
	}
	close_session(&s);
	return status;
}
