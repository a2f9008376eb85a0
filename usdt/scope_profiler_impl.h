/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope_profiler_impl.h - private to scope_profiler.c: threads, their counts, and which call an
 * end closes. The invariants:
 *  - A probe fires exactly for the begins that are counted and the ends that are matched, so a
 *    recording and the program's own answers agree.
 *  - What a begin or an end writes belongs to its thread (struct sp_thread_): its stack of open
 *    calls, which no one else looks at, and its counts, which others may read at any time. Nothing
 *    that another thread may be reading moves or is freed before sp_destroy().
 *  - A thread's record outlives the thread, for its counts are part of the sums, and is handed to
 *    the next new thread.
 *  - Regions fire as what helpers begin and end (sp_handle_begin_v1()): the ends are in order here,
 *    and the places of the probes tell nothing.
 * The lock guards registering, threads coming and going, and everything that needs all of them to
 * hold still; begins and ends of a known thread and region take none.
 *
 * C and C++ alike, hence the casts, and the __atomic builtins instead of C11's atomics.
 */
#ifndef SCOPE_PROFILER_IMPL_H
#define SCOPE_PROFILER_IMPL_H

#include "scope_profiler.h"
#include "sp_region.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(SP_HEADER_ONLY) && defined(__cplusplus)
#define SP_PUB_ inline
#define SP_PRIV_ inline
#else
#define SP_PUB_
#define SP_PRIV_ static
#endif

#define SP_GET_(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define SP_SET_(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define SP_SEE_(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define SP_PUBLISH_(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)

/* Tables grow by blocks of 16, 32, 64 ... entries, so that entries never move. */
#define SP_FIRST_ 16u
#define SP_BLOCKS_ 28
#define SP_BUCKETS_ 1024
#define SP_MAX_MESSAGES_ 16

struct sp_known_ {		/* a region */
	struct sp_known_ *next; /* of the same bucket */
	uint64_t hash;
	char *name;
	sp_region_t probe;
	int64_t before; /* calls before the last reset */
	int64_t lost;	/* calls left open by threads that are gone */
	int index;
	int placed; /* has a source location */
};

struct sp_count_ { /* a region in a thread */
	int64_t calls;
	int64_t open;
};

struct sp_open_ { /* a call */
	int64_t slot;
	int region;
};

struct sp_thread_ { /* a thread in a profiler */
	struct sp_thread_ *next;
	struct sp_count_ *block[SP_BLOCKS_];
	struct sp_open_ *open; /* innermost last */
	size_t n_open, room;
	int64_t first_slot; /* where this record's slots start: no two share any */
	const void *owner;  /* &sp_here_ of its thread, or NULL */
};

struct sp_profiler {
	uint64_t id; /* never given twice: an address may be */
	struct sp_profiler *next;
	struct sp_known_ *block[SP_BLOCKS_];
	struct sp_known_ *bucket[SP_BUCKETS_];
	struct sp_thread_ *threads;
	int n_regions, n_threads;
	int active, last_error, format;
};

struct sp_seen_ {
	uint64_t id;
	struct sp_thread_ *thread;
};

struct sp_here_ {	      /* what a thread knows of its records */
	struct sp_seen_ last; /* the profiler it used last */
	struct sp_seen_ *seen;
	size_t n_seen, room;
};

SP_PRIV_ __thread struct sp_here_ sp_here_;
SP_PRIV_ pthread_mutex_t sp_lock_ = PTHREAD_MUTEX_INITIALIZER;
SP_PRIV_ sp_profiler *sp_live_;
SP_PRIV_ sp_profiler *sp_default_;
SP_PRIV_ uint64_t sp_last_id_;
SP_PRIV_ pthread_key_t sp_key_;
SP_PRIV_ int sp_key_state_; /* 0 not made yet, 1 usable, -1 not to be had */
SP_PRIV_ int sp_messages_;

/* ---- Growing tables ---- */

SP_PRIV_ unsigned sp_block_(int index, unsigned *ret_at)
{
	unsigned n = (unsigned)index + SP_FIRST_;
	unsigned top = 31u - (unsigned)__builtin_clz(n);

	*ret_at = n - (1u << top);
	return top - 4u;
}

SP_PRIV_ struct sp_known_ *sp_known_at_(const sp_profiler *p, int region)
{
	unsigned at, k = sp_block_(region, &at);

	return SP_SEE_(&p->block[k]) + at;
}

/* NULL: this thread never entered that region. */
SP_PRIV_ struct sp_count_ *sp_count_at_(const struct sp_thread_ *t, int region)
{
	unsigned at, k = sp_block_(region, &at);
	struct sp_count_ *block = SP_SEE_(&t->block[k]);

	return block ? block + at : NULL;
}

SP_PRIV_ __attribute__((cold)) struct sp_count_ *sp_count_new_(struct sp_thread_ *t, int region)
{
	unsigned at, k = sp_block_(region, &at);
	struct sp_count_ *block =
		(struct sp_count_ *)calloc((size_t)SP_FIRST_ << k, sizeof(*block));

	if (!block)
		return NULL;
	SP_PUBLISH_(&t->block[k], block);
	return block + at;
}

/* ---- Threads ---- */

/* With the lock held. Calls that the thread left open can never end now. */
SP_PRIV_ void sp_thread_retire_(sp_profiler *p, struct sp_thread_ *t, int keep_open)
{
	int i;

	for (i = 0; i < p->n_regions; i++) {
		struct sp_count_ *count = sp_count_at_(t, i);

		if (!count || !SP_GET_(&count->open))
			continue;
		if (keep_open)
			sp_known_at_(p, i)->lost += SP_GET_(&count->open);
		SP_SET_(&count->open, 0);
	}
	t->n_open = 0;
	t->owner = NULL;
}

/* Destructor of the key: this thread ends. Its profilers may be gone already, so they are sought.
 */
SP_PRIV_ void sp_thread_exit_(void *arg)
{
	struct sp_here_ *here = (struct sp_here_ *)arg;
	sp_profiler *p;
	size_t i;

	pthread_mutex_lock(&sp_lock_);
	for (p = sp_live_; p; p = p->next)
		for (i = 0; i < here->n_seen; i++)
			if (here->seen[i].id == p->id)
				sp_thread_retire_(p, here->seen[i].thread, 1);
	pthread_mutex_unlock(&sp_lock_);
	free(here->seen);
	memset(here, 0, sizeof(*here));
}

SP_PRIV_ void sp_fork_prepare_(void)
{
	pthread_mutex_lock(&sp_lock_);
}

SP_PRIV_ void sp_fork_parent_(void)
{
	pthread_mutex_unlock(&sp_lock_);
}

/* The other threads, and so their open calls, do not exist in the child. */
SP_PRIV_ void sp_fork_child_(void)
{
	sp_profiler *p;
	struct sp_thread_ *t;

	for (p = sp_live_; p; p = p->next)
		for (t = p->threads; t; t = t->next)
			if (t->owner && t->owner != &sp_here_)
				sp_thread_retire_(p, t, 0);
	pthread_mutex_unlock(&sp_lock_);
}

/* If this file is part of a library that is unloaded, its destructor must not be called any more.
 */
static __attribute__((destructor, unused)) void sp_unload_(void)
{
	pthread_mutex_lock(&sp_lock_);
	if (sp_key_state_ > 0)
		pthread_key_delete(sp_key_);
	sp_key_state_ = -1;
	pthread_mutex_unlock(&sp_lock_);
}

/* With the lock held. Makes room for one more profiler, forgetting those that are gone. */
SP_PRIV_ int sp_here_grow_(struct sp_here_ *here)
{
	struct sp_seen_ *bigger;
	const sp_profiler *p;
	size_t i, kept = 0;

	for (i = 0; i < here->n_seen; i++) {
		for (p = sp_live_; p && p->id != here->seen[i].id; p = p->next)
			;
		if (p)
			here->seen[kept++] = here->seen[i];
	}
	here->n_seen = kept;
	if (kept < here->room)
		return 1;
	bigger = (struct sp_seen_ *)realloc(here->seen, (2 * kept + 4) * sizeof(*bigger));
	if (!bigger)
		return 0;
	here->seen = bigger;
	here->room = 2 * kept + 4;
	return 1;
}

/* With the lock held: a record that no thread owns, an old one if there is. */
SP_PRIV_ struct sp_thread_ *sp_thread_adopt_(sp_profiler *p)
{
	struct sp_thread_ *t;

	for (t = p->threads; t; t = t->next)
		if (!t->owner)
			return t;
	t = (struct sp_thread_ *)calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->first_slot = (int64_t)p->n_threads++ << 40;
	t->next = p->threads;
	SP_PUBLISH_(&p->threads, t);
	return t;
}

SP_PRIV_ __attribute__((cold)) struct sp_thread_ *sp_thread_find_(sp_profiler *p)
{
	struct sp_here_ *here = &sp_here_;
	struct sp_thread_ *t = NULL;
	size_t i;

	for (i = 0; i < here->n_seen; i++) {
		if (here->seen[i].id == p->id) {
			here->last = here->seen[i];
			return here->last.thread;
		}
	}
	pthread_mutex_lock(&sp_lock_);
	if (sp_here_grow_(here))
		t = sp_thread_adopt_(p);
	if (t) {
		t->owner = here;
		here->last.id = p->id;
		here->last.thread = t;
		here->seen[here->n_seen++] = here->last;
		if (sp_key_state_ > 0)
			pthread_setspecific(sp_key_, here);
	}
	pthread_mutex_unlock(&sp_lock_);
	return t;
}

/* With the lock held. */
SP_PRIV_ int64_t sp_open_calls_(const sp_profiler *p, int region)
{
	int64_t open = sp_known_at_(p, region)->lost;
	const struct sp_thread_ *t;

	for (t = p->threads; t; t = t->next) {
		const struct sp_count_ *count = sp_count_at_(t, region);

		open += count ? SP_GET_(&count->open) : 0;
	}
	return open;
}

SP_PRIV_ int64_t sp_all_calls_(const sp_profiler *p, int region)
{
	const struct sp_thread_ *t;
	int64_t calls = 0;

	for (t = SP_SEE_(&p->threads); t; t = t->next) {
		const struct sp_count_ *count = sp_count_at_(t, region);

		calls += count ? SP_GET_(&count->calls) : 0;
	}
	return calls;
}

/* ---- Beginning and ending ---- */

SP_PRIV_ int sp_exists_(const sp_profiler *p, int region)
{
	return p && (unsigned)region < (unsigned)SP_SEE_(&p->n_regions);
}

/* Almost always it is SP_OK already: then the cache line stays shared among the threads. */
SP_PRIV_ int sp_note_(sp_profiler *p, int status)
{
	if (SP_GET_(&p->last_error) != status)
		SP_SET_(&p->last_error, status);
	return status;
}

SP_PRIV_ struct sp_thread_ *sp_thread_of_(sp_profiler *p)
{
	return sp_here_.last.id == p->id ? sp_here_.last.thread : sp_thread_find_(p);
}

SP_PRIV_ __attribute__((cold)) int sp_open_grow_(struct sp_thread_ *t)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct sp_open_ *bigger = (struct sp_open_ *)realloc(t->open, room * sizeof(*bigger));

	if (!bigger)
		return 0;
	t->open = bigger;
	t->room = room;
	return 1;
}

SP_PRIV_ int sp_enter_(sp_profiler *p, int region, int64_t *ret_slot)
{
	struct sp_thread_ *t;
	struct sp_count_ *count;
	struct sp_open_ *call;
	int64_t calls;

	if (!p || !SP_SEE_(&p->active))
		return SP_ERR_INACTIVE;
	if (!sp_exists_(p, region))
		return SP_ERR_UNSUPPORTED;
	t = sp_thread_of_(p);
	if (!t || (t->n_open == t->room && !sp_open_grow_(t)))
		return sp_note_(p, SP_ERR_NO_MEMORY);
	count = sp_count_at_(t, region);
	if (!count) {
		count = sp_count_new_(t, region);
		if (!count)
			return sp_note_(p, SP_ERR_NO_MEMORY);
	}
	calls = SP_GET_(&count->calls);
	call = &t->open[t->n_open++];
	call->region = region;
	call->slot = t->first_slot + calls;
	*ret_slot = call->slot;
	SP_SET_(&count->calls, calls + 1);
	SP_SET_(&count->open, SP_GET_(&count->open) + 1);
	sp_note_(p, SP_OK);
	sp_handle_begin_v1(sp_known_at_(p, region)->probe);
	return SP_OK;
}

/* Ends open call number @i of this thread, usually its last. */
SP_PRIV_ int sp_leave_(sp_profiler *p, struct sp_thread_ *t, size_t i)
{
	int region = t->open[i].region;
	struct sp_count_ *count = sp_count_at_(t, region);

	sp_handle_end_v1(sp_known_at_(p, region)->probe);
	SP_SET_(&count->open, SP_GET_(&count->open) - 1);
	t->n_open--;
	if (i < t->n_open)
		memmove(&t->open[i], &t->open[i + 1], (t->n_open - i) * sizeof(*t->open));
	return sp_note_(p, SP_OK);
}

/* The innermost open call of a region in this thread. 0: there is none. */
SP_PRIV_ int sp_innermost_(sp_profiler *p, int region, struct sp_thread_ **ret_t, size_t *ret_i)
{
	struct sp_thread_ *t = sp_thread_of_(p);
	struct sp_count_ *count = t ? sp_count_at_(t, region) : NULL;
	size_t i;

	if (!count || SP_GET_(&count->open) <= 0)
		return 0;
	for (i = t->n_open - 1; t->open[i].region != region; i--)
		;
	*ret_t = t;
	*ret_i = i;
	return 1;
}

#endif /* SCOPE_PROFILER_IMPL_H */
