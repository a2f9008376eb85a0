/* SPDX-License-Identifier: BSD-2-Clause
 *
 * processes.h - the process images that are recorded: what they are, and which files they map.
 *
 * Joins two streams: lanes and execs from the BPF programs, which number the images, and mappings
 * from the side band, which knows pids only. What is learned goes to the recorder, to the images
 * and to the unwinding tables.
 */
#ifndef SP_LOADER_PROCESSES_H
#define SP_LOADER_PROCESSES_H

#include "loader/images.h"
#include "loader/look.h"
#include "loader/recorder.h"
#include "loader/sideband.h"
#include "loader/unwind.h"

struct sp_processes;

/* @unwind NULL: stacks need no tables. */
int sp_processes_new(struct sp_recorder *recorder, struct sp_images *images,
		     struct sp_unwind *unwind, struct sp_look *look,
		     struct sp_processes **ret_processes);

/* A lane began or ended. */
void sp_processes_task(struct sp_processes *processes, const struct sp_ev_task *task);
void sp_processes_exit(struct sp_processes *processes, const struct sp_ev_task_exit *exit);

/* The process is a copy of ourselves until it execs: its mappings do not matter. */
void sp_processes_hide(struct sp_processes *processes, pid_t pid);

/* From the side band, after the tasks of the same time: an exec begins; something was mapped. */
void sp_processes_exec(struct sp_processes *processes, pid_t pid, uint64_t time);
void sp_processes_map(struct sp_processes *processes, const struct sp_mapping *mapping);

/* Scans and arms the files that came up since the last time. */
int sp_processes_commit(struct sp_processes *processes);

/* Whether the process is one that is recorded. */
bool sp_processes_has(const struct sp_processes *processes, pid_t pid);

void sp_processes_free(struct sp_processes *processes);

#endif
