/* SPDX-License-Identifier: BSD-2-Clause
 *
 * known_code.h - code of which call frame information says nothing, known by its bytes: where a
 * program begins, where clone() returns twice, and the way to a probe.
 *
 * For the tables of the recorder and for the unwinder that reads copies of stacks, which are to
 * find the same callers. Nothing is read but what is handed in.
 */
#ifndef SP_BASE_KNOWN_CODE_H
#define SP_BASE_KNOWN_CODE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SP_ENTRY_BYTES 16 /* that tell an entry point, … */
/* … and how far its code goes, at most: _start of glibc's dynamic linker has 61 bytes. */
#define SP_ENTRY_EXTENT 128

/* Whether a program begins with @code, the SP_ENTRY_BYTES at its file's entry point: the frame
 * pointer is cleared, or the stack handed on. Older linkers gave libraries an entry point, too,
 * which was any code. */
static inline bool sp_code_is_entry(uint16_t machine, const uint8_t *code)
{
	if (machine == EM_X86_64) {
		code += memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 0 : 4; /* endbr64 */
		return !memcmp(code, "\x31\xed", 2) || !memcmp(code, "\x48\x31\xed", 3) ||
		       !memcmp(code, "\x48\x89\xe7\xe8", 4);
	}
	code += memcmp(code, "\x5f\x24\x03\xd5", 4) ? 0 : 4; /* bti c */
	/* mov x29, #0; mov x0, sp */
	return !memcmp(code, "\x1d\x00\x80\xd2", 4) || !memcmp(code, "\xe0\x03\x00\x91", 4);
}

#define SP_CLONE_LEAST 10 /* bytes, from the system call to what the new thread does, … */
#define SP_CLONE_MOST 14

/* How many bytes @code (@bytes of it) has from a system call that makes a thread to the place where
 * that one goes on; 0 where it is none. In between the two threads are told apart by register 0,
 * and the old one returns with the stack as it came. glibc for x86-64 ends the call frame
 * information before the system call, and begins anew at that place. */
static inline size_t sp_code_is_clone(uint16_t machine, const uint8_t *code, size_t bytes)
{
	size_t at = 5; /* syscall; test %rax,%rax */

	if (machine != EM_X86_64 || bytes < SP_CLONE_LEAST ||
	    memcmp(code, "\x0f\x05\x48\x85\xc0", 5))
		return 0;
	/* jl, near or far; je over the ret that follows */
	if (code[at] == 0x7c)
		at += 2;
	else if (code[at] == 0x0f && code[at + 1] == 0x8c)
		at += 6;
	else
		return 0;
	return at + 3 <= bytes && !memcmp(code + at, "\x74\x01\xc3", 3) ? at + 3 : 0;
}

#define SP_STUB_PLACE 7	 /* bytes of a probe of usdt/sp_region.h on x86-64, … */
#define SP_STUB_ENTRY 27 /* … and of where its callers arrive */

/* Whether @code, SP_STUB_ENTRY bytes, begins with either: its length, else 0. In all of it the
 * caller's address is at the top of the stack. nop; 5-byte nop; ret. Or endbr64; mov …(%rip),%rax;
 * test %rax,%rax; je +9; cmpb $0,(%rax); jne …; nop; ret. */
static inline size_t sp_code_is_stub(const uint8_t *code)
{
	if (!memcmp(code, "\x90\x0f\x1f\x44\x00\x00\xc3", SP_STUB_PLACE))
		return SP_STUB_PLACE;
	return !memcmp(code, "\xf3\x0f\x1e\xfa\x48\x8b\x05", 7) &&
			       !memcmp(code + 11, "\x48\x85\xc0\x74\x09\x80\x38\x00\x0f\x85", 10) &&
			       !memcmp(code + 25, "\x90\xc3", 2)
		       ? SP_STUB_ENTRY
		       : 0;
}

/* The kernel's trampoline for probes on x86-64: push %rcx; push %r11; push %rax;
 * mov $__NR_uprobe, %rax; syscall; pop %rax; pop %r11; pop %rcx; ret. Where in it how many bytes
 * lie between the stack pointer and the caller's address. */
static const struct sp_trampoline_depth {
	uint8_t at, depth;
} sp_trampoline_depths[] = {{0, 0}, {1, 8}, {3, 16}, {4, 24}, {14, 16}, {16, 8}, {17, 0}};

#define SP_TRAMPOLINE_DEPTHS (sizeof(sp_trampoline_depths) / sizeof(sp_trampoline_depths[0]))
#define SP_TRAMPOLINE_END 18

/* -1: it does not go so far. */
static inline int sp_trampoline_depth(uint64_t offset)
{
	int depth = -1;

	for (size_t i = 0; i < SP_TRAMPOLINE_DEPTHS && offset < SP_TRAMPOLINE_END; i++)
		if (sp_trampoline_depths[i].at <= offset)
			depth = sp_trampoline_depths[i].depth;
	return depth;
}

#endif
