/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_private.h - what stacks.c, which keeps, stacks_read.c, which reads files, and
 * stacks_calls.c, which finds out in which calls samples were, share.
 */
#ifndef SP_ANALYSIS_STACKS_PRIVATE_H
#define SP_ANALYSIS_STACKS_PRIVATE_H

#include "userspace/analysis/stacks.h"
#include "userspace/base/hash.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

/* The first places, which are in no module. */
enum sp_stacks_special {
	SP_STACKS_NOWHERE = SP_STACKS_PLACE_UNKNOWN,
	SP_STACKS_JIT,
	SP_STACKS_KERNEL,
	SP_STACKS_N_SPECIAL,
};

struct sp_stacks_address {
	uint64_t address;     /* link-time, of the call; of a kernel function 0 */
	uint32_t module;      /* of the symbols, SP_STACKS_NONE: in none */
	uint32_t kernel_name; /* of the names, where it is in no module */
	struct sp_stack_place place;
};

struct sp_stacks_chain {
	uint64_t first; /* in the frames */
	uint32_t n;
	uint8_t end;
};

struct sp_stacks_region_chain {
	uint32_t around; /* number of the chain, SP_STACKS_NONE: nothing */
	uint32_t region;
};

struct sp_stacks {
	struct sp_stacks_options options;
	struct sp_symbols *symbols;
	struct sp_pool *names; /* of regions */
	struct sp_pool *texts; /* made here: names of kernel functions and of modules */

	struct sp_stacks_region_chain *region_chains;
	size_t n_region_chains, region_chains_room;
	struct sp_idmap region_chain_by_key; /* around << 32 | region */

	struct sp_stacks_address *places;
	size_t n_places, places_room;
	struct sp_idmap *place_by_address; /* one for each module of the symbols */
	size_t n_place_modules, place_modules_room;
	struct sp_idmap place_by_kernel_name;

	uint32_t *frames; /* of all chains: numbers of places */
	size_t n_frames, frames_room;
	struct sp_stacks_chain *chains;
	size_t n_chains, chains_room;
	struct sp_hash chain_by_frames;

	struct sp_stack_row *rows;
	size_t n_rows, rows_room;
	struct sp_hash row_by_key;

	/* After the resolving. */
	struct sp_stack_frame *place_frames;
	size_t n_place_frames, place_frames_room;
	struct sp_stack_function *functions;
	size_t n_functions, functions_room;
	struct sp_hash function_by_name;
	uint64_t ends[SP_STACKS_LEFT_OUT + 1];
	uint64_t *module_samples;
	size_t n_module_samples;
};

/* stacks.c: numbers of what may be new. 0 or -ENOMEM; -E2BIG for more than 2^32 of something. */
int sp_stacks_add_regions(struct sp_stacks *stacks, uint32_t around, uint32_t region,
			  uint32_t *ret_regions);
int sp_stacks_add_place(struct sp_stacks *stacks, uint32_t module, uint64_t address,
			uint32_t *ret_place);
int sp_stacks_add_kernel_place(struct sp_stacks *stacks, const char *name, uint32_t *ret_place);
int sp_stacks_add_callers(struct sp_stacks *stacks, const uint32_t *places, uint32_t n,
			  unsigned end, uint32_t *ret_callers);
int sp_stacks_add_sample(struct sp_stacks *stacks, uint32_t regions, uint32_t callers,
			 uint32_t place);

/* stacks_calls.c: the regions of a file's sampled calls. */
struct sp_stacks_calls;

/* Reads which calls the samples of the file name, then these calls and their parents. @regions are
 * the numbers of the file's regions. *@ret_calls is NULL if the file's calls have no ids. */
int sp_stacks_calls_read(struct sp_stacks *stacks, const struct sp_sample_files *files,
			 struct sp_profile *profile, const uint32_t *regions,
			 struct sp_stacks_calls **ret_calls, struct sp_error *error);
/* NULL is fine. */
void sp_stacks_calls_free(struct sp_stacks_calls *calls);
/* The chain of the call's region and those around it; SP_STACKS_NONE if the call is not known. */
uint32_t sp_stacks_calls_find(const struct sp_stacks_calls *calls, uint32_t rank, int64_t call_id);

#endif
