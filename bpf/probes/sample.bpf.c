/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * sample.bpf.c - stack samples of traced threads, from a perf event on every CPU, attributed to the
 * innermost open region of the thread.
 *
 * A sample may interrupt anything, also the region programs: it only reads what these write.
 */
#include <linux/bpf_perf_event.h>

#include "bpf/core.bpf.h"

/* Where the thread was in user space, without walking its stack. */
sp_inline __u64 user_ip(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct pt_regs___kernel *regs;

	if ((long)PT_REGS_IP(&ctx->regs) > 0)
		return PT_REGS_IP(&ctx->regs);
	regs = (void *)bpf_task_pt_regs(task);
	return regs ? BPF_CORE_READ(regs, SP_KERNEL_IP) : 0;
}

SEC("perf_event")
int sp_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);
	struct {
		struct sp_ev_sample ev;
		__u64 stack[SP_MAX_FRAMES];
	} *rec;
	struct stack *st;
	void *ring;
	struct frame *outer;
	long n;

	if (!lane || lane->hidden || !control.enabled)
		return 0;
	ring = ring_of_cpu(&sample_rings);
	rec = ring ? bpf_ringbuf_reserve(ring, sizeof(*rec), 0) : NULL;
	if (!rec) {
		lose(SP_LOSS_SAMPLE_RING_FULL, 1);
		return 0;
	}
	__builtin_memset(&rec->ev, 0, sizeof(rec->ev));
	rec->ev.head.type = SP_EV_sample;
	rec->ev.head.flags = (long)PT_REGS_IP(&ctx->regs) < 0 ? SP_SAMPLE_KERNEL : 0;
	rec->ev.head.lane = lane->lane;
	rec->ev.time = bpf_ktime_get_ns();
	rec->ev.process = lane->process;
	rec->ev.pid = task->tgid;
	rec->ev.tid = task->pid;
	rec->ev.cpu = bpf_get_smp_processor_id();
	st = stack_of(task, task->pid);
	outer = st ? outer_frame(st) : NULL;
	if (outer) {
		rec->ev.number = outer[1].number;
		rec->ev.site = outer[1].site;
	}
	n = bpf_get_stack(ctx, rec->stack, sizeof(rec->stack), BPF_F_USER_STACK);
	if (n < 8) {
		rec->ev.stack_end = SP_STACK_BUSY;
		rec->ev.ip = user_ip(ctx, task);
		if (!rec->ev.ip) /* in the middle of an exec or an exit */
			lose(SP_LOSS_STACK_UNREADABLE, 1);
	} else {
		rec->ev.ip = rec->stack[0];
		rec->ev.tail_bytes = n;
		rec->ev.stack_end = SP_STACK_FRAME_POINTERS;
		if (n == sizeof(rec->stack))
			rec->ev.head.flags |= SP_SAMPLE_TRUNCATED;
	}
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
	return 0;
}
