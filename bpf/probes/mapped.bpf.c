/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * mapped.bpf.c - the first instruction in a mapping is a page fault, at which it is looked at:
 * before any sample in it. One sample can ask for one mapping only, and may need several.
 */
#include "bpf/mapped.bpf.h"

#define FAULT_OF_CODE 0x10 /* of the error code (x86-64) */

sp_inline bool is_in_ranges(struct lane *lane, __u64 address)
{
	struct sp_bpf_space *space = find_space(lane->process, lane->parent);
	__u32 zero = 0;
	struct ranges *all = bpf_map_lookup_elem(&ranges, &zero);

	return space && all && find_range(all, space->first, space->count, address) != NO_RANGE;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(sp_fault, unsigned long address, struct pt_regs *regs, unsigned long error_code)
{
	struct task_struct *task;
	struct lane *lane;

	if (!(error_code & FAULT_OF_CODE) || !control.enabled)
		return 0;
	task = bpf_get_current_task_btf();
	lane = bpf_task_storage_get(&lanes, task, 0, 0);
	if (lane && !is_in_ranges(lane, address))
		(void)learn_mapping(task, lane->process, address);
	return 0;
}
