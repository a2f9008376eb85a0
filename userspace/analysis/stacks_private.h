/* SPDX-License-Identifier: BSD-2-Clause
 *
 * stacks_private.h - what stacks.c, which keeps, stacks_names.c, which names, stacks_read.c, which
 * reads files, stacks_space.c, which finds what addresses are of, and stacks_calls.c, which finds
 * out in which calls samples were, share.
 */
#ifndef SP_ANALYSIS_STACKS_PRIVATE_H
#define SP_ANALYSIS_STACKS_PRIVATE_H

#include "userspace/analysis/stacks.h"
#include "userspace/base/hash.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

#define SP_STACKS_MAX_NUMBER (UINT32_MAX - 1)

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

	uint64_t regions_cut; /* samples */
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
	uint64_t *module_samples, *module_nameless;
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

/* A mapping of a process. */
struct sp_stacks_mapping {
	uint64_t start, end, reach, since; /* reach: highest end of those up to it */
	uint32_t module;		   /* row */
};

/* The mappings of a process, by start; the times at which what an address means changes. */
struct sp_stacks_process {
	struct sp_stacks_mapping *mappings;
	size_t n, room;
	uint64_t *changes; /* ascending */
	size_t n_changes;
};

struct sp_stacks_space {
	uint32_t process; /* index, of the file's processes */
	uint32_t rank;
	uint64_t time; /* in it */
	struct sp_idmap place_by_address;
};

struct sp_stacks_kernel {
	uint32_t rank; /* UINT32_MAX any */
	uint64_t address, end;
	const char *name;
};

/* stacks_space.c: what the addresses of a file's stacks are. Zero it to begin. */
struct sp_stacks_spaces {
	struct sp_stacks *stacks;
	struct sp_sample_modules modules;
	const struct sp_thread_row *threads;
	size_t n_threads;
	struct sp_stacks_process *processes; /* rows of the processes; then two more: */
	size_t n_processes;		     /* all mappings, and those of unknown processes */
	struct sp_stacks_space *spaces;
	size_t n_spaces, spaces_room;
	struct sp_idmap space_by_key;	 /* process (or rank), and which of its times */
	struct sp_stacks_kernel *kernel; /* by rank, address */
	size_t n_kernel;
};

/* Frees what was read of a file; also after a failed read. */
void sp_stacks_spaces_done(struct sp_stacks_spaces *spaces);
int sp_stacks_spaces_read(struct sp_stacks_spaces *spaces, struct sp_stacks *stacks,
			  struct sp_profile *profile, struct sp_error *error);
/* The space of a sample's addresses. */
int sp_stacks_spaces_find(struct sp_stacks_spaces *spaces, const struct sp_sample_row *sample,
			  uint32_t *ret_space);
/* The place of an address in a space. */
int sp_stacks_spaces_place(struct sp_stacks_spaces *spaces, uint32_t number, uint64_t address,
			   bool kernel, uint32_t *ret_place);

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
/* Whether that chain lacks regions, since the call or one around it is not in the file. */
bool sp_stacks_calls_is_cut(const struct sp_stacks_calls *calls, uint32_t rank, int64_t call_id);

#endif
