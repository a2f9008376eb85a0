/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "loader/perf.h"
#include "loader/without.h"

struct sp_sampler {
	struct sp_bpf *bpf;
	const struct sp_sideband *sideband; /* NULL: throttling is not told */
	unsigned hz, cpus;
	bool hardware;
	int fds[]; /* by CPU; -1 where it is not online */
};

/* -ENODEV for a CPU that is not online. */
static int open_event(unsigned cpu, unsigned hz, bool hardware)
{
	struct perf_event_attr attr = {
		.type = hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config =
			hardware ? (__u64)PERF_COUNT_HW_CPU_CYCLES : (__u64)PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.disabled = 1,
		.exclude_idle = 1,
		/* As the side band, whose ring tells of throttling. No samples go there: the kernel
		 * writes none where a BPF program handles them and returns 0. */
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};

	return sp_perf_open(&attr, -1, (int)cpu);
}

/* 1; 0 for a CPU that is not online. */
static int open_cpu(struct sp_sampler *s, unsigned cpu)
{
	int fd = open_event(cpu, s->hz, s->hardware);
	int r;

	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;
	s->fds[cpu] = fd;
	r = s->sideband ? sp_sideband_redirect(s->sideband, cpu, fd) : 0;
	if (r < 0)
		return r;
	r = sp_bpf_attach_sampler(s->bpf, fd);
	return r < 0 ? r : 1;
}

static int open_all(struct sp_sampler *s, bool hardware)
{
	int r = 0, opened = 0;

	s->hardware = hardware;
	for (unsigned cpu = 0; cpu < s->cpus && r >= 0; cpu++) {
		r = open_cpu(s, cpu);
		opened += r > 0;
	}
	return r < 0 ? r : opened ? 0 : -ENODEV;
}

static void close_cpu(struct sp_sampler *s, unsigned cpu)
{
	if (s->fds[cpu] >= 0)
		close(s->fds[cpu]);
	s->fds[cpu] = -1;
}

static void close_all(struct sp_sampler *s)
{
	for (unsigned cpu = 0; cpu < s->cpus; cpu++)
		close_cpu(s, cpu);
}

static int enable(const struct sp_sampler *s, unsigned cpu)
{
	return s->fds[cpu] >= 0 && ioctl(s->fds[cpu], PERF_EVENT_IOC_ENABLE, 0) ? -errno : 0;
}

int sp_sampler_restart(struct sp_sampler *s, unsigned cpu)
{
	int r;

	if (!s || cpu >= s->cpus)
		return 0;
	close_cpu(s, cpu);
	r = open_cpu(s, cpu);
	return r < 0 ? r : enable(s, cpu);
}

int sp_sampler_start(struct sp_bpf *bpf, const struct sp_sideband *sideband, unsigned hz,
		     struct sp_sampler **ret_sampler, const char **ret_event)
{
	unsigned cpus = sp_bpf_cpus(bpf);
	struct sp_sampler *s = calloc(1, sizeof(*s) + cpus * sizeof(s->fds[0]));
	const char *event = "cycles";
	int r;

	if (!s)
		return -ENOMEM;
	s->bpf = bpf;
	s->sideband = sideband;
	s->hz = hz;
	s->cpus = cpus;
	for (unsigned cpu = 0; cpu < cpus; cpu++)
		s->fds[cpu] = -1;
	r = sp_without(SP_FEATURE_CYCLES) ? -ENOENT : open_all(s, true);
	if (r < 0 && r != -EACCES && r != -EPERM) {
		close_all(s);
		event = "cpu-clock";
		r = open_all(s, false);
	}
	for (unsigned cpu = 0; cpu < cpus && r == 0; cpu++)
		r = enable(s, cpu);
	if (r < 0) {
		sp_sampler_free(s);
		return r;
	}
	*ret_sampler = s;
	*ret_event = event;
	return 0;
}

void sp_sampler_stop(struct sp_sampler *s)
{
	for (unsigned cpu = 0; s && cpu < s->cpus; cpu++)
		if (s->fds[cpu] >= 0)
			(void)ioctl(s->fds[cpu], PERF_EVENT_IOC_DISABLE, 0);
}

void sp_sampler_free(struct sp_sampler *s)
{
	if (!s)
		return;
	close_all(s);
	free(s);
}
