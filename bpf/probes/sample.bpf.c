/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * sample.bpf.c - stack samples of traced threads, from a perf event on every CPU, attributed to the
 * innermost open region of the thread.
 *
 * A sample may interrupt anything, also the region programs: it only reads what these write.
 */
#include "bpf/core.bpf.h"
#include "bpf/unwind.bpf.h"

#define USER_BYTES (SP_MAX_FRAMES * 8)
#define KERNEL_BYTES (SP_MAX_KERNEL_FRAMES * 8)

/* The registers with which the thread entered the kernel; ip 0 if nobody knows. */
static __noinline int take_saved_registers(struct sample *s, struct task_struct *task)
{
	struct unwinder *u;
	void *regs;

	if (!s || !task)
		return 0;
	u = &s->unwinder;
	u->ip = 0;
	regs = (void *)bpf_task_pt_regs(task);
	if (!regs || bpf_probe_read_kernel(&s->saved, sizeof(s->saved), regs))
		return 0;
	set_registers(u, &s->saved);
#ifdef __TARGET_ARCH_x86
	/* Behind the instruction of a system call, which may be a function's last: sigreturn. That
	 * instruction puts ip into rcx; a signal on the way out changes it to the handler's start. */
	u->exact = (long)s->saved.orig_rax < 0 || s->saved.rcx != u->ip;
#endif
	return 0;
}

/* The thread's registers in user space; ip 0 in the middle of an exec or an exit: they are those of
 * the next image before its lane is there. */
sp_inline void take_registers(struct bpf_perf_event_data *ctx, struct task_struct *task,
			      struct lane *lane, struct sample *s)
{
	s->unwinder.exact = 1;
	if (task->mm && (__u64)task->mm != lane->mm)
		s->unwinder.ip = 0;
	else if ((long)PT_REGS_IP(&ctx->regs) < 0)
		take_saved_registers(s, task);
	else
		set_registers(&s->unwinder, &ctx->regs);
}

/* The kernel's frames; returns how many. */
sp_inline __u32 walk_kernel(void *ctx, struct sample *s)
{
	long n = bpf_get_stack(ctx, s->stack, KERNEL_BYTES, 0);

	return n < 8 || n > KERNEL_BYTES ? 0 : (__u64)n / 8;
}

/* False: there are no tables. Where the walk came to a mapping that nobody had told of, it is looked
 * at, and the walk begins once more. What functions answer is read from memory, where the verifier
 * cannot know it: Linux 6.1's believes that they always answer as in the first case that it tried,
 * and takes the branch away. */
sp_inline bool walk_by_tables(struct sample *s, struct task_struct *task, struct lane *lane,
			      __u32 at)
{
	struct unwinder *u = &s->unwinder;
	__u32 exact = u->exact;
	volatile __u32 *answer = &u->answer;
	bool found;

	*answer = (__u32)find_tables(s, task, lane);
	found = *answer;
	if (found) {
		unwind(s, at);
		if (u->end != SP_STACK_NO_MAPPING)
			return true;
	}
	*answer = (__u32)learn_mapping(task, lane->process, u->ip - !u->exact);
	if (!*answer)
		return found;
	__builtin_memcpy(u->regs, s->regs, sizeof(u->regs));
	u->ip = s->ev.ip;
	u->exact = exact;
	unwind(s, at);
	return true;
}

/* The user's frames, put behind the kernel's @at; returns how many. */
sp_inline __u32 walk_user(struct bpf_perf_event_data *ctx, struct task_struct *task,
			  struct sample *s, struct lane *lane, __u32 at)
{
	long n;

	if (config.stacks == SP_STACKS_NONE) {
		s->ev.stack_end = SP_STACK_LEAF;
		return 0;
	}
	s->ev.ip = s->unwinder.ip;
	if (!s->ev.ip) {
		s->ev.stack_end = SP_STACK_BUSY;
		lose_at(SP_LOSS_STACK_UNREADABLE, s->ev.head.lane, s->ev.site, 1);
		return 0;
	}
	barrier_var(at);
	at &= STACK_ROOM / 2 - 1; /* it is: for the verifier */
	s->stack[at] = s->ev.ip;
	if (config.stacks == SP_STACKS_LEAF) {
		s->ev.stack_end = SP_STACK_LEAF;
		return 1;
	}
	if (config.stacks != SP_STACKS_FP && walk_by_tables(s, task, lane, at)) {
		s->ev.stack_end = s->unwinder.end;
		s->ev.signal_frames = s->unwinder.signal_frames;
		n = s->unwinder.frames;
		/* In the kernel, the stack that the first frame was on can be gone already. */
		if (s->ev.stack_end == SP_STACK_UNREADABLE && n == 1 &&
		    s->ev.head.flags & SP_SAMPLE_KERNEL)
			s->ev.stack_end = SP_STACK_BUSY;
		return n > SP_MAX_FRAMES ? SP_MAX_FRAMES : n;
	}
	n = bpf_get_stack(ctx, &s->stack[at], USER_BYTES, BPF_F_USER_STACK);
	if (n < 8) {
		s->stack[at] = s->ev.ip; /* it is overwritten even so */
		s->ev.stack_end = SP_STACK_BUSY;
		return 1;
	}
	/* A register that is no frame pointer can lead in a circle (a thread's own block points to
	 * itself), which looks like a deep stack: libdw is asked where it can be. */
	s->ev.stack_end = n < USER_BYTES || config.stacks != SP_STACKS_FP ? SP_STACK_FRAME_POINTERS
									  : SP_STACK_TRUNCATED;
	n = n > USER_BYTES ? SP_MAX_FRAMES : (__u64)n / 8;
	if (n > 1 && !s->stack[(at + n - 1) % STACK_ROOM])
		n--; /* the outermost frame's return address */
	return n;
}

#define COPY_BLOCK 512 /* of one page: the smallest size of a copy */
#define COPY_BELOW 128 /* bytes below the stack pointer in which there may be something of worth */
#define COPY_REGISTERS (REG_COUNT + 1)

struct copy {
	struct sp_ev_stack_copy ev;
	__u64 regs[COPY_REGISTERS];
	char bytes[SP_COPY_MOST]; /* config.copy_bytes of them */
};

/* Whether a walk by tables ended for want of a table that is on its way, or of a rule that we know:
 * libdw can follow such a stack later. Few do, in the milliseconds after an exec or a dlopen, and
 * what never has tables is not among them. Never more than SP_COPIES_A_SECOND, nor where the ring is
 * half full: stacks that are whole come first. */
sp_inline bool is_late(struct sample *s, void *ring)
{
	__u32 second = s->ev.time >> 30;

	if (s->ev.stack_end != SP_STACK_PENDING && s->ev.stack_end != SP_STACK_NO_MAPPING &&
	    s->ev.stack_end != SP_STACK_UNSUPPORTED && s->ev.stack_end != SP_STACK_FRAME_POINTERS)
		return false;
	if (!control.tables_come ||
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) * 2 > bpf_ringbuf_query(ring, BPF_RB_RING_SIZE))
		return false;
	if (s->second != second) {
		s->second = second;
		s->copies = 0;
	}
	return s->copies++ < SP_COPIES_A_SECOND;
}

/* Sends the registers and the stack's bytes, for the sample that was sent a moment ago. */
sp_inline void copy_stack(struct sample *s, void *ring)
{
	__u32 most = config.copy_bytes, bytes = 0;
	__u64 sp = s->regs[REG_SP] & ~7ull, from = (sp - COPY_BELOW) & ~(COPY_BLOCK - 1ull);
	struct copy *c = bpf_ringbuf_reserve(ring, offsetof(struct copy, bytes) + most, 0);

	if (!c) {
		lose_at(SP_LOSS_STACK_COPY, s->ev.head.lane, s->ev.site, 1);
		return;
	}
	c->ev.head = s->ev.head;
	c->ev.head.type = SP_EV_stack_copy;
	c->ev.head.flags = 0;
	c->ev.time = s->ev.time;
	c->ev.registers = COPY_REGISTERS;
	__builtin_memcpy(c->regs, s->regs, REG_COUNT * 8);
	c->regs[REG_COUNT] = s->ev.ip;
	if (!bpf_probe_read_user(c->bytes, most, (void *)from)) {
		bytes = most;
		goto submit;
	}
	/* Near the stack's end, or its beginning: what can be had. */
	if (bpf_probe_read_user(c->bytes, COPY_BLOCK, (void *)from))
		from = sp & ~(COPY_BLOCK - 1ull);
	for (__u32 i = 0; i < SP_COPY_MOST / COPY_BLOCK && bytes < most; i++) {
		if (bpf_probe_read_user(c->bytes + i * COPY_BLOCK, COPY_BLOCK,
					(void *)from + i * COPY_BLOCK))
			break;
		bytes += COPY_BLOCK;
	}
submit:
	c->ev.words = bytes / 8;
	c->ev.below = bytes ? (sp - from) / 8 : 0;
	c->ev.tail_bytes = sizeof(c->regs) + bytes;
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
}

/* A thread without a lane is a stranger, whose ticks are none of ours; but kernels before 6.2 do not
 * find the lane of one that was interrupted while it looked into its own task storage. Where it has
 * a stack, that tells. */
sp_inline void lose_if_ours(struct task_struct *task)
{
	struct stack *st = near_stack(task->pid);

	if (st && st->task == (__u64)task && control.enabled)
		lose_at(SP_LOSS_SAMPLE_THROTTLED, st->lane, 0, 1);
}

/* Returns 0, always: or the kernel would write samples into the ring of the side band. What ends
 * early is no loss unless it is counted. */
SEC("perf_event")
int sp_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);
	struct frame *outer;
	struct sample *s;
	struct stack *st;
	bool in_kernel = (long)PT_REGS_IP(&ctx->regs) < 0;
	__u32 zero = 0, kernel = 0, user, bytes;
	__u64 now;
	void *ring;

	if (!lane) {
		lose_if_ours(task);
		return 0;
	}
	/* The recorder's own copy, before its exec; or nothing is recorded yet, or any more. */
	now = bpf_ktime_get_ns(); /* before the test: see sp_bpf_stop() */
	if (lane->hidden || !control.enabled)
		return 0;
	s = bpf_map_lookup_elem(&samples, &zero);
	ring = ring_of_cpu(&sample_rings);
	if (!s || !ring) { /* for the verifier: each CPU that there can be has both */
		lose_at(SP_LOSS_SAMPLE_THROTTLED, lane->lane, 0, 1);
		return 0;
	}
	__builtin_memset(&s->ev, 0, sizeof(s->ev));
	s->ev.head.type = SP_EV_sample;
	s->ev.head.flags = in_kernel ? SP_SAMPLE_KERNEL : 0;
	s->ev.head.lane = lane->lane;
	s->ev.time = now;
	s->ev.process = lane->process;
	s->ev.pid = task->tgid;
	s->ev.tid = task->pid;
	s->ev.cpu = bpf_get_smp_processor_id();
	st = stack_of(task, task->pid);
	outer = st ? outer_frame(st) : NULL;
	if (outer) {
		s->ev.number = outer[1].number;
		s->ev.site = outer[1].site;
	}
	if (config.kernel_stacks && in_kernel)
		kernel = walk_kernel(ctx, s);
	if (config.stacks != SP_STACKS_NONE)
		take_registers(ctx, task, lane, s);
	if (config.stacks >= SP_STACKS_EH)
		__builtin_memcpy(s->regs, s->unwinder.regs, sizeof(s->regs));
	user = walk_user(ctx, task, s, lane, kernel);
	if (s->ev.stack_end == SP_STACK_TRUNCATED)
		s->ev.head.flags |= SP_SAMPLE_TRUNCATED;
	s->ev.kernel_frames = kernel;
	s->ev.tail_bytes = (kernel + user) * 8;
	bytes = sizeof(s->ev) + (kernel + user) % STACK_ROOM * 8;
	if (bpf_ringbuf_output(ring, &s->ev, bytes, BPF_RB_NO_WAKEUP))
		lose_at(SP_LOSS_SAMPLE_RING_FULL, s->ev.head.lane, s->ev.site, 1);
	else if (config.stacks >= SP_STACKS_EH && s->ev.ip &&
		 (config.stacks == SP_STACKS_DWARF || is_late(s, ring)))
		copy_stack(s, ring);
	return 0;
}
