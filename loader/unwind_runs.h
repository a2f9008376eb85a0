/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_runs.h - which places of a large array are free: runs of them, the first that fits is
 * taken.
 *
 * A place that is given back can be closed until a time: the kernel may still be reading it.
 */
#ifndef SP_LOADER_UNWIND_RUNS_H
#define SP_LOADER_UNWIND_RUNS_H

#include <stddef.h>
#include <stdint.h>

struct sp_unwind_runs;

/* No run goes across a multiple of @boundary (0: any may). All is taken at first. -ENOMEM. */
int sp_unwind_runs_new(uint64_t boundary, struct sp_unwind_runs **ret_runs);
/* Takes @count places in a row. -EAGAIN: there will be room once closed places open; -ENOSPC: there
 * is none. */
int sp_unwind_runs_take(struct sp_unwind_runs *runs, uint64_t count, uint64_t now,
			uint64_t *ret_first);
/* Gives places back, for use from the time @open on. Without memory to note them they are lost. */
void sp_unwind_runs_give(struct sp_unwind_runs *runs, uint64_t first, uint64_t count,
			 uint64_t open);
/* Places that are free or will be. */
uint64_t sp_unwind_runs_free_places(const struct sp_unwind_runs *runs);
void sp_unwind_runs_free(struct sp_unwind_runs *runs);

#endif
