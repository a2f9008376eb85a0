/* SPDX-License-Identifier: BSD-2-Clause
 *
 * processes.c - which process image a mapping belongs to.
 *
 * The kernel maps a new program before the exec counts as done, so between the side band's "exec"
 * (address space changed) and the BPF program's (exec done) mappings are those of an image that has
 * no number yet: they wait.
 */
#include "loader/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "loader/look.h"
#include "loader/mappings.h"
#include "loader/procinfo.h"
#include "loader/procmaps.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"

#define BUCKETS 1024

struct waiting {
	struct waiting *next;
	struct sp_mapping map;
	char path[];
};

struct process {
	struct process *next;
	pid_t pid;
	uint32_t number, before; /* of the image, and of the one before its last exec */
	uint64_t since;		 /* ns: the image's begin */
	uint64_t exec;		 /* ns: the last exec that began */
	struct waiting *waiting;
	int threads; /* that are known */
	bool ended;
	bool forget; /* at the end of this round */
};

struct sp_processes {
	struct sp_recorder *recorder;
	struct sp_unwind *unwind;
	struct sp_look *look;
	struct sp_mappings *mappings;
	size_t ended;
	pid_t hidden;
	struct process *buckets[BUCKETS];
};

int sp_processes_new(struct sp_recorder *recorder, struct sp_images *images,
		     struct sp_unwind *unwind, struct sp_look *look,
		     struct sp_processes **ret_processes)
{
	struct sp_processes *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = sp_mappings_new(recorder, images, unwind, look, &p->mappings);
	if (r < 0) {
		free(p);
		return r;
	}
	p->recorder = recorder;
	p->unwind = unwind;
	p->look = look;
	*ret_processes = p;
	return 0;
}

static struct process **find(struct sp_processes *p, pid_t pid)
{
	struct process **at = &p->buckets[(unsigned)pid % BUCKETS];

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	return at;
}

void sp_processes_map(struct sp_processes *p, const struct sp_mapping *m)
{
	struct process *process = *find(p, m->pid);
	uint32_t number;

	if (!process)
		return; /* not ours */
	if (process->exec > process->since && m->time >= process->exec) {
		struct waiting *w = malloc(sizeof(*w) + strlen(m->path) + 1);

		if (!w)
			return;
		w->map = *m;
		w->map.path = strcpy(w->path, m->path);
		w->next = process->waiting;
		process->waiting = w;
		return;
	}
	number = m->time >= process->since || (process->exec && m->time >= process->exec)
			 ? process->number
			 : process->before;
	if (number)
		sp_mappings_add(p->mappings, m, number, false);
}

void sp_processes_exec(struct sp_processes *p, pid_t pid, uint64_t time)
{
	struct process *process = *find(p, pid);

	if (process && time > process->exec)
		process->exec = time;
}

static void release_waiting(struct sp_processes *p, struct process *process, bool use)
{
	while (process->waiting) {
		struct waiting *w = process->waiting;

		process->waiting = w->next;
		if (use)
			sp_mappings_add(p->mappings, &w->map, process->number, false);
		free(w);
	}
}

/* Its command line and environment are the process's memory, which may not answer. */
static int read_info(struct sp_processes *p, uint32_t pid, struct sp_procinfo *info)
{
	int r = sp_look_process(p->look, (pid_t)pid, info);

	if (r == -ETIMEDOUT) {
		sp_log_warning("process %u: its memory does not answer, or the machine is too busy "
			       "to ask it, so its command line and its rank are not known",
			       pid);
		r = sp_procinfo_read_little((pid_t)pid, info);
	}
	return r;
}

/* What /proc tells about a new image. Of one that is gone already, the recording knows less. */
static void describe(struct sp_processes *p, const struct sp_ev_task *task)
{
	struct sp_ev_process ev = {
		.head = {.type = SP_EV_process},
		.time = sp_now(),
		.process = task->process,
		.pid = task->pid,
	};
	sp_cleanup(sp_freep) struct sp_procinfo *info = calloc(1, sizeof(*info));

	/* One that has ended and is not waited for yet has neither a program nor an environment any
	 * more: without a description, it is taken to be of its parent's rank and job. */
	if (!info || read_info(p, task->pid, info) < 0)
		return;
	/* The same if only the first thread has ended, but then the others can tell. */
	if (!info->exe[0] && task->tid != task->pid)
		(void)read_info(p, task->tid, info);
	if (!info->exe[0])
		return;
	ev.rank = info->rank.rank;
	ev.size = info->rank.size;
	if (info->same_files) {
		ev.user = info->uid + 1;
		ev.group = info->gid + 1;
	}
	sp_recorder_add_text(p->recorder, &ev.head, info->exe, info->command, info->rank.source,
			     info->rank.job, NULL);
}

struct found_maps {
	struct sp_mappings *mappings;
	const struct sp_ev_task *task;
	size_t count;
};

static int on_found_map(const struct sp_procmap *map, void *arg)
{
	struct found_maps *found = arg;
	struct sp_mapping m = {
		.time = found->task->time,
		.start = map->start,
		.end = map->end,
		.file_offset = map->offset,
		.device = makedev(map->major, map->minor),
		.inode = map->inode,
		.pid = (pid_t)found->task->pid,
		.path = map->path,
	};

	found->count++;
	if (map->flags & SP_MAP_EXEC)
		sp_mappings_add(found->mappings, &m, found->task->process, true);
	return 0;
}

void sp_processes_task(struct sp_processes *p, const struct sp_ev_task *task)
{
	struct process **at = find(p, (pid_t)task->pid), *process = *at;
	bool fresh = !process || process->number != task->process;
	bool unknown; /* the parent of a fork, whose mappings it has */

	if (!fresh) {
		process->threads++;
		return;
	}
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process)
			return;
		process->pid = (pid_t)task->pid;
		*at = process;
	}
	process->before = task->cause == SP_TASK_EXEC ? process->number : 0;
	if (process->number && p->unwind)
		sp_unwind_remove_process(p->unwind, process->number);
	process->number = task->process;
	process->since = task->time;
	process->ended = process->forget = false;
	process->threads = 1; /* an exec ends all others */
	unknown = p->unwind &&
		  sp_unwind_add_process(p->unwind, task->process,
					task->cause == SP_TASK_FORK ? task->parent_process : 0,
					task->time) == -ENOENT;
	release_waiting(p, process, task->cause == SP_TASK_EXEC);
	if (task->cause != SP_TASK_FORK) /* a fork is what its parent is until it execs */
		describe(p, task);
	if ((task->cause == SP_TASK_FOUND || unknown) && process->pid != p->hidden) {
		struct found_maps found = {.mappings = p->mappings, .task = task};

		(void)sp_procmaps_read((pid_t)task->pid, on_found_map, &found);
		if (!found.count && task->tid != task->pid)
			(void)sp_procmaps_read((pid_t)task->tid, on_found_map, &found);
	}
}

void sp_processes_exit(struct sp_processes *p, const struct sp_ev_task_exit *exit)
{
	struct process *process = *find(p, (pid_t)exit->pid);

	/* Not when the first thread ends: the others may go on without it. */
	if (!process || --process->threads > 0)
		return;
	process->ended = true;
	p->ended++;
}

/* At the end of the round after the one that heard of the end: a round hands out the mappings that
 * are older than its begin, and then others are still on their way. */
static void forget_ended(struct sp_processes *p)
{
	size_t left = 0;

	for (size_t i = 0; i < BUCKETS && p->ended; i++)
		for (struct process **at = &p->buckets[i]; *at;) {
			struct process *process = *at;

			if (!process->ended || !process->forget) {
				process->forget = process->ended;
				left += process->ended;
				at = &process->next;
				continue;
			}
			*at = process->next;
			release_waiting(p, process, false);
			if (p->unwind)
				sp_unwind_remove_process(p->unwind, process->number);
			free(process);
		}
	p->ended = left;
}

int sp_processes_commit(struct sp_processes *p)
{
	int r = sp_mappings_commit(p->mappings);

	forget_ended(p);
	return r;
}

void sp_processes_hide(struct sp_processes *p, pid_t pid)
{
	p->hidden = pid;
}

bool sp_processes_has(const struct sp_processes *p, pid_t pid)
{
	const struct process *at = p->buckets[(unsigned)pid % BUCKETS];

	while (at && at->pid != pid)
		at = at->next;
	return at;
}

void sp_processes_free(struct sp_processes *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (p->buckets[i]) {
			struct process *process = p->buckets[i];

			p->buckets[i] = process->next;
			release_waiting(p, process, false);
			free(process);
		}
	sp_mappings_free(p->mappings);
	free(p);
}
