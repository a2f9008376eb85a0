/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * stack_range.bpf.h - the addresses of a thread's own stack, from what the kernel knows.
 *
 * Stacks of fibers must not be taken for it, wherever they lie. What a thread was given at its
 * start is known for sure while its creator is still in clone3(); who forks inherits it. Where the
 * main thread's stack begins stands in the kernel. None of that needs a lock that another thread
 * could hold. It takes one, and so is tried again, where a thread was made by clone(), which is not
 * told where the stack ends, or before the recording: then by the thread's control block, which
 * lies above the stack in the same mapping. (The main thread's lies where the kernel puts large
 * blocks of malloc, too, in one mapping with them.)
 */
#ifndef SP_BPF_STACK_RANGE_H
#define SP_BPF_STACK_RANGE_H

#include "bpf/core.bpf.h"

#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <linux/sched.h>

/* The main thread's stack grows by itself; the kernel keeps more than this free below it. */
#define MAIN_STACK (64ull << 20)

static long see_vma(struct task_struct *task, struct vm_area_struct *vma, struct own_stack *ret)
{
	ret->low = vma->vm_start;
	ret->high = vma->vm_end;
	return 0;
}

/* The mapping that an address is in. Not 0 also while another thread is just changing mappings. */
sp_inline long find_mapping(struct task_struct *task, __u64 address, struct own_stack *ret)
{
	long r = bpf_find_vma(task, address, see_vma, ret, 0);

	if (r == -EBUSY)
		control.busy = 1;
	return r;
}

/* The registers with which a thread came to the kernel, last; 0 for success. */
sp_inline long read_registers(struct task_struct *task, bpf_user_pt_regs_t *ret)
{
	void *regs = (void *)bpf_task_pt_regs(task);

	return regs ? bpf_probe_read_kernel(ret, sizeof(*ret), regs) : -ESRCH;
}

/* In the creator's system call: the range that a new thread or process was given. Returns 0 if it
 * was given none, and has its creator's. */
static __noinline int see_given_stack(struct task_struct *child, struct own_stack *own)
{
	struct task_struct *parent = bpf_get_current_task_btf();
	struct own_stack mapping = {};
	struct clone_args args = {};
	bpf_user_pt_regs_t regs;
	__u64 sp;

	if (!child || !own)
		return 0;
	if (read_registers(child, &regs))
		return 0;
	sp = PT_REGS_SP(&regs);
	if (read_registers(parent, &regs) || sp == PT_REGS_SP(&regs))
		return 0;
	own->high = sp;
	/* If the call is clone3(), then these are its arguments. */
	if (!bpf_probe_read_user(&args, offsetof(struct clone_args, tls),
				 (void *)PT_REGS_PARM1(&regs)) &&
	    args.stack < sp && args.stack + args.stack_size == sp)
		own->low = args.stack;
	else if (!find_mapping(parent, sp - 1, &mapping))
		own->low = mapping.low;
	return 1;
}

/* Where the thread's control block is, 0 unknown. */
sp_inline __u64 control_block(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread.fsbase))
		return BPF_CORE_READ(task, thread.fsbase);
	if (bpf_core_field_exists(task->thread.uw.tp_value))
		return BPF_CORE_READ(task, thread.uw.tp_value);
	return 0;
}

/* The range of a thread that was there before the recording, if @sp is in it. */
static __noinline int see_found_stack(struct task_struct *task, struct own_stack *own, __u64 sp)
{
	struct own_stack mapping = {};
	__u64 block;

	if (!task || !own)
		return 0;
	block = control_block(task);
	if (sp < block && !find_mapping(task, sp, &mapping) && block < mapping.high) {
		own->low = mapping.low;
		own->high = block;
	}
	return 0;
}

/* The same for the main thread of a program. Most are never so deep that it takes the lock. */
sp_inline void see_main_stack(struct task_struct *task, struct own_stack *own, __u64 sp,
			      __u64 first)
{
	struct own_stack mapping = {};

	if (first - sp < MAIN_STACK) {
		own->low = first - MAIN_STACK;
		own->high = first;
	} else if (!find_mapping(task, sp, &mapping) &&
		   first - mapping.low < mapping.high - mapping.low) {
		own->low = mapping.low;
		own->high = first;
	}
}

/* Learns the range of the current thread's stack, or of the main thread's, which grows, some more.
 */
static __noinline int learn_stack(struct own_stack *own, __u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct own_stack mapping = {};
	__u64 first;

	if (!own)
		return 0;
	first = task->pid == task->tgid ? BPF_CORE_READ(task, mm, start_stack) : 0;
	if (first && (!own->high || own->high == first))
		see_main_stack(task, own, sp, first);
	else if (!own->high)
		see_found_stack(task, own, sp);
	else if (!own->low && !find_mapping(task, own->high - 1, &mapping))
		own->low = mapping.low;
	return 0;
}

#endif
