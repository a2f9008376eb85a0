/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_x86.h - takes instructions of x86-64 apart: how long they are, and their operands.
 *
 * What an instruction does is known of those that change general registers only, and only as far as
 * unwind_code.c asks.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_X86_H
#define SP_LOADER_HELPERS_UNWIND_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the order in which instructions number them. */
enum { SP_X86_RSP = 4, SP_X86_RBP = 5 };

struct sp_x86 {
	uint8_t length;
	uint8_t map;	/* 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; above: XOP */
	uint8_t opcode; /* in its map */
	bool vector;	/* VEX, EVEX, XOP */
	bool wide;	/* REX.W */
	bool word;	/* prefix 66 */
	bool modrm;
	bool in_memory;	  /* the rm operand */
	uint8_t reg, rm;  /* numbers of registers; rm: the base register, where there is one */
	uint8_t digit;	  /* the reg field as a part of the opcode */
	bool base, index; /* rm in memory: relative to rm; to another register, too */
	int32_t displacement;
	int64_t immediate; /* or distance of a jump */
};

/* False: cut short, or not known. */
bool sp_x86_decode(const uint8_t *code, size_t bytes, struct sp_x86 *ret_x);

/* Whether it may change general register @reg by its operands; push and the like do not count. */
bool sp_x86_writes(const struct sp_x86 *x, uint8_t reg);

#endif
