// SPDX-License-Identifier: BSD-2-Clause
/*
 * h5_deflate.c - a ring of chunks, compressed by a few threads; see h5_deflate.h.
 *
 * Invariant: slots [head, tail) are in use, counted without wrapping; those before `next` have been
 * taken by a thread. A slot is touched by the thread that took it until it is done, else by the
 * caller alone. Nothing is allocated in a thread, so none can fail for lack of memory. When a chunk
 * is written depends on the chunks alone, not on time or threads: so the files are the same.
 */
#include "formats/h5_deflate.h"

#include <libdeflate.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "formats/util.h"

enum {
	MAX_THREADS = 16,
	N_SLOTS = 20, /* some more, so that no thread waits while the caller fills and writes */
};

struct slot {
	struct sp_h5_chunk chunk;
	void *packed;
	size_t packed_size; /* 0 when it did not fit, which cannot be */
	bool done;
};

struct worker {
	struct sp_h5_deflater *deflater;
	struct libdeflate_compressor *compressor;
	unsigned char *shuffled;
	pthread_t thread;
};

struct sp_h5_deflater {
	unsigned int level;
	unsigned int n_threads; /* wanted; 1 is the caller */
	unsigned int n_started;
	struct worker workers[MAX_THREADS];
	size_t bound; /* of a packed chunk */
	struct slot slots[N_SLOTS];
	bool started;
	void *spare; /* a whole chunk's buffer */

	pthread_mutex_t lock;
	pthread_cond_t queued, finished;
	size_t head, next, tail; /* under the lock; head and tail are changed by the caller alone */
	bool stop;
};

static unsigned int count_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n < 1 ? 1 : (unsigned int)n;
}

int sp_h5_deflater_new(unsigned int level, unsigned int threads, struct sp_h5_deflater **ret_new,
		       struct sp_error *error)
{
	struct sp_h5_deflater *deflater = calloc(1, sizeof(*deflater));

	if (!deflater)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	if (!threads)
		threads = count_cpus();
	deflater->level = level;
	deflater->n_threads = threads < MAX_THREADS ? threads : MAX_THREADS;
	pthread_mutex_init(&deflater->lock, NULL);
	pthread_cond_init(&deflater->queued, NULL);
	pthread_cond_init(&deflater->finished, NULL);
	*ret_new = deflater;
	return 0;
}

unsigned int sp_h5_deflater_level(const struct sp_h5_deflater *deflater)
{
	return deflater->level;
}

void sp_h5_deflater_free(struct sp_h5_deflater *deflater)
{
	if (!deflater)
		return;
	pthread_mutex_lock(&deflater->lock);
	deflater->stop = true;
	pthread_cond_broadcast(&deflater->queued);
	pthread_mutex_unlock(&deflater->lock);
	for (unsigned int i = 0; i < deflater->n_started; i++)
		pthread_join(deflater->workers[i].thread, NULL);
	for (size_t i = 0; i < MAX_THREADS; i++) {
		libdeflate_free_compressor(deflater->workers[i].compressor);
		free(deflater->workers[i].shuffled);
	}
	for (size_t i = 0; i < N_SLOTS; i++) {
		free(deflater->slots[i].chunk.values);
		free(deflater->slots[i].packed);
	}
	free(deflater->spare);
	pthread_mutex_destroy(&deflater->lock);
	pthread_cond_destroy(&deflater->queued);
	pthread_cond_destroy(&deflater->finished);
	free(deflater);
}

/* ---- the work ---- */

/* HDF5's shuffle: first the first byte of all values, then the second … */
static void shuffle(unsigned char *to, const unsigned char *from, size_t size, size_t n)
{
	for (size_t k = 0; k < size; k++)
		for (size_t i = 0; i < n; i++)
			*to++ = from[i * size + k];
}

static void pack(struct worker *worker, struct slot *slot)
{
	const struct sp_h5_chunk *chunk = &slot->chunk;
	const void *from = chunk->values;

	if (chunk->size > 1) {
		shuffle(worker->shuffled, from, chunk->size, chunk->bytes / chunk->size);
		from = worker->shuffled;
	}
	slot->packed_size = libdeflate_zlib_compress(worker->compressor, from, chunk->bytes,
						     slot->packed, worker->deflater->bound);
}

static void *work(void *data)
{
	struct worker *worker = data;
	struct sp_h5_deflater *deflater = worker->deflater;

	pthread_mutex_lock(&deflater->lock);
	while (true) {
		struct slot *slot;

		while (!deflater->stop && deflater->next == deflater->tail)
			pthread_cond_wait(&deflater->queued, &deflater->lock);
		if (deflater->stop)
			break;
		slot = &deflater->slots[deflater->next++ % N_SLOTS];
		pthread_mutex_unlock(&deflater->lock);
		pack(worker, slot);
		pthread_mutex_lock(&deflater->lock);
		slot->done = true;
		pthread_cond_signal(&deflater->finished);
	}
	pthread_mutex_unlock(&deflater->lock);
	return NULL;
}

static int prepare(struct sp_h5_deflater *deflater, struct worker *worker)
{
	worker->deflater = deflater;
	worker->compressor = libdeflate_alloc_compressor((int)deflater->level);
	worker->shuffled = malloc(SP_H5_CHUNK_BYTES);
	if (!worker->compressor || !worker->shuffled)
		return -ENOMEM;
	deflater->bound = libdeflate_zlib_compress_bound(worker->compressor, SP_H5_CHUNK_BYTES);
	return 0;
}

/* Allocates all, and starts the threads; where there can be none, the caller does the work. */
static int start(struct sp_h5_deflater *deflater, struct sp_error *error)
{
	unsigned int n = deflater->n_threads;
	sigset_t all, before;
	int r = 0;

	for (unsigned int i = 0; !r && i < n; i++)
		r = prepare(deflater, &deflater->workers[i]);
	if (r)
		return sp_error_set(error, r, 0, "no memory");
	deflater->started = true;
	if (n == 1)
		return 0;
	sigfillset(&all); /* the program's signals are for its own threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (deflater->n_started < n &&
	       !pthread_create(&deflater->workers[deflater->n_started].thread, NULL, work,
			       &deflater->workers[deflater->n_started]))
		deflater->n_started++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return 0;
}

/* ---- the caller's side ---- */

/* Waits for the oldest chunk and writes it. */
static int write_head(struct sp_h5_deflater *deflater, struct sp_error *error)
{
	struct slot *slot = &deflater->slots[deflater->head % N_SLOTS];
	const struct sp_h5_chunk *chunk = &slot->chunk;

	if (!deflater->n_started) {
		pack(&deflater->workers[0], slot);
	} else {
		pthread_mutex_lock(&deflater->lock);
		while (!slot->done)
			pthread_cond_wait(&deflater->finished, &deflater->lock);
		pthread_mutex_unlock(&deflater->lock);
	}
	errno = 0;
	if (!slot->packed_size)
		return sp_error_set(error, -EIO, 0, "%s: a chunk could not be compressed",
				    chunk->path);
	if (H5Dwrite_chunk(chunk->dataset, H5P_DEFAULT, 0, &chunk->offset, slot->packed_size,
			   slot->packed) < 0)
		return sp_h5_write_failed(error, chunk->path);
	/* The buffer serves for another chunk, if it is a whole one's. */
	if (!deflater->spare && chunk->bytes == SP_H5_CHUNK_BYTES)
		deflater->spare = chunk->values;
	else
		free(chunk->values);
	slot->chunk.values = NULL;
	deflater->head++;
	return 0;
}

int sp_h5_deflater_submit(struct sp_h5_deflater *deflater, const struct sp_h5_chunk *chunk,
			  void **ret_spare, struct sp_error *error)
{
	struct slot *slot;
	int r = deflater->started ? 0 : start(deflater, error);

	if (!r && deflater->tail - deflater->head == N_SLOTS)
		r = write_head(deflater, error);
	if (r)
		return r;
	slot = &deflater->slots[deflater->tail % N_SLOTS];
	if (!slot->packed)
		slot->packed = malloc(deflater->bound);
	if (!slot->packed)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	slot->chunk = *chunk;
	slot->done = false;
	pthread_mutex_lock(&deflater->lock);
	deflater->tail++;
	pthread_cond_signal(&deflater->queued);
	pthread_mutex_unlock(&deflater->lock);
	*ret_spare = deflater->spare;
	deflater->spare = NULL;
	return 0;
}

int sp_h5_deflater_drain(struct sp_h5_deflater *deflater, struct sp_error *error)
{
	int r = 0;

	while (!r && deflater->head < deflater->tail)
		r = write_head(deflater, error);
	return r;
}
