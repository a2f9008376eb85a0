/* SPDX-License-Identifier: BSD-2-Clause
 *
 * without.h - doing without a feature that this kernel has, so that what is done instead can be
 * tested.
 *
 * SP_TRACE_WITHOUT=uprobe_multi,exec_hold in the environment of sp-trace; for tests. Heeded only
 * where root runs it, and only towards less: nothing is tried that would not be tried on a poorer
 * kernel.
 */
#ifndef SP_LOADER_WITHOUT_H
#define SP_LOADER_WITHOUT_H

#include <stdbool.h>

enum sp_feature {
	SP_FEATURE_UPROBE_MULTI, /* many probes attached at once */
	SP_FEATURE_FAST_PROBES,	 /* a probe that is a call, not a breakpoint */
	SP_FEATURE_CYCLES,	 /* a hardware counter of cycles */
	SP_FEATURE_EXEC_HOLD,	 /* fanotify permission events for execs */
	SP_FEATURE_MAP_FILES,	 /* /proc/PID/map_files */
	SP_FEATURE_SHORT_SLICE,	 /* a time slice of one's own */
	SP_FEATURE_KALLSYMS,	 /* addresses of kernel functions */
	SP_FEATURE_CODE_FAULTS,	 /* page faults on instructions can be seen */
	SP_FEATURE_MAX
};

/* As in SP_TRACE_WITHOUT and `sp-trace --check`. */
const char *sp_feature_name(enum sp_feature feature);
bool sp_without(enum sp_feature feature);

#endif
