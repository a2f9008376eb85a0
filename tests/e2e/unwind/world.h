/* SPDX-License-Identifier: BSD-2-Clause
 *
 * world.h - processes whose registers, stack and unwinding tables are made up, word by word, and
 * what the kernel side makes of them.
 *
 * The code of such a process need not exist: it spins at one place, with the registers that a test
 * wants, and all callers are numbers on a made-up stack. Function n of a world is at
 * WORLD_FUNCTION(n), and the place that spins is function 0, wherever it really is.
 */
#ifndef SP_TESTS_WORLD_H
#define SP_TESTS_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/wire.h"
#include "loader/bpf.h"

/* Its words; nothing is mapped below or above, nor is it the address sanitizer's, whose shadow ends
 * soon after 2^44. */
#define WORLD_STACK 0x300000000000ull
#define WORLD_STACK_WORDS 8192
#define WORLD_CODE 0x200000000000ull
#define WORLD_FUNCTIONS 64
#define WORLD_FUNCTION(n) (WORLD_CODE + (n)*0x1000ull)
#define WORLD_RETURN(n) (WORLD_FUNCTION(n) + 0x123) /* an address behind a call in function n */

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };

#define WORLD_LOOP 0xfeeb /* a jump to itself */

/* How the process spends its time. */
enum world_spin {
	WORLD_SPIN,	/* in a loop of one instruction */
	WORLD_SYSCALL,	/* in read(2), again and again, with rdi, rsi, rdx as its arguments */
	WORLD_ON_STACK, /* as WORLD_SPIN, in the stack's first word, which has to be WORLD_LOOP */
	WORLD_FORK,	/* as WORLD_SPIN, in a child of its own, which has no ranges */
	WORLD_EXEC,	/* it execs this program, whose argument is "spin" */
};

struct world {
	uint64_t regs[16];
	struct sp_unwind_rule rules[WORLD_FUNCTIONS]; /* of each function */
	const struct sp_unwind_range *more;	      /* ranges behind those of the functions */
	unsigned more_count;
	bool no_table;	     /* function 0's range has none, but … */
	uint32_t flags;	     /* … these flags */
	uint32_t before_row; /* function 0's first row begins so many bytes behind its address */
	unsigned second; /* if not 0: from its very address on it has the rule of this function */
	enum world_spin spin;
	unsigned pass_over; /* so many samples are not looked at */
	bool in_kernel; /* a sample in the kernel is wanted, not one in user space */
};

/* What was seen. */
struct world_sample {
	struct sp_ev_sample ev;
	uint64_t stack[256];
	struct sp_ev_stack_copy copy; /* copy.head.type 0: none */
	uint64_t words[64 + SP_COPY_MOST / 8];
};

struct lab;

/* Loads the BPF programs and samples. Exits with 77 where that needs rights that we lack. */
void lab_open(unsigned stacks, bool kernel_stacks, size_t copy_bytes, struct lab **ret_lab);
void lab_close(struct lab *lab);
struct sp_bpf *lab_bpf(struct lab *lab);
/* Rows and rules for tests that fill their own: as many consecutive ones as wanted. */
struct sp_unwind_chunk *lab_chunk(struct lab *lab);
uint32_t lab_rows(struct lab *lab, uint32_t count);
uint16_t lab_rule(struct lab *lab, struct sp_unwind_rule rule);

/* Words of the stack, in this process; a process of lab_run() has them as they are then. */
uint64_t *world_stack(void);
/* Address of a word of it. */
#define WORLD_AT(word) (WORLD_STACK + (word)*8ull)
/* Where function 0 is. */
uint64_t world_here(const struct world *world);

/* Lives the world until a sample of it comes. False if none did within 30 s. */
bool lab_run(struct lab *lab, const struct world *world, struct world_sample *ret_sample);
/* What the program does if its argument is "spin"; its frame pointers go round in a circle. */
void world_spin_for_ever(void);

#endif
