/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_rule.c - a state of the machine of unwind_cfi.c, reduced to what the kernel follows.
 *
 * Invariant: what a rule cannot say to the last bit becomes UNSUPPORTED, never a guess; and two
 * states that mean the same have the same rule.
 */
#include <elf.h>

#include "formats/util.h"
#include "loader/helpers/unwind_cfi.h"

#define MAX_OFFSET (1ll << 30)

/* Where Linux for aarch64 keeps the interrupted registers, from sp on: siginfo_t (128 bytes), the
 * head of ucontext_t (176), the fault's address (8), x0 to x30, sp, pc. */
#define AARCH64_SIGNAL_X0 312
#define AARCH64_SIGNAL_SP (AARCH64_SIGNAL_X0 + 31 * 8)

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
				      .flags = SP_UNWIND_BY_REG,
				      .bx = SP_UNWIND_UNDEFINED};

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

static bool is_by_fp(const struct sp_cfi_cie *cie, const struct sp_cfi_place *place)
{
	return place->kind == SP_CFI_AT_REG && place->reg == cie->machine->fp;
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
	else if (is_by_fp(cie, &state->fp) && words(state->fp.offset, &rule->fp))
		rule->flags |= SP_UNWIND_FP_BY_FP;
}

/* After set_fp(): what counts from something else than the frame pointer does is given up. */
static void set_bx(const struct sp_cfi_cie *cie, const struct sp_cfi_state *state,
		   struct sp_unwind_rule *rule)
{
	int64_t offset;

	if (state->bx.kind == SP_CFI_SAME)
		rule->bx = SP_UNWIND_SAME;
	else if (rule->flags & SP_UNWIND_FP_BY_FP ? is_by_fp(cie, &state->bx)
						  : from_cfa(&state->bx, &state->cfa, &offset))
		words(rule->flags & SP_UNWIND_FP_BY_FP ? state->bx.offset : offset, &rule->bx);
}

/* As where nothing was called yet (aarch64), or in vfork(), whose stack the child writes to. */
static bool is_in_register(const struct sp_cfi_cie *cie, const struct sp_cfi_place *ra,
			   uint8_t *ret_link)
{
	if (ra->kind == SP_CFI_IN_REG)
		*ret_link = ra->reg;
	else if (ra->kind == SP_CFI_SAME && cie->machine->machine == EM_AARCH64)
		*ret_link = cie->machine->ra;
	else
		return false;
	return true;
}

struct sp_unwind_rule sp_cfi_rule(const struct sp_cfi_cie *cie, const struct sp_cfi_state *state)
{
	const struct sp_cfi_cfa *cfa = &state->cfa;
	struct sp_unwind_rule rule = {
		.kind = cfa->kind, .reg = (uint8_t)cfa->reg, .bx = SP_UNWIND_UNDEFINED};
	int64_t fp, ra = 0;

	if (!cie->usable)
		return unsupported;
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
	rule.flags = cie->clones ? SP_UNWIND_UNLESS_0 : 0;
	if (is_in_register(cie, &state->ra, &rule.link))
		rule.ra = SP_UNWIND_SAME;
	else if (!from_cfa(&state->ra, cfa, &ra))
		return unsupported;
	else if (!words(ra, &rule.ra))
		return from_cfa(&state->fp, cfa, &fp) && count_from_reg(state, fp, ra, &rule)
			       ? rule
			       : unsupported;
	set_fp(cie, state, &rule);
	set_bx(cie, state, &rule);
	return rule;
}
