/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_worker.h - tables are made beside the recording.
 *
 * The table of a large library takes its helper a second, and rings hold a tenth of that where
 * millions of calls are recorded a second. So a thread starts the helpers and waits for them, and
 * the session hears of a table by a descriptor in its poll(2). The thread touches nothing but its
 * two queues; whoever changes the ids of this process meanwhile must change those of its own thread
 * alone (identity.h).
 */
#ifndef SP_LOADER_UNWIND_WORKER_H
#define SP_LOADER_UNWIND_WORKER_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/unwind_scan.h"

struct sp_unwind_worker;

struct sp_unwind_job {
	struct sp_unwind_job *next;
	void *what; /* the caller's */
	int fd;
	int error;	    /* -errno: no table */
	bool helper_failed; /* the error is not the file's: no helper could be run */
	char why[256];
	struct sp_unwind_table table;
};

/* @helper: as for sp_unwind_scan(). -errno. */
int sp_unwind_worker_new(const char *helper, struct sp_unwind_worker **ret_worker);
/* Asks for the table of a file. Takes over @fd, also on failure. -ENOMEM. */
int sp_unwind_worker_add(struct sp_unwind_worker *worker, int fd, void *what);
/* Readable when a table was made; for poll(2). */
int sp_unwind_worker_fd(const struct sp_unwind_worker *worker);
/* What was made since the last time, in order; NULL: nothing. Each to be freed. */
struct sp_unwind_job *sp_unwind_worker_take(struct sp_unwind_worker *worker);
void sp_unwind_job_free(struct sp_unwind_job *job);
/* Tables that were asked for and not taken. */
size_t sp_unwind_worker_pending(const struct sp_unwind_worker *worker);
/* Ends it, after the file at hand. */
void sp_unwind_worker_free(struct sp_unwind_worker *worker);

#endif
