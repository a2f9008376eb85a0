/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind.h - tables from which the kernel side finds a caller without frame pointers.
 *
 * A table says for each address of a module which rule holds there. A rule is what DWARF call frame
 * information (.eh_frame, .debug_frame) says of it, reduced to what programs use: where the
 * canonical frame address (CFA: the caller's stack pointer) is, and where the caller's frame
 * pointer, rbx and return address stand. rbx, since glibc's lazy binding of functions finds its own
 * frame by it. Callers' other registers are not followed.
 *
 * Where there is none (stubs, the entry point, assembler kernels, clone()), what is known of the
 * code.
 *
 * Made by sp-unwind (loader/helpers), checked and handed to the kernel by loader/unwind*.c, used by
 * bpf/unwind.bpf.h. Never written to a file. Registers have their DWARF numbers: x86-64 rbp 6, rsp
 * 7; aarch64 x29 29, sp 31.
 */
#ifndef SP_FORMATS_UNWIND_H
#define SP_FORMATS_UNWIND_H

#include <linux/types.h>

enum sp_unwind_kind {
	SP_UNWIND_NONE = 0,	 /* nothing is known here: padding, hand-written code */
	SP_UNWIND_OUTERMOST = 1, /* the stack ends here: the return address is undefined (_start) */
	SP_UNWIND_REG = 2,	 /* CFA = reg + offset */
	SP_UNWIND_DEREF = 3,	 /* CFA = *(reg + offset) + addend: realigned stacks */
	SP_UNWIND_PLT = 4,	 /* CFA = sp + 8 + ((ip & 15) >= offset ? 8 : 0): .plt (x86-64) */
	SP_UNWIND_SIGNAL = 5,	 /* a signal frame, see below: CFA = *(reg + offset) */
	SP_UNWIND_UNSUPPORTED = 6, /* there is a rule that none of these can say */
	SP_UNWIND_KINDS,
};

/* In a signal frame all registers of the caller stand in memory. fp and ra count from reg (its
 * rules have SP_UNWIND_BY_REG). The caller was interrupted, so its address is exact, not the one
 * after a call. */

/* Where a caller's frame pointer, rbx or return address is. */
#define SP_UNWIND_SAME (-32768)	     /* in its register still */
#define SP_UNWIND_UNDEFINED (-32767) /* nobody knows (frame pointer and rbx) */

enum sp_unwind_flag {
	SP_UNWIND_FP_BY_FP = 1 << 0, /* fp and bx count from the frame pointer register, not from
				      * the CFA: realigned stacks of gcc */
	SP_UNWIND_BY_REG = 1 << 1,   /* fp, bx and ra count from reg, not from the CFA */
	SP_UNWIND_UNLESS_0 = 1 << 2, /* REG only: if register 0 (rax) holds 0, the stack ends
				      * here: a new thread, where clone() returns twice */
};

struct sp_unwind_rule {
	__s32 offset; /* bytes */
	__u8 kind;    /* enum sp_unwind_kind */
	__u8 reg;     /* DWARF number, below SP_UNWIND_REGS */
	__u8 flags;   /* enum sp_unwind_flag */
	__s8 addend;  /* bytes, DEREF only */
	__s16 fp;     /* in words from the CFA, or what a flag says, or SP_UNWIND_SAME, … */
	__s16 ra;     /* the same; x86-64: -1 as a rule. SAME: in the register link, which only the
		       * innermost frame and the one that a signal interrupted have */
	__s16 bx;     /* as fp; x86-64 only */
	__u8 link;    /* DWARF number, where ra is SAME: aarch64 30; x86-64 in vfork() */
	__u8 reserved;
};

#define SP_UNWIND_REGS 32
#define SP_UNWIND_RULES 65536 /* different ones, of all modules together; number 0 is NONE */

/* Rows of a table stand in chunks, memory of the kernel's that is taken when it is needed. */
#define SP_UNWIND_CHUNK_ROWS 131072 /* a power of two */

struct sp_unwind_chunk {
	__u32 pc[SP_UNWIND_CHUNK_ROWS];	  /* ascending within a range: address - the range's base */
	__u16 rule[SP_UNWIND_CHUNK_ROWS]; /* holds from this row's address to the next row's */
};

/* Run-time addresses of a process for which consecutive rows of one chunk hold. A module whose
 * table goes over several chunks has several ranges. */
struct sp_unwind_range {
	__u64 start, end; /* addresses; end is the first one behind */
	__u64 base;	  /* address that pc 0 stands for */
	__u32 chunk;
	__u32 first, count; /* rows; 0: there is no table, frame pointers are tried (SP_RANGE_*) */
	__u32 flags;
};

enum sp_unwind_range_flag {
	SP_RANGE_NO_TABLE = 1 << 0,  /* a file without call frame information */
	SP_RANGE_PENDING = 1 << 1,   /* its table is being made */
	SP_RANGE_ANONYMOUS = 1 << 2, /* executable memory that is no file: code made at run time */
	SP_RANGE_REFUSED = 1 << 3,   /* its table was damaged, or too large */
};

/* Where the ranges of a process are, sorted by address, not overlapping. */
struct sp_unwind_space {
	__u32 first, count; /* of the array of ranges */
};

_Static_assert(sizeof(struct sp_unwind_rule) == 16 && sizeof(struct sp_unwind_range) == 40,
	       "two programs share them");

#endif
