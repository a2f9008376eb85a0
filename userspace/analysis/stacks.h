/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks.h - samples with their whole stacks, from any profiles, summed into distinct stacks.
 *
 * Life cycle: new; read (streams the samples of files); resolve (asks the symbols, expands inlined
 * calls); walk the rows; free.
 *
 * A row is a chain of open regions, a chain of callers, and where the sample itself was: what is
 * equal in all three is one row, whatever the file, rank and process. Rows with the same regions
 * and callers stand together. Callers and regions are numbered, so that whoever walks rows can keep
 * what it made of those of the row before.
 *
 * Memory grows with what is distinct: 4 bytes a frame of each chain of callers, 24 bytes and a few
 * for tables a row, some 100 bytes a place. While a file is read, up to 256 MiB hold addresses of
 * its stacks as they are, to find them again quickly, and 24 bytes each call that was sampled, its
 * parents too. Chains of callers beyond the limit (512 MiB) are left out: their samples count for
 * their regions and innermost functions, and sp_stacks_left_out() says how many there are.
 * A million samples of 30 frames take about a third of a second.
 */
#ifndef SP_ANALYSIS_STACKS_H
#define SP_ANALYSIS_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/wire.h"
#include "userspace/analysis/sample_files.h"

#define SP_STACKS_NONE UINT32_MAX
#define SP_STACKS_MAX_FRAMES 1024u	    /* of one stack in a file; more are cut, as truncated */
#define SP_STACKS_PLACE_UNKNOWN 0u	    /* the place that is shown as "[unknown]" */
#define SP_STACKS_LEFT_OUT SP_STACK_END_MAX /* an end: callers are beyond the limit */

struct sp_stacks;

struct sp_stacks_options {
	uint64_t max_caller_frames; /* in all chains of callers together; 0: 128 Mi */
	/* Called now and then while reading, or NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t total);
	void *context;
};

/* What a frame is of. */
enum sp_stack_kind {
	SP_STACK_USER,	  /* a function */
	SP_STACK_KERNEL,  /* a function of the kernel, or all of it: "[kernel]" */
	SP_STACK_NO_NAME, /* code of a file that has no name for it: "[libfoo.so]" */
	SP_STACK_JIT,	  /* code in no file: "[jit]" */
	SP_STACK_NOWHERE, /* "[unknown]" */
};

/* A function: equal ones have one number. */
struct sp_stack_function {
	const char *name;   /* as it is to be shown, not made safe for terminals */
	const char *raw;    /* linker's name, "" none */
	const char *module; /* path of the file; "" none, or several */
	enum sp_stack_kind kind;
	bool probe; /* all code of the probes (probes.h) is one function, however it calls itself */
};

/* One function at a place. */
struct sp_stack_frame {
	uint32_t function;
	uint32_t line;	  /* 0 unknown */
	const char *file; /* "" unknown */
	bool inlined;	  /* into the next one outwards */
	bool half;	  /* one with the next one outwards, if that has the same function */
};

/* Innermost first. */
struct sp_stack_place {
	const struct sp_stack_frame *frames;
	uint32_t n_frames; /* at least one */
	bool kernel;
};

struct sp_stack_row {
	uint32_t regions; /* of sp_stacks_regions(), SP_STACKS_NONE: outside of all */
	uint32_t callers; /* of sp_stacks_callers() */
	uint32_t place;	  /* innermost; SP_STACKS_NONE: not even an address is known */
	uint64_t samples;
};

/* @options may be NULL. The symbols must outlive the stacks. */
int sp_stacks_new(const struct sp_stacks_options *options, struct sp_symbols *symbols,
		  struct sp_stacks **ret_stacks);
/* NULL is fine. */
void sp_stacks_free(struct sp_stacks *stacks);

/* Reads the samples of all files, and adds their places to the symbols. */
int sp_stacks_read(struct sp_stacks *stacks, struct sp_sample_files *files, struct sp_error *error);
/* Resolves the symbols, then what stands below. Once, after the last file. */
int sp_stacks_resolve(struct sp_stacks *stacks);

size_t sp_stacks_n_rows(const struct sp_stacks *stacks);
const struct sp_stack_row *sp_stacks_row(const struct sp_stacks *stacks, size_t index);

/* The region of a chain's number, and the chain of what is around it (SP_STACKS_NONE: nothing). */
uint32_t sp_stacks_region_of(const struct sp_stacks *stacks, uint32_t regions,
			     uint32_t *ret_around);
const char *sp_stacks_region_name(const struct sp_stacks *stacks, uint32_t region);
uint32_t sp_stacks_n_regions(const struct sp_stacks *stacks);
/* Places of a chain of callers, innermost first; why it ends there: enum sp_stack_end, or
 * SP_STACKS_LEFT_OUT. */
uint32_t sp_stacks_callers(const struct sp_stacks *stacks, uint32_t callers,
			   const uint32_t **ret_places, unsigned *ret_end);
const struct sp_stack_place *sp_stacks_place(const struct sp_stacks *stacks, uint32_t place);
const struct sp_stack_function *sp_stacks_function(const struct sp_stacks *stacks,
						   uint32_t function);

/* Whether a stack lacks callers, so that its outer end is to be shown as "[unknown]". */
bool sp_stacks_is_cut(unsigned end);
/* Samples whose stacks end like this; of SP_STACKS_LEFT_OUT those beyond the limit. */
uint64_t sp_stacks_ends(const struct sp_stacks *stacks, unsigned end);
/* Samples with a call that is not in the file, so that the regions around theirs are not known. */
uint64_t sp_stacks_regions_cut(const struct sp_stacks *stacks);
/* Samples with an address in this module of the symbols. */
uint64_t sp_stacks_module_samples(const struct sp_stacks *stacks, uint32_t module);
/* Of these, those with an address that has no name. */
uint64_t sp_stacks_module_nameless(const struct sp_stacks *stacks, uint32_t module);
/* Samples whose innermost function of the program has no line. */
uint64_t sp_stacks_lineless(const struct sp_stacks *stacks);

#endif
