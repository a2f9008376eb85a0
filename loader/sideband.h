/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sideband.h - executable mappings and execs of all processes, from the kernel's perf side-band
 * records; and what it says of sampling events that have no ring of their own.
 *
 * Perf's records give the path as the process sees it and need neither fentry nor kprobes, which
 * not every kernel has. The caller sorts out which processes it wants.
 */
#ifndef SP_LOADER_SIDEBAND_H
#define SP_LOADER_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct sp_mapping {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t start, end, file_offset;
	uint64_t device, inode; /* device as in st_dev */
	pid_t pid;
	const char *path;
};

struct sp_sideband_ops {
	void (*map)(void *arg, const struct sp_mapping *mapping);
	void (*exec)(void *arg, pid_t pid, uint64_t time); /* before the new image's mappings */
	/* So many of them are missing, from after @since (ns). */
	void (*lost)(void *arg, unsigned cpu, uint64_t since, uint64_t count);
	/* Of events that were redirected here, in order of time on each CPU, and at once: the
	 * kernel begins to throttle one (@on), or lets it go on; and it lost so many samples of
	 * one. */
	void (*throttled)(void *arg, unsigned cpu, uint64_t time, bool on);
	void (*lost_samples)(void *arg, unsigned cpu, uint64_t since, uint64_t count);
};

struct sp_sideband;

/* -errno, ret untouched. */
int sp_sideband_start(unsigned cpus, const struct sp_sideband_ops *ops, void *arg,
		      struct sp_sideband **ret_sideband);
/* What the kernel has to say of a perf event of that CPU goes into the ring there. It must use
 * CLOCK_MONOTONIC and put no samples into it. -errno; nothing needs to be undone. */
int sp_sideband_redirect(const struct sp_sideband *sideband, unsigned cpu, int fd);
/* For poll(2): readable when there is something to drain. */
int sp_sideband_fd(const struct sp_sideband *sideband);
/* Whether there is something that came too late for the last time: then drain again soon. */
bool sp_sideband_has_more(const struct sp_sideband *sideband);
/* Makes room in the rings, also while something is handed out; the next drain hands out what came.
 */
void sp_sideband_take(struct sp_sideband *sideband);
/* Hands out what came before @until (ns, CLOCK_MONOTONIC), in order of time. */
int sp_sideband_drain(struct sp_sideband *sideband, uint64_t until);
/* Now and then: begins anew on CPUs that were taken off and have come back, or are new, and tells
 * of each. What happened there meanwhile is unknown. */
void sp_sideband_check(struct sp_sideband *sideband, void (*on_back)(void *arg, unsigned cpu));
void sp_sideband_free(struct sp_sideband *sideband);

#endif
