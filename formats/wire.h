/* SPDX-License-Identifier: BSD-2-Clause
 *
 * wire.h - the structs in which events travel from the kernel and the helpers to the recorder.
 *
 * Shared by BPF programs and userspace, so it includes only the kernel's types. The layouts follow from events.def. On the ring and between
 * processes a record is one struct, then its tail; in the journal it is packed by codec.c.
 */
#ifndef SP_FORMATS_WIRE_H
#define SP_FORMATS_WIRE_H

#include <linux/types.h>

/* Starts every event. The tail's length follows from the record's length for TEXT and ADDRS events,
 * whose structs end with `tail_bytes`. */
struct sp_head {
	__u16 type;  /* SP_EV_* */
	__u16 flags; /* SP_CALL_*, SP_SAMPLE_* … of the type */
	__u32 lane;  /* thread in one process image; 0 none */
};

typedef __u16 sp_wire_u16;
typedef __u32 sp_wire_u32;
typedef __u64 sp_wire_u64;
typedef __s32 sp_wire_s32;
typedef __s64 sp_wire_s64;

#define SP_TAIL_FIELD_NONE
#define SP_TAIL_FIELD_TEXT __u64 tail_bytes; /* length of what follows the struct */
#define SP_TAIL_FIELD_ADDRS __u64 tail_bytes;

#define SP_EVENT(id, name, tail, doc) \
	struct sp_ev_##name { \
		struct sp_head head; \
		SP_TAIL_FIELD_##tail
#define SP_FIELD(type, name, doc) sp_wire_##type name;
#define SP_EVENT_END(name) \
	} \
	;
#include "formats/events.def"

enum sp_ev_type {
	SP_EV_NONE = 0,
#define SP_EVENT(id, name, tail, doc) SP_EV_##name = id,
#define SP_FIELD(type, name, doc)
#define SP_EVENT_END(name)
#include "formats/events.def"
	SP_EV_MAX = 64, /* ids stay below */
};

#define SP_MAX_DEPTH 80		/* open calls that a lane can have; deeper ones are counted as lost */
#define SP_MAX_FRAMES 127	/* of a user stack */
#define SP_MAX_KERNEL_FRAMES 127 /* of a kernel stack, beside the user's in one sample */
#define SP_MAX_TEXT 1024	/* bytes of a text that the kernel side sends */
#define SP_SITE_DYNAMIC 0x80000000u /* bit of a site number: the name was made at run time */

/* Flags of a call: how it ended, when not by its own end. Values are bits, append-only. The upper eight
 * bits are its depth, the number of open calls around it: with the ring's own header a call then fills
 * one line of the cache, which is much of what it costs. */
enum sp_call_flag {
	SP_CALL_CLOSED_BY_OUTER = 1 << 0, /* an outer region ended first */
	SP_CALL_CLOSED_BY_EXIT = 1 << 1,  /* the thread ended inside */
	SP_CALL_CLOSED_BY_EXEC = 1 << 2,  /* the process exec'd inside */
	SP_CALL_OPEN_AT_END = 1 << 3,	  /* still open when the recording ended */
	SP_CALL_CLOSED_BY_UNWINDING = 1 << 4, /* the code that it is in was seen to have been left */
	SP_CALL_BEGAN_BEFORE = 1 << 5,	  /* began before its thread's regions were recorded: that is its start */
};

#define SP_CALL_FLAGS(flags) ((flags) & 0xff)
#define SP_CALL_DEPTH(flags) ((flags) >> 8)
#define SP_CALL_WITH_DEPTH(flags, depth) ((flags) | (depth) << 8)

enum sp_sample_flag {
	SP_SAMPLE_KERNEL = 1 << 0,    /* the CPU was in the kernel */
	SP_SAMPLE_TRUNCATED = 1 << 1, /* the stack had more frames than were kept */
};

/* Why a user stack ends. All but COMPLETE and LEAF mean that callers are missing; such a stack ends
 * with the frame whose caller could not be found. Append-only. */
enum sp_stack_end {
	SP_STACK_UNKNOWN = 0,	  /* an older recording */
	SP_STACK_COMPLETE = 1,	  /* it reached the start of the thread */
	SP_STACK_LEAF = 2,	  /* only the address was asked for */
	SP_STACK_TRUNCATED = 3,	  /* more frames than fit */
	SP_STACK_NO_MAPPING = 4,  /* an address that is in nothing that is known to be mapped */
	SP_STACK_PENDING = 5,	  /* its module's table was still being made */
	SP_STACK_NO_TABLE = 6,	  /* the module has no table, and frame pointers led nowhere */
	SP_STACK_NO_RULE = 7,	  /* the table says nothing of this address, and frame pointers led nowhere */
	SP_STACK_UNSUPPORTED = 8, /* the table's rule is beyond us */
	SP_STACK_UNREADABLE = 9,  /* the stack's memory could not be read */
	SP_STACK_NO_PROGRESS = 10, /* the caller's frame would lie below this one */
	SP_STACK_BUSY = 11,	  /* the kernel did not give registers: in the middle of an exec or an exit */
	SP_STACK_FRAME_POINTERS = 12, /* by frame pointers alone, to their end: may lack frames */
	SP_STACK_END_MAX,
};

enum sp_task_cause {
	SP_TASK_FOUND = 1, /* was there when the recording began */
	SP_TASK_FORK = 2,  /* new process */
	SP_TASK_CLONE = 3, /* new thread */
	SP_TASK_EXEC = 4,  /* new image */
};

/* Where the file of an image is, seen from outside of the process, when it was first seen. */
enum sp_image_flag {
	SP_IMAGE_DELETED = 1 << 0,   /* it has no name any more */
	SP_IMAGE_ELSEWHERE = 1 << 1, /* its path leads to no file, or to another one: a container, as a rule */
};

/* Of a mapping. */
enum sp_map_flag {
	SP_MAP_NO_ANSWER = 1 << 0, /* the file system of its file did not answer: do not wait for it */
};

enum sp_probe_kind {
	SP_PROBE_BEGIN = 1,
	SP_PROBE_END = 2,
};

enum sp_probe_flag {
	SP_PROBE_F_STUB = 1 << 0,  /* the stub's bytes were verified: the 5-byte nop follows */
	SP_PROBE_F_ARMED = 1 << 1,
};

/* Flags of a static site: the descriptor's own (usdt/sp_region.h). */
enum sp_site_flag {
	SP_SITE_LEXICAL = 1 << 0,
	SP_SITE_FUNCTION = 1 << 1,
	SP_SITE_END = 1 << 2,
};

/* Why an event was not recorded. Append-only. Counted per CPU in the kernel. */
enum sp_loss_cause {
	SP_LOSS_NONE = 0,
	SP_LOSS_CALL_RING_FULL = 1,   /* calls */
	SP_LOSS_SAMPLE_RING_FULL = 2, /* samples */
	SP_LOSS_CONTROL_RING_FULL = 3, /* thread and name records */
	SP_LOSS_STORAGE = 4,	       /* calls: the kernel gave no task storage */
	SP_LOSS_DEPTH = 5,	       /* calls nested deeper than SP_MAX_DEPTH */
	SP_LOSS_UNMATCHED_END = 6,     /* ends without a begin: began before the recording, or a mistake */
	SP_LOSS_UNKNOWN_SITE = 7,      /* calls whose descriptor the recorder does not know */
	SP_LOSS_TABLE_FULL = 8,	       /* calls of run-time names beyond the table */
	SP_LOSS_NAME_UNREADABLE = 9,   /* run-time names that could not be read at first use */
	SP_LOSS_PROGRAM_SKIPPED = 10,  /* BPF program runs that the kernel skipped */
	SP_LOSS_STACK_UNREADABLE = 11, /* samples whose stack could not be read */
	SP_LOSS_DISK = 12,	       /* calls that could not be written */
	SP_LOSS_SAMPLE_THROTTLED = 13, /* samples that the kernel did not take */
	SP_LOSS_ARMED_LATE = 14,       /* files that ran before their probes were armed */
	SP_LOSS_STACK_COPY = 15,       /* copies of a sample's stack */
	SP_LOSS_DISK_SAMPLES = 16,     /* samples that could not be written */
	SP_LOSS_DISK_FACTS = 17,       /* other events that could not be written */
	SP_LOSS_THINNED = 18,	       /* calls that the program was told to skip */
	SP_LOSS_LATE_END = 19,	       /* ends of calls that were closed before, by an outer end or unwinding */
	SP_LOSS_MAPPING = 20, /* mappings and execs, of whatever process of the machine */
	SP_LOSS_UNFINISHED = 21,       /* calls that were open when a recorder died */
	SP_LOSS_MAX = 32, /* room for causes to come */
};

#endif
