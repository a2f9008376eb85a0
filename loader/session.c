/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session.c - the order of things in a recording.
 *
 * Everything that can fail for want of a right, a file or a kernel feature comes before the program
 * starts. Once recording, a round drains all rings, joins their streams and hands everything to the
 * journal; whatever ends the recording, the journal is closed and converted.
 */
#include "loader/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "loader/check.h"
#include "loader/command.h"
#include "loader/convert.h"
#include "loader/facts.h"
#include "loader/hold.h"
#include "loader/identity.h"
#include "loader/images.h"
#include "loader/output.h"
#include "loader/prearm.h"
#include "loader/processes.h"
#include "loader/progress.h"
#include "loader/proctree.h"
#include "loader/rings.h"
#include "loader/sampler.h"
#include "loader/selftest.h"
#include "loader/sideband.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"

#define SECOND 1000000000u
#define WAIT_LEAST_MS 2
#define WAIT_MOST_MS 20
#define MAX_SITES (1u << 18)

struct session {
	const struct sp_options *options;
	struct sp_identity identity;
	char *program;
	struct sp_output output;
	struct sp_bpf *bpf;
	struct sp_selftest selftest;
	struct sp_recorder *recorder;
	struct sp_images *images;
	struct sp_processes *processes;
	struct sp_sideband *sideband;
	struct sp_rings *rings;
	struct sp_sampler *sampler;
	struct sp_hold *hold; /* NULL where the kernel has no such thing */
	struct sp_command *command;
	struct sp_bpf_options sizes;
	const char *sample_event;
	int signals;
	uint64_t start, next_second, next_minute;
	struct sp_progress progress;
	char reason[160]; /* why the recording ends; "" while it goes on */
	bool failed;	  /* ends for a fault */
};

static void __attribute__((format(printf, 2, 3))) finish(struct session *s, const char *format, ...)
{
	va_list ap;

	if (s->reason[0])
		return;
	va_start(ap, format);
	vsnprintf(s->reason, sizeof(s->reason), format, ap);
	va_end(ap);
}

/* ---- the streams ---- */

static void on_event(void *arg, unsigned cpu, const struct sp_head *event, size_t bytes)
{
	struct session *s = arg;

	(void)bytes;
	if (event->type == SP_EV_task || event->type == SP_EV_task_exit) {
		if (event->type == SP_EV_task)
			sp_processes_task(s->processes, (const struct sp_ev_task *)event);
		else
			sp_processes_exit(s->processes, (const struct sp_ev_task_exit *)event);
	}
	if (event->type == SP_EV_dynamic_site)
		sp_facts_add_name(s->recorder, (const struct sp_ev_dynamic_site *)event);
	else
		sp_recorder_add(s->recorder, cpu == SP_RING_CONTROL ? SP_STREAM_RECORDER : cpu,
				event);
}

static void on_map(void *arg, const struct sp_mapping *mapping)
{
	sp_processes_map(((struct session *)arg)->processes, mapping);
}

static void on_exec(void *arg, pid_t pid, uint64_t time)
{
	sp_processes_exec(((struct session *)arg)->processes, pid, time);
}

static void on_sideband_lost(void *arg, unsigned cpu, uint64_t count)
{
	sp_recorder_lost(((struct session *)arg)->recorder, SP_LOSS_CONTROL_RING_FULL, (int)cpu,
			 count);
}

static const struct sp_sideband_ops sideband_ops = {on_map, on_exec, on_sideband_lost};

/* One round. Sets how full the fullest ring was, of 256. */
static void drain(struct session *s, unsigned *ret_fill)
{
	uint64_t begin = sp_now();
	int r = sp_rings_drain_control(s->rings);

	if (r == 0)
		r = sp_sideband_drain(s->sideband, begin);
	if (r == 0)
		r = sp_processes_commit(s->processes);
	if (r == 0)
		r = sp_rings_drain(s->rings, ret_fill);
	if (r < 0) {
		sp_log_error("cannot read what the kernel recorded: %s", strerror(-r));
		s->failed = true;
		finish(s, "reading failed: %s", strerror(-r));
	}
	sp_recorder_flush(s->recorder);
	r = sp_recorder_error(s->recorder);
	if (r < 0 && !s->reason[0]) {
		sp_log_error("cannot write to %s: %s", s->output.directory, strerror(-r));
		sp_log_hint("the recording ends here; what was written so far is kept");
		s->failed = true;
		finish(s, "writing failed: %s", strerror(-r));
	}
}

/* An exec that waits: whose, and of which file, and on it goes. */
static void on_hold(struct session *s)
{
	pid_t pid;
	int fd;

	while (s->hold && sp_hold_next(s->hold, &pid, &fd) == 1) {
		bool traced;

		(void)sp_rings_drain_control(s->rings); /* its fork may have come a moment ago */
		traced = sp_processes_has(s->processes, pid);
		if (traced)
			(void)sp_prearm_file(s->images, fd, &s->identity);
		else
			close(fd);
		sp_hold_answer(s->hold, traced);
	}
}

/* ---- before the recording ---- */

static int check_pids(const struct sp_options *o)
{
	for (size_t i = 0; i < o->pid_count; i++)
		if (kill(o->pids[i], 0) && errno == ESRCH) {
			sp_log_error("there is no process %d", (int)o->pids[i]);
			sp_log_hint("pgrep -l NAME finds the process id of a program");
			return -ESRCH;
		}
	return 0;
}

static size_t ring_bytes(uint64_t wanted, unsigned cpus)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t each = wanted ? wanted : memory / 64 / cpus, bytes = 4096;

	if (!wanted && each > 16u << 20)
		each = 16u << 20;
	while (bytes * 2 <= each || bytes < 4096)
		bytes *= 2;
	if (wanted && bytes < wanted)
		bytes *= 2;
	return bytes;
}

static int open_bpf(struct session *s)
{
	unsigned cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	int r;

	s->sizes = (struct sp_bpf_options){
		.call_ring_bytes = ring_bytes(s->options->ring_bytes, cpus ? cpus : 1),
		.sample_ring_bytes = 512u << 10,
		.control_ring_bytes = 4u << 20,
		.max_sites = MAX_SITES,
	};
	r = sp_bpf_new(&s->sizes, &s->bpf);
	if (r == 0)
		r = sp_bpf_attach_tasks(s->bpf);
	if (r == 0) {
		sp_bpf_enable(s->bpf);
		r = sp_selftest_run(s->bpf, &s->selftest);
	}
	if (r < 0)
		return r;
	sp_log_verbose("rings: %s a CPU for calls, %s for samples, %u CPUs",
		       sp_show_size((double)s->sizes.call_ring_bytes).text,
		       sp_show_size((double)s->sizes.sample_ring_bytes).text, sp_bpf_cpus(s->bpf));
	sp_log_verbose("a recorded begin-end pair costs %.0f ns here%s%s", s->selftest.pair_ns,
		       s->selftest.fast ? ", on the fast path" : "; not on the fast path: ",
		       s->selftest.reason);
	return 0;
}

static int open_streams(struct session *s)
{
	int fd, r = sp_output_make(s->options->output, s->program, &s->identity, &s->output, &fd);

	if (r < 0)
		return r;
	if (sp_output_disk_use(&s->output) >= s->options->max_disk) {
		sp_log_error("the disk is already %.0f %% full, and recording ends at %.0f %%",
			     sp_output_disk_use(&s->output) * 100, s->options->max_disk * 100);
		sp_log_hint("write elsewhere with -o DIR, or say --max-disk-use 100");
		close(fd);
		return -ENOSPC;
	}
	r = sp_recorder_new(fd, sp_bpf_cpus(s->bpf), &s->recorder);
	if (r == 0)
		r = sp_images_new(s->bpf, s->recorder, &s->images);
	if (r == 0)
		r = sp_processes_new(s->recorder, s->images, &s->processes);
	if (r == 0)
		r = sp_rings_new(s->bpf, on_event, s, &s->rings);
	if (r == 0)
		r = sp_sideband_start(sp_bpf_cpus(s->bpf), &sideband_ops, s, &s->sideband);
	if (r < 0)
		sp_log_error("cannot start recording: %s", strerror(-r));
	else
		sp_images_set_fast(s->images, s->selftest.fast);
	return r;
}

static int add_targets(struct session *s)
{
	int r = 0;

	for (size_t i = 0; i < s->options->pid_count && r == 0; i++) {
		pid_t *children = NULL;
		size_t count = 0;

		r = sp_bpf_add_target(s->bpf, s->options->pids[i]);
		if (r == 0 && sp_proctree_descendants(s->options->pids[i], &children, &count) < 0)
			count = 0;
		for (size_t k = 0; k < count && r == 0; k++)
			r = sp_bpf_add_target(s->bpf, children[k]);
		free(children);
	}
	if (r == 0)
		r = sp_bpf_find_tasks(s->bpf);
	if (r < 0)
		sp_log_error("cannot find the threads to record: %s", strerror(-r));
	return r;
}

static void say_without_probes(const char *what)
{
	sp_log_warning("%s has no regions; only samples are taken", what);
	sp_log_hint("to add some, put SP_REGION_BEGIN(\"name\") and SP_REGION_END(\"name\") of "
		    "sp_region.h into it");
}

static void start_hold(struct session *s)
{
	int r = sp_hold_start(sp_bpf_lanes(s->bpf), &s->hold);

	if (r < 0)
		sp_log_verbose(
			"execs are not held: %s; the first regions of programs that the recorded "
			"ones start may be lost",
			strerror(-r));
}

/* Its exec is held like any other, so we must not wait for it without looking at who waits for us.
 */
static int start_command(struct session *s)
{
	struct pollfd fds[] = {
		{.fd = sp_command_fd(s->command), .events = POLLIN},
		{.fd = s->hold ? sp_hold_fd(s->hold) : -1, .events = POLLIN},
	};
	int r = sp_command_release(s->command);

	while (r == 0) {
		(void)poll(fds, 2, 100);
		on_hold(s);
		r = sp_command_started(s->command);
	}
	return r < 0 ? r : 0;
}

static int start_targets(struct session *s)
{
	unsigned fill;
	int r;

	if (s->options->command) {
		r = sp_prearm_command(s->images, s->options->command, &s->identity);
		if (r == 0)
			r = sp_command_prepare(s->options->command, &s->identity, &s->command);
		if (r == 0) {
			sp_processes_hide(s->processes, sp_command_pid(s->command));
			r = sp_bpf_add_target(s->bpf, sp_command_pid(s->command));
		}
	} else {
		r = 0;
	}
	if (r == 0)
		r = add_targets(s);
	if (r < 0)
		return r;
	start_hold(s);
	drain(s, &fill); /* who is there, what they map, and arms it */
	if (sp_bpf_live(s->bpf) == 0) {
		sp_log_error("the process ended before it could be recorded");
		return -ESRCH;
	}
	if (s->options->hz) {
		r = sp_sampler_start(s->bpf, s->options->hz, &s->sampler, &s->sample_event);
		if (r < 0) {
			sp_log_error("cannot sample: %s", strerror(-r));
			sp_log_hint("-F 0 records regions without samples");
			return r;
		}
	}
	if (!s->command && sp_images_armed(s->images) == 0)
		say_without_probes(s->program);
	return s->command ? start_command(s) : 0;
}

static void write_facts(struct session *s)
{
	struct sp_recorder *r = s->recorder;

	sp_facts_write(r, &s->identity, s->options->command);
	sp_recorder_meta(r, "program", "%s", s->program);
	sp_recorder_meta(r, "start_ns", "%llu", (unsigned long long)s->start);
	sp_recorder_meta(r, "sample_hz", "%u", s->options->hz);
	sp_recorder_meta(r, "sample_event", "%s", s->options->hz ? s->sample_event : "none");
	sp_recorder_meta(r, "probe_ns", "%.1f", s->selftest.pair_ns);
	sp_recorder_meta(r, "probe_place", "%s", s->selftest.fast ? "5-byte nop" : "1-byte nop");
	if (!s->selftest.fast)
		sp_recorder_meta(r, "probe_place_reason", "%s", s->selftest.reason);
	sp_recorder_meta(r, "attach_mode", "%s",
			 sp_bpf_has_multi(s->bpf) ? "uprobe_multi" : "perf event");
	sp_recorder_meta(r, "ring_bytes", "%zu", s->sizes.call_ring_bytes);
}

/* ---- while recording ---- */

static void on_signal(struct session *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		/* The terminal gives Ctrl-C to the command, too; what was sent to us alone is
		 * passed on. */
		if (s->command && info.ssi_code != SI_KERNEL)
			sp_command_signal(s->command, (int)info.ssi_signo);
		finish(s, "%s", info.ssi_signo == SIGINT ? "interrupted" : "terminated");
	}
}

static void each_second(struct session *s, uint64_t now)
{
	struct sp_recorder_counts counts = sp_recorder_counts(s->recorder);
	double disk = sp_output_disk_use(&s->output);

	sp_recorder_losses(s->recorder, s->bpf);
	if (now >= s->next_minute) {
		sp_recorder_clock(s->recorder);
		s->next_minute = now + 60ull * SECOND;
	}
	if (s->options->max_size && counts.bytes >= s->options->max_size)
		finish(s, "the journal reached --max-size");
	if (disk >= s->options->max_disk)
		finish(s, "the disk is %.0f %% full", disk * 100);
	s->next_second = now + SECOND / 4;
}

static void check_end(struct session *s, uint64_t now)
{
	if (s->options->duration && now - s->start >= s->options->duration)
		finish(s, "--duration is over");
	if (sp_bpf_live(s->bpf) <= 0 && (!s->command || sp_command_ended(s->command)))
		finish(s, "the program ended");
}

static void record(struct session *s)
{
	struct pollfd fds[] = {
		{.fd = sp_rings_fd(s->rings), .events = POLLIN},
		{.fd = sp_sideband_fd(s->sideband), .events = POLLIN},
		{.fd = s->signals, .events = POLLIN},
		{.fd = s->hold ? sp_hold_fd(s->hold) : -1, .events = POLLIN},
	};
	int wait = WAIT_LEAST_MS;

	while (!s->reason[0]) {
		unsigned fill = 0;
		uint64_t now;

		(void)poll(fds, 4, wait);
		on_hold(s);
		on_signal(s);
		drain(s, &fill);
		if (fill >= 64 && wait > WAIT_LEAST_MS)
			wait /= 2;
		else if (fill < 16 && wait < WAIT_MOST_MS)
			wait++;
		now = sp_now();
		if (now >= s->next_second)
			each_second(s, now);
		check_end(s, now);
		sp_progress_show(&s->progress, now - s->start, sp_recorder_counts(s->recorder));
	}
}

/* ---- after it ---- */

static void stop(struct session *s)
{
	uint64_t time = 0;
	unsigned fill;
	int r;

	r = sp_bpf_stop(s->bpf, &time);
	sp_sampler_stop(s->sampler);
	if (r < 0)
		sp_log_warning("calls that were still open are missing: %s", strerror(-r));
	drain(s, &fill);
	drain(s, &fill); /* the side band hands out what is older than a round */
	sp_recorder_losses(s->recorder, s->bpf);
	sp_recorder_lost(s->recorder, SP_LOSS_PROGRAM_SKIPPED, -1, sp_bpf_skipped(s->bpf));
	sp_recorder_clock(s->recorder);
	sp_recorder_meta(s->recorder, "stop_ns", "%llu", (unsigned long long)time);
	sp_recorder_meta(s->recorder, "stop_reason", "%s", s->reason);
	sp_recorder_end(s->recorder, time, s->reason);
	sp_recorder_flush(s->recorder);
	sp_log_status_clear();
}

static void say_end(struct session *s)
{
	struct sp_recorder_counts c = sp_recorder_counts(s->recorder);

	sp_log_info("recording ended after %s (%s): %s calls, %s samples%s%s",
		    sp_show_duration((double)(sp_now() - s->start)).text, s->reason,
		    sp_show_count(c.calls).text, sp_show_count(c.samples).text,
		    c.lost ? ", LOST: " : "", c.lost ? sp_show_count(c.lost).text : "");
	if (s->options->hz && strcmp(s->sample_event, "cycles"))
		sp_log_info("sampled by the CPU clock: this machine has no hardware cycle counter");
	if (s->command && sp_images_armed(s->images) == 0)
		say_without_probes(s->program);
}

/* Converts while the probes come off, which takes the kernel a while. */
static int convert(struct session *s)
{
	pid_t pid;
	int r = sp_convert_start(s->options, &s->identity, &s->output, s->program, &pid);

	sp_images_disarm(s->images);
	sp_images_free(s->selftest.images);
	s->selftest.images = NULL;
	if (r < 0)
		return 1;
	r = sp_convert_wait(pid, &s->output);
	return r ? 1 : 0;
}

static void close_session(struct session *s)
{
	sp_hold_stop(s->hold);
	sp_sampler_free(s->sampler);
	sp_sideband_free(s->sideband);
	sp_rings_free(s->rings);
	sp_processes_free(s->processes);
	sp_images_free(s->images);
	sp_images_free(s->selftest.images);
	sp_recorder_free(s->recorder);
	sp_bpf_free(s->bpf);
	sp_command_free(s->command);
	sp_output_clear(&s->output);
	sp_identity_clear(&s->identity);
	if (s->signals >= 0)
		close(s->signals);
	free(s->program);
}

static int take_signals(struct session *s)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	s->signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return s->signals < 0 ? -errno : 0;
}

/* Waits for a command that runs on after its recording; a second signal leaves it. */
static int wait_for_command(struct session *s)
{
	struct pollfd fd = {.fd = s->signals, .events = POLLIN};
	struct signalfd_siginfo info;

	if (!sp_command_ended(s->command) && !sp_log_has_status())
		sp_log_verbose("waiting for the command to end");
	while (!sp_command_ended(s->command)) {
		(void)poll(&fd, 1, 1000);
		while (read(s->signals, &info, sizeof(info)) == sizeof(info))
			if (info.ssi_signo != SIGCHLD)
				return 128 + (int)info.ssi_signo;
	}
	return sp_command_status(s->command);
}

static int prepare(struct session *s)
{
	int r = sp_check_can_record();

	if (r == 0)
		r = check_pids(s->options);
	if (r == 0)
		r = take_signals(s);
	if (r == 0)
		r = sp_identity_find(s->options->as_root, &s->identity);
	if (r == 0)
		s->program = sp_facts_program(s->options);
	if (r == 0 && !s->program)
		r = -ENOMEM;
	if (r == 0)
		r = open_bpf(s);
	if (r == 0)
		r = open_streams(s);
	return r;
}

int sp_session_run(const struct sp_options *options)
{
	struct session s = {.options = options, .signals = -1, .output = {.directory_fd = -1}};
	int status = 1, r = prepare(&s);

	(void)setpriority(PRIO_PROCESS, 0, -10); /* rings fill while we wait for a CPU */
	if (r == 0) {
		s.start = sp_now();
		s.next_second = s.start;
		s.next_minute = s.start;
		r = start_targets(&s);
		if (r < 0) {
			if (s.command && sp_command_ended(s.command))
				status = sp_command_status(s.command);
			sp_output_discard(&s.output, &s.identity);
		}
	}
	if (r == 0) {
		write_facts(&s);
		if (s.options->pid_count)
			sp_log_info("recording; Ctrl-C ends it");
		record(&s);
		stop(&s);
		say_end(&s);
		status = convert(&s);
		if (s.failed)
			status = 1;
		if (s.command) {
			int ended = wait_for_command(&s);

			status = status ? status : ended;
		}
	} else if (s.output.directory) {
		sp_output_discard(&s.output, &s.identity);
	}
	close_session(&s);
	return status;
}
