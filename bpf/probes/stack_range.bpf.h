/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * stack_range.bpf.h - the addresses of a thread's own stack, from what the kernel knows.
 *
 * Stacks of fibers must not be taken for it, wherever they lie. The main thread's is the mapping
 * that the kernel made. Another thread's has its control block above it in the same mapping; the
 * main thread's control block tells nothing, since it lies where the kernel puts large blocks of
 * malloc, too, in one mapping with them.
 */
#ifndef SP_BPF_STACK_RANGE_H
#define SP_BPF_STACK_RANGE_H

#include "bpf/core.bpf.h"

/* The main thread's stack grows by itself; the kernel keeps more than this free below it. */
#define MAIN_STACK (64ull << 20)

struct vma_range {
	__u64 start, end, flags;
};

static long see_vma(struct task_struct *task, struct vm_area_struct *vma, struct vma_range *ret)
{
	ret->start = vma->vm_start;
	ret->end = vma->vm_end;
	ret->flags = vma->vm_flags;
	return 0;
}

/* Learns the range of the stack that the edge is on, if it is the thread's own. */
static __noinline int learn_stack(struct stack *st, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vma_range vma = {};
	__u64 fs = 0, first;

	if (!st || bpf_find_vma(task, sp, see_vma, &vma, 0))
		return 0; /* or another thread is just changing the mappings: in doubt */
	if (task->pid != task->tgid && bpf_core_field_exists(task->thread.fsbase))
		fs = BPF_CORE_READ(task, thread.fsbase);
	first = BPF_CORE_READ(task, mm, start_stack);
	if (vma.flags & VM_GROWSDOWN && first - vma.start < vma.end - vma.start) {
		st->low = vma.end - vma.start < MAIN_STACK ? vma.end - MAIN_STACK : vma.start;
		st->high = vma.end;
	} else if (sp < fs && fs < vma.end) {
		st->low = vma.start;
		st->high = fs;
	}
	return 0;
}

#endif
