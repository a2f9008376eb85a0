/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_extra.c - recognises stubs by their bytes.
 *
 * A lazy stub pushes a number (8 bytes) before it jumps to the head of .plt, which pushes another
 * 8. The 16 bytes of a stub, on x86-64:
 *   ff 25 GOT(4) 68 NUMBER(4) e9 …      jump, or push behind byte 11
 *   f3 0f 1e fa 68 NUMBER(4) …          push behind byte 9 (endbr64)
 *   68 NUMBER(4) …                      push behind byte 5
 *   [f3 0f 1e fa] [f2] ff 25 …          jump only
 *
 * Invariant: a rule is said only of code whose first bytes were seen to be such.
 */
#include "loader/helpers/unwind_extra.h"

#include <dwarf.h>
#include <gelf.h>
#include <string.h>

#include "loader/helpers/unwind_stubs.h"
#include "userspace/base/known_code.h"

#define SLOT 16

#define PROGRAM(bytes) ((struct sp_bytes){bytes, bytes + sizeof(bytes), false})

/* CFA = sp + 8 + ((ip & 15) >= limit ? 8 : 0) */
#define LAZY(limit) \
	{ \
		DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, \
			DW_OP_and, DW_OP_lit0 + (limit), DW_OP_ge, DW_OP_lit3, DW_OP_shl, \
			DW_OP_plus \
	}
static const uint8_t plain[] = {DW_CFA_nop};
static const uint8_t lazy_5[] = LAZY(5), lazy_9[] = LAZY(9), lazy_11[] = LAZY(11);
static const uint8_t head_x86[] = {DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 6,
				   DW_CFA_def_cfa_offset, 24};
/* stp x16, x30, [sp, #-16]! */
static const uint8_t head_arm[] = {DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 16,
				   DW_CFA_offset | 30, 1};
static const uint8_t head_arm_bti[] = {DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset, 16,
				       DW_CFA_offset | 30, 1};
static const char bti[] = "\x5f\x24\x03\xd5"; /* bti c */
static const uint8_t entry_x86[] = {DW_CFA_undefined, 16};
static const uint8_t entry_arm[] = {DW_CFA_undefined, 30};

struct sp_cfi_cie sp_unwind_extra_cie(const struct sp_cfi_machine *machine)
{
	struct sp_cfi_cie cie = {
		.machine = machine, .code_align = 1, .data_align = -8, .usable = true};

	cie.initial.cfa = (struct sp_cfi_cfa){.kind = SP_UNWIND_REG, .reg = machine->sp};
	cie.initial.sp.kind = SP_CFI_IS_CFA;
	if (machine->machine == EM_X86_64) {
		cie.initial.cfa.offset = 8;
		cie.initial.ra = (struct sp_cfi_place){.kind = SP_CFI_AT_CFA, .offset = -8};
	}
	return cie;
}

static void add(struct sp_unwind_extra *extras, size_t *n, uint64_t start, uint64_t end,
		struct sp_bytes program)
{
	if (*n < SP_UNWIND_MAX_EXTRAS && start < end)
		extras[(*n)++] = (struct sp_unwind_extra){start, end, program};
}

static bool begins(const uint8_t *code, const char *with, size_t n)
{
	return !memcmp(code, with, n);
}

/* What is said of a stub; false where it is none. */
static bool find_stub(const uint8_t *code, bool aligned, struct sp_bytes *ret_program)
{
	const uint8_t *behind = begins(code, "\xf3\x0f\x1e\xfa", 4) ? code + 4 : code;

	*ret_program = PROGRAM(plain);
	if (begins(code, "\xff\x25", 2) && code[6] == 0x68)
		*ret_program = PROGRAM(lazy_11);
	else if (behind != code && *behind == 0x68)
		*ret_program = PROGRAM(lazy_9);
	else if (*code == 0x68)
		*ret_program = PROGRAM(lazy_5);
	else
		return begins(behind, "\xff\x25", 2) || begins(behind, "\xf2\xff\x25", 3);
	return aligned;
}

static void add_x86(struct sp_unwind_extra *extras, size_t *n, const uint8_t *code,
		    const GElf_Shdr *sh)
{
	uint64_t at = sh->sh_addr, end = sh->sh_addr + sh->sh_size;
	struct sp_bytes program;

	if (begins(code, "\xff\x35", 2)) {
		add(extras, n, at, at + SLOT, PROGRAM(head_x86));
		at += SLOT;
		code += SLOT;
	}
	if (find_stub(code, at % SLOT == 0, &program))
		add(extras, n, at, end, program);
}

static void add_arm(struct sp_unwind_extra *extras, size_t *n, const uint8_t *code,
		    const GElf_Shdr *sh)
{
	static const char push[] = "\xf0\x7b\xbf\xa9";
	uint64_t at = sh->sh_addr, end = sh->sh_addr + sh->sh_size;
	bool guarded = begins(code, bti, 4), head = begins(code + (guarded ? 4 : 0), push, 4);

	if (head) {
		add(extras, n, at, at + 2ul * SLOT,
		    guarded ? PROGRAM(head_arm_bti) : PROGRAM(head_arm));
		at += 2ul * SLOT;
	}
	/* adrp x16, … */
	if (head || ((code[0] & 0x1f) == 0x10 && (code[3] & 0x9f) == 0x90))
		add(extras, n, at, end, PROGRAM(plain));
}

static void add_section(struct sp_elf_file *file, const GElf_Shdr *sh,
			struct sp_unwind_extra *extras, size_t *n)
{
	uint8_t code[2 * SLOT] = {0};
	uint64_t offset;

	if (sh->sh_type != SHT_PROGBITS || sh->sh_size < 8 || sh->sh_size > UINT32_MAX ||
	    sp_elf_file_offset(file, sh->sh_addr, sh->sh_size, PF_X, &offset) < 0 ||
	    sp_elf_file_read(file, offset, code,
			     sh->sh_size < sizeof(code) ? sh->sh_size : sizeof(code)) < 0)
		return;
	if (file->machine == EM_X86_64)
		add_x86(extras, n, code, sh);
	else
		add_arm(extras, n, code, sh);
}

static bool is_entry(struct sp_elf_file *file, uint64_t address)
{
	uint8_t code[SP_ENTRY_BYTES] = {0};
	uint64_t offset;

	return sp_elf_file_offset(file, address, sizeof(code), PF_X, &offset) == 0 &&
	       sp_elf_file_read(file, offset, code, sizeof(code)) == 0 &&
	       sp_code_is_entry(file->machine, code);
}

size_t sp_unwind_extras(struct sp_elf_file *file, struct sp_unwind_extra *extras)
{
	struct sp_unwind_stub stubs[2 * SP_ELF_LIMIT_PROBES];
	size_t names, n = 0, count = sp_unwind_stubs_find(file, stubs);
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;

	for (size_t i = 0; i < count; i++)
		add(extras, &n, stubs[i].start, stubs[i].end, PROGRAM(plain));

	if (gelf_getehdr(file->elf, &eh) && is_entry(file, eh.e_entry))
		add(extras, &n, eh.e_entry, eh.e_entry + SP_ENTRY_EXTENT,
		    file->machine == EM_X86_64 ? PROGRAM(entry_x86) : PROGRAM(entry_arm));
	if (!file->has_sections || elf_getshdrstrndx(file->elf, &names) < 0)
		return n;
	while ((scn = elf_nextscn(file->elf, scn))) {
		GElf_Shdr sh;
		const char *name;

		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(file->elf, names, sh.sh_name)))
			continue;
		if (!strcmp(name, ".plt") || !strncmp(name, ".plt.", 5) || !strcmp(name, ".iplt"))
			add_section(file, &sh, extras, &n);
	}
	return n;
}

bool sp_unwind_extra_clone(struct sp_elf_file *file, uint64_t start, uint64_t end,
			   struct sp_bytes *ret_program)
{
	uint8_t code[SP_CLONE_MOST];
	uint64_t offset;

	if (end - start < SP_CLONE_LEAST || end - start > sizeof(code) ||
	    sp_elf_file_offset(file, start, end - start, PF_X, &offset) < 0 ||
	    sp_elf_file_read(file, offset, code, end - start) < 0 ||
	    sp_code_is_clone(file->machine, code, end - start) != end - start)
		return false;
	*ret_program = PROGRAM(plain);
	return true;
}
