/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_begin.c - the frame of a sample at which libdw begins: in code that nobody
 * describes, or describes wrongly, its caller is found here.
 */
#include <string.h>

#include "userspace/analysis/unwind_dwarf_walker.h"
#include "userspace/base/known_code.h"

/* Whether the thread is in a system call, or just out of one: the instruction leaves the address
 * behind it in rcx. That may be no part of the function any more (rt_sigreturn), so rules are
 * looked up for the instruction itself. */
static bool in_system_call(struct sp_dwarf_walker *walker)
{
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t ip = copy->registers[16], bytes;

	/* A function's first byte is in rcx, too, where it was called through it. */
	return copy->n_registers == 17 && copy->registers[2] == ip &&
	       sp_dwarf_space_need(walker->space, ip - 1, copy->time) == SP_STACK_UNKNOWN &&
	       sp_dwarf_space_read(walker->space, ip - 2, &bytes) && (bytes & 0xffff) == 0x050f;
}

/* Whether the thread is where clone() returns. */
static bool in_clone(const struct sp_dwarf_walker *walker)
{
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t ip = copy->registers[copy->n_registers - 1];

	return copy->n_registers == 17 &&
	       sp_dwarf_space_need(walker->space, ip, copy->time) == SP_STACK_UNKNOWN &&
	       sp_dwarf_space_is_clone(walker->space, ip);
}

/* Whether the address is in code that stands on the stack: a trampoline of the compiler's, for a
 * nested function (or an internal procedure of Fortran). */
static bool in_trampoline(const struct sp_dwarf_walker *walker)
{
	const struct sp_recording *rec = walker->job->recording;
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t sp = copy->registers[sp_dwarf_stack_pointer(copy->n_registers)];
	uint32_t map = sp_recording_find_map(rec, copy->process,
					     walker->registers[copy->n_registers - 1], copy->time);

	return copy->n_registers == 17 && map != SP_NONE && !rec->maps[map].inode &&
	       sp >= rec->maps[map].start && sp < rec->maps[map].end;
}

/* In the kernel's trampoline for probes: how far above the stack pointer the caller's address is.
 */
static int uprobe_depth(const struct sp_dwarf_walker *walker, uint64_t address)
{
	const struct sp_recording *rec = walker->job->recording;
	uint32_t map =
		sp_recording_find_map(rec, walker->copy->process, address, walker->copy->time);

	/* The kernel cuts the name. */
	return map == SP_NONE || rec->maps[map].inode ||
			       strncmp(rec->maps[map].path, "[uprobes-trampo", 15) != 0
		       ? -1
		       : sp_trampoline_depth(address - rec->maps[map].start);
}

/* The same, for all code that nobody describes and that leaves the stack as it came, or nearly so;
 * -1: that is libdw's to find. */
static int known_depth(struct sp_dwarf_walker *walker, uint64_t address)
{
	int depth = walker->n_registers == 17 ? uprobe_depth(walker, address) : -1;

	if (depth >= 0 || walker->n_registers != 17)
		return depth;
	return sp_dwarf_space_need(walker->space, address, walker->copy->time) ==
				       SP_STACK_UNKNOWN &&
			       sp_dwarf_space_is_stub(walker->space, address)
		       ? 0
		       : -1;
}

/* On x86-64, goes to the caller, whose address is so many bytes above the stack pointer. False if
 * it is not there, or nowhere. */
static bool to_caller(struct sp_dwarf_walker *walker, unsigned depth)
{
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t *sp = &walker->registers[7];
	uint64_t at = *sp + depth - sp_dwarf_copy_start(copy), caller;

	if (at + 8 > (uint64_t)copy->n_words * 8)
		return false;
	memcpy(&caller, (const char *)copy->words + at, sizeof(caller));
	if (!caller)
		return false;
	walker->stack->frame[++walker->first] = caller;
	walker->stack->frames = walker->first;
	walker->registers[16] = caller - 1;
	*sp += depth + 8;
	return true;
}

bool sp_dwarf_begin(struct sp_dwarf_walker *walker)
{
	const struct sp_dwarf_copy *copy = walker->copy;
	uint64_t *address = &walker->registers[copy->n_registers - 1];
	bool clones = false;
	int depth;

	memcpy(walker->registers, copy->registers, copy->n_registers * sizeof(uint64_t));
	walker->stack->frame[0] = *address;
	walker->first = 0;
	*address -= in_system_call(walker);
	if (!in_trampoline(walker) && !(clones = in_clone(walker))) {
		/* From the trampoline to the probe, from the probe to the program. */
		for (int i = 0; i < 2; i++) {
			depth = known_depth(walker, *address);
			if (depth < 0 || !to_caller(walker, (unsigned)depth))
				break;
		}
		return true;
	}
	if (clones && !copy->registers[0]) { /* rax: this is the new thread */
		walker->stack->frames = 1;
		walker->stack->end = SP_STACK_COMPLETE;
		return false;
	}
	(void)to_caller(walker, 0); /* both leave the stack as it came */
	return true;
}
