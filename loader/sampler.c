/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "loader/perf.h"
#include "loader/without.h"

struct sp_sampler {
	unsigned count;
	int fds[];
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
	};

	return sp_perf_open(&attr, -1, (int)cpu);
}

static int open_all(struct sp_sampler *s, struct sp_bpf *bpf, unsigned cpus, unsigned hz,
		    bool hardware)
{
	int r;

	for (unsigned cpu = 0; cpu < cpus; cpu++) {
		int fd = open_event(cpu, hz, hardware);

		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		s->fds[s->count++] = fd;
		r = sp_bpf_attach_sampler(bpf, fd);
		if (r < 0)
			return r;
	}
	return s->count ? 0 : -ENODEV;
}

static void close_all(struct sp_sampler *s)
{
	while (s->count)
		close(s->fds[--s->count]);
}

int sp_sampler_start(struct sp_bpf *bpf, unsigned hz, struct sp_sampler **ret_sampler,
		     const char **ret_event)
{
	unsigned cpus = sp_bpf_cpus(bpf);
	struct sp_sampler *s = calloc(1, sizeof(*s) + cpus * sizeof(s->fds[0]));
	const char *event = "cycles";
	int r;

	if (!s)
		return -ENOMEM;
	r = sp_without(SP_FEATURE_CYCLES) ? -ENOENT : open_all(s, bpf, cpus, hz, true);
	if (r < 0 && r != -EACCES && r != -EPERM) {
		close_all(s);
		event = "cpu-clock";
		r = open_all(s, bpf, cpus, hz, false);
	}
	for (unsigned i = 0; i < s->count && r == 0; i++)
		if (ioctl(s->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			r = -errno;
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
	for (unsigned i = 0; s && i < s->count; i++)
		(void)ioctl(s->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

void sp_sampler_free(struct sp_sampler *s)
{
	if (!s)
		return;
	close_all(s);
	free(s);
}
