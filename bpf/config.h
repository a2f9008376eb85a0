/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
 *
 * config.h - what the loader and the BPF programs agree on beside the events.
 *
 * One struct, not several globals: their order in a section is not the order of the source.
 */
#ifndef SP_BPF_CONFIG_H
#define SP_BPF_CONFIG_H

#include "formats/unwind.h"

/* Fixed before the load. */
struct sp_config {
	__u32 queue_order;   /* a CPU's queue has 1 << queue_order slots */
	__u32 stacks;	     /* enum sp_stack_mode */
	__u32 kernel_stacks; /* 1: the kernel's frames, too */
	__u32 copy_bytes;    /* of a copy of the user stack; a power of two */
	__u32 page_shift;    /* a page has 1 << page_shift bytes */
};

enum sp_stack_mode {
	SP_STACKS_NONE = 0,  /* samples are counted for their region; not even an address */
	SP_STACKS_LEAF = 1,  /* the interrupted address */
	SP_STACKS_FP = 2,    /* by frame pointers, as bpf_get_stack() does */
	SP_STACKS_EH = 3,    /* by tables (formats/unwind.h) */
	SP_STACKS_DWARF = 4, /* as EH, and a copy of the stack, which is unwound offline */
};

#define SP_COPY_LEAST 512
#define SP_COPY_DEFAULT 16384
#define SP_COPY_MOST 65536
#define SP_COPIES_A_SECOND 256 /* on a CPU, with SP_STACKS_EH */

/* Room for ranges (formats/unwind.h) of all processes together, and for chunks of tables. */
#define SP_UNWIND_RANGES 131072
#define SP_UNWIND_CHUNKS 512 /* 768 KiB each, taken when needed: 384 MiB at most */

/* An address space (formats/unwind.h). */
struct sp_bpf_space {
	__u32 first, count;
	__u32 generation; /* another one with each change: what was found before is void */
};

/* A file whose table is ready, by what the kernel knows of it when it is mapped. */
struct sp_bpf_file_key {
	__u64 inode, size;
	__s64 changed; /* s */
	__u32 changed_ns;
	__u32 device; /* major << 20 | minor */
};

/* Rows that hold for a part of the file: from offset `from` to before `to`. */
struct sp_bpf_slice {
	__u64 from, to;
	__u64 base; /* offset that pc 0 of the rows stands for; may be below 0 */
	__u32 chunk, first, count;
	__u32 unused;
};

#define SP_FILE_SLICES 4 /* files that have more are left to the recorder */

struct sp_bpf_file {
	__u32 count;
	__u32 unused;
	struct sp_bpf_slice slices[SP_FILE_SLICES];
};

#define SP_MAPPED 32 /* a power of two */

/* What a process has mapped that can be run, as far as the kernel side had to ask. */
struct sp_bpf_mapped {
	__u64 mm; /* its address space: another one from an exec on */
	__u32 count; /* ever put into `at`, where the newest ones stand */
	__u32 unused;
	struct sp_unwind_range at[SP_MAPPED];
};

/* Changed while running; mapped by the loader. */
struct sp_control {
	__u32 enabled;	 /* 0 stops all recording at once, before anything is detached */
	__u32 iterate;	 /* SP_ITERATE_* for the next run of the task iterator */
	__u64 stopped;	 /* ns: when enabled became 0, as the end of calls that are still open */
	__u32 lanes;	 /* made so far */
	__u32 processes; /* images made so far */
	__u32 names;	 /* run-time names so far */
	__s32 live;	 /* lanes that have not ended */
	__u32 tables_come; /* 1: there will be tables for all that is mapped */
	__u32 losses; /* 1: something was lost since the loader set it to 0 */
	__u32 busy;   /* 1: a thread's mappings were locked since the loader set it to 0 */
	__u32 next_base; /* above those of all images that are armed */
	__u64 since; /* ns: when all probes of what ran then were on; 0: regions are not recorded */
	__u32 since_base; /* next_base at that time */
	__u32 unused;
};

enum {
	SP_ITERATE_FIND =
		1, /* give a lane to the threads of target processes and of their children */
	SP_ITERATE_FLUSH = 2, /* emit the calls that are still open */
};

enum {
	SP_TARGET_SHOWN = 1,
	SP_TARGET_HIDDEN = 2, /* until it execs */
};

/* Cookie of a probe: how to get from the descriptor's address to a site's number.
 *   bits 0-31  the image's base: number of the site of the first descriptor. An image that is armed
 *              later has a higher one
 *   bits 32-63 address of the first descriptor - address of the probe, modulo 2^32
 */
#define SP_COOKIE(first_distance, first_site) \
	((__u64)(__u32)(first_distance) << 32 | (__u32)(first_site))
#define SP_COOKIE_BASE(cookie) ((__u32)(cookie))
#define SP_DESCRIPTOR_BYTES 32

/* What the programs know of a static site: its name, and whether it is a scope. */
#define SP_SCOPE 1
#define SP_NAME_ID(hash) ((hash) & ~7ull)
#define SP_SITE_WORD(hash, scope) (SP_NAME_ID(hash) | (scope))

/* What edges of run-time names pass of where their function returns to, over a mark in the low half
 * (SP_CALLER_() of usdt/sp_region.h); and the bits that a place has of it. */
#define SP_CALLER_MARK 0x53705331u
#define SP_CALLER 2
#define SP_CALLER_BITS (0xffffull << 48 | SP_CALLER)

struct sp_site_known {
	__u64 word;	/* SP_SITE_WORD(), 0: no such site */
	__u64 function; /* hash of file and function that it stands in, 0 unknown */
};

/* What a run-time name's descriptor in the program's memory holds: struct sp_region_dyn_ of
 * usdt/sp_region.h, with its pointers as numbers. */
struct sp_dynamic_descriptor {
	__u64 hash, name, file, tags;
	__u32 line, level;
	__u64 reserved;
};

#define SP_LANE_BYTES 64 /* of struct lane */

#define SP_NEAR_STACKS 1024 /* a power of two; a page each */

/* The queue of calls of a CPU: slots in a map that the loader maps, written without a lock and
 * without a call of a helper, which is most of what a BPF ring buffer costs. Slot n % size holds
 * call n; with lap = n / size, its word is 2 * lap while it is free for that call, and 2 * lap + 1
 * once the call stands in it. A writer takes the next n by a compare-and-swap of `head`, fills the
 * slot, and then sets the word; the reader takes what is set, in order, and frees it for the next
 * lap. */
struct sp_queue_ends {
	__u64 head;	 /* next call to be written */
	__u64 tail;	 /* next call to be read: the loader's */
	__u64 unused[6]; /* a line of the cache each CPU */
};

struct sp_loss_count {
	__u64 count;
	__u64 first, last; /* ns */
};

#define SP_LOSS_PLACES 16384 /* a power of two */

/* Losses of a cause on a CPU, of one thread (lane) and region (site). */
struct sp_loss_place {
	__u64 what;  /* SP_LOSS_WHAT(); 0 free */
	__u64 where; /* lane << 32 | site; 0 is unknown */
	struct sp_loss_count loss;
};

#define SP_LOSS_WHAT(cause, cpu) (1ull << 63 | (__u64)(cause) << 32 | (cpu))
#define SP_LOSS_WHAT_CAUSE(what) ((__u32)((what) >> 32 & 0x7fffffff))
#define SP_LOSS_WHAT_CPU(what) ((__u32)(what))
#define SP_LOSS_CLAIMED 1 /* in `what`: being made */

#endif
