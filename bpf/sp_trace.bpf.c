/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * sp_trace.bpf.c - the BPF object: every probe of bpf/probes/, with the maps of core.bpf.h.
 */
#include "bpf/core.bpf.h"

#include "bpf/probes/mapped.bpf.c"
#include "bpf/probes/region.bpf.c"
#include "bpf/probes/sample.bpf.c"
#include "bpf/probes/task.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
