/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scope_profiler.h - regions for C and C++ programs, with the API of scope-profiler's native
 * module, recorded from outside by sp-trace.
 *
 * A program written for that API is rebuilt with this header and scope_profiler.c in place of the
 * originals, and needs no other change:
 *
 *	cc -O2 -g app.c scope_profiler.c		(sp_region.h lies beside it)
 *
 * Its regions then are probes. Nobody listening: a begin and an end cost some 10 ns together. With
 * `sp-trace -- ./app`, or bpftrace, or perf, every entry and exit is seen with its time, thread
 * and nesting. The program itself measures no time, starts no thread and writes no file.
 *
 *	#include "scope_profiler.h"
 *
 *	int main(void)
 *	{
 *		int solve;
 *
 *		sp_init("run", 0);
 *		solve = sp_region("solve");		// once, outside the loop
 *		for (int i = 0; i < 1000; i++) {
 *			sp_begin(solve);
 *			work();
 *			sp_end(solve);
 *		}
 *		return sp_finalize();
 *	}
 *
 * What is answered truthfully: whether a profiler is active, how many regions there are and their
 * names, how often each was entered, which end had no begin, which calls are open. What is not
 * known in the process is refused with a status, never invented: durations (see
 * sp_profiler_get_region_stats()). What has lost its meaning succeeds and does nothing: the output
 * format, flushing, and the writing part of finalizing. Each function below says which it is.
 *
 * Threads. Every function may be called from any thread at any time, on shared handles, except
 * that sp_init(), sp_destroy() and the last use of a profiler must not overlap other calls on that
 * profiler. A call belongs to the thread that began it: an end on another thread is unmatched. The
 * counts are exact. (scope-profiler itself allows one thread only.)
 *
 * Limits. Names, nesting and the number of regions are limited by memory alone; the originals'
 * limits (64 open calls a region, 1024 a profiler) do not exist, so deeper recursion, which they
 * count but do not time, is recorded like any other. Names end at their first NUL. A begin and an
 * end take no lock; the first use of a name does. Not to be called from signal handlers. After
 * fork() the child goes on with the counts and open calls of the thread that forked.
 *
 * The header is C99 and C++11; it needs nothing but <stdint.h>.
 */
#ifndef SCOPE_PROFILER_H
#define SCOPE_PROFILER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of scope-profiler's trace format that a recording of this program can be written in. */
#define SP_FORMAT_VERSION 2

/* The handle that stands for no region; every function accepts it and does nothing. */
#define SP_INVALID_REGION (-1)

/* A set of regions with their counts. Most programs use the hidden default one, see sp_init(). */
typedef struct sp_profiler sp_profiler;

typedef enum {
	SP_OK = 0,
	SP_ERR_INACTIVE,      /* no profiler, not started, finalized, or no such region */
	SP_ERR_NO_CLOCK,      /* never returned here: no clock is needed */
	SP_ERR_NO_MEMORY,     /* the region or the call could not be registered */
	SP_ERR_IO,	      /* never returned here: no file is written */
	SP_ERR_UNMATCHED_END, /* an end without an open call of this thread to close */
	SP_ERR_OPEN_SCOPES,   /* refused, or incomplete, as calls are still open */
	SP_ERR_UNSUPPORTED    /* not known in the process (durations), or not a valid request */
} sp_status;

/* A text for a status, also for a number that is none. Never NULL; not to be freed. */
const char *sp_error_string(sp_status status);

/* What sp_profiler_get_region_stats() can tell. The times are not measured in the process. */
typedef struct {
	int64_t calls;	  /* entries since the last reset, calls still open included */
	int64_t total_ns; /* always -1: unknown */
	int64_t min_ns;	  /* always -1: unknown */
	int64_t max_ns;	  /* always -1: unknown */
} sp_region_stats;

/*
 * One open call, as sp_profiler_scope_begin() returns it and sp_scope_end() takes it. The fields
 * are internal, but for one promise: slot is -1 when there is nothing (left) to end.
 */
typedef struct {
	sp_profiler *profiler;
	int region;
	int64_t slot;
} sp_scope;

/* ---- Output: chosen by the recorder, so these remember what was asked and no more ---- */

typedef enum { SP_OUTPUT_HDF5 = 0, SP_OUTPUT_TRACE = 1 } sp_output_format;

/* Always 1: sp-trace writes HDF5 (and .spt on request), whatever this program was linked with. */
int sp_hdf5_available(void);

/* Always SP_OUTPUT_HDF5. */
sp_output_format sp_default_output_format(void);

/*
 * Remembers @format for sp_profiler_output_format(). SP_OK, SP_ERR_INACTIVE without an active
 * profiler, SP_ERR_UNSUPPORTED for a number that is no format.
 */
int sp_profiler_set_output_format(sp_profiler *profiler, sp_output_format format);

/* The format last set, or the default one; for NULL the default one. */
sp_output_format sp_profiler_output_format(const sp_profiler *profiler);

/*
 * Programs print this, so it is a text that says so: "(no file: recorded by sp-trace)". It names
 * no file, as none is written. NULL for NULL.
 */
const char *sp_profiler_output_path(const sp_profiler *profiler);

/* ---- A profiler of one's own: for libraries that must not meddle with their caller's ---- */

/*
 * A new, active profiler; NULL when out of memory. @prefix and @rank name files elsewhere and are
 * accepted as they are, NULL and negative too; the recorder takes the rank from the environment
 * that MPI sets. Free with sp_destroy().
 */
sp_profiler *sp_create(const char *prefix, int rank);

/* Frees @profiler; NULL is fine. Calls still open stay open in a recording. */
void sp_destroy(sp_profiler *profiler);

/*
 * The handle of @name: 0, 1, 2 ... in the order of first use, the same for the same text. Look it
 * up once, outside of hot loops. SP_INVALID_REGION when there is no active profiler, @name is NULL
 * or memory is out (see sp_profiler_last_error()).
 */
int sp_profiler_region(sp_profiler *profiler, const char *name);

/*
 * The same, and tells where the region stands in the source. The first place that is given for a
 * name stays, later ones are ignored; a name first seen without a place may get it later. Without
 * @source_file (NULL) the line is ignored. The recording shows the place. Both texts are copied.
 */
int sp_profiler_region_at(sp_profiler *profiler, const char *name, const char *source_file,
			  int source_line);

/* sp_profiler_region_at() with this file and line. */
#define SP_PROFILER_REGION_AT(profiler, name) \
	sp_profiler_region_at((profiler), (name), __FILE__, __LINE__)

/*
 * Enter and leave a region, on this thread. Calls nest and recurse. An end closes the innermost
 * open call of its region, even when others were begun since; without one it sets
 * SP_ERR_UNMATCHED_END, says so on stderr (the first 16 times) and fires no probe. Handles that
 * do not exist and profilers that are not active are ignored.
 */
void sp_profiler_begin(sp_profiler *profiler, int region);
void sp_profiler_end(sp_profiler *profiler, int region);

/*
 * Leaves the region that this thread entered last and has not left, whichever it is. SP_OK or
 * SP_ERR_UNMATCHED_END.
 */
int sp_profiler_end_last(sp_profiler *profiler);

/* Enter a region and hold on to this very call. The slot is -1 if it could not be entered. */
sp_scope sp_profiler_scope_begin(sp_profiler *profiler, int region);

/*
 * Leaves exactly that call. Refused with SP_ERR_UNMATCHED_END while a later call of the same
 * region is open (try again when that has ended), on another thread, after the call was ended by
 * other means, and for a scope that has nothing to end; NULL too. Ending twice is harmless.
 */
int sp_scope_end(sp_scope *scope);

/*
 * Counts begin again at 0; names and handles stay. SP_ERR_OPEN_SCOPES, and nothing done, while a
 * call of any thread is open (a thread that died inside a region left its call open for good);
 * SP_ERR_INACTIVE for NULL. Calls that other threads begin meanwhile count either before or after.
 */
int sp_profiler_reset(sp_profiler *profiler);

/*
 * Fills in calls and -1 for all times, and returns SP_ERR_UNSUPPORTED, since nobody in the process
 * measures; `sp-report summary` has the times. SP_ERR_INACTIVE, with @stats untouched, for NULL or
 * a handle that does not exist. Works after finalizing. Cost: one step for each thread seen.
 */
int sp_profiler_get_region_stats(const sp_profiler *profiler, int region, sp_region_stats *stats);

/* How many regions have been registered; 0 for NULL. */
int sp_profiler_num_regions(const sp_profiler *profiler);

/* The name of a handle, NULL if there is none. Valid until sp_destroy(). */
const char *sp_profiler_region_name(const sp_profiler *profiler, int region);

/* Does nothing and returns 0: what was recorded so far is already outside of the process. */
int sp_profiler_flush(sp_profiler *profiler);

/*
 * Ends the profiler: from here on begins and ends are ignored, counts and names stay readable.
 * Calls still open are named on stderr, with SP_ERR_OPEN_SCOPES as the last error; a recording
 * shows them as never ended. Writes nothing. Always 0.
 */
int sp_profiler_finalize(sp_profiler *profiler);

/* 1 from sp_create() to finalizing, else 0. */
int sp_profiler_is_active(const sp_profiler *profiler);

/* How the latest call of any thread on this profiler went; SP_OK for NULL. */
sp_status sp_profiler_last_error(const sp_profiler *profiler);

/* ---- The default profiler of the process: the same without the first argument ---- */

/*
 * Starts it. A second call starts afresh: counts, names and handles of the first are gone. 0, or 1
 * when out of memory. Before it, all functions below do nothing and say so, so that instrumented
 * code also runs unprofiled.
 */
int sp_init(const char *prefix, int rank);

int sp_region(const char *name);
int sp_region_at(const char *name, const char *source_file, int source_line);

/* sp_region_at() with this file and line. */
#define SP_REGION_AT(name) sp_region_at((name), __FILE__, __LINE__)

void sp_begin(int region);
void sp_end(int region);

/* Entries of a region, calls still open included, also after sp_finalize(); 0 if there is none. */
int64_t sp_num_calls(int region);

/* CLOCK_MONOTONIC in nanoseconds: the clock of the recording and of Python's perf_counter_ns(). */
int64_t sp_now_ns(void);

int sp_is_active(void);
int sp_set_output_format(sp_output_format format);
sp_output_format sp_current_output_format(void);
const char *sp_output_path(void);
int sp_finalize(void);

/* The default profiler, for the functions that take one. NULL before the first sp_init(). */
sp_profiler *sp_default_profiler(void);

/* ---- Sampling: done by the recorder, for every program and thread, at the rate of its -F ---- */

/*
 * Accepted, and does nothing. SP_OK for rates from 1 to 1000000, else SP_ERR_UNSUPPORTED;
 * SP_ERR_INACTIVE without an active profiler. SCOPE_PROFILER_SAMPLE_HZ is not looked at.
 */
int sp_profiler_start_sampling(sp_profiler *profiler, int hz);
int sp_profiler_stop_sampling(sp_profiler *profiler); /* SP_OK */
int sp_start_sampling(int hz);
int sp_stop_sampling(void);

/*
 * ---- Beyond scope-profiler's API: what the Fortran module is made of ----
 *
 * These report by return value and print nothing. Handles count from 0 as above.
 */

/* As sp_profiler_begin() and _end(). SP_OK, _INACTIVE, _UNSUPPORTED (no such handle), _NO_MEMORY,
 * _UNMATCHED_END. */
int sp_trace_begin(sp_profiler *profiler, int region);
int sp_trace_end(sp_profiler *profiler, int region);

/* The handle of a name that has been registered, or SP_INVALID_REGION. Registers nothing. */
int sp_trace_find(const sp_profiler *profiler, const char *name);

/* Entries since the reset, and calls open at present in all threads; 0 if there is no such region.
 */
int64_t sp_trace_num_calls(const sp_profiler *profiler, int region);
int64_t sp_trace_num_open(const sp_profiler *profiler, int region);

/* As sp_profiler_finalize(), but returns SP_ERR_OPEN_SCOPES where that prints. */
int sp_trace_finalize(sp_profiler *profiler);

/*
 * A begin or end with a fixed name, without any profiler: what sp_region.F90.inc expands to.
 * *@site is 0 at first and remembers the region from then on, so that the texts are looked at once.
 * They need no NUL; trailing blanks do not count. Safe from several threads on one site. Does
 * nothing when memory is out.
 */
void sp_trace_site_begin(intptr_t *site, const char *name, int name_len, const char *file,
			 int file_len, int line, const char *tags, int tags_len);
void sp_trace_site_end(intptr_t *site, const char *name, int name_len, const char *file,
		       int file_len, int line);

#ifdef __cplusplus
}
#endif

#endif /* SCOPE_PROFILER_H */
