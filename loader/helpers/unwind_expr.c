/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_expr.c - the few expressions that call frame information is seen to have.
 *
 *   breg R n  [+ m]...                      R + n + m
 *   breg R n [+ m]...  deref  [+ m]...      *(R + n) + m: realigned stacks, assembler, signal
 * frames breg 7 8, breg 16 0, lit15, and, litN, ge, lit3, shl, plus      the linker's, for .plt
 *
 * Invariant: each operation is read once, none is run.
 */
#include <dwarf.h>
#include <elf.h>
#include <stdlib.h>

#include "formats/util.h"
#include "loader/helpers/unwind_cfi.h"

/* Base register and offset; false where the expression begins in another way. */
static bool read_base(struct sp_bytes *in, uint64_t *ret_reg, int64_t *ret_offset)
{
	uint8_t op = (uint8_t)sp_bytes_fixed(in, 1);

	if (op >= DW_OP_breg0 && op <= DW_OP_breg31)
		*ret_reg = op - DW_OP_breg0;
	else if (op == DW_OP_bregx)
		*ret_reg = sp_bytes_uleb(in);
	else
		return false;
	*ret_offset = sp_bytes_sleb(in);
	return !in->broken;
}

static bool read_constant(struct sp_bytes *in, uint8_t op, int64_t *ret)
{
	if (op >= DW_OP_lit0 && op <= DW_OP_lit31)
		*ret = op - DW_OP_lit0;
	else if (op == DW_OP_const1u || op == DW_OP_const2u || op == DW_OP_const4u)
		*ret = (int64_t)sp_bytes_fixed(in, op == DW_OP_const1u	 ? 1
						   : op == DW_OP_const2u ? 2
									 : 4);
	else if (op == DW_OP_const1s || op == DW_OP_const2s || op == DW_OP_const4s)
		*ret = sp_bytes_signed(in, op == DW_OP_const1s ? 1 : op == DW_OP_const2s ? 2 : 4);
	else if (op == DW_OP_constu)
		*ret = (int64_t)sp_bytes_uleb(in);
	else if (op == DW_OP_consts)
		*ret = sp_bytes_sleb(in);
	else
		return false;
	return !in->broken;
}

/* Constants that are added to what is on the stack; stops before anything else. */
static bool read_sum(struct sp_bytes *in, int64_t *offset)
{
	while (sp_bytes_more(in)) {
		struct sp_bytes ahead = *in;
		uint8_t op = (uint8_t)sp_bytes_fixed(&ahead, 1), add;
		int64_t value;

		if (op == DW_OP_plus_uconst) {
			value = (int64_t)sp_bytes_uleb(&ahead);
		} else if (read_constant(&ahead, op, &value)) {
			add = (uint8_t)sp_bytes_fixed(&ahead, 1);
			if (add != DW_OP_plus && add != DW_OP_minus)
				break;
			if (add == DW_OP_minus)
				value = sp_wrap_sub(0, value);
		} else {
			break;
		}
		if (ahead.broken)
			return false;
		*offset = sp_wrap_add(*offset, value);
		*in = ahead;
	}
	return !in->broken;
}

static bool take(struct sp_bytes *in, uint8_t op)
{
	return sp_bytes_fixed(in, 1) == op && !in->broken;
}

static bool read_plt(struct sp_bytes in, int64_t *ret_offset)
{
	uint8_t limit;

	if (!take(&in, DW_OP_breg7) || sp_bytes_sleb(&in) != 8 || !take(&in, DW_OP_breg16) ||
	    sp_bytes_sleb(&in) != 0 || !take(&in, DW_OP_lit15) || !take(&in, DW_OP_and))
		return false;
	limit = (uint8_t)(sp_bytes_fixed(&in, 1) - DW_OP_lit0);
	if (limit > 15 || !take(&in, DW_OP_ge) || !take(&in, DW_OP_lit3) || !take(&in, DW_OP_shl) ||
	    !take(&in, DW_OP_plus) || sp_bytes_more(&in))
		return false;
	*ret_offset = limit;
	return true;
}

struct sp_cfi_cfa sp_cfi_read_cfa(struct sp_bytes in, const struct sp_cfi_machine *machine)
{
	struct sp_cfi_cfa cfa = {.kind = SP_UNWIND_REG};
	struct sp_cfi_cfa unsupported = {.kind = SP_UNWIND_UNSUPPORTED};
	struct sp_cfi_cfa plt = {.kind = SP_UNWIND_PLT, .reg = machine->sp};

	if (machine->machine == EM_X86_64 && read_plt(in, &plt.offset))
		return plt;
	if (!read_base(&in, &cfa.reg, &cfa.offset) || !read_sum(&in, &cfa.offset))
		return unsupported;
	if (!sp_bytes_more(&in))
		return cfa;
	cfa.kind = SP_UNWIND_DEREF;
	if (!take(&in, DW_OP_deref) || !read_sum(&in, &cfa.addend) || sp_bytes_more(&in))
		return unsupported;
	return cfa;
}

struct sp_cfi_place sp_cfi_read_place(struct sp_bytes in)
{
	struct sp_cfi_place place = {.kind = SP_CFI_AT_REG};
	uint64_t reg;

	/* It begins with the CFA on the stack. */
	if (sp_bytes_more(&in) && *in.at < DW_OP_breg0) {
		place.kind = SP_CFI_AT_CFA;
		if (read_sum(&in, &place.offset) && !sp_bytes_more(&in))
			return place;
	} else if (read_base(&in, &reg, &place.offset) && reg < SP_UNWIND_REGS &&
		   read_sum(&in, &place.offset) && !sp_bytes_more(&in)) {
		place.reg = (uint8_t)reg;
		return place;
	}
	return (struct sp_cfi_place){.kind = SP_CFI_ELSEWHERE};
}
