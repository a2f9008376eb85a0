/* SPDX-License-Identifier: BSD-2-Clause
 *
 * rules_test.c - what the kernel side makes of each kind of rule, of each way in which a walk ends,
 * and of tables that are damaged: on made-up stacks, every frame compared. As root; x86-64.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/unwind/world.h"
#include "tests/lib/check.h"

#define MIDDLE (WORLD_STACK_WORDS / 2)
#define FROM_SP(bytes) \
	{ \
		.kind = SP_UNWIND_REG, .reg = RSP, .offset = (bytes), .fp = SP_UNWIND_SAME, \
		.ra = -1 \
	}
#define OUTERMOST \
	{ \
		.kind = SP_UNWIND_OUTERMOST \
	}

static struct lab *lab;

static struct world new_world(void)
{
	struct world w = {.regs = {[RSP] = WORLD_AT(MIDDLE)}};

	for (int i = 0; i < 16; i++)
		if (i != RSP)
			w.regs[i] = 0xdead0000 + (uint64_t)i;
	memset(world_stack(), 0, WORLD_STACK_WORDS * 8);
	return w;
}

/* Lives it, and compares: @end, and the frames after the first, up to a 0. */
static struct world_sample expect(const char *what, const struct world *w, unsigned end,
				  const uint64_t *callers)
{
	static struct world_sample s;
	unsigned n = 0, before = check_failed;

	check_count++;
	if (!lab_run(lab, w, &s)) {
		check_failed++;
		fprintf(stderr, "%s: no sample came\n", what);
		return s;
	}
	while (callers[n])
		n++;
	CHECK_NUMBER(s.ev.stack_end, end);
	CHECK_NUMBER(s.ev.kernel_frames, 0);
	CHECK_NUMBER(s.ev.tail_bytes / 8, n + 1);
	CHECK_NUMBER(s.ev.ip, world_here(w));
	CHECK_NUMBER(s.stack[0], world_here(w));
	for (unsigned i = 0; i < n && i + 1 < s.ev.tail_bytes / 8; i++)
		CHECK_NUMBER(s.stack[i + 1], callers[i]);
	if (check_failed != before)
		fprintf(stderr, "so it was with: %s\n", what);
	return s;
}

#define EXPECT(what, w, end, ...) expect(what, w, end, (const uint64_t[]){__VA_ARGS__, 0})
#define NO_CALLERS 0

static void stack_pointer(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(48);
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(16);
	w.rules[3] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	at[6] = WORLD_RETURN(2);
	at[8] = WORLD_RETURN(3);
	EXPECT("frames by the stack pointer", &w, SP_STACK_COMPLETE, WORLD_RETURN(1),
	       WORLD_RETURN(2), WORLD_RETURN(3));
	/* A call may be a function's last instruction: what follows is another function's. */
	w.rules[4] = (struct sp_unwind_rule){.kind = SP_UNWIND_UNSUPPORTED};
	at[8] = WORLD_FUNCTION(4);
	EXPECT("a call at a function's end", &w, SP_STACK_COMPLETE, WORLD_RETURN(1),
	       WORLD_RETURN(2), WORLD_FUNCTION(4));
	at[6] = 0;
	EXPECT("a return address of 0", &w, SP_STACK_COMPLETE, WORLD_RETURN(1));
	w.rules[0] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("nothing but a start", &w, SP_STACK_COMPLETE, NO_CALLERS);
}

/* The frame pointer: saved @distance words below the return address of frame 1, in whose caller the
 * frame is found by it, after another function that leaves it alone. */
static void saved_frame_pointer(int distance)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[1] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
					     .reg = RSP,
					     .offset = 8 * (distance + 10),
					     .fp = (int16_t)(-1 - distance),
					     .ra = -1};
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[3] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	w.rules[4] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	at[1 + 9] = WORLD_AT(MIDDLE + distance + 30);
	at[1 + 9 + distance] = WORLD_RETURN(2);
	at[1 + 9 + distance + 1] = WORLD_RETURN(3);
	at[distance + 31] = WORLD_RETURN(4);
	EXPECT("a saved frame pointer", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_RETURN(2),
	       WORLD_RETURN(3), WORLD_RETURN(4));
	w.rules[1].fp = SP_UNWIND_UNDEFINED;
	EXPECT("a lost frame pointer", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1), WORLD_RETURN(2),
	       WORLD_RETURN(3));
}

static void popped_frame_pointer(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	/* At the `ret` after a `pop rbp` the table may still name the place below the stack
	 * pointer. */
	w.rules[0] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RSP, .offset = 8, .fp = -2, .ra = -1};
	w.rules[1] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	w.rules[2] = (struct sp_unwind_rule)OUTERMOST;
	at[-1] = WORLD_AT(MIDDLE + 20);
	at[0] = WORLD_RETURN(1);
	at[21] = WORLD_RETURN(2);
	EXPECT("a popped frame pointer", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_RETURN(2));
}

/* In the innermost frame all registers are known; beyond it, most are not. */
static void other_registers(void)
{
	static const int all[] = {RAX, RDX, RCX, RBX, RSI, RDI, R8,
				  R9,  R10, R11, R12, R13, R14, R15};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct world w = new_world();
		uint64_t *at = world_stack() + MIDDLE;

		w.rules[0] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
						     .reg = (uint8_t)all[i],
						     .offset = -16,
						     .fp = SP_UNWIND_SAME,
						     .ra = -1,
						     .bx = SP_UNWIND_UNDEFINED};
		w.rules[1] = w.rules[0];
		w.regs[all[i]] = WORLD_AT(MIDDLE + 12);
		at[9] = WORLD_RETURN(1);
		EXPECT("another register", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1));
	}
}

static void realigned(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	/* As gcc makes them: CFA = *(rbp - 8), the caller's rbp at *rbp. */
	w.rules[0] = (struct sp_unwind_rule){.kind = SP_UNWIND_DEREF,
					     .reg = RBP,
					     .offset = -8,
					     .flags = SP_UNWIND_FP_BY_FP,
					     .fp = 0,
					     .ra = -1};
	w.regs[RBP] = WORLD_AT(MIDDLE + 8);
	at[7] = WORLD_AT(MIDDLE + 16);
	at[8] = WORLD_AT(MIDDLE + 40);
	at[15] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	at[41] = WORLD_RETURN(2);
	/* With an addend, and no use of the frame pointer's place. */
	w.rules[2] = (struct sp_unwind_rule){.kind = SP_UNWIND_DEREF,
					     .reg = RSP,
					     .offset = 8,
					     .addend = -16,
					     .fp = SP_UNWIND_SAME,
					     .ra = -1};
	at[43] = WORLD_AT(MIDDLE + 62);
	at[59] = WORLD_RETURN(3);
	w.rules[3] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("realigned stacks", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_RETURN(2),
	       WORLD_RETURN(3));
	w.regs[RBP] = WORLD_STACK - 800;
	EXPECT("a realigned stack out of reach", &w, SP_STACK_UNREADABLE, NO_CALLERS);
}

static void by_register(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
					     .reg = R12,
					     .offset = 800,
					     .flags = SP_UNWIND_BY_REG,
					     .fp = 2,
					     .ra = 5};
	w.regs[R12] = WORLD_AT(MIDDLE);
	at[2] = WORLD_AT(MIDDLE + 200);
	at[5] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	at[201] = WORLD_RETURN(2);
	w.rules[2] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("places that count from a register", &w, SP_STACK_COMPLETE, WORLD_RETURN(1),
	       WORLD_RETURN(2));
}

/* glibc's lazy binding finds its own frame by rbx, which the functions that it calls save. */
static void by_rbx(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(24);
	w.rules[0].bx = -3;
	at[0] = WORLD_AT(MIDDLE + 100);
	at[2] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(16);
	w.rules[1].bx = SP_UNWIND_SAME;
	at[4] = WORLD_RETURN(2);
	w.rules[2] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
					     .reg = RBX,
					     .offset = 24,
					     .fp = SP_UNWIND_SAME,
					     .ra = -1,
					     .bx = -3};
	at[100] = WORLD_AT(MIDDLE + 200);
	at[102] = WORLD_RETURN(3);
	/* A realigned frame: counted from the frame pointer. */
	w.rules[3] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
					     .reg = RBX,
					     .offset = 16,
					     .flags = SP_UNWIND_FP_BY_FP,
					     .fp = 0,
					     .ra = -1,
					     .bx = -5};
	w.regs[RBP] = WORLD_AT(MIDDLE + 150);
	at[201] = WORLD_RETURN(4);
	at[145] = WORLD_AT(MIDDLE + 300);
	w.rules[4] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBX, .offset = 8, .fp = SP_UNWIND_SAME, .ra = -1};
	at[300] = WORLD_RETURN(5);
	w.rules[5] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("frames by rbx", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_RETURN(2),
	       WORLD_RETURN(3), WORLD_RETURN(4), WORLD_RETURN(5));
	w.rules[1].bx = SP_UNWIND_UNDEFINED;
	EXPECT("rbx is not known", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1), WORLD_RETURN(2));
	/* Where it is saved cannot be read: that matters only to whom it does. */
	w.rules[1].bx = WORLD_STACK_WORDS / 2;
	EXPECT("rbx is nowhere", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1), WORLD_RETURN(2));
	/* Nor where a frame pointer carried on. */
	w.rules[1] = (struct sp_unwind_rule){0};
	w.regs[RBP] = WORLD_AT(MIDDLE + 60);
	at[61] = WORLD_RETURN(2);
	EXPECT("rbx behind a frame pointer", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1),
	       WORLD_RETURN(2));
}

/* Reads a file without end into what is below the stack. */
static void call_kernel(struct world *w)
{
	w->spin = WORLD_SYSCALL;
	w->in_kernel = true;
	w->regs[RDI] = (uint64_t)open("/dev/zero", O_RDONLY | O_CLOEXEC);
	w->regs[RSI] = WORLD_STACK;
	w->regs[RDX] = (MIDDLE - 100) * 8;
}

/* vfork() has its return address in a register, over its system call. */
static void by_link(bool in_syscall)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	if (in_syscall)
		call_kernel(&w);
	w.rules[0] = (struct sp_unwind_rule){.kind = SP_UNWIND_REG,
					     .reg = RSP,
					     .fp = SP_UNWIND_SAME,
					     .ra = SP_UNWIND_SAME,
					     .link = R12};
	w.regs[R12] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(16);
	at[1] = WORLD_RETURN(2);
	w.rules[2] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("a return address in a register", &w, SP_STACK_COMPLETE, WORLD_RETURN(1),
	       WORLD_RETURN(2));
	w.rules[2] = w.rules[0];
	w.rules[2].link = RBX;
	EXPECT("in a caller's register", &w, SP_STACK_NO_PROGRESS, WORLD_RETURN(1),
	       WORLD_RETURN(2));
	if (in_syscall)
		close((int)w.regs[RDI]);
}

static void plt(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	/* The place that spins is at 0 modulo 16, function 1 at 3. */
	w.rules[0] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_PLT, .reg = RSP, .offset = 11, .fp = SP_UNWIND_SAME, .ra = -1};
	w.rules[1] = w.rules[0];
	w.rules[1].offset = 3;
	w.rules[2] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	at[2] = WORLD_RETURN(2);
	EXPECT("entries of .plt", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_RETURN(2));
}

/* A handler on a stack of its own, above the interrupted one, in whose innermost function the stack
 * is found by a register that only a signal frame has. */
static void signal_frame(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE, *context = at + 50, *low = world_stack() + 100;
	struct world_sample s;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(16);
	at[1] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule){.kind = SP_UNWIND_SIGNAL,
					     .reg = RSP,
					     .offset = (48 + 15) * 8,
					     .flags = SP_UNWIND_BY_REG,
					     .fp = 48 + 10,
					     .ra = 48 + 16};
	context[4] = WORLD_STACK + 116 * 8; /* r12 */
	context[10] = WORLD_STACK + 150 * 8;
	context[15] = WORLD_STACK + 100 * 8;
	context[16] = WORLD_FUNCTION(2); /* its first instruction: of 2, not of 1 */
	w.rules[2] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = R12, .offset = 0, .fp = SP_UNWIND_SAME, .ra = -1};
	low[15] = WORLD_RETURN(3);
	w.rules[3] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	low[51] = WORLD_RETURN(4);
	w.rules[4] = (struct sp_unwind_rule)OUTERMOST;
	s = EXPECT("a signal frame", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_FUNCTION(2),
		   WORLD_RETURN(3), WORLD_RETURN(4));
	CHECK_NUMBER(s.ev.signal_frames, 1 << 2);
	/* Laid out as no kernel does: what the rule says is all that is known. */
	w.rules[1].fp = 48 + 9;
	context[9] = context[10];
	EXPECT("an odd signal frame", &w, SP_STACK_UNSUPPORTED, WORLD_RETURN(1), WORLD_FUNCTION(2));
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(16 * 8);
	s = EXPECT("an odd signal frame", &w, SP_STACK_COMPLETE, WORLD_RETURN(1), WORLD_FUNCTION(2),
		   WORLD_RETURN(3), WORLD_RETURN(4));
	CHECK_NUMBER(s.ev.signal_frames, 1 << 2);
}

/* A system call that makes a thread: the new one has no caller, whatever stands on its stack. */
static void clone_returns_twice(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[0].flags = SP_UNWIND_UNLESS_0;
	w.rules[1] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	w.regs[RAX] = 4711;
	EXPECT("the thread that made another", &w, SP_STACK_COMPLETE, WORLD_RETURN(1));
	w.regs[RAX] = 0;
	EXPECT("the new thread", &w, SP_STACK_COMPLETE, NO_CALLERS);
	w.rules[0].flags = 0;
	EXPECT("register 0 matters only there", &w, SP_STACK_COMPLETE, WORLD_RETURN(1));
}

static void causes(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	at[0] = 0x300000000000ull;
	EXPECT("an address in nothing", &w, SP_STACK_NO_MAPPING, at[0]);
	at[0] = WORLD_RETURN(1);
	w.rules[1] = (struct sp_unwind_rule){.kind = SP_UNWIND_UNSUPPORTED};
	EXPECT("a rule beyond us", &w, SP_STACK_UNSUPPORTED, at[0]);
	w.rules[1] = (struct sp_unwind_rule){.kind = SP_UNWIND_KINDS};
	EXPECT("a rule that does not exist", &w, SP_STACK_UNSUPPORTED, at[0]);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(WORLD_STACK_WORDS * 8);
	EXPECT("a stack out of reach", &w, SP_STACK_UNREADABLE, at[0]);
	/* Nor is there what was read of the stack before. */
	at[1] = WORLD_RETURN(2);
	w.rules[1] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("a stack that is remembered", &w, SP_STACK_COMPLETE, at[0]);
	w.rules[0] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = R12, .offset = 16, .fp = SP_UNWIND_SAME, .ra = -1};
	for (int bit = 0; bit < 64; bit++) {
		w.regs[R12] = 1ull << bit;
		if (w.regs[R12] + 16 > w.regs[RSP])
			EXPECT("a stack at no address", &w, SP_STACK_UNREADABLE, NO_CALLERS);
	}
	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(0);
	EXPECT("a caller's frame in the same place", &w, SP_STACK_NO_PROGRESS, at[0]);
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(-8);
	EXPECT("a caller's frame below", &w, SP_STACK_NO_PROGRESS, at[0]);
	w.rules[1] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RSP, .offset = 8, .fp = -2, .ra = SP_UNWIND_SAME};
	EXPECT("a caller's return address in a register", &w, SP_STACK_UNSUPPORTED, at[0]);
	w.no_table = true;
	w.flags = SP_RANGE_PENDING;
	w.regs[RBP] = WORLD_AT(MIDDLE + 4);
	at[5] = WORLD_RETURN(2);
	EXPECT("a table that is being made", &w, SP_STACK_PENDING, NO_CALLERS);
}

/* A stack that somebody made: it ends in a function that nobody called. */
static void planted(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(16);
	at[0] = WORLD_FUNCTION(2);
	w.regs[RBP] = WORLD_AT(MIDDLE + 10);
	at[2] = at[11] = WORLD_RETURN(3);
	w.rules[3] = (struct sp_unwind_rule)OUTERMOST;
	EXPECT("a function's first byte", &w, SP_STACK_COMPLETE, at[0]);
	w.rules[2].kind = SP_UNWIND_SIGNAL;
	EXPECT("of one that is for signals", &w, SP_STACK_COMPLETE, at[0], at[11]);
	w.rules[2].kind = SP_UNWIND_REG;
	at[0]++;
	EXPECT("its second", &w, SP_STACK_COMPLETE, at[0], at[2]);
	at[0] -= 2;
	EXPECT("the byte before", &w, SP_STACK_COMPLETE, at[0], at[11]);
	/* A call that was a function's last instruction. */
	at[0]++;
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(24);
	at[3] = WORLD_RETURN(3);
	EXPECT("behind a function's last byte", &w, SP_STACK_COMPLETE, at[0], at[3]);
}

/* Where there is no table, a frame pointer carries on, if it is one. */
static void frame_pointers(bool table_without_rule)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;
	unsigned end = table_without_rule ? SP_STACK_NO_RULE : SP_STACK_NO_TABLE;

	if (!table_without_rule) {
		w.no_table = true;
		w.flags = SP_RANGE_ANONYMOUS;
	}
	w.rules[1] = (struct sp_unwind_rule)FROM_SP(16);
	w.rules[2] = (struct sp_unwind_rule)OUTERMOST;
	w.regs[RBP] = WORLD_AT(MIDDLE + 4);
	at[4] = 1;
	at[5] = WORLD_RETURN(1);
	at[7] = WORLD_RETURN(2);
	EXPECT("a frame pointer, then tables", &w, SP_STACK_COMPLETE, at[5], at[7]);
	at[5] = 0;
	EXPECT("a frame pointer at the start", &w, SP_STACK_COMPLETE, NO_CALLERS);
	at[5] = 0x300000000000ull;
	EXPECT("a frame pointer to anywhere", &w, end, NO_CALLERS);
	at[5] = WORLD_RETURN(1);
	w.regs[RBP] = WORLD_AT(MIDDLE + 4) + 1;
	EXPECT("an odd frame pointer", &w, end, NO_CALLERS);
	w.regs[RBP] = WORLD_AT(MIDDLE - 2);
	at[-1] = WORLD_RETURN(1);
	EXPECT("a frame pointer below the stack", &w, end, NO_CALLERS);
	w.regs[RBP] = WORLD_AT(WORLD_STACK_WORDS);
	EXPECT("a frame pointer out of reach", &w, end, NO_CALLERS);
}

/* Code on the stack is a trampoline, on its way to a function. */
static void trampoline(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;

	world_stack()[0] = WORLD_LOOP;
	w.spin = WORLD_ON_STACK;
	w.no_table = true;
	w.flags = SP_RANGE_ANONYMOUS;
	w.regs[RBP] = WORLD_AT(MIDDLE + 10);
	w.rules[1] = (struct sp_unwind_rule){
		.kind = SP_UNWIND_REG, .reg = RBP, .offset = 16, .fp = -2, .ra = -1};
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(16);
	w.rules[3] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	at[11] = WORLD_RETURN(2);
	at[13] = WORLD_RETURN(3);
	EXPECT("a trampoline on the stack", &w, SP_STACK_COMPLETE, at[0], at[11], at[13]);
	/* Elsewhere, code without a table is passed by its frame pointer. */
	w.spin = WORLD_SPIN;
	w.no_table = false;
	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[2] = (struct sp_unwind_rule)FROM_SP(16);
	w.more = &(struct sp_unwind_range){.start = 0x200000200000, .end = 0x200000300000};
	w.more_count = 1;
	at[0] = 0x200000200001;
	EXPECT("code made at run time", &w, SP_STACK_COMPLETE, at[0], at[11], at[13]);
}

static void before_the_first_row(void)
{
	struct world w = new_world();

	w.rules[0] = (struct sp_unwind_rule)OUTERMOST;
	w.before_row = 1;
	EXPECT("an address before the first row", &w, SP_STACK_NO_RULE, NO_CALLERS);
}

static void deep(unsigned callers, unsigned end)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE, wanted[SP_MAX_FRAMES + 8] = {0};
	struct world_sample s;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(16);
	w.rules[1] = w.rules[0];
	for (unsigned i = 0; i < callers; i++) {
		at[1 + 2 * i] = WORLD_FUNCTION(1) + 8 + i;
		if (i < SP_MAX_FRAMES - 1)
			wanted[i] = at[1 + 2 * i];
	}
	s = expect("a deep stack", &w, end, wanted);
	CHECK_NUMBER(s.ev.head.flags & SP_SAMPLE_TRUNCATED,
		     end == SP_STACK_TRUNCATED ? SP_SAMPLE_TRUNCATED : 0);
}

/* Whether an address is that of the next instruction, or one behind a call. */
static void system_call(void)
{
	struct world w = new_world();

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[1] = (struct sp_unwind_rule)OUTERMOST;
	w.rules[2] = (struct sp_unwind_rule){.kind = SP_UNWIND_UNSUPPORTED};
	w.second = 2;
	world_stack()[MIDDLE] = WORLD_RETURN(1);
	EXPECT("an interrupted instruction", &w, SP_STACK_UNSUPPORTED, NO_CALLERS);
	call_kernel(&w);
	EXPECT("inside of a system call", &w, SP_STACK_COMPLETE, WORLD_RETURN(1));
	close((int)w.regs[RDI]);
}

static uint32_t next_random(void)
{
	static uint32_t state = 12345;

	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void many_rows(void)
{
	enum { ROWS = 100000, BYTES = 24 };
	struct world w = new_world();
	struct sp_unwind_chunk *chunk = lab_chunk(lab);
	uint64_t *at = world_stack() + MIDDLE;
	uint32_t first = lab_rows(lab, ROWS);
	struct sp_unwind_range range = {.start = 0x210000000000,
					.end = 0x210000000000 + ROWS * BYTES,
					.base = 0x210000000000,
					.first = first,
					.count = ROWS};
	uint16_t rules[32];

	for (int i = 0; i < 32; i++)
		rules[i] = lab_rule(lab, (struct sp_unwind_rule)FROM_SP(8 * (i + 1)));
	for (uint32_t i = 0; i < ROWS; i++) {
		chunk->pc[first + i] = i * BYTES + next_random() % BYTES;
		chunk->rule[first + i] = rules[next_random() % 32];
	}
	w.more = &range;
	w.more_count = 1;
	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	for (int round = 0; round < 5; round++) {
		uint64_t wanted[101] = {0};
		size_t word = 0;

		for (unsigned i = 0; i < 100; i++) {
			uint32_t row = i < 2 ? i * (ROWS - 1) : next_random() % ROWS;

			/* Its first byte is the call's last. */
			wanted[i] = at[word] = range.base + chunk->pc[first + row] + 1;
			word += 1u + chunk->rule[first + row] - rules[0];
		}
		at[word] = 0;
		expect("many rows", &w, SP_STACK_COMPLETE, wanted);
	}
}

static void many_ranges(void)
{
	enum { RANGES = 3000 };
	static struct sp_unwind_range ranges[RANGES];
	struct world w = new_world();
	struct sp_unwind_chunk *chunk = lab_chunk(lab);
	uint64_t *at = world_stack() + MIDDLE, wanted[101] = {0};
	uint32_t row = lab_rows(lab, 1);

	chunk->pc[row] = 0;
	chunk->rule[row] = lab_rule(lab, (struct sp_unwind_rule)FROM_SP(8));
	for (unsigned i = 0; i < RANGES; i++) {
		ranges[i].start = ranges[i].base = 0x220000000000 + i * 0x3000ull;
		ranges[i].end = ranges[i].start + 0x1000;
		ranges[i].first = row;
		ranges[i].count = 1;
	}
	w.more = ranges;
	w.more_count = RANGES;
	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	for (unsigned i = 0; i < 99; i++) {
		unsigned n = i < 2 ? i * (RANGES - 1) : next_random() % RANGES;

		wanted[i] = at[i] = i % 2 ? ranges[n].end : ranges[n].start + 1;
	}
	expect("many ranges", &w, SP_STACK_COMPLETE, wanted);
	for (unsigned i = 0; i < 2; i++) {
		wanted[99] = at[99] = i ? ranges[7].start : ranges[8].end + 1;
		expect("between two ranges", &w, SP_STACK_NO_MAPPING, wanted);
	}
}

/* Nothing that a table holds may do harm. */
static void damaged(void)
{
	struct world w = new_world();
	static struct world_sample s;

	for (unsigned i = 0; i < WORLD_STACK_WORDS; i++)
		world_stack()[i] = WORLD_RETURN(i % WORLD_FUNCTIONS);
	for (int round = 0; round < 30; round++) {
		struct sp_unwind_range range = {.start = WORLD_FUNCTION(WORLD_FUNCTIONS),
						.end = WORLD_FUNCTION(2 * WORLD_FUNCTIONS),
						.base = round % 2 ? 0 : ~0ull,
						.chunk = round % 3 ? next_random() : 0,
						.first = next_random() << 8,
						.count = next_random() << 8 | 1};

		for (unsigned i = 0; i < WORLD_FUNCTIONS; i++)
			for (size_t byte = 0; byte < sizeof(w.rules[i]); byte++)
				((unsigned char *)&w.rules[i])[byte] = (unsigned char)next_random();
		for (unsigned i = 0; i < WORLD_FUNCTIONS; i++)
			w.rules[i].kind %= SP_UNWIND_KINDS;
		w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
		w.more = &range;
		w.more_count = 1;
		if (round % 3 == 0)
			world_stack()[MIDDLE] = range.start + 4;
		CHECK(lab_run(lab, &w, &s));
		CHECK(s.ev.stack_end > SP_STACK_UNKNOWN && s.ev.stack_end < SP_STACK_END_MAX);
		CHECK(s.ev.tail_bytes >= 8 && s.ev.tail_bytes <= 8 * SP_MAX_FRAMES);
	}
}

static void families(void)
{
	struct world w = new_world();
	uint64_t *at = world_stack() + MIDDLE;
	static struct world_sample s;

	w.rules[0] = (struct sp_unwind_rule)FROM_SP(8);
	w.rules[1] = (struct sp_unwind_rule)OUTERMOST;
	at[0] = WORLD_RETURN(1);
	w.spin = WORLD_FORK;
	EXPECT("a child without ranges of its own", &w, SP_STACK_COMPLETE, WORLD_RETURN(1));
	w.spin = WORLD_EXEC;
	s.ev.tail_bytes = 0;
	/* It may still be starting; with sanitizers for long. */
	for (unsigned i = 0; i < 12 && s.ev.tail_bytes < 8 * SP_MAX_FRAMES; i++) {
		w.pass_over = (1u << i) - 1;
		CHECK(lab_run(lab, &w, &s));
		CHECK_NUMBER(s.ev.stack_end, SP_STACK_FRAME_POINTERS);
	}
	CHECK_NUMBER(s.ev.tail_bytes, 8 * SP_MAX_FRAMES); /* and not TRUNCATED */
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "spin"))
		world_spin_for_ever();
	lab_open(SP_STACKS_EH, false, 0, &lab);
	stack_pointer();
	for (int distance = 1; distance < 40; distance += distance < 4 ? 1 : 11)
		saved_frame_pointer(distance);
	popped_frame_pointer();
	other_registers();
	realigned();
	by_register();
	by_rbx();
	by_link(false);
	by_link(true);
	plt();
	signal_frame();
	clone_returns_twice();
	causes();
	planted();
	frame_pointers(false);
	frame_pointers(true);
	trampoline();
	before_the_first_row();
	deep(126, SP_STACK_COMPLETE);
	deep(127, SP_STACK_TRUNCATED);
	deep(300, SP_STACK_TRUNCATED);
	system_call();
	many_rows();
	many_ranges();
	damaged();
	families();
	lab_close(lab);
	return check_result();
}
