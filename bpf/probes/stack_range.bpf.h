/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * stack_range.bpf.h - the addresses of a thread's own stack, from what the kernel knows.
 *
 * Stacks of fibers must not be taken for it, wherever they lie. Where the main thread's begins
 * stands in the kernel, and needs no lock that another thread could hold. Another thread's has its
 * control block above it in the same mapping; the main thread's control block tells nothing, since
 * it lies where the kernel puts large blocks of malloc, too, in one mapping with them.
 */
#ifndef SP_BPF_STACK_RANGE_H
#define SP_BPF_STACK_RANGE_H

#include "bpf/core.bpf.h"

/* The main thread's stack grows by itself; the kernel keeps more than this free below it. */
#define MAIN_STACK (64ull << 20)

struct vma_range {
	__u64 start, end;
};

static long see_vma(struct task_struct *task, struct vm_area_struct *vma, struct vma_range *ret)
{
	ret->start = vma->vm_start;
	ret->end = vma->vm_end;
	return 0;
}

/* Learns the range of the stack that the edge is on, if it is the thread's own. */
static __noinline int learn_stack(struct stack *st, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vma_range vma = {};
	bool is_main = task->pid == task->tgid;
	__u64 first = BPF_CORE_READ(task, mm, start_stack), fs = 0;

	if (!st)
		return 0;
	if (is_main && first - sp < MAIN_STACK) {
		st->low = first - MAIN_STACK;
		st->high = first;
		return 0;
	}
	if (bpf_find_vma(task, sp, see_vma, &vma, 0))
		return 0; /* or another thread is just changing the mappings: in doubt */
	if (bpf_core_field_exists(task->thread.fsbase))
		fs = BPF_CORE_READ(task, thread.fsbase);
	if (is_main ? first - vma.start < vma.end - vma.start : sp < fs && fs < vma.end) {
		st->low = vma.start;
		st->high = is_main ? first : fs;
	}
	return 0;
}

#endif
