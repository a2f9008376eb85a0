/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bpf.h - the BPF programs and maps of a recording.
 *
 *   sp_bpf_new → attach_tasks → enable → (arm …, add_target …, find_tasks) → enable_regions → …
 *   → stop → free
 *
 * bpf.c is the one file that includes the skeleton. Nothing here prints but through the log; -errno
 * on failure, after a log line that names what the kernel refused.
 */
#ifndef SP_LOADER_BPF_H
#define SP_LOADER_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/types.h>

#include "bpf/config.h"
#include "formats/unwind.h"

struct sp_bpf;

struct sp_bpf_options {
	size_t call_ring_bytes;	   /* per CPU, a power of two and a multiple of the page size */
	size_t sample_ring_bytes;  /* the same */
	size_t control_ring_bytes; /* one */
	unsigned max_sites;	   /* static sites, all images together */
	unsigned stacks;	   /* enum sp_stack_mode */
	bool kernel_stacks;
	size_t copy_bytes; /* of the user stack, where it is copied; 0: SP_COPY_DEFAULT */
};

/* Loads programs and maps; nothing is attached yet. */
int sp_bpf_new(const struct sp_bpf_options *options, struct sp_bpf **ret_bpf);
/* Follows fork, exec and exit from now on. */
int sp_bpf_attach_tasks(struct sp_bpf *bpf);

unsigned sp_bpf_cpus(const struct sp_bpf *bpf);
/* The queue of calls of a CPU (bpf/config.h): its slots of 64 bytes, each a word and an event,
 * their number, and its ends. */
struct sp_bpf_queue {
	uint64_t *slots;
	uint64_t size;
	struct sp_queue_ends *ends;
};
struct sp_bpf_queue sp_bpf_call_queue(const struct sp_bpf *bpf, unsigned cpu);
int sp_bpf_sample_ring(const struct sp_bpf *bpf, unsigned cpu);
int sp_bpf_control_ring(const struct sp_bpf *bpf);
/* Task storage that has a value for each recorded thread. */
int sp_bpf_lanes(const struct sp_bpf *bpf);
bool sp_bpf_has_multi(const struct sp_bpf *bpf);
/* Whether mappings are looked at when their code first runs: where there are tables, from
 * sp_bpf_attach_tasks() on. */
bool sp_bpf_sees_code_faults(const struct sp_bpf *bpf);

/* The name's hash of a site, whether it is a scope, and a hash of the function that it stands in, 0
 * unknown; 0 < @site < max_sites. */
int sp_bpf_set_site(struct sp_bpf *bpf, unsigned site, uint64_t hash, bool scope,
		    uint64_t function);

/* Threads of this thread group get lanes at the next sp_bpf_find_tasks(). @hidden: they are not
 * sampled until they exec. */
int sp_bpf_add_target(struct sp_bpf *bpf, pid_t pid, bool hidden);
/* Its number may be another process's from now on. */
void sp_bpf_forget_target(struct sp_bpf *bpf, pid_t pid);
int sp_bpf_find_tasks(struct sp_bpf *bpf);
/* Lanes that have not ended. */
int sp_bpf_live(const struct sp_bpf *bpf);

/* One armed image: its probes. */
struct sp_bpf_probe {
	uint64_t offset;	   /* in the file */
	uint64_t semaphore_offset; /* in the file, 0 none */
	uint64_t cookie;	   /* SP_COOKIE() */
	bool end;
};
struct sp_armed;
/* Puts the region program on the probes of the file open as @fd, in all processes, raising
 * semaphores. -errno of the kernel. */
int sp_bpf_arm(struct sp_bpf *bpf, int fd, const struct sp_bpf_probe *probes, size_t count,
	       struct sp_armed **ret_armed);
/* Takes them off, if they are still on, and frees. Slow: up to 0.2 s. */
void sp_bpf_disarm(struct sp_armed *armed);
/* Takes off all that are on, for good; what is armed stays the caller's to free. */
void sp_bpf_disarm_all(struct sp_bpf *bpf);
/* Becomes readable when the process that keeps the probes (keep.h) has died, and they are off; for
 * poll(2). */
int sp_bpf_keeper_fd(const struct sp_bpf *bpf);
/* What is done while probes are put on, which may take long. */
void sp_bpf_meanwhile(struct sp_bpf *bpf, void (*meanwhile)(void *arg), void *arg);

/* ---- tables for unwinding (formats/unwind.h); all memory below is the kernel's, and ours to write
 * ---- */

/* SP_UNWIND_RULES rules, and SP_UNWIND_RANGES ranges. The kernel side checks whatever it finds
 * there, so a change while it looks costs a stack, never more; still, give a place time (a second)
 * before you use it anew. */
struct sp_unwind_rule *sp_bpf_unwind_rules(const struct sp_bpf *bpf);
struct sp_unwind_range *sp_bpf_unwind_ranges(const struct sp_bpf *bpf);
/* Takes memory for one more chunk (768 KiB), numbered from 0; zeroed. -ENOSPC beyond
 * SP_UNWIND_CHUNKS. */
int sp_bpf_unwind_add_chunk(struct sp_bpf *bpf, struct sp_unwind_chunk **ret_chunk,
			    uint32_t *ret_number);
/* From now on, samples of the process image @process (as in a task event) are unwound with these
 * ranges. A forked image without ranges of its own uses those of its parent. What was found in them
 * is remembered until the next call of this: while they are in use, ranges and rows must not be
 * changed in place. */
int sp_bpf_unwind_set_space(struct sp_bpf *bpf, uint32_t process, struct sp_unwind_space space);
int sp_bpf_unwind_forget_space(struct sp_bpf *bpf, uint32_t process);
/* From now on, the kernel side finds the rows of this file where it is mapped, before the space of
 * the process has them. @file NULL: no longer. */
void sp_bpf_unwind_set_file(struct sp_bpf *bpf, const struct sp_bpf_file_key *key,
			    const struct sp_bpf_file *file);

/* From now on what is mapped has a table sooner or later: mappings that have not been told of are
 * looked at, and with SP_STACKS_EH, samples for which tables come too late bring a copy of their
 * stack. */
void sp_bpf_expect_tables(struct sp_bpf *bpf);

/* Runs the sampling program on a perf event. */
int sp_bpf_attach_sampler(struct sp_bpf *bpf, int perf_fd);

/* Threads and samples are recorded from now on. */
void sp_bpf_enable(struct sp_bpf *bpf);
/* Regions are, of all images at once: those that are open now and end later begin now. So all that
 * runs is to be armed before. */
void sp_bpf_enable_regions(struct sp_bpf *bpf, bool on);
/* Images that will be armed have a base (SP_COOKIE_BASE()) of at least that, 1 at first. The
 * self-test's are images like others: no number of a site is given twice. */
uint32_t sp_bpf_next_base(const struct sp_bpf *bpf);
void sp_bpf_set_next_base(struct sp_bpf *bpf, uint32_t base);
/* Ends all recording at once, then emits the calls that are still open. Sets the moment, ns. */
int sp_bpf_stop(struct sp_bpf *bpf, uint64_t *ret_time);

/* The kernel side's ledger (bpf/losses.bpf.h), mapped: by CPU, then cause; and SP_LOSS_PLACES
 * places. */
struct sp_bpf_ledger {
	struct sp_loss_count *causes;
	struct sp_loss_place *places;
};
struct sp_bpf_ledger sp_bpf_ledger(const struct sp_bpf *bpf);
/* Whether anything may have been lost since the last call. Each loss is said at least once. */
bool sp_bpf_has_lost(struct sp_bpf *bpf);

/* Runs of programs that the kernel skipped because one was active on the CPU, so far. */
struct sp_bpf_skipped {
	uint64_t samples, others;
};
struct sp_bpf_skipped sp_bpf_skipped(const struct sp_bpf *bpf);

/* Detaches all and unloads. Armed images are the caller's to free first. */
void sp_bpf_free(struct sp_bpf *bpf);

#endif
