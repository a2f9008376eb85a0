/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_cfi.h - runs the programs of call frame information (DWARF 5, 6.4.2) and says what holds
 * at each address as a rule of formats/unwind.h.
 *
 * libdw finds the entries and takes CIEs apart (dwarf_next_cfi()); their programs are run here,
 * once for all addresses: its dwarf_cfi_addrframe() begins anew for each, so that a table would
 * take the square of a program's length, and ten times as long for a libc. Time is linear here.
 * Only the CFA, the frame pointer, rbx, the stack pointer and the return address are followed.
 */
#ifndef SP_LOADER_HELPERS_UNWIND_CFI_H
#define SP_LOADER_HELPERS_UNWIND_CFI_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "formats/unwind.h"
#include "loader/helpers/unwind_bytes.h"

/* How the value that a register had in the caller is found. */
enum sp_cfi_place_kind {
	SP_CFI_SAME,
	SP_CFI_UNDEFINED,
	SP_CFI_AT_CFA,	 /* in memory at the CFA + offset */
	SP_CFI_AT_REG,	 /* in memory at a register + offset */
	SP_CFI_IS_CFA,	 /* it is the CFA + offset */
	SP_CFI_IN_REG,	 /* in another register */
	SP_CFI_ELSEWHERE /* in another way */
};

struct sp_cfi_place {
	uint8_t kind, reg;
	int64_t offset;
};

struct sp_cfi_cfa {
	uint8_t kind; /* enum sp_unwind_kind: NONE (not yet said), REG, DEREF, PLT, UNSUPPORTED */
	uint64_t reg;
	int64_t offset, addend;
};

struct sp_cfi_state {
	struct sp_cfi_cfa cfa;
	struct sp_cfi_place fp, bx, sp, ra;
};

#define SP_CFI_NO_REGISTER 255

/* DWARF numbers. */
struct sp_cfi_machine {
	uint16_t machine; /* e_machine */
	uint8_t fp, sp, ra;
	uint8_t bx; /* x86-64 only: see formats/unwind.h */
};

struct sp_cfi_cie {
	const struct sp_cfi_machine *machine;
	uint64_t code_align;
	int64_t data_align;
	uint8_t encoding; /* of addresses in its FDEs: DW_EH_PE_* */
	bool sized;	  /* its FDEs say how long their augmentation data is ('z') */
	bool signal;	  /* 'S' */
	bool clones;	  /* SP_UNWIND_UNLESS_0 */
	bool usable;
	struct sp_cfi_state initial;
};

/* What is known of @e_machine, or NULL (unwind_cie.c, as the next two). */
const struct sp_cfi_machine *sp_cfi_machine_find(uint16_t e_machine);

/* Takes a CIE apart; a CIE that cannot be understood is not usable. */
void sp_cfi_cie_read(const Dwarf_CIE *entry, const struct sp_cfi_machine *machine,
		     struct sp_cfi_cie *ret_cie);

/* An address in the form DW_EH_PE_*, which stands at the link-time address @place. False: cut
 * short, or of a form that needs the program's memory. */
bool sp_cfi_read_address(struct sp_bytes *in, uint8_t encoding, uint64_t place,
			 uint64_t *ret_value);

/* Gets the rule that holds from @pc on; addresses ascend strictly within a run. Negative ends it.
 */
typedef int (*sp_cfi_row_cb)(uint64_t pc, const struct sp_unwind_rule *rule, void *arg);

/* Runs the program of an FDE for the addresses from @start to @end. What cannot be understood gives
 * UNSUPPORTED from there on. Returns what the callback said, if that was negative. */
int sp_cfi_run(const struct sp_cfi_cie *cie, uint64_t start, uint64_t end, struct sp_bytes program,
	       sp_cfi_row_cb cb, void *arg);

/* Runs the program of a CIE, which becomes its initial state. -ENOTSUP where it is not understood.
 */
int sp_cfi_run_initial(struct sp_cfi_cie *cie, struct sp_bytes program);

/* The rule of a state (unwind_rule.c), in one form for all that mean the same. */
struct sp_unwind_rule sp_cfi_rule(const struct sp_cfi_cie *cie, const struct sp_cfi_state *state);

/* Reads an expression (unwind_expr.c): that of a CFA, or that of a register's place in memory. */
struct sp_cfi_cfa sp_cfi_read_cfa(struct sp_bytes in, const struct sp_cfi_machine *machine);
struct sp_cfi_place sp_cfi_read_place(struct sp_bytes in);

#endif
