/* SPDX-License-Identifier: BSD-2-Clause
 *
 * throttle.h - how many samples the kernel did not take while it throttled the sampling events:
 * from its own word of when it did (PERF_RECORD_THROTTLE and UNTHROTTLE) and the rate.
 *
 * It throttles an event that has come more often in one timer tick than
 * kernel.perf_event_max_sample_rate allows, until the next tick. Whose samples these would have
 * been nobody knows.
 */
#ifndef SP_LOADER_THROTTLE_H
#define SP_LOADER_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/wire.h"

struct sp_throttle;

/* For a recording at @hz samples a second, not 0. -errno, ret untouched. */
int sp_throttle_new(unsigned cpus, unsigned hz, struct sp_throttle **ret_throttle);
/* The kernel throttled the CPU's event at that time, ns. True, with what is missing, if it was
 * throttled already: that this one had an end was not told. */
bool sp_throttle_on(struct sp_throttle *throttle, unsigned cpu, uint64_t time,
		    struct sp_ev_loss *ret_gap);
/* It goes on. True, with what is missing, unless that was before the recording or after its end. */
bool sp_throttle_off(struct sp_throttle *throttle, unsigned cpu, uint64_t time,
		     struct sp_ev_loss *ret_gap);
/* The CPU's event begins anew: what was is forgotten, since it is accounted for elsewhere. */
void sp_throttle_forget(struct sp_throttle *throttle, unsigned cpu);
/* Samples have been taken until @time: nothing that comes later counts any more. NULL is fine. */
void sp_throttle_stop(struct sp_throttle *throttle, uint64_t time);
/* At the end: true, with what is missing since, if the CPU was still throttled. NULL is fine. */
bool sp_throttle_finish(struct sp_throttle *throttle, unsigned cpu, struct sp_ev_loss *ret_gap);
void sp_throttle_free(struct sp_throttle *throttle);

#endif
