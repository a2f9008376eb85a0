/* SPDX-License-Identifier: BSD-2-Clause
 *
 * batch.h - files that nobody vouches for, read by a helper without rights, many at a time.
 *
 * A helper that reads files takes their descriptors from 3 on and answers through its standard
 * output, one file after the other (sp-elf, sp-unwind). Here is what all of them need: batches,
 * time limits, and that a file which kills its reader or makes it hang costs only its own result.
 *
 * Invariant: for each file, in order, either read() counts it as done or fail() is called, once.
 */
#ifndef SP_LOADER_BATCH_H
#define SP_LOADER_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "formats/error.h"

struct sp_batch {
	/* What the caller fills in. */
	const char *name; /* of the helper; its argument: how many files */
	bool numbered;	  /* … and a second one: the number of the first of them, from 1 */
	int helper;	  /* sp_sandbox_open() */
	const int *fds;
	size_t n;
	uint32_t cpu_seconds;
	uint64_t memory_bytes;
	/* Reads answers (sp_batch_read()) of the files from @first + @done on, and counts them up
	 * in
	 * @done, until all @count are done or the pipe ends. Negative: the answers are no good, or
	 * the run is to end (@stop). */
	int (*read)(struct sp_batch *batch);
	/* There is no answer for this file: -EBADF, -EPROTO (its reader died, or lied), -ETIME …
	 * Negative ends the run. */
	int (*fail)(struct sp_batch *batch, size_t index, int error);
	void *arg;
	void (*meanwhile)(void *arg); /* every 20 ms of a wait, with … ; NULL: nothing */
	void *meanwhile_arg;

	/* The batch at hand. */
	size_t first, count, done;
	int stop; /* what the caller's code said, if that ends the run */

	/* Private. */
	int pipe;
	uint64_t started, heard;
};

/* Runs through all files. 0, @stop, or -errno where no helper could be run (@err says why). */
int sp_batch_run(struct sp_batch *batch, struct sp_error *err);

/* For read(): the next bytes of the pipe, at least one; 0 where it ends. -ETIME: the helper hangs.
 */
ssize_t sp_batch_read(struct sp_batch *batch, void *to, size_t room);

/* Something else than the helper took this long. */
void sp_batch_excuse(struct sp_batch *batch, uint64_t ms);

uint64_t sp_batch_now_ms(void);

#endif
