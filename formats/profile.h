/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile.h - what a profile is made of, whatever the file: regions, rows, calls, samples, tables.
 *
 * A profile has regions (names). A row is one region on one rank; its calls stand together, in
 * order of entry. Calls travel as columns (struct sp_calls), which is how every format stores them;
 * everything else travels as rows of the structs that profile_tables.def lists. Times are absolute
 * CLOCK_MONOTONIC nanoseconds, ids are 64-bit and need not be dense.
 */
#ifndef SP_FORMATS_PROFILE_H
#define SP_FORMATS_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/api.h"
#include "formats/error.h"

SP_API_BEGIN

#define SP_PROFILE_MAX_REGIONS (1u << 20)
#define SP_PROFILE_MAX_ROWS (1u << 24)

typedef uint8_t sp_col_u8;
typedef uint16_t sp_col_u16;
typedef uint32_t sp_col_u32;
typedef uint64_t sp_col_u64;
typedef int8_t sp_col_s8;
typedef int64_t sp_col_s64;
typedef int64_t sp_col_reltime;
typedef int64_t sp_col_relend;
typedef const char *sp_col_str;

/* struct sp_thread_row, sp_task_row, sp_site_row, sp_module_row, sp_process_row, sp_loss_row,
 * sp_cut_row, sp_clock_row, sp_sample_row: the fields and what they mean are in profile_tables.def.
 */
#define SP_TABLE(name, doc) struct sp_##name##_row {
#define SP_COL(table, type, field, path, need, default, doc) sp_col_##type field;
#define SP_TABLE_END(name) \
	} \
	;
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END

/* Columns of calls: parallel arrays of the caller's. NULL is "none" in writing and "not wanted" in
 * reading; a reader fills a wanted column that the file does not have with its default. */
struct sp_calls {
	int64_t *start; /* ns */
	int64_t *end;	/* ns */
#define SP_CALL_COLUMN(type, field, path, default, doc) sp_col_##type *field;
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
};

/* One bit for each optional column of calls: SP_CALLS_id, SP_CALLS_parent, … */
enum sp_calls_bit {
#define SP_CALL_COLUMN(type, field, path, default, doc) SP_CALLS_BIT_##field,
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
	SP_CALLS_N_COLUMNS,
};
enum sp_calls_column {
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	SP_CALLS_##field = 1 << SP_CALLS_BIT_##field,
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
};

/* Allocates columns for @capacity calls: start, end and those in @columns (SP_CALLS_* bits). */
int sp_calls_alloc(struct sp_calls *calls, size_t capacity, unsigned int columns);
/* Frees what sp_calls_alloc allocated, and sets all to NULL. */
void sp_calls_free(struct sp_calls *calls);

/* Statistics of a row's calls, ns. A file need not have all: -1 (m2: -1.0) is unknown. With no
 * calls, all are 0. */
struct sp_stats {
	uint64_t calls;
	int64_t total;	 /* sum of the durations */
	int64_t self;	 /* sum of the durations without the calls inside; never counted twice */
	int64_t minimum; /* duration */
	int64_t maximum; /* duration */
	int64_t first;	 /* duration of the first call */
	int64_t last;	 /* duration of the last */
	int64_t start_minimum; /* earliest start, absolute */
	int64_t end_maximum;   /* latest end, absolute */
	double mean;	       /* duration */
	double m2; /* sum of squared differences from the mean: m2 / calls is the variance */
	uint64_t gpu_calls;
	int64_t gpu_total;
};

/* Running statistics. Start from an all-zero struct; add calls in order of entry; the result is
 * right after every step. @child_ns may be NULL, then self becomes -1; so it does if one is
 * negative. */
void sp_stats_add(struct sp_stats *stats, const int64_t *starts, const int64_t *ends,
		  const int64_t *child_ns, const int64_t *gpu_ns, size_t n);
/* Pools the statistics of two sets of calls (@other comes later in order). Unknown stays unknown.
 */
void sp_stats_merge(struct sp_stats *stats, const struct sp_stats *other);

/* One region on one rank. */
struct sp_row {
	uint32_t region; /* id: position of its name */
	uint32_t rank;
	const char *source_file; /* "" unknown */
	const char *source_text; /* source of the region, "" unknown */
	const char *tags;	 /* JSON list of strings, "[]" none */
	int64_t source_line;	 /* -1 unknown */
	struct sp_stats stats;
};

/* A fact about a profile. Whatever its kind, @text shows it: a number in decimal, a real one with
 * 17 digits, lists joined with ", ". */
enum sp_fact_kind {
	SP_FACT_TEXT,
	SP_FACT_NUMBER, /* int64 */
	SP_FACT_REAL,	/* double; NaN and infinities included */
	SP_FACT_BOOL,	/* @number is 0 or 1, @text "false" or "true" */
	SP_FACT_TEXTS,	/* lists: @items has each element as text, the integers in decimal, … */
	SP_FACT_NUMBERS,
	SP_FACT_REALS,
};

struct sp_fact {
	const char *key;
	const char *text;
	int64_t number; /* of SP_FACT_NUMBER and SP_FACT_BOOL */
	bool is_number; /* kind is SP_FACT_NUMBER */
	enum sp_fact_kind kind;
	double real; /* of SP_FACT_REAL */
	const char *const *items;
	size_t n_items;
};

/* ---- what else a rank can have (FORMAT.md, section 3.7): small tables, held in memory ---- */

/* Hardware or kernel events of a region on a rank, summed over its calls. */
struct sp_perf_events {
	uint32_t rank;
	const char *region;
	int64_t calls;
	size_t n;
	const char *const *names; /* cycles, instructions, … */
	const uint64_t *values;
};

/* Lines of a function, as a line profiler or a sampler saw them. */
struct sp_line_profile {
	uint32_t rank;
	const char *region, *filename, *function; /* "" unknown */
	int64_t first_line;			  /* of the function, 0 unknown */
	double unit;				  /* seconds of 1 in @times */
	const char *source;			  /* text of the function, NULL unknown */
	int64_t source_first_line;		  /* meaningful if @source is there */
	size_t n;
	const int64_t *lines;
	const int64_t *hits;
	const double *times;
};

/* LIKWID's counters of a marked region on a rank. */
struct sp_likwid {
	uint32_t rank;
	const char *tag;
	int64_t group_id; /* -1 unknown */
	const char *group_name, *source;
	size_t n_threads;
	const int64_t *cpus;	    /* one a thread; NULL: the file does not say */
	const double *times;	    /* s, one a thread */
	const int64_t *call_counts; /* one a thread */
	size_t n_events;
	const char *const *event_names;
	size_t n_counters; /* n_events, or 0 in old files */
	const char *const *counter_names;
	const double *events; /* event by event: n_events rows of n_threads */
	size_t n_metrics;
	const char *const *metric_names;
	const double *metrics; /* n_metrics rows of n_threads */
};

/* LIKWID's environment on a rank. */
struct sp_likwid_environment {
	uint32_t rank;
	size_t n;
	const struct sp_fact *facts;
};

struct sp_extras {
	size_t n_perf_events, n_line_profiles, n_likwid, n_likwid_environments;
	/* Each ascending by rank, then in the file's order. */
	struct sp_perf_events *perf_events;
	struct sp_line_profile *line_profiles;
	struct sp_likwid *likwid;
	struct sp_likwid_environment *likwid_environments;
};

/* Frees all that an sp_extras of a reader owns (every pointer in it was allocated on its own), and
 * zeroes it. */
void sp_extras_free(struct sp_extras *extras);
/* The same for an array of facts, and the array. NULL is fine. */
void sp_facts_free(struct sp_fact *facts, size_t n);

SP_API_END

#endif
