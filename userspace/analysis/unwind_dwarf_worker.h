/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf_worker.h - what the parts of the unwinder by libdw share; for unwind_dwarf*.c only.
 *
 * unwind_dwarf.c runs children and checks what they answer; unwind_dwarf_walk.c walks stacks in the
 * child, from where unwind_dwarf_begin.c says; unwind_dwarf_space.c knows which files are mapped
 * where, unwind_dwarf_file.c whether a file is the one that ran.
 */
#ifndef SP_ANALYSIS_UNWIND_DWARF_WORKER_H
#define SP_ANALYSIS_UNWIND_DWARF_WORKER_H

#include <elfutils/libdwfl.h>

#include "userspace/analysis/unwind_dwarf.h"

#define SP_DWARF_SPACES 16	 /* address spaces that a child keeps */
#define SP_DWARF_NOTES 1024	 /* maps whose file could not be used; more are refused silently */
#define SP_DWARF_MAX_WORDS 16384 /* of a copy: 128 KiB */
#define SP_DWARF_MAX_REGISTERS 34

/* What a child tells beside its answers, in memory that both see. */
struct sp_dwarf_shared {
	volatile uint32_t at; /* index of the map whose file is being read, SP_NONE */
	volatile uint32_t notes;
	struct sp_dwarf_note {
		uint32_t map;	 /* index */
		uint32_t reason; /* enum sp_dwarf_refusal */
	} note[SP_DWARF_NOTES];
};

/* What the child needs to know. */
struct sp_dwarf_job {
	const struct sp_recording *recording;
	const char *directory;
	struct sp_dwarf_shared *shared;
	const struct sp_idmap *deadly; /* by sp_dwarf_map_key() of maps */
	bool same_boot;
};

/* What is equal for maps of one file. */
static inline uint64_t sp_dwarf_map_key(const struct sp_map *map)
{
	return map->inode * 0x9e3779b97f4a7c15 ^ map->device;
}

/* ---- files ---- */

/* Opens the file behind a map and finds its load bias. Returns a descriptor that is the file that
 * ran, or a negative enum sp_dwarf_refusal. */
int sp_dwarf_file_open(const struct sp_dwarf_job *job, const struct sp_map *map,
		       uint64_t *ret_bias);

/* ---- address spaces ---- */

struct sp_dwarf_space;

/* Of a process of the recording. @callbacks_arg is handed to the callbacks. NULL without memory. */
struct sp_dwarf_space *sp_dwarf_space_new(const struct sp_dwarf_job *job, uint32_t process);
void sp_dwarf_space_free(struct sp_dwarf_space *space);
Dwfl *sp_dwarf_space_dwfl(const struct sp_dwarf_space *space);

/* Makes the file at an address at a time known to libdw. Returns how libdw fares there:
 * SP_STACK_UNKNOWN if there is a file, else why there is none: SP_STACK_NO_MAPPING or
 * SP_STACK_NO_TABLE. */
enum sp_stack_end sp_dwarf_space_need(struct sp_dwarf_space *space, uint64_t address,
				      uint64_t time);
/* A word of what a mapped file has in segments that cannot be written. */
bool sp_dwarf_space_read(const struct sp_dwarf_space *space, uint64_t address, uint64_t *ret_word);

/* What libdw reads of an address's call frame information; NULL: nothing. To free(). */
Dwarf_Frame *sp_dwarf_space_rule(const struct sp_dwarf_space *space, uint64_t address);
/* Whether the address is in code that nobody describes, but userspace/base/known_code.h knows: at its file's entry point,
 * or (x86-64) where clone() returns twice. */
bool sp_dwarf_space_is_entry(const struct sp_dwarf_space *space, uint64_t address);
bool sp_dwarf_space_is_clone(const struct sp_dwarf_space *space, uint64_t address);
/* Whether it is in a probe of ours (x86-64). */
bool sp_dwarf_space_is_stub(const struct sp_dwarf_space *space, uint64_t address);

/* ---- walking ---- */

struct sp_dwarf_copy {
	uint64_t time;
	uint32_t process;     /* index */
	uint32_t n_registers; /* the address included */
	uint32_t n_words;
	uint32_t below;
	uint64_t registers[SP_DWARF_MAX_REGISTERS];
	uint64_t words[SP_DWARF_MAX_WORDS]; /* only n_words are there */
};

struct sp_dwarf_walker;
struct sp_dwarf_walker *sp_dwarf_walker_new(const struct sp_dwarf_job *job);
/* -ENOMEM. */
int sp_dwarf_walk(struct sp_dwarf_walker *walker, const struct sp_dwarf_copy *copy,
		  struct sp_dwarf_stack *ret_stack);
void sp_dwarf_walker_free(struct sp_dwarf_walker *walker);

/* Number of the stack pointer among the registers of a copy; -1 for no machine we know. */
static inline int sp_dwarf_stack_pointer(uint32_t n_registers)
{
	return n_registers == 17 ? 7 : n_registers == 33 ? 31 : -1;
}

#endif
