/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sampler.h - a sampling perf event on every CPU, handled by the BPF sampling program.
 */
#ifndef SP_LOADER_SAMPLER_H
#define SP_LOADER_SAMPLER_H

#include "loader/bpf.h"
#include "loader/sideband.h"

struct sp_sampler;

/* Opens and starts the events: hardware cycles at @hz samples a second where the machine has them,
 * else the CPU clock. Sets which: "cycles" or "cpu-clock". When the kernel throttles them is told
 * by the side band, unless that is NULL; it outlives the sampler. -errno: EACCES and EPERM mean a
 * missing right. */
int sp_sampler_start(struct sp_bpf *bpf, const struct sp_sideband *sideband, unsigned hz,
		     struct sp_sampler **ret_sampler, const char **ret_event);
/* On a CPU that was taken off and has come back. NULL is fine. */
int sp_sampler_restart(struct sp_sampler *sampler, unsigned cpu);
void sp_sampler_stop(struct sp_sampler *sampler);
void sp_sampler_free(struct sp_sampler *sampler);

#endif
