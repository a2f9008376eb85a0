/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_cache.h - files and their tables, in the chunks of the kernel.
 *
 * A file is known by its key (filekey.h). Its rows stand in runs of the chunks, its rules in the
 * one array of rules (unwind_rules.h). Bounded by the chunks that it is given, by the places for
 * rules, and for each user, who owns the files, by a share (unwind_share.h): then the tables that
 * no process has mapped are thrown out with their rules, unused longest first, those of a user
 * whose share is used up alone; and what still does not fit is refused.
 */
#ifndef SP_LOADER_UNWIND_CACHE_H
#define SP_LOADER_UNWIND_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/wire.h"
#include "loader/bpf.h"
#include "loader/filekey.h"
#include "loader/unwind_scan.h"
#include "loader/unwind_share.h"

/* How long the kernel may go on reading what is no longer used. */
#define SP_UNWIND_GRACE_NS 1000000000ull

enum sp_unwind_state {
	SP_UNWIND_ABSENT = 0, /* no table, and nobody makes one: thrown out, or not asked for yet */
	SP_UNWIND_WANTED,     /* is being made */
	SP_UNWIND_READY,
	SP_UNWIND_MISSING, /* the file has none */
	SP_UNWIND_REFUSED, /* it was damaged, or did not fit */
};

/* Consecutive rows of one chunk. Addresses are link-time ones. */
struct sp_unwind_part {
	uint64_t start, end; /* what the rows hold for; one part ends where the next begins */
	uint64_t base;
	uint32_t chunk, first, count;
};

struct sp_unwind_file {
	struct sp_unwind_file *next; /* in its bucket */
	struct sp_filekey key;
	struct sp_unwind_share *share; /* of its owner */
	char *path;
	enum sp_unwind_state state;
	int error;			  /* -errno, of MISSING and REFUSED */
	char *why;			  /* a sentence, or NULL */
	size_t users;			  /* mappings of it */
	uint64_t seen, used;		  /* ns: first asked for; last used */
	uint64_t took;			  /* ns from `seen` to its table */
	uint32_t ended[SP_STACK_END_MAX]; /* stacks that ended in it though they should not, by why
					   */
	uint32_t image;			  /* in the recording, 0: not numbered yet */
	bool told;			  /* its unwind_table event is written */
	size_t rows, part_count, segment_count;
	size_t rows_held, rule_count;
	uint16_t *rules;	      /* numbers of those that its rows name */
	struct sp_unwind_part *parts; /* ascending */
	struct sp_unwind_segment segments[SP_UNWIND_LIMIT_SEGMENTS];
};

struct sp_unwind_cache;

int sp_unwind_cache_new(struct sp_bpf *bpf, struct sp_unwind_cache **ret_cache);

/* How many chunks there may be, for the shares; else SP_UNWIND_CHUNKS. */
void sp_unwind_cache_limit(struct sp_unwind_cache *cache, size_t chunks);
/* Room for more rows: a chunk of the kernel's. */
void sp_unwind_cache_give(struct sp_unwind_cache *cache, struct sp_unwind_chunk *chunk,
			  uint32_t number);

/* The file of the key, owned by @uid; it is made if there is none. NULL: no memory, or no room
 * among the files, or among those of the user. */
struct sp_unwind_file *sp_unwind_cache_file(struct sp_unwind_cache *cache,
					    const struct sp_filekey *key, uid_t uid,
					    const char *path, uint64_t now);

/* Its table was made: copies it into chunks. 0, or -errno, which becomes the file's: -ENOSPC where
 * it does not fit, -EDQUOT where its owner has no more room, -ENOMEM. */
int sp_unwind_cache_place(struct sp_unwind_cache *cache, struct sp_unwind_file *file,
			  const struct sp_unwind_table *table, uint64_t now);
/* It has none. */
void sp_unwind_cache_fail(struct sp_unwind_cache *cache, struct sp_unwind_file *file, int error,
			  const char *why, uint64_t now);

/* A mapping uses it, or no longer does. */
void sp_unwind_cache_hold(struct sp_unwind_file *file);
void sp_unwind_cache_release(struct sp_unwind_file *file, uint64_t now);

struct sp_unwind_cache_stats {
	size_t files, tables, rows, rules, chunks, evicted, failed;
	size_t over_share; /* of those that failed: for their owner's share */
};
void sp_unwind_cache_stats(const struct sp_unwind_cache *cache,
			   struct sp_unwind_cache_stats *ret_stats);
/* Calls back with every file. */
void sp_unwind_cache_each(const struct sp_unwind_cache *cache,
			  void (*cb)(void *arg, struct sp_unwind_file *file), void *arg);
void sp_unwind_cache_free(struct sp_unwind_cache *cache);

#endif
