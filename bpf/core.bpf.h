/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * core.bpf.h - maps, rings and lanes: what all programs share.
 *
 * Invariants: a thread is traced if and only if it has a lane. Whatever cannot be recorded is counted
 * by lose() (bpf/losses.bpf.h). uprobe programs can be preempted and migrated at any point, so there
 * is no per-CPU scratch memory, and shared counters are changed atomically.
 */
#ifndef SP_BPF_CORE_H
#define SP_BPF_CORE_H

#include "bpf/kernel.h"
#include "bpf/config.h"
#include "formats/wire.h"

#define sp_inline static __always_inline

/* One open call. */
struct frame {
	__u64 start;
	__u64 child;
	__u64 number;
	__u64 id;    /* of the region: SP_NAME_ID() of its hash, or the name's address where that is unknown */
	__u64 place; /* stack pointer at the begin; SP_SCOPE in its low bits; SP_CALLER_BITS */
	__u32 site;
	__u32 skipped;
};

#define SP_LATE_ENDS 4
#define SP_SEEN_WORDS 4 /* a power of two */

/* Where a thread's own stack is (bpf/probes/stack_range.bpf.h): from `low` to before `high`. */
struct own_stack {
	__u64 low;  /* 0 unknown */
	__u64 high; /* 0 unknown */
};

/* The open calls of a thread; made at its first region. Two records a thread, since most threads of
 * most programs never enter a region, and this one takes a page. */
struct stack {
	__u64 task; /* whose it is, in near_stacks; 0: free */
	__u32 depth;
	__u32 overflow; /* begins beyond the limit whose ends are still to come */
	__u32 lane;
	__u32 process;
	__u64 next;	    /* number of the last call */
	__u32 before;	    /* calls that may be open since before the lane began */
	__u16 n_late;	    /* ever put into `late` */
	__u16 tries;	    /* begins at which `own` was looked for */
	struct own_stack own;
	__u64 late[SP_LATE_ENDS]; /* ids of calls that were closed without their end, which may come */
	__u64 seen[SP_SEEN_WORDS]; /* ids of regions that the lane began; a Bloom filter, if `before` */
	__u64 end_ip, end_cookie;  /* of the last end of a static site (region.bpf.c) */
	struct frame frames[SP_MAX_DEPTH + 1]; /* 0 stands for "no region": number 0, never ends */
};

/* Without room of its own: where the first of `overflow` began. */
#define TOO_DEEP_PLACE(st) ((st)->frames[0].place)

/* A page with what the kernel puts before a value of the task storage. */
_Static_assert(sizeof(struct stack) <= 4024, "a stack takes two pages");

struct lane {
	__u32 lane;
	__u32 process;
	__u32 announced; /* 0 if the control ring was full */
	__u32 hidden; /* not sampled: a copy of the recorder that has yet to exec the command */
	__u32 ended; /* no longer counted in control.live */
	__u32 parent; /* process that this one was forked from and has not left by an exec, 0 none:
			 whose address space it has until it has ranges of its own */
	__u64 born;   /* ns */
	__u64 mm;     /* its address space; another one in an exec, until the lane is renewed */
	__u32 before; /* calls that may be open since before the lane began: their ends can come */
	__u32 next_base; /* above those of the images that were armed by then */
	struct own_stack own;
};

_Static_assert(sizeof(struct lane) == SP_LANE_BYTES, "the doorkeeper reads lanes, too");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct lane);
} lanes SEC(".maps");

/* Where a thread's stack is: here, by the low bits of its id, which one inlined lookup finds, … */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SP_NEAR_STACKS);
	__type(key, __u32);
	__type(value, struct stack);
} near_stacks SEC(".maps");

/* … or, if another thread was there before it, in its task storage, which takes four times as long. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stack);
} far_stacks SEC(".maps");

/* Sizes of the rings and of the arrays are set by the loader. */
struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
};

struct queue_slot {
	__u64 word;
	struct sp_ev_call call;
};

/* By CPU, then slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct queue_slot);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sp_queue_ends);
} call_ends SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct ring);
} sample_rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} control_ring SEC(".maps");

/* Of each static site, by site number; 0 is no site. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sp_site_known);
} sites SEC(".maps");

struct name_key {
	__u64 hash;
	__u64 process;
};

/* Run-time names that were announced: their site numbers. One that falls out, since many processes
 * with many names came after it, is announced again with another number. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct name_key);
	__type(value, __u32);
} names SEC(".maps");

/* Thread groups that the task iterator gives lanes to, with SP_TARGET_*. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} targets SEC(".maps");

const volatile struct sp_config config;
struct sp_control control;

#include "bpf/losses.bpf.h"

sp_inline struct stack *near_stack(__u32 tid)
{
	__u32 key = tid % SP_NEAR_STACKS;

	return bpf_map_lookup_elem(&near_stacks, &key);
}

/* The thread's stack, NULL if it has none. @tid: its id, or the one that it had before an exec. */
sp_inline struct stack *stack_of(struct task_struct *task, __u32 tid)
{
	struct stack *st = near_stack(tid);

	if (st && st->task == (__u64)task)
		return st;
	return bpf_task_storage_get(&far_stacks, task, 0, 0);
}

/* Gives a thread that has a lane its stack. Without memory one event of @cause is lost. */
static __noinline struct stack *make_stack(struct task_struct *task, struct lane *lane, __u32 cause,
					   __u32 site)
{
	struct stack *st;

	if (!task || !lane)
		return NULL;
	st = near_stack(task->pid);
	if (!st || __sync_val_compare_and_swap(&st->task, 0, (__u64)task) != 0)
		st = bpf_task_storage_get(&far_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!st) {
		lose_at(cause, lane->lane, site, 1);
		return NULL;
	}
	st->depth = 0;
	st->overflow = 0;
	st->before = lane->before;
	st->next = lane->before; /* the numbers below are for calls from before */
	st->n_late = 0;
	st->tries = 0;
	st->own = lane->own;
	st->end_ip = 0;
	__builtin_memset(st->late, 0, sizeof(st->late));
	__builtin_memset(st->seen, 0, sizeof(st->seen));
	st->lane = lane->lane;
	st->process = lane->process;
	return st;
}

/* Frees it, so that the next thread there may have it. */
sp_inline void drop_stack(struct task_struct *task, struct stack *st)
{
	if (st->task)
		st->task = 0;
	else
		bpf_task_storage_delete(&far_stacks, task);
}

/* The frame around the innermost open call; that call is the next one. NULL if nothing is open. */
sp_inline struct frame *outer_frame(struct stack *st)
{
	__u32 outer = st->depth - 1;

	if (outer >= SP_MAX_DEPTH)
		return NULL;
	barrier_var(outer); /* or the compiler adds before it checks, and the verifier refuses */
	return &st->frames[outer];
}

sp_inline void *ring_of_cpu(void *rings)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(rings, &cpu);
}

/* Tells the recorder about a lane. False if the ring was full. */
static __noinline int announce(struct task_struct *task, struct lane *lane, __u32 cause, __u32 parent)
{
	struct {
		struct sp_ev_task ev;
		char comm[16];
	} *rec;

	if (!lane || !task)
		return 0;
	rec = bpf_ringbuf_reserve(&control_ring, sizeof(*rec), 0);
	if (!rec) {
		lose_at(SP_LOSS_CONTROL_RING_FULL, lane->lane, 0, 1);
		return 0;
	}
	__builtin_memset(rec, 0, sizeof(*rec));
	rec->ev.head.type = SP_EV_task;
	rec->ev.head.lane = lane->lane;
	rec->ev.time = bpf_ktime_get_ns();
	rec->ev.start_boottime = BPF_CORE_READ(task, start_boottime);
	rec->ev.process = lane->process;
	rec->ev.parent_process = parent;
	rec->ev.pid = BPF_CORE_READ(task, tgid);
	rec->ev.tid = BPF_CORE_READ(task, pid);
	rec->ev.ppid = BPF_CORE_READ(task, real_parent, tgid);
	rec->ev.cause = cause;
	BPF_CORE_READ_STR_INTO(&rec->comm, task, comm);
	rec->ev.tail_bytes = 0;
	for (int i = 0; i < 16 && rec->comm[i]; i++)
		rec->ev.tail_bytes = i + 1;
	bpf_ringbuf_submit(rec, cause == SP_TASK_CLONE ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP);
	lane->announced = 1;
	return 1;
}

/* Fills a new lane's record. @process 0: a new image. */
sp_inline void start_lane(struct task_struct *task, struct lane *lane, __u32 process, __u32 cause,
			      __u32 parent)
{
	lane->lane = __sync_fetch_and_add(&control.lanes, 1) + 1;
	lane->process = process ? process : __sync_fetch_and_add(&control.processes, 1) + 1;
	lane->born = bpf_ktime_get_ns();
	lane->mm = (__u64)task->mm;
	lane->next_base = control.next_base;
	announce(task, lane, cause, parent);
}

#endif
