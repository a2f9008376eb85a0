/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_cie.c - what the entries for one address after the other have in common.
 *
 * Invariant: a CIE of which anything is not understood is not usable.
 */
#include <dwarf.h>
#include <elf.h>

#include "loader/helpers/unwind_cfi.h"

static const struct sp_cfi_machine machines[] = {
	{.machine = EM_X86_64, .fp = 6, .sp = 7, .ra = 16, .bx = 3},
	{.machine = EM_AARCH64, .fp = 29, .sp = 31, .ra = 30, .bx = SP_CFI_NO_REGISTER},
};

const struct sp_cfi_machine *sp_cfi_machine_find(uint16_t e_machine)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].machine == e_machine)
			return &machines[i];
	return NULL;
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

	*cie = (struct sp_cfi_cie){.machine = machine,
				   .code_align = entry->code_alignment_factor,
				   .data_align = entry->data_alignment_factor,
				   .encoding = DW_EH_PE_absptr};
	cie->initial.sp.kind = SP_CFI_IS_CFA;
	cie->usable =
		read_augmentation(entry, cie) && entry->return_address_register == machine->ra;
	if (!cie->usable)
		return;
	cie->usable = sp_cfi_run_initial(cie, (struct sp_bytes){entry->initial_instructions,
								entry->initial_instructions_end,
								false}) == 0;
}
