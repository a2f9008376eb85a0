/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_read.h - reads profiles of every format through one interface.
 *
 * Formats: .spt versions 1 and 2, .sps version 1 (both byte orders), HDF5 schemas 1 to 3, columnar
 * and aggregate, with or without /sp_trace, and JSON, plain or gzip. The format is told by the
 * file's first bytes, never by its name. Open reads the regions and rows (memory: proportional to
 * them, not to calls or samples); calls and samples are streamed; tables are read when asked for.
 *
 * libhdf5 itself can crash or hang on a damaged file; a caller that opens files of strangers opens
 * them with sp_profile_open_guarded(), which reads HDF5 in a child process with limits.
 *
 * Errors. Every call that can fail returns 0, or one of these and a sentence in the struct:
 *
 * - an -SP_E code: what is wrong with the content. Opening finds what concerns regions, rows and
 *   the shape of the rest, a reading call what concerns the values that it reads.
 * - -ENOTSUP: a filter that this libhdf5 does not have; calls of a file with statistics alone.
 * - -EINVAL: a row, or calls, samples or frames, that the profile does not have.
 * - -ENOMEM, and what the system says of the file (-ENOENT, -EACCES, -EISDIR, -EIO), or of the
 *   temporary file that JSON needs in $TMPDIR, /var/tmp or /tmp (-ENOSPC).
 * - of a guarded profile, those of profile_guard.h.
 *
 * After a reading call that failed the profile may still be used. Calls without a struct sp_error
 * cannot fail; indices must be below the numbers of the info.
 */
#ifndef SP_FORMATS_PROFILE_READ_H
#define SP_FORMATS_PROFILE_READ_H

#include "formats/api.h"
#include "formats/profile.h"

SP_API_BEGIN

enum sp_format {
	SP_FORMAT_NONE = 0,
	SP_FORMAT_SPT = 1,
	SP_FORMAT_SPS = 2,
	SP_FORMAT_HDF5 = 3,
	SP_FORMAT_JOURNAL = 4, /* detected, not opened here: journal.h reads it */
	SP_FORMAT_JSON = 5,    /* scope-profiler's JSON profile, plain or gzip */
};

/* Looks at the first bytes. -SP_E_FORMAT if it is none of them (the sentence lists them). */
int sp_format_detect(const char *path, enum sp_format *ret_format, struct sp_error *error);
/* "spt", "sps", "hdf5", "journal", "json". */
const char *sp_format_name(enum sp_format format);

struct sp_profile_info {
	enum sp_format format;
	int version;	   /* .spt and .sps version, HDF5 schema */
	int trace_version; /* version of /sp_trace, 0 if it is not there */
	bool big_endian;   /* .spt, .sps */
	bool aggregate;	   /* HDF5 aggregate layout: statistics, no calls */
	bool has_source_lines;
	bool has_event_metadata;
	bool compressed;      /* HDF5: any event column has a filter; JSON: gzip */
	unsigned int columns; /* SP_CALLS_*: the optional columns that calls have */
	uint32_t n_regions;
	uint32_t n_ranks; /* distinct ranks with a row; of .spt and .sps 1; without any row, those
			     that have threads or processes */
	uint32_t n_rows;
	uint64_t n_calls; /* over all rows */
	uint64_t n_samples;
	int64_t ticks;	       /* .sps: timer ticks, else -1 */
	int64_t hz;	       /* .sps: sampling rate asked for, else -1 */
	int64_t start_time_ns; /* origin of the timeline: metadata, else the earliest start, else 0
				*/
};

struct sp_profile;

/* Opens @path; to be freed. -SP_E_FORMAT, -SP_E_VERSION, -SP_E_TRUNCATED … (FORMAT.md has for each
 * format what a reader refuses); a journal is -SP_E_FORMAT, too. The info's start_time_ns is exact
 * only after sp_profile_complete() if the file has neither metadata nor statistics. */
int sp_profile_open(const char *path, struct sp_profile **ret_profile, struct sp_error *error);
/* Also of guarded and merged profiles. NULL is fine. */
void sp_profile_free(struct sp_profile *profile);
const char *sp_profile_path(const struct sp_profile *profile);
const struct sp_profile_info *sp_profile_info(const struct sp_profile *profile);

/* Names and rows; valid until free. Rows stand in the file's order. A .sps file has regions, no
 * rows. Statistics that the file does not have are unknown until sp_profile_complete(). */
const char *sp_profile_region(const struct sp_profile *profile, uint32_t region);
const struct sp_row *sp_profile_row(const struct sp_profile *profile, uint32_t row);
/* Ascending, @index < n_ranks. */
uint32_t sp_profile_rank(const struct sp_profile *profile, uint32_t index);

/* Computes the statistics that the file lacks from its calls: one pass over the calls of such rows,
 * and another over those of a rank for its self times (profile_nest.h), which takes some 50 ns a
 * call, and no memory that grows with their number. A rank with more than @max_calls calls, or with
 * calls that overlap without nesting, has unknown self times after it, too. */
int sp_profile_complete(struct sp_profile *profile, uint64_t max_calls, struct sp_error *error);

/* Reads calls @first … @first + @n − 1 of row @row into the arrays of @calls that are not NULL.
 * -EINVAL if there are not that many. Going forward through a row is fast; a step back in a schema
 * 3 file reads the row's beginning again. */
int sp_profile_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			  const struct sp_calls *calls, struct sp_error *error);

/* Reads samples @first … @first + @n − 1; sample i has the frames from its stack to the next one's.
 * sp_profile_read_stack_offsets gives the first frame of sample @first + i in ret_offsets[i], for i
 * ≤ @n. Samples of a .sps file have neither time, thread, rank of its own, call nor stack. */
int sp_profile_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			    struct sp_sample_row *ret_samples, struct sp_error *error);
int sp_profile_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				  uint64_t *ret_offsets, struct sp_error *error);
/* Reads frames @first … @first + @n − 1 of all frames (innermost of each stack first). */
int sp_profile_read_frames(struct sp_profile *profile, uint64_t first, size_t n,
			   uint64_t *ret_frames, struct sp_error *error);

/* int sp_profile_<table>s(profile, const struct sp_<table>_row **ret_rows, size_t *ret_n, error)
 * for thread, task, site, module, process, loss, cut, clock, rank_fact, kernel_symbol: all rows of the table, none
 * if the file has no such table. Read once, valid until free. A .sps file's modules come with path
 * and bias. */
int sp_profile_threads(struct sp_profile *profile, const struct sp_thread_row **ret_rows,
		       size_t *ret_n, struct sp_error *error);
int sp_profile_tasks(struct sp_profile *profile, const struct sp_task_row **ret_rows, size_t *ret_n,
		     struct sp_error *error);
int sp_profile_sites(struct sp_profile *profile, const struct sp_site_row **ret_rows, size_t *ret_n,
		     struct sp_error *error);
int sp_profile_modules(struct sp_profile *profile, const struct sp_module_row **ret_rows,
		       size_t *ret_n, struct sp_error *error);
int sp_profile_processes(struct sp_profile *profile, const struct sp_process_row **ret_rows,
			 size_t *ret_n, struct sp_error *error);
int sp_profile_losses(struct sp_profile *profile, const struct sp_loss_row **ret_rows,
		      size_t *ret_n, struct sp_error *error);
int sp_profile_cuts(struct sp_profile *profile, const struct sp_cut_row **ret_rows, size_t *ret_n,
		    struct sp_error *error);
int sp_profile_clocks(struct sp_profile *profile, const struct sp_clock_row **ret_rows,
		      size_t *ret_n, struct sp_error *error);
int sp_profile_rank_facts(struct sp_profile *profile, const struct sp_rank_fact_row **ret_rows,
			  size_t *ret_n, struct sp_error *error);
int sp_profile_kernel_symbols(struct sp_profile *profile,
			      const struct sp_kernel_symbol_row **ret_rows, size_t *ret_n,
			      struct sp_error *error);

/* Perf events, line profiles, LIKWID: read once, valid until free. */
int sp_profile_extras(struct sp_profile *profile, const struct sp_extras **ret_extras,
		      struct sp_error *error);
/* What calls of a row were annotated with: a JSON list with one object a call, to be freed; NULL if
 * the row has none (no data set, an empty text or an empty list). Checked to be JSON, of that
 * length. */
int sp_profile_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			      struct sp_error *error);

/* Facts of /metadata, and of /sp_trace/meta, sorted by key; none in .spt and .sps. Read once, valid
 * until free. */
int sp_profile_metadata(struct sp_profile *profile, const struct sp_fact **ret_facts, size_t *ret_n,
			struct sp_error *error);
int sp_profile_meta(struct sp_profile *profile, const struct sp_fact **ret_facts, size_t *ret_n,
		    struct sp_error *error);
/* The fact with this key, NULL if there is none. */
const struct sp_fact *sp_fact_find(const struct sp_fact *facts, size_t n, const char *key);

/* How far sp_profile_check() is, and what it has met so far. Zero it to begin. */
struct sp_profile_check {
	bool done;
	uint64_t objects;    /* groups and data sets whose values and attributes were read */
	uint64_t attributes; /* of theirs */
	uint64_t bytes;	     /* of values, as they stand in memory */
	uint64_t beyond;     /* bytes of the file after its last part */
	uint64_t next_object, next_value; /* where it goes on */
};

/* Reads what is in the file, whether this library knows it or not, and keeps nothing: every data
 * set to its last value, every attribute. A step reads some 64 MiB; call it until check->done. Does
 * nothing for .spt, .sps and JSON, which opening and reading have seen whole. -SP_E_DAMAGED (or
 * what else is wrong): the sentence names the object. */
int sp_profile_check(struct sp_profile *profile, struct sp_profile_check *check,
		     struct sp_error *error);

SP_API_END

#endif
