/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_code.c - follows the stack pointer through the instructions of one function.
 *
 * In the order of addresses, with what jumps forward bring to their targets. Behind a return or a
 * jump, where no jump forward leads to, the state is taken for that of the function's body, until
 * something says otherwise.
 *
 * Invariant: at each instruction one state; a contradiction, an instruction that changes the stack
 * pointer in another way than these, or a return with something left on the stack ends it all.
 */
#include "loader/helpers/unwind_code.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "loader/helpers/unwind_x86.h"

#define MAX_STATES 250
#define NO_BASE 0xff
#define NEARBY 8 /* instructions between `mov %rsp, …` and `and …, %rsp` */

enum fp_state { FP_SAME, FP_SAVED, FP_LOST };

struct state {
	uint16_t base; /* CFA = base + depth; number as in instructions */
	uint16_t fp;   /* enum fp_state */
	int32_t depth; /* bytes */
	int32_t fp_at; /* FP_SAVED: from the CFA */
};

struct reader {
	const uint8_t *code;
	size_t size;
	uint8_t *target; /* by offset: number of the state that a jump brings there + 1 */
	uint8_t *seen;	 /* by offset of instructions: number of their state + 1 */
	struct state states[MAX_STATES];
	size_t count;
	struct state now, body;
	bool weak;	 /* @now is but a guess */
	uint16_t alias;	 /* a copy of the stack pointer is here, or NO_BASE */
	int32_t copied;	 /* … from when the depth was this */
	size_t copied_n; /* … and so many instructions were read */
	size_t returns, read;
};

/* Number of the state, from 1; 0: too many. */
static uint8_t state_number(struct reader *r, const struct state *state)
{
	for (size_t i = r->count; i > 0; i--)
		if (!memcmp(&r->states[i - 1], state, sizeof(*state)))
			return (uint8_t)i;
	if (r->count == MAX_STATES)
		return 0;
	r->states[r->count++] = *state;
	return (uint8_t)r->count;
}

static bool is_on_stack(const struct reader *r, const struct sp_x86 *x)
{
	return x->in_memory && x->base && !x->index && x->rm == SP_X86_RSP &&
	       r->now.base == SP_X86_RSP;
}

static bool move_stack(struct reader *r, int64_t bytes)
{
	if (r->now.base != SP_X86_RSP)
		return true; /* the CFA is not where it was counted from */
	if (bytes > 1 << 28 || bytes < -(1 << 28))
		return false;
	r->now.depth += (int32_t)bytes;
	return r->now.depth >= 8 && r->now.depth < 1 << 28;
}

static bool push(struct reader *r, const struct sp_x86 *x)
{
	if (!move_stack(r, 8))
		return false;
	if (x && x->rm == SP_X86_RBP && r->now.base == SP_X86_RSP && r->now.fp == FP_SAME) {
		r->now.fp = FP_SAVED;
		r->now.fp_at = -r->now.depth;
	}
	return true;
}

static bool pop(struct reader *r, const struct sp_x86 *x)
{
	if (x && x->rm == SP_X86_RSP)
		return false;
	if (x && x->rm == r->now.base)
		return false;
	if (x && x->rm == SP_X86_RBP && r->now.fp == FP_SAVED && r->now.fp_at == -r->now.depth) {
		r->now.fp = FP_SAME;
		r->now.fp_at = 0;
	} else if (x && x->rm == SP_X86_RBP && r->now.fp == FP_SAME) {
		r->now.fp = FP_LOST;
	}
	if (x && x->rm == r->alias)
		r->alias = NO_BASE;
	return move_stack(r, -8);
}

/* mov between registers, of which one is the stack pointer. */
static bool copy_stack(struct reader *r, uint8_t from, uint8_t to)
{
	if (from == SP_X86_RSP && to == SP_X86_RSP)
		return true;
	if (from == SP_X86_RSP) {
		if (r->now.base == to)
			return false;
		if (r->now.base == SP_X86_RSP) {
			r->alias = to;
			r->copied = r->now.depth;
			r->copied_n = r->read;
		}
		if (to == SP_X86_RBP && r->now.fp == FP_SAME)
			r->now.fp = FP_LOST;
		return true;
	}
	if (from == r->now.base) {
		r->now.base = SP_X86_RSP; /* with the depth that it stands for */
		return true;
	}
	if (from != r->alias || r->now.base != SP_X86_RSP)
		return false;
	r->now.depth = r->copied;
	return true;
}

/* The stack is aligned: what is on it is found from the copy of before, made for that. */
static bool align_stack(struct reader *r)
{
	if (r->now.base != SP_X86_RSP)
		return true;
	if (r->alias == NO_BASE || r->read - r->copied_n > NEARBY)
		return false;
	r->now.base = r->alias;
	r->now.depth = r->copied;
	return true;
}

/* What changes the stack pointer by an operand. */
static bool change_stack(struct reader *r, const struct sp_x86 *x)
{
	uint8_t op = x->opcode;

	if (x->map || !x->wide)
		return false;
	if ((op == 0x81 || op == 0x83) && x->digit == 5)
		return move_stack(r, x->immediate);
	if ((op == 0x81 || op == 0x83) && x->digit == 0)
		return move_stack(r, -x->immediate);
	if ((op == 0x81 || op == 0x83) && x->digit == 4)
		return align_stack(r);
	if (op == 0x89)
		return copy_stack(r, x->reg, x->rm);
	if (op == 0x8b && !x->in_memory)
		return copy_stack(r, x->rm, x->reg);
	if (op == 0x8d && is_on_stack(r, x))
		return move_stack(r, -(int64_t)x->displacement);
	return false;
}

/* mov %rbp, N(%rsp) and back. */
static bool move_fp(struct reader *r, const struct sp_x86 *x)
{
	int64_t at = (int64_t)x->displacement - r->now.depth;

	if (x->map || x->vector || !x->wide || x->reg != SP_X86_RBP || !is_on_stack(r, x) || at % 8)
		return false;
	if (x->opcode == 0x89 && r->now.fp == FP_SAME) {
		r->now.fp = FP_SAVED;
		r->now.fp_at = (int32_t)at;
		return true;
	}
	if (x->opcode == 0x8b && r->now.fp == FP_SAVED && r->now.fp_at == at) {
		r->now.fp = FP_SAME;
		r->now.fp_at = 0;
		return true;
	}
	return false;
}

static bool is_return(const struct sp_x86 *x)
{
	return x->map == 0 && !x->vector && (x->opcode == 0xc3 || x->opcode == 0xc2);
}

static bool is_jump(const struct sp_x86 *x)
{
	return x->map == 0 && !x->vector && (x->opcode == 0xe9 || x->opcode == 0xeb);
}

static bool is_branch(const struct sp_x86 *x)
{
	if (x->vector)
		return false;
	return is_jump(x) || (x->map == 0 && (x->opcode & 0xf0) == 0x70) ||
	       (x->map == 0 && x->opcode >= 0xe0 && x->opcode <= 0xe3) ||
	       (x->map == 1 && (x->opcode & 0xf0) == 0x80);
}

/* What an instruction does to the state. */
static bool step(struct reader *r, const struct sp_x86 *x)
{
	uint8_t op = x->opcode;

	if (x->vector || x->map > 1)
		return true;
	if (x->map == 0 && (op & 0xf8) == 0x50)
		return push(r, x);
	if (x->map == 0 && (op & 0xf8) == 0x58)
		return pop(r, x);
	if (x->map == 0 &&
	    (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && x->digit == 6)))
		return push(r, NULL);
	if (x->map == 0 && op == 0x9d)
		return pop(r, NULL);
	/* enter, leave, pop to memory, far returns: nobody writes them. */
	if (x->map == 0 && (op == 0xc8 || op == 0xc9 || op == 0x8f || op == 0xca || op == 0xcb))
		return false;
	if (move_fp(r, x))
		return true;
	if (sp_x86_writes(x, SP_X86_RSP) ||
	    (x->map == 0 && op == 0x89 && x->reg == SP_X86_RSP && !x->in_memory) ||
	    (x->map == 0 && op == 0x8b && x->rm == SP_X86_RSP && !x->in_memory))
		return change_stack(r, x);
	if (r->now.base != SP_X86_RSP && sp_x86_writes(x, (uint8_t)r->now.base))
		return false;
	if (r->alias != NO_BASE && sp_x86_writes(x, (uint8_t)r->alias))
		r->alias = NO_BASE;
	if (r->now.fp == FP_SAME && sp_x86_writes(x, SP_X86_RBP))
		r->now.fp = FP_LOST;
	return true;
}

/* A return, or a jump to another function. The frame pointer may still count as saved: some
 * branches did not change it, and what was saved is where it was. */
static bool leave(struct reader *r)
{
	r->returns++;
	return r->now.base == SP_X86_RSP && r->now.depth == 8;
}

/* A jump from the instruction that ends at @end. */
static bool follow(struct reader *r, const struct sp_x86 *x, size_t end)
{
	int64_t to = (int64_t)end + x->immediate;
	uint8_t number = state_number(r, &r->now);

	if (!number)
		return false;
	if (to < 0 || to >= (int64_t)r->size)
		return leave(r); /* as a call that returns to our caller */
	if ((size_t)to < end)
		return r->seen[to] == number || (r->seen[to] && r->weak);
	if (r->target[to] && r->target[to] != number)
		return false;
	r->target[to] = number;
	return true;
}

static void remember_body(struct reader *r)
{
	if (r->now.base != SP_X86_RSP ||
	    (r->body.base == SP_X86_RSP && r->now.depth >= r->body.depth))
		r->body = r->now;
}

/* The state in which the instruction at @at begins. */
static bool arrive(struct reader *r, size_t at)
{
	uint8_t brought = r->target[at];

	if (brought && memcmp(&r->states[brought - 1], &r->now, sizeof(r->now))) {
		if (!r->weak)
			return false;
		r->now = r->states[brought - 1];
		r->alias = NO_BASE;
	}
	if (brought)
		r->weak = false;
	r->seen[at] = state_number(r, &r->now);
	return r->seen[at];
}

static bool read_all(struct reader *r)
{
	for (size_t at = 0; at < r->size;) {
		struct sp_x86 x;

		if (!arrive(r, at) || !sp_x86_decode(r->code + at, r->size - at, &x))
			return false;
		at += x.length;
		r->read++;
		remember_body(r);
		if (is_return(&x) ? !leave(r) : is_branch(&x) ? !follow(r, &x, at) : !step(r, &x))
			return false;
		if (is_return(&x))
			r->now = r->body;
		if (is_return(&x) || is_jump(&x) ||
		    (x.map == 0 && !x.vector && x.opcode == 0xff && x.digit == 4))
			r->weak = true;
	}
	return r->returns > 0;
}

/* ---- what was found, as a program ---- */

static size_t put_number(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	do {
		out[n] = value & 0x7f;
		value >>= 7;
		out[n++] |= value ? 0x80 : 0;
	} while (value);
	return n;
}

/* At most 24 bytes. */
static size_t put_state(uint8_t *out, size_t advance, const struct state *state)
{
	static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
	uint32_t delta = (uint32_t)advance;
	size_t n = 0;

	if (delta) {
		out[n++] = DW_CFA_advance_loc4;
		memcpy(out + n, &delta, sizeof(delta));
		n += sizeof(delta);
	}
	out[n++] = DW_CFA_def_cfa;
	out[n++] = dwarf[state->base];
	n += put_number(out + n, (uint64_t)state->depth);
	if (state->fp == FP_SAVED && state->fp_at < 0) {
		out[n++] = DW_CFA_offset | 6;
		n += put_number(out + n, (uint64_t)(-state->fp_at / 8));
	} else {
		out[n++] = state->fp == FP_SAME ? DW_CFA_same_value : DW_CFA_undefined;
		out[n++] = 6;
	}
	return n;
}

static int write_program(const struct reader *r, uint8_t **ret_program, size_t *ret_bytes)
{
	size_t changes = 1, used = 0, last = 0;
	uint8_t state = 0, *out;

	for (size_t i = 0; i < r->size; i++) {
		changes += r->seen[i] && r->seen[i] != state;
		state = r->seen[i] ? r->seen[i] : state;
	}
	out = malloc(changes * 24 + 2);
	if (!out)
		return -ENOMEM;
	/* rbx is not looked at. */
	out[used++] = DW_CFA_undefined;
	out[used++] = 3;
	state = 0;
	for (size_t i = 0; i < r->size; i++) {
		if (!r->seen[i] || r->seen[i] == state)
			continue;
		state = r->seen[i];
		used += put_state(out + used, i - last, &r->states[state - 1]);
		last = i;
	}
	*ret_program = out;
	*ret_bytes = used;
	return 0;
}

int sp_unwind_code_read(const uint8_t *code, size_t size, uint8_t **ret_program, size_t *ret_bytes)
{
	struct reader *r = calloc(1, sizeof(*r));
	int result = -ENOMEM;

	if (!r)
		return -ENOMEM;
	r->code = code;
	r->size = size;
	r->target = calloc(size, 1);
	r->seen = calloc(size, 1);
	r->alias = NO_BASE;
	r->now = r->body = (struct state){.base = SP_X86_RSP, .depth = 8};
	if (r->target && r->seen)
		result = read_all(r) ? write_program(r, ret_program, ret_bytes) : -ENOTSUP;
	free(r->target);
	free(r->seen);
	free(r);
	return result;
}
