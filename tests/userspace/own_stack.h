/* SPDX-License-Identifier: BSD-2-Clause
 *
 * own_stack.h - the stack of the test itself, copied as the recorder copies stacks, and a recording
 * of the test's own mappings. For x86-64.
 */
#ifndef TESTS_USERSPACE_OWN_STACK_H
#define TESTS_USERSPACE_OWN_STACK_H

#include "formats/journal.h"
#include "userspace/analysis/unwind_dwarf.h"

#define REGISTERS 17
#define BELOW 16
#define WORDS (8192 + BELOW)
#define EXE_INODE 4242 /* in place of the executable's own, where a copy of it takes its place */

/* A copy, and what libgcc says of the same moment. */
extern struct taken {
	struct sp_ev_stack_copy event;
	uint64_t tail[REGISTERS + WORDS];
	void *frames[512];
	int n_frames;
} taken;

/* Behind the last word that take() copies. */
extern char *stack_top;
/* Of this process. */
extern struct sp_recording *recording;
extern struct sp_unwind_dwarf *unwind;
extern struct sp_dwarf_stack stack;	 /* the last that was found */
extern struct sp_journal_writer *writer; /* events go into a journal, too, while it is open */

/* Copies the stack, from where it is called on. */
void take(void);
/* Places to take one at: so many frames deep, or where the stack was aligned anew. */
int recurse(int depth);
int realigned(int n);

/* The struct's tail_bytes are set here. */
int add_event(struct sp_recording *rec, void *head, size_t bytes, const void *tail,
	      size_t tail_bytes);

#define ADD_EVENT(rec, event, tail, tail_bytes) \
	CHECK_NUMBER(add_event(rec, &(event), sizeof(event), tail, tail_bytes), 0)

/* @replaced: what stands in the place of the executable, NULL: itself. */
struct sp_recording *record_maps(const char *replaced, const char *build_id);

/* Finds the callers in the copy's first words. */
void find(struct sp_unwind_dwarf *with, uint32_t words);

#define BEGIN_OWN_STACK() \
	do { \
		stack_top = (char *)__builtin_frame_address(0) + 256; \
		recording = record_maps(NULL, ""); \
		CHECK_NUMBER(sp_unwind_dwarf_new(recording, NULL, &unwind), 0); \
	} while (0)
/* Whether no file of this process was unusable, and none killed its reader. */
void end_own_stack(void);

#endif
