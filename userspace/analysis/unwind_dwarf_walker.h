/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_walker.h - one walk through a stack; for unwind_dwarf_walk.c and
 * unwind_dwarf_begin.c.
 */
#ifndef SP_ANALYSIS_UNWIND_DWARF_WALKER_H
#define SP_ANALYSIS_UNWIND_DWARF_WALKER_H

#include <elf.h>

#include "userspace/analysis/unwind_dwarf_worker.h"

struct sp_dwarf_slot {
	uint32_t process;
	uint64_t used; /* when last */
	struct sp_dwarf_space *space;
};

struct sp_dwarf_walker {
	const struct sp_dwarf_job *job;
	Elf64_Ehdr header; /* of a file that says nothing but the machine's name */
	Elf *machine;
	uint32_t n_registers;
	struct sp_dwarf_slot slots[SP_DWARF_SPACES];
	uint64_t clock;
	Dwfl_Thread_Callbacks callbacks;
	/* The walk that is going on. */
	struct sp_dwarf_space *space;
	const struct sp_dwarf_copy *copy;
	struct sp_dwarf_stack *stack;
	uint64_t registers[SP_DWARF_MAX_REGISTERS]; /* that libdw begins with */
	uint32_t first;				    /* number of the frame that it begins with */
	uint64_t sp;				    /* of the frame before */
	enum sp_stack_end missing;		    /* what libdw lacks at this frame's address */
	bool unreadable;			    /* since this frame began */
	bool read_zero;				    /* the same */
	bool switched; /* to another stack, by a signal: that one was not copied */
};

/* The address of the copy's first word. */
static inline uint64_t sp_dwarf_copy_start(const struct sp_dwarf_copy *copy)
{
	uint64_t sp = copy->registers[sp_dwarf_stack_pointer(copy->n_registers)];

	return (sp & ~(uint64_t)7) - (uint64_t)copy->below * 8;
}

/* Puts the registers where libdw is to begin: at the sample's address, but for cases in which it
 * would look for the wrong rule, or for one that nobody has. False if the first frame is all. */
bool sp_dwarf_begin(struct sp_dwarf_walker *walker);

#endif
