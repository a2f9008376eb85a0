/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_dwarf.h - whole stacks from copies of stacks, by libdw: the reference for what the kernel
 * side found by its tables.
 *
 * A stack_copy event has the registers of a sample and the bytes of its stack. The call frame
 * information comes from the files that were mapped then, if they still are what they were (by
 * build-id), or from the recording's archive; that of the vDSO from the running kernel, if the
 * recording is of this boot. Files and copies are hostile: libdw reads them in a child
 * (base/confine.h) that may die of them. The file that it died of is not looked at again, a new
 * child goes on, and the sample at hand has no stack from here.
 *
 * Life cycle: new, find stacks in any order (best in order of the journal), stats, free. Memory:
 * that of the child, some megabytes and the files it maps; it keeps 16 address spaces. A second is
 * good for some 20,000 stacks of ten frames.
 */
#ifndef SP_ANALYSIS_UNWIND_DWARF_H
#define SP_ANALYSIS_UNWIND_DWARF_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/codec.h"
#include "userspace/analysis/recording.h"

struct sp_unwind_dwarf;

/* A user stack, as in a sample: innermost first, addresses as they stand on the stack (behind the
 * call), but exact in frame 0 and in those of signal_frames. */
struct sp_dwarf_stack {
	uint32_t frames;
	uint32_t signal_frames; /* bit n: frame n (of the first 32) was interrupted */
	uint32_t end;		/* enum sp_stack_end */
	bool copy_ended;	/* what came next was not copied */
	bool leaf_guessed; /* there is no rule for the interrupted function: its caller is that of
			    * the frame pointer, which need not be of this function */
	uint64_t frame[SP_MAX_FRAMES];
};

/* @recording is resolved and outlives it. @directory is the recording's, for archived files; NULL:
 * none. Starts no child yet. -ENOMEM. */
int sp_unwind_dwarf_new(const struct sp_recording *recording, const char *directory,
			struct sp_unwind_dwarf **ret_unwind);

/* The stack of a copy. @process is an index of the recording's processes. 0 with a stack of any
 * length, that of SP_STACK_UNKNOWN and no frame where it could not be tried: the event is not what
 * it should be, or the child died of it. -errno where no child can be had (-ENOMEM, -EAGAIN …). */
int sp_unwind_dwarf_find(struct sp_unwind_dwarf *unwind, uint32_t process,
			 const struct sp_event *copy, struct sp_dwarf_stack *ret_stack);

/* Why a file that stacks went through could not be used. Its frames were tried by frame pointers.
 */
enum sp_dwarf_refusal {
	SP_DWARF_USED = 0,
	SP_DWARF_GONE,	  /* cannot be opened */
	SP_DWARF_CHANGED, /* another build-id, or another size or time where there is none */
	SP_DWARF_NOT_ELF,
	SP_DWARF_OTHER_BOOT, /* the vDSO of another kernel */
	SP_DWARF_DEADLY,     /* the child died of it, or took too long */
	SP_DWARF_REFUSALS,
};

/* "is not the file that ran: its build-id is another one"; the end of a sentence. */
const char *sp_dwarf_refusal_text(enum sp_dwarf_refusal refusal);

struct sp_dwarf_file {
	const char *path;
	enum sp_dwarf_refusal refusal;
};

struct sp_dwarf_stats {
	uint64_t stacks, frames;
	uint64_t not_tried;		   /* stacks that could not be tried */
	uint32_t deaths;		   /* of children */
	bool gave_up;			   /* after too many of them */
	const struct sp_dwarf_file *files; /* that could not be used; the unwinder's own */
	size_t n_files;
};
void sp_unwind_dwarf_stats(struct sp_unwind_dwarf *unwind, struct sp_dwarf_stats *ret_stats);

/* NULL is fine. */
void sp_unwind_dwarf_free(struct sp_unwind_dwarf *unwind);

#endif
