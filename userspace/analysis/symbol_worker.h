/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_worker.h - reads the debug information of one module, in a process that may die of it.
 *
 * The worker sends messages through a pipe. The reader takes them for what they are, bytes from a
 * process that has read a hostile file: everything in them is checked.
 */
#ifndef SP_ANALYSIS_SYMBOL_WORKER_H
#define SP_ANALYSIS_SYMBOL_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/analysis/debug_info.h"
#include "userspace/analysis/symbols.h"
#include "userspace/base/child.h"

#define SP_WORKER_NONE UINT32_MAX      /* no such text or link */
#define SP_WORKER_MAX_TEXT (64u << 10) /* longer ones are cut */
#define SP_WORKER_MAX_FRAMES 64

struct sp_symbol_job {
	/* Files that may be the module. The first with its build-id and debug information is taken;
	 * if none has debug information, the first with its build-id. */
	const char *const *paths;
	size_t n_paths;
	const char *build_id;
	const char *debug_path;
	const uint64_t *addresses; /* ascending */
	uint32_t n;
	bool keep_clones;	     /* in readable names */
	bool raw_names;		     /* no readable names */
	struct sp_debug_share share; /* with those who look up the same */
	unsigned int at_once;	     /* so many workers have the machine's memory together; 0: 1 */
};

/* A message is a header and its bytes, in native byte order, since both ends are one program. */
struct sp_worker_header {
	uint32_t kind, bytes;
};

enum sp_worker_kind {
	SP_WORKER_STATUS = 1,	  /* u32 enum sp_symbols_status, then the reason */
	SP_WORKER_DEBUG_FILE = 2, /* path */
	SP_WORKER_TEXT = 3,	  /* the next number, from 0 */
	SP_WORKER_LINKS = 4,	  /* the next numbers, from 0 */
	SP_WORKER_PLACES = 5,
	SP_WORKER_END = 6, /* everything was sent */
};

/* A function; the inlined ones lead to the function around them, which was sent before. Texts are
 * numbers of texts sent before. */
struct sp_worker_link {
	uint32_t function, raw;
	uint32_t around;	       /* the function that it is inlined in, SP_WORKER_NONE none */
	uint32_t call_file, call_line; /* where, in that one, it was called */
};

/* What is known of an address. */
struct sp_worker_place {
	uint32_t index;
	uint32_t link; /* the innermost function, SP_WORKER_NONE unknown */
	uint32_t file, line;
};

/* Called by the reader. Nonzero stops it. */
struct sp_symbol_sink {
	int (*status)(void *context, enum sp_symbols_status status, const char *reason);
	int (*debug_file)(void *context, const char *path);
	int (*text)(void *context, const char *text);		       /* the next number */
	int (*link)(void *context, const struct sp_worker_link *link); /* the next number */
	/* Links have at most SP_WORKER_MAX_FRAMES from each to the outermost. */
	int (*place)(void *context, const struct sp_worker_place *place);
	void *context;
};

/* ---- reading messages ---- */

struct sp_worker_reader {
	unsigned char *buffer;
	size_t used, capacity;
	uint32_t n_texts;
	uint8_t *depths; /* of links */
	size_t n_links, depths_room;
	size_t n_addresses; /* to be set before */
	int finished;	    /* the worker said that it is done */
};

/* Takes the next bytes. -EBADMSG for what no worker sends, -ENOMEM, or what the sink said. */
int sp_worker_feed(struct sp_worker_reader *reader, const void *bytes, size_t size,
		   const struct sp_symbol_sink *sink);
/* The same without a copy: where @size bytes can be read to (NULL without memory), and so many of
 * them that were. */
unsigned char *sp_worker_room(struct sp_worker_reader *reader, size_t size);
int sp_worker_take(struct sp_worker_reader *reader, size_t size, const struct sp_symbol_sink *sink);
void sp_worker_reader_done(struct sp_worker_reader *reader);

/* ---- running ---- */

/* Does the job in this process, handing the messages to the reader. */
int sp_worker_run_here(const struct sp_symbol_job *job, struct sp_worker_reader *reader,
		       const struct sp_symbol_sink *sink);
/* Does it in a child, whose messages can be read from it. */
int sp_worker_start(const struct sp_symbol_job *job, struct sp_child *ret_child);

#endif
