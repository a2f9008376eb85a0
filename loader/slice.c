/* SPDX-License-Identifier: BSD-2-Clause */
#include "loader/slice.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loader/without.h"

#define SLICE_NS 100000

/* As <linux/sched/types.h> has it, which some libcs have, too. */
struct attributes {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

void sp_slice_set(int nice, bool hurry)
{
	struct attributes a = {
		.size = sizeof(a),
		.nice = nice,
		.runtime = hurry && !sp_without(SP_FEATURE_SHORT_SLICE) ? SLICE_NS : 0,
	};

	if (syscall(SYS_sched_setattr, 0, &a, 0))
		(void)setpriority(PRIO_PROCESS, 0, a.nice);
}

bool sp_slice_is_known(void)
{
	struct attributes a = {.size = sizeof(a)};
	int nice = getpriority(PRIO_PROCESS, 0);
	bool known;

	/* A kernel without it takes the number, and forgets it. */
	sp_slice_set(nice, true);
	known = syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0) == 0 && a.runtime == SLICE_NS;
	sp_slice_set(nice, false);
	return known;
}
