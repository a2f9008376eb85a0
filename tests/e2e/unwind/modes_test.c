/* SPDX-License-Identifier: BSD-2-Clause
 *
 * modes_test.c - what a sample holds with each of --stacks, and with -k: on made-up stacks. As
 * root; x86-64.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/unwind/world.h"
#include "tests/lib/check.h"

#define MIDDLE (WORLD_STACK_WORDS / 2)

/* A stack of one caller by its table, of three by its frame pointers. */
static struct world new_world(uint64_t word)
{
	uint64_t *at = world_stack();
	struct world w = {.regs = {[RSP] = WORLD_AT(word), [RBP] = WORLD_AT(word + 4)}};

	for (int i = 0; i < 16; i++)
		if (i != RSP && i != RBP)
			w.regs[i] = 0xbeef0000 + (uint64_t)i;
	for (uint64_t i = 0; i < WORLD_STACK_WORDS; i++)
		at[i] = 0x7700000000 + i;
	w.rules[0] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RSP, .offset = 8, .fp = SP_UNWIND_SAME, .ra = -1};
	w.rules[1] = (struct sp_unwind_rule){.kind = SP_UNWIND_OUTERMOST};
	at[word] = WORLD_RETURN(1);
	at[word + 4] = WORLD_AT(word + 10);
	at[word + 5] = WORLD_RETURN(2);
	at[word + 10] = WORLD_AT(word + 20);
	at[word + 11] = WORLD_RETURN(3);
	at[word + 20] = 0;
	at[word + 21] = WORLD_RETURN(4);
	return w;
}

static struct world_sample run(unsigned stacks, bool kernel_stacks, size_t copy,
			       const struct world *w)
{
	static struct world_sample s;
	struct lab *lab;

	lab_open(stacks, kernel_stacks, copy, &lab);
	CHECK(lab_run(lab, w, &s));
	lab_close(lab);
	return s;
}

static void without_walk(void)
{
	struct world w = new_world(MIDDLE);
	struct world_sample s = run(SP_STACKS_NONE, false, 0, &w);

	CHECK_NUMBER(s.ev.ip, 0);
	CHECK_NUMBER(s.ev.tail_bytes, 0);
	s = run(SP_STACKS_LEAF, false, 0, &w);
	CHECK_NUMBER(s.ev.ip, world_here(&w));
	CHECK_NUMBER(s.ev.stack_end, SP_STACK_LEAF);
	CHECK_NUMBER(s.ev.tail_bytes, 8);
	CHECK_NUMBER(s.stack[0], world_here(&w));
	CHECK_NUMBER(s.copy.head.type, 0);
}

static void by_frame_pointers(void)
{
	struct world w = new_world(MIDDLE);
	struct world_sample s = run(SP_STACKS_FP, false, 0, &w);

	CHECK_NUMBER(s.ev.ip, world_here(&w));
	CHECK_NUMBER(s.ev.stack_end, SP_STACK_FRAME_POINTERS);
	CHECK_NUMBER(s.ev.tail_bytes, 4 * 8);
	CHECK_NUMBER(s.stack[0], world_here(&w));
	for (uint64_t i = 1; i < 4; i++)
		CHECK_NUMBER(s.stack[i], WORLD_RETURN(i + 1));
}

/* The copy of a stack whose pointer is at a word, of so many bytes; so many words above it are
 * mapped. */
static void copies(uint64_t word, size_t bytes)
{
	struct world w = new_world(word);
	struct world_sample s = run(SP_STACKS_DWARF, false, bytes, &w);
	uint64_t first = word - s.copy.below, *at = world_stack();
	unsigned wrong = 0;

	CHECK_NUMBER(s.ev.stack_end, SP_STACK_COMPLETE);
	CHECK_NUMBER(s.ev.tail_bytes, 2 * 8);
	CHECK_NUMBER(s.stack[1], WORLD_RETURN(1));
	CHECK_NUMBER(s.copy.head.type, SP_EV_stack_copy);
	CHECK_NUMBER(s.copy.registers, 17);
	for (int i = 0; i < 16; i++)
		CHECK_NUMBER(s.words[i], w.regs[i]);
	CHECK_NUMBER(s.words[16], world_here(&w));
	CHECK_NUMBER(s.copy.tail_bytes, (17 + s.copy.words) * 8);
	/* The red zone is in it, where there is one, and the rest of it is above. */
	CHECK(s.copy.below >= (word < 16 ? word : 16) && s.copy.below <= word);
	CHECK(s.copy.below < 16 + 64);
	CHECK_NUMBER(s.copy.words,
		     first + bytes / 8 > WORLD_STACK_WORDS ? WORLD_STACK_WORDS - first : bytes / 8);
	for (uint64_t i = 0; i < s.copy.words; i++)
		wrong += s.words[17 + i] != at[first + i];
	CHECK_NUMBER(wrong, 0);
}

/* The kernel's frames come first, and leave the user's alone. */
static void kernel_frames(unsigned stacks, unsigned user, unsigned end)
{
	struct world w = new_world(MIDDLE);
	struct world_sample s;
	unsigned odd = 0;

	w.spin = WORLD_SYSCALL;
	w.regs[RDI] = (uint64_t)open("/dev/zero", O_RDONLY | O_CLOEXEC);
	w.regs[RSI] = WORLD_STACK;
	w.regs[RDX] = (MIDDLE - 100) * 8;
	w.in_kernel = true;
	s = run(stacks, true, 0, &w);
	CHECK(s.ev.kernel_frames >= 2 && s.ev.kernel_frames <= SP_MAX_KERNEL_FRAMES);
	CHECK_NUMBER(s.ev.tail_bytes, (s.ev.kernel_frames + user) * 8);
	for (unsigned i = 0; i < s.ev.kernel_frames; i++)
		odd += (int64_t)s.stack[i] >= 0;
	CHECK_NUMBER(odd, 0);
	CHECK_NUMBER(s.ev.stack_end, end);
	if (user)
		CHECK_NUMBER(s.stack[s.ev.kernel_frames], world_here(&w));
	if (stacks == SP_STACKS_EH)
		CHECK_NUMBER(s.stack[s.ev.kernel_frames + 1], WORLD_RETURN(1));
	s = run(stacks, false, 0, &w);
	CHECK_NUMBER(s.ev.kernel_frames, 0);
	CHECK_NUMBER(s.ev.tail_bytes, user * 8);
	w.spin = WORLD_SPIN;
	w.in_kernel = false;
	s = run(stacks, true, 0, &w);
	CHECK_NUMBER(s.ev.kernel_frames, 0);
	CHECK_NUMBER(s.ev.tail_bytes, user * 8);
	close((int)w.regs[RDI]);
}

int main(void)
{
	without_walk();
	by_frame_pointers();
	copies(MIDDLE, 512);
	copies(MIDDLE + 3, 16384);
	copies(100, SP_COPY_MOST);
	copies(WORLD_STACK_WORDS - 70, 16384); /* near the stack's end, and at it */
	copies(WORLD_STACK_WORDS - 22, 16384);
	copies(2, 4096); /* nothing is mapped below */
	copies(20, 4096);
	kernel_frames(SP_STACKS_EH, 2, SP_STACK_COMPLETE);
	kernel_frames(SP_STACKS_FP, 4, SP_STACK_FRAME_POINTERS);
	kernel_frames(SP_STACKS_LEAF, 1, SP_STACK_LEAF);
	kernel_frames(SP_STACKS_NONE, 0, SP_STACK_LEAF);
	return check_result();
}
