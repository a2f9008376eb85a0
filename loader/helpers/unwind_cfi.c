/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_cfi.c - the machine that call frame information is written for.
 *
 * Invariant: a state that is not understood to the last bit gives the rule UNSUPPORTED, never a
 * guess.
 */
#include "loader/helpers/unwind_cfi.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>

#include "formats/util.h"

#define MAX_REMEMBERED 64 /* compilers nest 1 deep, assembler macros a few */

/* Of compilers newer than libdw. */
#define CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_AARCH64_NEGATE_RA_STATE DW_CFA_GNU_window_save

struct run {
	const struct sp_cfi_cie *cie;
	struct sp_cfi_state state;
	struct sp_bytes in;
	uint64_t pc, end;
	sp_cfi_row_cb cb; /* NULL: the program of a CIE */
	void *arg;
	struct sp_cfi_state remembered[MAX_REMEMBERED];
	size_t depth;
};

static int emit(struct run *run)
{
	struct sp_unwind_rule rule;

	if (!run->cb || run->pc >= run->end)
		return 0;
	rule = sp_cfi_rule(run->cie, &run->state);
	return run->cb(run->pc, &rule, run->arg);
}

static int advance(struct run *run, uint64_t delta)
{
	uint64_t bytes;
	int r;

	if (__builtin_mul_overflow(delta, run->cie->code_align, &bytes))
		bytes = UINT64_MAX;
	if (bytes == 0)
		return 0;
	r = emit(run);
	if (__builtin_add_overflow(run->pc, bytes, &run->pc))
		run->pc = UINT64_MAX;
	return r;
}

static struct sp_cfi_place *place_of(struct run *run, struct sp_cfi_state *state, uint64_t reg)
{
	const struct sp_cfi_machine *machine = run->cie->machine;

	return reg == machine->fp   ? &state->fp
	       : reg == machine->bx ? &state->bx
	       : reg == machine->sp ? &state->sp
	       : reg == machine->ra ? &state->ra
				    : NULL;
}

static void set_place(struct run *run, uint64_t reg, struct sp_cfi_place place)
{
	struct sp_cfi_place *to = place_of(run, &run->state, reg);

	if (to)
		*to = place;
}

static void set_at(struct run *run, uint64_t reg, uint8_t kind, int64_t factor)
{
	int64_t offset;

	/* Too far for any rule, in either direction. */
	if (__builtin_mul_overflow(factor, run->cie->data_align, &offset))
		kind = SP_CFI_ELSEWHERE;
	set_place(run, reg, (struct sp_cfi_place){.kind = kind, .offset = offset});
}

static void restore(struct run *run, uint64_t reg)
{
	struct sp_cfi_state initial = run->cie->initial;
	struct sp_cfi_place *from = place_of(run, &initial, reg);

	if (from)
		set_place(run, reg, *from);
}

static void set_cfa(struct run *run, uint64_t reg, int64_t offset)
{
	run->state.cfa = (struct sp_cfi_cfa){.kind = SP_UNWIND_REG, .reg = reg, .offset = offset};
}

/* Changes of a CFA that has another form make nonsense of it. */
static void change_cfa(struct run *run, const uint64_t *reg, const int64_t *offset)
{
	struct sp_cfi_cfa *cfa = &run->state.cfa;

	if (cfa->kind != SP_UNWIND_REG)
		cfa->kind = SP_UNWIND_UNSUPPORTED;
	if (reg)
		cfa->reg = *reg;
	if (offset)
		cfa->offset = *offset;
}

static int64_t factored(struct run *run, int64_t factor)
{
	int64_t offset;

	return __builtin_mul_overflow(factor, run->cie->data_align, &offset) ? INT64_MAX : offset;
}

/* An unsigned offset; what has no sense as a signed one is far away. */
static int64_t read_offset(struct sp_bytes *in)
{
	uint64_t value = sp_bytes_uleb(in);

	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Where the CFA is. False: it is another operation. */
static bool run_cfa(struct run *run, uint8_t op)
{
	struct sp_bytes *in = &run->in;
	int64_t offset;
	uint64_t reg;

	switch (op) {
	case DW_CFA_def_cfa:
		reg = sp_bytes_uleb(in);
		set_cfa(run, reg, read_offset(in));
		return true;
	case DW_CFA_def_cfa_sf:
		reg = sp_bytes_uleb(in);
		set_cfa(run, reg, factored(run, sp_bytes_sleb(in)));
		return true;
	case DW_CFA_def_cfa_register:
		reg = sp_bytes_uleb(in);
		change_cfa(run, &reg, NULL);
		return true;
	case DW_CFA_def_cfa_offset:
		offset = read_offset(in);
		change_cfa(run, NULL, &offset);
		return true;
	case DW_CFA_def_cfa_offset_sf:
		offset = factored(run, sp_bytes_sleb(in));
		change_cfa(run, NULL, &offset);
		return true;
	case DW_CFA_def_cfa_expression:
		run->state.cfa =
			sp_cfi_read_cfa(sp_bytes_block(in, sp_bytes_uleb(in)), run->cie->machine);
		return true;
	default:
		return false;
	}
}

/* Where a register is. False: it is another operation. */
static bool run_register(struct run *run, uint8_t op)
{
	const struct sp_cfi_place elsewhere = {.kind = SP_CFI_ELSEWHERE};
	struct sp_bytes *in = &run->in, block;
	uint64_t reg = sp_bytes_uleb(in), from;

	switch (op) {
	case DW_CFA_offset_extended:
		set_at(run, reg, SP_CFI_AT_CFA, read_offset(in));
		return true;
	case DW_CFA_offset_extended_sf:
		set_at(run, reg, SP_CFI_AT_CFA, sp_bytes_sleb(in));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_at(run, reg, SP_CFI_AT_CFA, -read_offset(in));
		return true;
	case DW_CFA_val_offset:
		set_at(run, reg, SP_CFI_IS_CFA, read_offset(in));
		return true;
	case DW_CFA_val_offset_sf:
		set_at(run, reg, SP_CFI_IS_CFA, sp_bytes_sleb(in));
		return true;
	case DW_CFA_restore_extended:
		restore(run, reg);
		return true;
	case DW_CFA_undefined:
		set_place(run, reg, (struct sp_cfi_place){.kind = SP_CFI_UNDEFINED});
		return true;
	case DW_CFA_same_value:
		set_place(run, reg, (struct sp_cfi_place){.kind = SP_CFI_SAME});
		return true;
	case DW_CFA_register:
		from = sp_bytes_uleb(in);
		set_place(run, reg,
			  from < SP_UNWIND_REGS ? (struct sp_cfi_place){.kind = SP_CFI_IN_REG,
									.reg = (uint8_t)from}
						: elsewhere);
		return true;
	case DW_CFA_expression:
		block = sp_bytes_block(in, sp_bytes_uleb(in));
		set_place(run, reg, sp_cfi_read_place(block));
		return true;
	case DW_CFA_val_expression:
		sp_bytes_block(in, sp_bytes_uleb(in));
		set_place(run, reg, elsewhere);
		return true;
	default:
		return false;
	}
}

/* Operations without a register. -ENOTSUP: it is none, or cannot be done. */
static int run_other(struct run *run, uint8_t op)
{
	struct sp_bytes *in = &run->in;

	switch (op) {
	case DW_CFA_nop:
		return 0;
	case DW_CFA_advance_loc1:
		return advance(run, sp_bytes_fixed(in, 1));
	case DW_CFA_advance_loc2:
		return advance(run, sp_bytes_fixed(in, 2));
	case DW_CFA_advance_loc4:
		return advance(run, sp_bytes_fixed(in, 4));
	case DW_CFA_MIPS_advance_loc8:
		return advance(run, sp_bytes_fixed(in, 8));
	case DW_CFA_remember_state:
		if (run->depth == MAX_REMEMBERED)
			return -ENOTSUP;
		run->remembered[run->depth++] = run->state;
		return 0;
	case DW_CFA_restore_state:
		if (run->depth == 0)
			return -ENOTSUP;
		run->state = run->remembered[--run->depth];
		return 0;
	case DW_CFA_GNU_args_size:
		sp_bytes_uleb(in);
		return 0;
	/* Whether the return address is signed: the unwinder strips signatures without being told.
	 */
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return run->cie->machine->machine == EM_AARCH64 ? 0 : -ENOTSUP;
	default:
		return -ENOTSUP;
	}
}

static int run_one(struct run *run)
{
	uint8_t op = (uint8_t)sp_bytes_fixed(&run->in, 1);
	struct sp_bytes before = run->in;

	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(run, op & 0x3f);
	case DW_CFA_offset:
		set_at(run, op & 0x3f, SP_CFI_AT_CFA, read_offset(&run->in));
		return 0;
	case DW_CFA_restore:
		restore(run, op & 0x3f);
		return 0;
	default:
		break;
	}
	if (run_cfa(run, op) || (op != DW_CFA_nop && run_register(run, op)))
		return 0;
	run->in = before;
	return run_other(run, op);
}

/* 0, -ENOTSUP where something is not understood, else what the callback said. */
static int run_all(struct run *run)
{
	int r = 0;

	while (r == 0 && sp_bytes_more(&run->in) && run->pc < run->end)
		r = run_one(run);
	return r == 0 && run->in.broken ? -ENOTSUP : r;
}

int sp_cfi_run_initial(struct sp_cfi_cie *cie, struct sp_bytes program)
{
	struct run run;
	int r;

	run.cie = cie;
	run.state = cie->initial;
	run.in = program;
	run.pc = 0;
	run.end = UINT64_MAX;
	run.cb = NULL;
	run.depth = 0;
	r = run_all(&run);
	if (r == 0)
		cie->initial = run.state;
	return r;
}

int sp_cfi_run(const struct sp_cfi_cie *cie, uint64_t start, uint64_t end, struct sp_bytes program,
	       sp_cfi_row_cb cb, void *arg)
{
	struct run run;
	int r;

	run.cie = cie;
	run.state = cie->initial;
	run.in = program;
	run.pc = start;
	run.end = end;
	run.cb = cb;
	run.arg = arg;
	run.depth = 0;
	r = cie->usable ? run_all(&run) : 0;
	if (r == -ENOTSUP)
		run.state = (struct sp_cfi_state){.cfa.kind = SP_UNWIND_UNSUPPORTED};
	else if (r < 0)
		return r;
	return emit(&run);
}
