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
#define MAX_OFFSET (1ll << 30)

/* Of compilers newer than libdw. */
#define CFA_AARCH64_NEGATE_RA_STATE_WITH_PC 0x2c
#define CFA_AARCH64_NEGATE_RA_STATE DW_CFA_GNU_window_save

/* Where Linux for aarch64 keeps the interrupted registers, from sp on: siginfo_t (128 bytes), the
 * head of ucontext_t (176), the fault's address (8), x0 to x30, sp, pc. */
#define AARCH64_SIGNAL_X0 312
#define AARCH64_SIGNAL_SP (AARCH64_SIGNAL_X0 + 31 * 8)

static const struct sp_cfi_machine machines[] = {
	{.machine = EM_X86_64, .fp = 6, .sp = 7, .ra = 16},
	{.machine = EM_AARCH64, .fp = 29, .sp = 31, .ra = 30},
};

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

const struct sp_cfi_machine *sp_cfi_machine_find(uint16_t e_machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == e_machine)
			return &machines[i];
	return NULL;
}

/* An offset in words, as a rule has it; false where there is no room for it. */
static bool words(int64_t bytes, int16_t *ret_words)
{
	if (bytes % 8 || bytes / 8 > INT16_MAX || bytes / 8 <= SP_UNWIND_UNDEFINED)
		return false;
	*ret_words = (int16_t)(bytes / 8);
	return true;
}

static const struct sp_unwind_rule unsupported = {.kind = SP_UNWIND_UNSUPPORTED};

/* All registers of the caller stand in memory at one register. */
static struct sp_unwind_rule signal_rule(const struct sp_cfi_cie *cie,
					 const struct sp_cfi_state *state)
{
	const struct sp_cfi_cfa *cfa = &state->cfa;
	struct sp_unwind_rule rule = {.offset = (int32_t)cfa->offset,
				      .kind = SP_UNWIND_SIGNAL,
				      .reg = (uint8_t)cfa->reg,
				      .flags = SP_UNWIND_BY_REG};

	/* The kernel's trampoline says only where the frame record is, which has no address of what
	 * was interrupted; but the rest stands at a fixed place. */
	if (cie->machine->machine == EM_AARCH64 && cfa->kind == SP_UNWIND_REG &&
	    cfa->reg == cie->machine->fp)
		return (struct sp_unwind_rule){.offset = AARCH64_SIGNAL_SP,
					       .kind = SP_UNWIND_SIGNAL,
					       .reg = cie->machine->sp,
					       .flags = SP_UNWIND_BY_REG,
					       .fp = (AARCH64_SIGNAL_X0 + 29 * 8) / 8,
					       .ra = (AARCH64_SIGNAL_SP + 8) / 8};
	if (cfa->kind != SP_UNWIND_DEREF || cfa->addend || state->ra.kind != SP_CFI_AT_REG ||
	    state->ra.reg != cfa->reg || !words(state->ra.offset, &rule.ra))
		return unsupported;
	if (state->sp.kind != SP_CFI_IS_CFA &&
	    (state->sp.kind != SP_CFI_AT_REG || state->sp.reg != cfa->reg ||
	     state->sp.offset != cfa->offset))
		return unsupported;
	if (state->fp.kind == SP_CFI_SAME)
		rule.fp = SP_UNWIND_SAME;
	else if (state->fp.kind != SP_CFI_AT_REG || state->fp.reg != cfa->reg ||
		 !words(state->fp.offset, &rule.fp))
		rule.fp = SP_UNWIND_UNDEFINED;
	return rule;
}

/* Distance of a place from the CFA; false where that is not a constant. */
static bool from_cfa(const struct sp_cfi_place *place, const struct sp_cfi_cfa *cfa,
		     int64_t *ret_offset)
{
	if (place->kind == SP_CFI_AT_CFA) {
		*ret_offset = place->offset;
		return true;
	}
	if (place->kind != SP_CFI_AT_REG || cfa->kind != SP_UNWIND_REG || place->reg != cfa->reg)
		return false;
	*ret_offset = sp_wrap_sub(place->offset, cfa->offset);
	return true;
}

/* Large frames of aarch64 have their record at the low end, too far from the CFA. */
static bool count_from_reg(const struct sp_cfi_state *state, int64_t fp, int64_t ra,
			   struct sp_unwind_rule *rule)
{
	if (state->cfa.kind != SP_UNWIND_REG ||
	    !words(sp_wrap_add(fp, state->cfa.offset), &rule->fp) ||
	    !words(sp_wrap_add(ra, state->cfa.offset), &rule->ra))
		return false;
	rule->flags = SP_UNWIND_BY_REG;
	return true;
}

static void set_fp(const struct sp_cfi_cie *cie, const struct sp_cfi_state *state,
		   struct sp_unwind_rule *rule)
{
	int64_t offset;

	rule->fp = SP_UNWIND_UNDEFINED;
	if (state->fp.kind == SP_CFI_SAME)
		rule->fp = SP_UNWIND_SAME;
	else if (from_cfa(&state->fp, &state->cfa, &offset))
		words(offset, &rule->fp);
	else if (state->fp.kind == SP_CFI_AT_REG && state->fp.reg == cie->machine->fp &&
		 words(state->fp.offset, &rule->fp))
		rule->flags |= SP_UNWIND_FP_BY_FP;
}

struct sp_unwind_rule sp_cfi_rule(const struct sp_cfi_cie *cie, const struct sp_cfi_state *state)
{
	const struct sp_cfi_cfa *cfa = &state->cfa;
	struct sp_unwind_rule rule = {.kind = cfa->kind, .reg = (uint8_t)cfa->reg};
	int64_t fp, ra = 0;

	if (state->ra.kind == SP_CFI_UNDEFINED)
		return (struct sp_unwind_rule){.kind = SP_UNWIND_OUTERMOST};
	if (cfa->kind == SP_UNWIND_NONE || cfa->kind == SP_UNWIND_UNSUPPORTED ||
	    cfa->reg >= SP_UNWIND_REGS || cfa->offset > MAX_OFFSET || cfa->offset < -MAX_OFFSET)
		return unsupported;
	if (cie->signal)
		return signal_rule(cie, state);
	if (cfa->addend > INT8_MAX || cfa->addend < INT8_MIN || state->sp.kind != SP_CFI_IS_CFA ||
	    state->sp.offset)
		return unsupported;
	rule.offset = (int32_t)cfa->offset;
	rule.addend = (int8_t)cfa->addend;
	if (state->ra.kind == SP_CFI_SAME && cie->machine->machine == EM_AARCH64)
		rule.ra = SP_UNWIND_SAME;
	else if (!from_cfa(&state->ra, cfa, &ra))
		return unsupported;
	else if (!words(ra, &rule.ra))
		return from_cfa(&state->fp, cfa, &fp) && count_from_reg(state, fp, ra, &rule)
			       ? rule
			       : unsupported;
	set_fp(cie, state, &rule);
	return rule;
}

static int emit(struct run *run)
{
	struct sp_unwind_rule rule;

	if (!run->cb || run->pc >= run->end)
		return 0;
	rule = run->cie->usable ? sp_cfi_rule(run->cie, &run->state) : unsupported;
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
	uint64_t reg = sp_bytes_uleb(in);

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
		sp_bytes_uleb(in);
		set_place(run, reg, elsewhere);
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

bool sp_cfi_read_address(struct sp_bytes *in, uint8_t encoding, uint64_t place, uint64_t *ret_value)
{
	uint64_t value;

	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		value = sp_bytes_fixed(in, 8);
		break;
	case DW_EH_PE_udata2:
		value = sp_bytes_fixed(in, 2);
		break;
	case DW_EH_PE_sdata2:
		value = (uint64_t)sp_bytes_signed(in, 2);
		break;
	case DW_EH_PE_udata4:
		value = sp_bytes_fixed(in, 4);
		break;
	case DW_EH_PE_sdata4:
		value = (uint64_t)sp_bytes_signed(in, 4);
		break;
	default:
		return false;
	}
	/* Indirect and other bases would have to be looked up in memory that only a running program
	 * has. */
	if ((encoding & 0xf0) == DW_EH_PE_pcrel)
		value += place;
	else if (encoding & 0xf0)
		return false;
	*ret_value = value;
	return !in->broken;
}

/* What the augmentation says; false where it is not known to the end. */
static bool read_augmentation(const Dwarf_CIE *entry, struct sp_cfi_cie *cie)
{
	struct sp_bytes data = {entry->augmentation_data,
				entry->augmentation_data + entry->augmentation_data_size, false};
	uint8_t personality;
	uint64_t unused;

	if (!entry->augmentation_data)
		data = (struct sp_bytes){0};
	for (const char *a = entry->augmentation; *a; a++) {
		switch (*a) {
		case 'z':
			cie->sized = true;
			break;
		case 'R':
			cie->encoding = (uint8_t)sp_bytes_fixed(&data, 1);
			break;
		case 'L':
			sp_bytes_fixed(&data, 1);
			break;
		case 'P':
			/* The personality routine's address, of which only the length matters. */
			personality = (uint8_t)sp_bytes_fixed(&data, 1);
			if (!sp_cfi_read_address(&data, personality & 0x0f, 0, &unused))
				return false;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B': /* aarch64: the second key signs return addresses */
		case 'G': /* aarch64: the stack is tagged */
			break;
		default:
			return false;
		}
	}
	return !data.broken;
}

void sp_cfi_cie_read(const Dwarf_CIE *entry, const struct sp_cfi_machine *machine,
		     struct sp_cfi_cie *ret_cie)
{
	struct sp_cfi_cie *cie = ret_cie;
	struct run run;

	*cie = (struct sp_cfi_cie){.machine = machine,
				   .code_align = entry->code_alignment_factor,
				   .data_align = entry->data_alignment_factor,
				   .encoding = DW_EH_PE_absptr};
	cie->initial.sp.kind = SP_CFI_IS_CFA;
	cie->usable =
		read_augmentation(entry, cie) && entry->return_address_register == machine->ra;
	if (!cie->usable)
		return;
	run.cie = cie;
	run.state = cie->initial;
	run.in = (struct sp_bytes){entry->initial_instructions, entry->initial_instructions_end,
				   false};
	run.pc = 0;
	run.end = UINT64_MAX;
	run.cb = NULL;
	run.depth = 0;
	cie->usable = run_all(&run) == 0;
	cie->initial = run.state;
}
