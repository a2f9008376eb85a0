/* SPDX-License-Identifier: BSD-2-Clause
 *
 * session_start.c - finding or starting the program that is recorded, with its probes armed.
 */
#include "loader/session_state.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "loader/bpf_log.h"
#include "loader/prearm.h"
#include "loader/proctree.h"
#include "loader/slice.h"
#include "userspace/base/log.h"

#define TABLES_MOST_NS 10000000000u /* for those of a program before its first sample */

/* Not ourselves, who may well descend from the target: -p $$. The exec of a helper of ours would be
 * held until we, who wait for that exec, answer. */
static int add_target(struct sp_session *s, pid_t pid)
{
	return pid == getpid() ? 0 : sp_bpf_add_target(s->bpf, pid, false);
}

static int add_target_and_descendants(struct sp_session *s, pid_t pid)
{
	pid_t *children = NULL;
	size_t count = 0;
	int r = add_target(s, pid);

	if (r == 0 && sp_proctree_descendants(pid, &children, &count) < 0)
		count = 0;
	for (size_t k = 0; k < count && r == 0; k++)
		r = add_target(s, children[k]);
	free(children);
	return r;
}

/* Twice: what was forked while the first round looked has a parent that is recorded by the second.
 */
static int add_targets(struct sp_session *s)
{
	int r = 0;

	for (int round = 0; round < 2 && r == 0; round++) {
		for (size_t i = 0; i < s->options->pid_count && r == 0; i++)
			r = add_target_and_descendants(s, s->options->pids[i]);
		if (r == 0)
			r = sp_bpf_find_tasks(s->bpf);
	}
	if (r < 0) {
		sp_log_error("cannot find the threads to record: %s", strerror(-r));
		sp_bpf_hint(r);
	}
	return r;
}

void sp_session_say_without_probes(const char *what)
{
	sp_log_warning("%s has no regions; only samples are taken", what);
	sp_log_hint("to add some, put SP_REGION_BEGIN(\"name\") and SP_REGION_END(\"name\") of "
		    "sp_region.h into it");
}

static void say_cannot_sample(int r, unsigned hz)
{
	FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned most = 0;

	if (f) {
		if (fscanf(f, "%u", &most) != 1)
			most = 0;
		fclose(f);
	}
	if (r == -EINVAL && most && hz > most) {
		sp_log_error("the kernel allows %u samples a second at most, not %u", most, hz);
		sp_log_hint("use -F %u, or raise it: sysctl kernel.perf_event_max_sample_rate=%u",
			    most, hz);
		return;
	}
	sp_log_error("cannot sample: %s", strerror(-r));
	sp_log_hint("-F 0 records regions without samples");
}

static void start_hold(struct sp_session *s)
{
	int r = sp_hold_start(sp_bpf_lanes(s->bpf), s->look, &s->hold);

	if (r < 0)
		sp_log_verbose(
			"execs are not held: %s; the first regions of programs that the recorded "
			"ones start may be lost",
			strerror(-r));
}

/* Its exec is held like any other, so we must not wait for it without looking at who waits for us.
 */
static int start_command(struct sp_session *s)
{
	struct pollfd fds[] = {
		{.fd = sp_command_fd(s->command), .events = POLLIN},
		{.fd = -1, .events = POLLIN},
	};
	int r = sp_command_release(s->command);

	while (r == 0) {
		fds[1].fd = s->hold ? sp_hold_fd(s->hold) : -1;
		(void)poll(fds, 2, 100);
		sp_session_on_hold(s);
		r = sp_command_started(s->command);
	}
	return r < 0 ? r : 0;
}

void sp_session_hurry(struct sp_session *s, bool on)
{
	if (on)
		s->priority = getpriority(PRIO_PROCESS, 0);
	sp_slice_set(on ? -10 : s->priority, on);
}

/* What is there at the start is armed, or nothing begins, if the machine is too small for it.
 * Whatever else there is to say of a single file has been said. */
static int check_armed(const struct sp_session *s)
{
	int r = sp_images_arm_error(s->images);

	return r == -ENOMEM || r == -EMFILE || r == -ENFILE || r == -ENOSPC ? r : 0;
}

int sp_session_start_targets(struct sp_session *s)
{
	unsigned fill;
	int r;

	if (s->options->command) {
		r = sp_prearm_command(s->images, s->look, s->options->command, &s->identity);
		if (r == 0)
			r = check_armed(s);
		if (r == 0)
			r = sp_session_go_on();
		if (r == 0)
			r = sp_command_prepare(s->options->command, &s->identity, s->given,
					       &s->command);
		if (r == 0) {
			sp_processes_hide(s->processes, sp_command_pid(s->command));
			r = sp_bpf_add_target(s->bpf, sp_command_pid(s->command), true);
		}
	} else {
		r = 0;
	}
	if (r == 0)
		r = add_targets(s);
	if (r < 0)
		return r;
	start_hold(s);
	sp_session_drain(s, &fill); /* who is there, what they map, and arms it */
	r = check_armed(s);
	if (r == 0)
		r = sp_session_go_on();
	if (r < 0)
		return r;
	sp_bpf_enable_regions(s->bpf, true);
	if (s->options->hz)
		sp_session_await_tables(s, TABLES_MOST_NS);
	if (sp_bpf_live(s->bpf) == 0) {
		sp_log_error("the process ended before it could be recorded");
		return -ESRCH;
	}
	if (s->options->hz) {
		r = sp_throttle_new(sp_bpf_cpus(s->bpf), s->options->hz, &s->throttle);
		if (r == 0)
			r = sp_sampler_start(s->bpf, s->sideband, s->options->hz, &s->sampler,
					     &s->sample_event);
		if (r < 0) {
			say_cannot_sample(r, s->options->hz);
			return r;
		}
	}
	if (s->options->hz > 10000)
		sp_log_warning("%u samples a second on every CPU slow the program down, perhaps "
			       "many times; "
			       "up to 10000 cost little",
			       s->options->hz);
	if (!s->command && sp_images_armed(s->images) == 0)
		sp_session_say_without_probes(s->program);
	r = sp_session_go_on();
	if (r < 0)
		return r;
	sp_session_hurry(s, true);
	return s->command ? start_command(s) : 0;
}
