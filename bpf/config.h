/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * config.h - what the loader and the BPF programs agree on beside the events.
 *
 * One struct, not several globals: their order in a section is not the order of the source.
 */
#ifndef SP_BPF_CONFIG_H
#define SP_BPF_CONFIG_H

/* Changed while running; mapped by the loader. */
struct sp_control {
	__u32 enabled;	/* 0 stops all recording at once, before anything is detached */
	__u32 iterate;	/* SP_ITERATE_* for the next run of the task iterator */
	__u64 stopped;	/* ns: when enabled became 0, as the end of calls that are still open */
	__u32 lanes;	/* made so far */
	__u32 processes; /* images made so far */
	__u32 names;	/* run-time names so far */
	__s32 live;	/* lanes that have not ended */
};

enum {
	SP_ITERATE_FIND = 1,  /* give a lane to the threads of target processes and of their children */
	SP_ITERATE_FLUSH = 2, /* emit the calls that are still open */
};

enum {
	SP_TARGET_SHOWN = 1,
	SP_TARGET_HIDDEN = 2, /* until it execs */
};

/* Cookie of a probe: how to get from the descriptor's address to a site's number.
 *   bits 0-31  number of the site of the first descriptor
 *   bits 32-63 address of the first descriptor - address of the probe, modulo 2^32
 */
#define SP_COOKIE(first_distance, first_site) ((__u64)(__u32)(first_distance) << 32 | (__u32)(first_site))
#define SP_DESCRIPTOR_BYTES 32

#define SP_NEAR_STACKS 1024 /* a power of two; a page each */

struct sp_loss_count {
	__u64 count;
	__u64 first, last; /* ns */
};

#endif
