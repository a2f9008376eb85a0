/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_worker.c - two queues and two threads. Jobs go from one queue to the other; who holds a
 * job owns it.
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
#include <time.h>
#include <unistd.h>

#include "loader/sandbox.h"
#include "loader/unwind_turns.h"
#include "userspace/base/cleanup.h"

/* Files that share a helper: few, and not for longer than this, so that one that comes later does
 * not wait for many. */
#define BATCH 16u
#define BATCH_NS 200000000u
#define URGENT_BATCH_NS 500000000u
/* The helpers' CPU time is what counts; but one that makes others wait longer pays for the wait. */
#define PATIENCE_NS 1000000000u

struct queue {
	struct sp_unwind_job *first, **end;
};

struct sp_unwind_worker {
	char *helper;
	int event;
	size_t pending; /* the caller's side */
	pthread_t urgent, other;
	bool started;
	struct sp_bpf *bpf;
	pthread_mutex_t chunk_lock; /* of what follows */
	size_t rows, chunks, most_chunks;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	struct sp_unwind_turns *todo;
	struct queue done;
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

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- the threads ---- */

struct batch {
	struct sp_unwind_worker *worker;
	struct sp_unwind_job *jobs[BATCH]; /* NULL: is done */
	size_t count;
	uid_t uid; /* whose they are */
	bool urgent;
	uint64_t started;
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
	pthread_mutex_lock(&w->chunk_lock);
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
	pthread_mutex_unlock(&w->chunk_lock);
}

/* Whether the rest of the batch is left for later, since others wait, or the user has had his time.
 * What the helper has begun is begun again then, so not at once. */
static bool is_long(const struct batch *batch)
{
	struct sp_unwind_worker *w = batch->worker;
	uint64_t now = now_ns(), took = now - batch->started;
	bool others;

	if (took < BATCH_NS)
		return false;
	pthread_mutex_lock(&w->lock);
	others = sp_unwind_turns_wait(w->todo, batch->urgent, now);
	pthread_mutex_unlock(&w->lock);
	return others || (batch->urgent && took >= URGENT_BATCH_NS);
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
	return finish(batch->worker, job) || is_long(batch) ? -ECANCELED : 0;
}

static void give_up(struct batch *batch, struct sp_unwind_job *job, int error, const char *why)
{
	job->error = error;
	job->helper_failed = true;
	snprintf(job->why, sizeof(job->why), "%s", why[0] ? why : strerror(-error));
	(void)finish(batch->worker, job);
}

static void run(struct batch *batch)
{
	struct sp_error err = {0};
	int fds[BATCH];
	int r;

	for (size_t i = 0; i < batch->count; i++)
		fds[i] = batch->jobs[i]->fd;
	batch->started = now_ns();
	r = sp_unwind_scan(batch->worker->helper, fds, batch->count, on_table, batch, &err);
	for (size_t i = batch->count; i-- > 0;) { /* each comes before the last one */
		struct sp_unwind_job *job = batch->jobs[i];
		int back = -ENOMEM;

		if (job && r == -ECANCELED) {
			pthread_mutex_lock(&batch->worker->lock);
			back = sp_unwind_turns_put_back(batch->worker->todo, job);
			pthread_mutex_unlock(&batch->worker->lock);
		}
		if (job && back < 0)
			give_up(batch, job, r < 0 ? r : -EPROTO, err.text);
	}
}

static void run_turns(struct sp_unwind_worker *w, bool urgent)
{
	for (;;) {
		struct batch batch = {.worker = w, .urgent = urgent};
		uint64_t before = sp_sandbox_cpu_ns(), spent, took;

		pthread_mutex_lock(&w->lock);
		while (!w->stop && !(batch.count = sp_unwind_turns_take(w->todo, urgent, now_ns(),
									batch.jobs, BATCH)))
			pthread_cond_wait(&w->wake, &w->lock);
		pthread_mutex_unlock(&w->lock);
		if (!batch.count)
			return;
		batch.uid = batch.jobs[0]->uid;
		run(&batch);
		spent = sp_sandbox_cpu_ns() - before;
		took = now_ns() - batch.started;
		pthread_mutex_lock(&w->lock);
		sp_unwind_turns_end(w->todo, batch.uid,
				    took > PATIENCE_NS && took > spent ? took : spent, now_ns());
		pthread_cond_broadcast(&w->wake);
		pthread_mutex_unlock(&w->lock);
	}
}

static void *work_urgently(void *arg)
{
	/* Of this thread, and of the helpers: until they are done, stacks lack callers. */
	(void)setpriority(PRIO_PROCESS, 0, -10);
	run_turns(arg, true);
	return NULL;
}

static void *work(void *arg)
{
	run_turns(arg, false);
	return NULL;
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
	w->todo = sp_unwind_turns_new();
	w->done.end = &w->done.first;
	pthread_mutex_init(&w->chunk_lock, NULL);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	w->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->event < 0)
		r = -errno;
	if (r == 0 && !w->todo)
		r = -ENOMEM;
	if (r == 0 && helper && !(w->helper = strdup(helper)))
		r = -ENOMEM;
	if (r < 0) {
		sp_unwind_worker_free(w);
		return r;
	}
	*ret_worker = w;
	return 0;
}

static void join(struct sp_unwind_worker *w, int threads)
{
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->urgent, NULL);
	if (threads > 1)
		pthread_join(w->other, NULL);
	w->stop = false;
}

/* All signals are the session's. */
static int start(struct sp_unwind_worker *w)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&w->urgent, NULL, work_urgently, w);
	if (r == 0) {
		r = -pthread_create(&w->other, NULL, work, w);
		w->started = r == 0;
		if (r < 0)
			join(w, 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int sp_unwind_worker_add(struct sp_unwind_worker *w, int fd, uid_t uid, uint32_t process,
			 void *what)
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
	job->uid = uid;
	job->process = process;
	job->what = what;
	pthread_mutex_lock(&w->lock);
	r = sp_unwind_turns_put(w->todo, job);
	pthread_cond_broadcast(&w->wake);
	pthread_mutex_unlock(&w->lock);
	if (r < 0)
		sp_unwind_job_free(job);
	else
		w->pending++;
	return r;
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
	if (w->started)
		join(w, 2);
	sp_unwind_turns_free(w->todo);
	while ((job = get(&w->done)))
		sp_unwind_job_free(job);
	pthread_mutex_destroy(&w->chunk_lock);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	if (w->event >= 0)
		close(w->event);
	free(w->helper);
	free(w);
}
