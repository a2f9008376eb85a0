/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_worker.h - tables are made beside the recording.
 *
 * The table of a large library takes its helper a second, and rings hold a tenth of that where
 * millions of calls are recorded a second. So threads start the helpers and wait for them, and the
 * session hears of a table by a descriptor in its poll(2). One thread serves users for whom little
 * was done so far, before everything else that runs; another one the rest, as one program among
 * others: so made-up libraries without end neither keep others waiting nor take their processors
 * (unwind_turns.h). The threads also take the chunks that a table needs, since the kernel lets 16
 * ms pass for each. They touch nothing but the queues; whoever changes the ids of this process
 * meanwhile must change those of its own thread alone (identity.h).
 */
#ifndef SP_LOADER_UNWIND_WORKER_H
#define SP_LOADER_UNWIND_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/bpf.h"
#include "loader/unwind_scan.h"

struct sp_unwind_worker;

struct sp_unwind_job {
	struct sp_unwind_job *next;
	void *what; /* the caller's */
	int fd;
	uid_t uid; /* of the file */
	uint32_t process;
	int error;	    /* -errno: no table */
	bool helper_failed; /* the error is not the file's: no helper could be run */
	char why[256];
	struct sp_unwind_table table;
	size_t chunks; /* that were taken for it, and are to be given to the cache first */
	struct {
		struct sp_unwind_chunk *at;
		uint32_t number;
	} chunk[SP_UNWIND_LIMIT_ROWS / SP_UNWIND_CHUNK_ROWS + 2];
};

/* So many chunks are taken at most: SP_UNWIND_CHUNKS, and a sixteenth of the machine's memory. */
size_t sp_unwind_worker_most_chunks(void);
/* From now on it alone takes chunks, so many that there is room for all tables that it has made,
 * but not more than the above; @have were taken before.
 * @helper: as for sp_unwind_scan(). -errno. */
int sp_unwind_worker_new(struct sp_bpf *bpf, size_t have, const char *helper,
			 struct sp_unwind_worker **ret_worker);
/* Asks for the table of a file that belongs to @uid, for a process (0: none yet). Takes over @fd,
 * also on failure. -ENOMEM. */
int sp_unwind_worker_add(struct sp_unwind_worker *worker, int fd, uid_t uid, uint32_t process,
			 void *what);
/* Readable when a table was made; for poll(2). */
int sp_unwind_worker_fd(const struct sp_unwind_worker *worker);
/* What was made since the last time, NULL: nothing. That of one process and user comes in the order
 * in which it was asked for. Each to be freed. */
struct sp_unwind_job *sp_unwind_worker_take(struct sp_unwind_worker *worker);
void sp_unwind_job_free(struct sp_unwind_job *job);
/* Tables that were asked for and not taken. */
size_t sp_unwind_worker_pending(const struct sp_unwind_worker *worker);
/* Ends it, after the files at hand. */
void sp_unwind_worker_free(struct sp_unwind_worker *worker);

#endif
