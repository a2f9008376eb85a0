/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * kernel.h - the kernel structures that the BPF programs read, and of these only the fields they read.
 *
 * The offsets are relocated at load time (CO-RE), so names and nesting matter, order and gaps do not.
 */
#ifndef SP_BPF_KERNEL_H
#define SP_BPF_KERNEL_H

#include <linux/bpf.h>
#include <asm/ptrace.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define SP_KERNEL_STRUCT __attribute__((preserve_access_index))

struct sched_entity {
	__u64 sum_exec_runtime;
} SP_KERNEL_STRUCT;

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* aarch64 */
} SP_KERNEL_STRUCT;

struct mm_struct {
	unsigned long start_stack; /* an address on the main thread's stack */
	unsigned long start_code;
} SP_KERNEL_STRUCT;

struct task_struct {
	unsigned int flags; /* PF_* */
	int pid;
	int tgid;
	int exit_code;
	__u64 start_boottime;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct sched_entity se;
	unsigned long sas_ss_sp; /* sigaltstack */
	unsigned long sas_ss_size;
	struct thread_struct thread;
	char comm[16];
} SP_KERNEL_STRUCT;

#define PF_EXITING 0x4

struct super_block {
	__u32 s_dev; /* major << 20 | minor */
} SP_KERNEL_STRUCT;

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	__s64 i_size;
	__s64 i_ctime_sec;
	__u32 i_ctime_nsec;
} SP_KERNEL_STRUCT;

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
} SP_KERNEL_STRUCT;

/* Before Linux 6.11. */
struct inode___6_10 {
	struct timespec64 __i_ctime;
} SP_KERNEL_STRUCT;

/* Before Linux 6.6. */
struct inode___6_5 {
	struct timespec64 i_ctime;
} SP_KERNEL_STRUCT;

struct file {
	struct inode *f_inode;
} SP_KERNEL_STRUCT;

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags; /* VM_* */
	unsigned long vm_pgoff;
	struct file *vm_file;
	const void *vm_ops;
} SP_KERNEL_STRUCT;

#define VM_EXEC 0x4

struct linux_binprm;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
} SP_KERNEL_STRUCT;

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} SP_KERNEL_STRUCT;

#endif
