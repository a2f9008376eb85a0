/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_worker.c - two queues and a thread. Jobs go from one queue to the other; who holds a job
 * owns it.
 */
#include "loader/unwind_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"

/* Files that share a helper: few, so that one that comes later does not wait for many. */
#define BATCH 16u

struct queue {
	struct sp_unwind_job *first, **end;
};

struct sp_unwind_worker {
	char *helper;
	int event;
	size_t pending; /* the caller's side */
	pthread_t thread;
	bool started;
	struct sp_bpf *bpf;
	size_t rows, chunks, most_chunks; /* the thread's */
	pthread_mutex_t lock;		  /* of what follows */
	pthread_cond_t wake;
	struct queue todo, done;
	bool stop;
};

static void put(struct queue *q, struct sp_unwind_job *job)
{
	job->next = NULL;
	*q->end = job;
	q->end = &job->next;
}

static struct sp_unwind_job *get(struct queue *q)
{
	struct sp_unwind_job *job = q->first;

	if (job) {
		q->first = job->next;
		if (!q->first)
			q->end = &q->first;
	}
	return job;
}

void sp_unwind_job_free(struct sp_unwind_job *job)
{
	if (!job)
		return;
	if (job->fd >= 0)
		close(job->fd);
	sp_unwind_table_clear(&job->table);
	free(job);
}

/* ---- the thread ---- */

struct batch {
	struct sp_unwind_worker *worker;
	struct sp_unwind_job *jobs[BATCH]; /* NULL: is done */
	size_t count;
};

static bool finish(struct sp_unwind_worker *w, struct sp_unwind_job *job)
{
	uint64_t one = 1;
	bool stop;

	close(job->fd);
	job->fd = -1;
	pthread_mutex_lock(&w->lock);
	put(&w->done, job);
	stop = w->stop;
	pthread_mutex_unlock(&w->lock);
	if (write(w->event, &one, sizeof(one)) < 0)
		return stop; /* the counter is full: it is readable all the same */
	return stop;
}

/* A quarter of a chunk more than all rows: where tables were thrown out, their room is in pieces.
 */
static void take_chunks(struct sp_unwind_worker *w, struct sp_unwind_job *job)
{
	w->rows += job->table.rows;
	while (w->chunks < w->most_chunks && job->chunks < sp_array_size(job->chunk) &&
	       w->chunks * SP_UNWIND_CHUNK_ROWS < w->rows + SP_UNWIND_CHUNK_ROWS / 4) {
		if (sp_bpf_unwind_add_chunk(w->bpf, &job->chunk[job->chunks].at,
					    &job->chunk[job->chunks].number) < 0) {
			w->most_chunks = w->chunks; /* no use in asking again */
			break;
		}
		job->chunks++;
		w->chunks++;
	}
}

static int on_table(size_t index, struct sp_unwind_table *table, int error, const char *why,
		    void *arg)
{
	struct batch *batch = arg;
	struct sp_unwind_job *job = index < batch->count ? batch->jobs[index] : NULL;

	if (!job)
		return 0;
	job->error = error;
	snprintf(job->why, sizeof(job->why), "%s", why ? why : "");
	if (table && !error) {
		job->table = *table;
		memset(table, 0, sizeof(*table));
		take_chunks(batch->worker, job);
	}
	batch->jobs[index] = NULL;
	return finish(batch->worker, job) ? -ECANCELED : 0;
}

static void run(struct batch *batch)
{
	struct sp_error err = {0};
	int fds[BATCH];
	int r;

	for (size_t i = 0; i < batch->count; i++)
		fds[i] = batch->jobs[i]->fd;
	r = sp_unwind_scan(batch->worker->helper, fds, batch->count, on_table, batch, &err);
	for (size_t i = 0; i < batch->count; i++) {
		struct sp_unwind_job *job = batch->jobs[i];

		if (!job)
			continue;
		job->error = r < 0 ? r : -EPROTO;
		job->helper_failed = r < 0;
		snprintf(job->why, sizeof(job->why), "%s",
			 err.text[0] ? err.text : strerror(-job->error));
		(void)finish(batch->worker, job);
	}
}

static void *work(void *arg)
{
	struct sp_unwind_worker *w = arg;

	/* Of this thread, and of the helpers: until they are done, stacks lack callers. */
	(void)setpriority(PRIO_PROCESS, 0, -10);
	for (;;) {
		struct batch batch = {.worker = w};

		pthread_mutex_lock(&w->lock);
		while (!w->todo.first && !w->stop)
			pthread_cond_wait(&w->wake, &w->lock);
		while (!w->stop && batch.count < BATCH && w->todo.first)
			batch.jobs[batch.count++] = get(&w->todo);
		pthread_mutex_unlock(&w->lock);
		if (!batch.count)
			return NULL;
		run(&batch);
	}
}

/* ---- the caller's side ---- */

size_t sp_unwind_worker_most_chunks(void)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t n = memory / 16 / sizeof(struct sp_unwind_chunk);

	return n > SP_UNWIND_CHUNKS ? SP_UNWIND_CHUNKS : (size_t)n;
}

int sp_unwind_worker_new(struct sp_bpf *bpf, size_t have, const char *helper,
			 struct sp_unwind_worker **ret_worker)
{
	struct sp_unwind_worker *w = calloc(1, sizeof(*w));
	int r = w ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	w->bpf = bpf;
	w->chunks = have;
	w->most_chunks = sp_unwind_worker_most_chunks();
	w->todo.end = &w->todo.first;
	w->done.end = &w->done.first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->event < 0)
		r = -errno;
	if (r == 0 && helper && !(w->helper = strdup(helper)))
		r = -ENOMEM;
	if (r < 0) {
		sp_unwind_worker_free(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

/* All signals are the session's. */
static int start(struct sp_unwind_worker *w)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&w->thread, NULL, work, w);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->started = r == 0;
	return r;
}

int sp_unwind_worker_add(struct sp_unwind_worker *w, int fd, void *what)
{
	struct sp_unwind_job *job = calloc(1, sizeof(*job));
	int r = job ? 0 : -ENOMEM;

	if (r == 0 && !w->started)
		r = start(w);
	if (r < 0) {
		close(fd);
		free(job);
		return r;
	}
	job->fd = fd;
	job->what = what;
	w->pending++;
	pthread_mutex_lock(&w->lock);
	put(&w->todo, job);
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	return 0;
}

int sp_unwind_worker_fd(const struct sp_unwind_worker *w)
{
	return w->event;
}

struct sp_unwind_job *sp_unwind_worker_take(struct sp_unwind_worker *w)
{
	struct sp_unwind_job *job;
	uint64_t count;

	pthread_mutex_lock(&w->lock);
	/* Read before the queue is seen to be empty, or a job would come unnoticed in between. */
	if (!w->done.first || !w->done.first->next)
		(void)!read(w->event, &count, sizeof(count));
	job = get(&w->done);
	pthread_mutex_unlock(&w->lock);
	if (job)
		w->pending--;
	return job;
}

size_t sp_unwind_worker_pending(const struct sp_unwind_worker *w)
{
	return w->pending;
}

void sp_unwind_worker_free(struct sp_unwind_worker *w)
{
	struct sp_unwind_job *job;

	if (!w)
		return;
	if (w->started) {
		pthread_mutex_lock(&w->lock);
		w->stop = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&w->lock);
		pthread_join(w->thread, NULL);
	}
	while ((job = get(&w->todo)) || (job = get(&w->done)))
		sp_unwind_job_free(job);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	if (w->event >= 0)
		close(w->event);
	free(w->helper);
	free(w);
}
