/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * task.bpf.c - lanes: given to children at fork, renewed at exec, ended at exit, and handed out to what
 * is already running by the task iterator.
 */
#include "bpf/probes/region.bpf.h"
#include "bpf/probes/stack_range.bpf.h"
#include "bpf/mapped.bpf.h"

/* Calls that may be open in a new lane. Until all probes of what runs are on, regions may have begun
 * unseen. */
sp_inline __u32 open_before(__u32 known)
{
	return control.since && known < SP_MAX_DEPTH ? known : SP_MAX_DEPTH;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(sp_fork, struct task_struct *parent, struct task_struct *child)
{
	struct lane *from = bpf_task_storage_get(&lanes, parent, 0, 0);
	struct stack *st = stack_of(parent, parent->pid);
	struct lane *lane;
	void *has_space;
	bool thread;

	if (!from || !control.enabled)
		return 0;
	lane = bpf_task_storage_get(&lanes, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!lane) {
		lose(SP_LOSS_STORAGE, 1);
		return 0;
	}
	__sync_fetch_and_add(&control.live, 1);
	thread = child->tgid == parent->tgid;
	/* What has no ranges yet has those of its parent, which may be the same. */
	has_space = bpf_map_lookup_elem(&spaces, &from->process);
	lane->parent = thread || !has_space ? from->parent : from->process;
	/* A new thread is in no region; a new process is where its parent is. */
	lane->before = open_before(thread ? 0 : st ? st->depth + st->before : from->before);
	if (!see_given_stack(child, &lane->own) && !thread)
		lane->own = st ? st->own : from->own;
	start_lane(child, lane, thread ? from->process : 0, thread ? SP_TASK_CLONE : SP_TASK_FORK,
		   from->process);
	return 0;
}

/* The program and its interpreter: nothing else is mapped yet, and the recorder will hear of them
 * later than the first sample comes. */
sp_inline void learn_program(struct task_struct *task, __u32 process)
{
	bpf_user_pt_regs_t regs;

	if (!task->mm || config.stacks < SP_STACKS_EH)
		return;
	(void)learn_mapping(task, process, task->mm->start_code);
	if (!read_registers(task, &regs))
		(void)learn_mapping(task, process, PT_REGS_IP(&regs));
}

/* The thread's calls end now; after the end of the recording, they were open then. */
sp_inline void end_calls(struct task_struct *task, struct stack *st, __u32 flag)
{
	__u64 now = bpf_ktime_get_ns(); /* before the test: see sp_bpf_stop() */

	if (control.enabled)
		close_calls(st, 0, now, flag);
	else /* the moment of the end is known a little later than that it has come */
		close_calls(st, 0, control.stopped ? control.stopped : now, SP_CALL_OPEN_AT_END);
	drop_stack(task, st); /* the thread may have another id now */
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(sp_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);
	struct stack *st = stack_of(task, old_pid);
	__u32 before;

	if (!lane)
		return 0;
	if (st)
		end_calls(task, st, SP_CALL_CLOSED_BY_EXEC);
	if (!control.enabled)
		return 0;
	before = lane->process;
	lane->hidden = 0;
	lane->parent = 0;
	lane->before = open_before(0);
	lane->own = (struct own_stack){};
	start_lane(task, lane, 0, SP_TASK_EXEC, before);
	learn_program(task, lane->process);
	return 0;
}

/* The thread runs no more code. Once for each lane: the iterator and the exit may meet. */
sp_inline void end_lane(struct lane *lane)
{
	if (__sync_lock_test_and_set(&lane->ended, 1) == 0)
		__sync_fetch_and_add(&control.live, -1);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(sp_exit, struct task_struct *task)
{
	struct lane *lane = bpf_task_storage_get(&lanes, task, 0, 0);
	struct stack *st = stack_of(task, task->pid);
	struct {
		struct sp_ev_task_exit ev;
		char comm[16];
	} *rec;

	if (!lane)
		return 0;
	end_lane(lane);
	if (st)
		end_calls(task, st, SP_CALL_CLOSED_BY_EXIT);
	if (!control.enabled)
		return 0;
	if (!lane->announced)
		announce(task, lane, SP_TASK_FOUND, 0);
	rec = bpf_ringbuf_reserve(&control_ring, sizeof(*rec), 0);
	if (!rec) {
		lose_at(SP_LOSS_CONTROL_RING_FULL, lane->lane, 0, 1);
		return 0;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->ev.head.type = SP_EV_task_exit;
	rec->ev.head.lane = lane->lane;
	rec->ev.time = bpf_ktime_get_ns();
	rec->ev.cpu_time = task->se.sum_exec_runtime;
	rec->ev.process = lane->process;
	rec->ev.pid = task->tgid;
	rec->ev.tid = task->pid;
	rec->ev.code = task->exit_code;
	BPF_CORE_READ_STR_INTO(&rec->comm, task, comm);
	for (int i = 0; i < 16 && rec->comm[i]; i++)
		rec->ev.tail_bytes = i + 1;
	bpf_ringbuf_submit(rec, control.live > 0 ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	return 0;
}

/* Where its stack pointer was when it last came to the kernel. */
sp_inline void find_stack_of(struct task_struct *task, struct lane *lane)
{
	bpf_user_pt_regs_t regs;

	if (!lane->own.high && task->pid != task->tgid && !read_registers(task, &regs))
		see_found_stack(task, &lane->own, PT_REGS_SP(&regs));
}

/* A thread that was there before the recording, of a process that is a target. What one forks before it
 * has a lane gets none: the loader names all descendants and iterates, twice, and after the first time
 * no new ones can be missed. */
sp_inline void find(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct task_struct *leader = task->group_leader;
	struct lane *first, *lane;
	__u32 *target = bpf_map_lookup_elem(&targets, &tgid);

	/* One that has ended, and waits to be reaped or for the other threads, does not end again. */
	if (!target || task->flags & PF_EXITING)
		return;
	lane = bpf_task_storage_get(&lanes, task, 0, 0);
	if (lane) {
		find_stack_of(task, lane);
		return;
	}
	first = leader ? bpf_task_storage_get(&lanes, leader, 0, 0) : NULL;
	lane = bpf_task_storage_get(&lanes, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!lane) {
		lose(SP_LOSS_STORAGE, 1);
		return;
	}
	__sync_fetch_and_add(&control.live, 1);
	lane->hidden = *target == SP_TARGET_HIDDEN;
	lane->before = SP_MAX_DEPTH;
	find_stack_of(task, lane);
	start_lane(task, lane, first ? first->process : 0, SP_TASK_FOUND, 0);
	if (task->flags & PF_EXITING)
		end_lane(lane); /* perhaps it had none yet when its exit was seen */
}

SEC("iter/task")
int sp_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct stack *st;

	if (!task)
		return 0;
	if (control.iterate == SP_ITERATE_FIND) {
		find(task);
	} else if (control.iterate == SP_ITERATE_FLUSH) {
		st = stack_of(task, task->pid);
		if (st)
			close_calls(st, 0, control.stopped, SP_CALL_OPEN_AT_END);
	}
	return 0;
}
