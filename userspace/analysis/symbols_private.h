/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbols_private.h - what symbols.c, which keeps, and symbols_resolve.c, which finds out, share.
 */
#ifndef SP_ANALYSIS_SYMBOLS_PRIVATE_H
#define SP_ANALYSIS_SYMBOLS_PRIVATE_H

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/symbols.h"
#include "userspace/base/pool.h"

#define SP_SYMBOLS_MAX_JOBS 8

struct sp_symbols_entry {
	uint64_t address;
	struct sp_symbol symbol; /* no frames: unknown */
};

#define SP_SYMBOLS_CALLS 1000

struct sp_symbols_calls {
	struct sp_symbols_calls *next;
	struct sp_call calls[SP_SYMBOLS_CALLS];
};

/* Where entries with an address are: a table of the address's upper bits. */
struct sp_symbols_index {
	uint64_t base;
	unsigned int shift;
	size_t n;	  /* of starts, but one */
	uint32_t *starts; /* NULL: none */
};

enum sp_symbols_step {
	SP_STEP_DONE = 0,
	SP_STEP_READ,  /* parts of it are to be read, or being read */
	SP_STEP_FETCH, /* servers are to be asked */
	SP_STEP_WAIT,  /* … are being asked */
};

struct sp_symbols_file {
	struct sp_symbols_module public;
	bool silent; /* the file system of its path does not answer */
	char *reason, *debug_file;
	const char **copies; /* other files that may be the module */
	size_t n_copies, copies_room;
	char *fetched;	   /* debug information from a server, NULL none */
	bool asked;	   /* servers were asked */
	uint64_t *pending; /* added, to be resolved */
	size_t n_pending, pending_capacity;
	struct sp_symbols_entry *entries;
	size_t n_entries;
	struct sp_symbols_index index;
	struct sp_symbols_calls *calls; /* of all entries */
	/* While resolving. */
	enum sp_symbols_step step;
	struct sp_symbols_entry *places; /* one for each pending address */
	unsigned int parts, next_part;	 /* so many workers share the addresses */
	struct sp_debug_board *board;	 /* of theirs; NULL for one worker */
	int inflated_fd;		 /* … if there is a board */
	size_t answered;
	unsigned int running;
};

struct sp_symbols {
	struct sp_symbols_options options;
	struct sp_reach *own_reach; /* NULL: that of the options, or none */
	struct sp_pool *texts, *keys;
	struct sp_symbols_file *modules; /* by the number of "build-id path" in keys */
	size_t n_modules, modules_capacity;
	size_t done, total;   /* addresses */
	uint64_t fetch_until; /* CLOCK_MONOTONIC, 0: no server was asked yet */
	bool ran_out_of_time;
	bool waited_in_vain; /* for a worker that slept: the next one is waited for less */
	const char *unknown_text;
	struct sp_call unknown_call;
	struct sp_symbol unknown;
};

/* For qsort and bsearch of addresses, and of structs that begin with one. */
int sp_symbols_compare_addresses(const void *a, const void *b);
/* Leaves in pending, sorted, what is neither doubled nor known. */
void sp_symbols_sift_pending(struct sp_symbols_file *file);
/* Builds the index anew, after entries were added. */
int sp_symbols_index_entries(struct sp_symbols_file *file);
/* NULL if the address was not resolved. */
struct sp_symbols_entry *sp_symbols_entry_find(const struct sp_symbols_file *file,
					       uint64_t address);

#endif
