/* SPDX-License-Identifier: BSD-2-Clause
 *
 * h5_write.h - writes HDF5 profiles: schema 3 (or 2), columnar or aggregate, with /sp_trace
 * (FORMAT.md, section 3).
 *
 * One pass, in memory that does not depend on the number of calls or samples (under 32 MiB, and the
 * rows). The file appears complete or not at all (output.h). One file may hold one rank or many.
 * The same input makes the same bytes, whatever the time and the number of threads. Without
 * compression there are no threads; with it they live from the first 256 KiB of a column until
 * free(). Cost without compression: about that of writing the bytes, if calls come in pieces of
 * 32,768 and more.
 *
 * Life cycle: open; add regions, begin a row and add its calls, again and again; add threads,
 * sites, samples and the other tables, and facts, in any order and also in between; commit; free.
 * After a failure only free() makes sense.
 *
 * Errors. Every call that can fail returns 0 or, with a sentence in its struct sp_error, -EINVAL
 * for what contradicts the contract (said below; more than SP_PROFILE_MAX_REGIONS regions or
 * SP_PROFILE_MAX_ROWS rows, too), -ENOMEM, or what the system says of the file: -ENOSPC, -EDQUOT,
 * -EFBIG, -EIO, at whichever call the file is written.
 */
#ifndef SP_FORMATS_H5_WRITE_H
#define SP_FORMATS_H5_WRITE_H

#include "formats/api.h"
#include "formats/output.h"
#include "formats/profile.h"

SP_API_BEGIN

struct sp_h5_writer;

/* Columns of numbers of more than 64 KiB are compressed with shuffle and deflate, at any level.
 * This one is scope-profiler's rule: level 4, and the columns of calls only from 16,384 calls on.
 */
#define SP_H5_GZIP_AUTO 255u

struct sp_h5_options {
	unsigned int output_flags; /* SP_OUTPUT_* */
	unsigned int columns;	   /* SP_CALLS_*: the optional columns that calls are stored with */
	unsigned int gzip;	   /* 0 plain, 1 … 9 shuffle and deflate, or SP_H5_GZIP_AUTO */
	unsigned int threads;	   /* that compress; 0: as many as there are CPUs */
	int schema;		   /* 3, or 2 on request; 0 is 3 */
	bool aggregate;		   /* statistics of rows instead of calls */
	bool event_metadata;	   /* rows may come with it */
	int64_t start_time_ns; /* origin: stored in the metadata, and what thread times count from
				*/
};

/* Columns to give for calls of a recording of ours. */
#define SP_CALLS_TRACE \
	(SP_CALLS_id | SP_CALLS_parent | SP_CALLS_thread | SP_CALLS_flags | SP_CALLS_depth | \
	 SP_CALLS_child_ns | SP_CALLS_skipped | SP_CALLS_site)

/* -EEXIST now rather than at the end if @path exists and may not be replaced. */
int sp_h5_writer_open(const char *path, const struct sp_h5_options *options,
		      struct sp_h5_writer **ret_writer, struct sp_error *error);

/* Adds a region and gives its id, counting from 0. A name that exists already gives the id it has.
 * scope-profiler cannot handle a region without a row, so a region whose row was never begun is
 * given one without calls, on the lowest rank of the file, at the commit. */
int sp_h5_writer_add_region(struct sp_h5_writer *writer, const char *name, uint32_t *ret_region,
			    struct sp_error *error);

/* Begins the row of a region on a rank; it ends with the next row. Its statistics are computed from
 * the calls added; its self time from the column child_ns if that is stored and nowhere unknown,
 * else it is @self_ns (-1 unknown). -EINVAL: an unknown region, or a second row for a region and
 * rank. */
struct sp_h5_row {
	uint32_t region;
	uint32_t rank;
	const char *source_file;    /* NULL or "" unknown */
	int64_t source_line;	    /* -1 unknown */
	const char *source_text;    /* NULL or "" unknown */
	const char *tags;	    /* JSON list of strings; NULL or "" none */
	int64_t self_ns;	    /* -1 unknown, or to be computed */
	const char *event_metadata; /* JSON list of one object a call; NULL or "" none */
	/* Aggregate layout: the row's statistics (required; its self time is stats->self). Else
	 * NULL. */
	const struct sp_stats *stats;
};
int sp_h5_writer_begin_row(struct sp_h5_writer *writer, const struct sp_h5_row *row,
			   struct sp_error *error);
/* Adds calls to the row, in order of entry: start and end, and the columns of the options; such a
 * column that is NULL here gets its default. */
int sp_h5_writer_add_calls(struct sp_h5_writer *writer, const struct sp_calls *calls, size_t n,
			   struct sp_error *error);

/* Adds rows to the tables (profile_tables.def). Rows are numbered from 0 in the order they are
 * added; strings are repaired to UTF-8, copied, NULL counts as "". References between tables are
 * not checked. A table without rows does not appear in the file. */
int sp_h5_writer_add_threads(struct sp_h5_writer *writer, const struct sp_thread_row *rows,
			     size_t n, struct sp_error *error);
int sp_h5_writer_add_tasks(struct sp_h5_writer *writer, const struct sp_task_row *rows, size_t n,
			   struct sp_error *error);
int sp_h5_writer_add_sites(struct sp_h5_writer *writer, const struct sp_site_row *rows, size_t n,
			   struct sp_error *error);
int sp_h5_writer_add_modules(struct sp_h5_writer *writer, const struct sp_module_row *rows,
			     size_t n, struct sp_error *error);
int sp_h5_writer_add_processes(struct sp_h5_writer *writer, const struct sp_process_row *rows,
			       size_t n, struct sp_error *error);
int sp_h5_writer_add_losses(struct sp_h5_writer *writer, const struct sp_loss_row *rows, size_t n,
			    struct sp_error *error);
int sp_h5_writer_add_cuts(struct sp_h5_writer *writer, const struct sp_cut_row *rows, size_t n,
			  struct sp_error *error);
int sp_h5_writer_add_clocks(struct sp_h5_writer *writer, const struct sp_clock_row *rows, size_t n,
			    struct sp_error *error);

int sp_h5_writer_add_rank_facts(struct sp_h5_writer *writer, const struct sp_rank_fact_row *rows,
				size_t n, struct sp_error *error);
int sp_h5_writer_add_kernel_symbols(struct sp_h5_writer *writer,
				    const struct sp_kernel_symbol_row *rows, size_t n,
				    struct sp_error *error);

/* Adds what a rank has besides. The structs and strings are not needed after the return. A region's
 * name or a tag that cannot be a link's name (it has a "/", or is empty, or ".") gets one that can;
 * its own is kept in an attribute. -EINVAL: twice the same region or tag on a rank. */
int sp_h5_writer_add_perf_events(struct sp_h5_writer *writer, const struct sp_perf_events *events,
				 struct sp_error *error);
int sp_h5_writer_add_line_profile(struct sp_h5_writer *writer, const struct sp_line_profile *lines,
				  struct sp_error *error);
int sp_h5_writer_add_likwid(struct sp_h5_writer *writer, const struct sp_likwid *likwid,
			    struct sp_error *error);
int sp_h5_writer_add_likwid_environment(struct sp_h5_writer *writer,
					const struct sp_likwid_environment *environment,
					struct sp_error *error);

/* Adds one sample with its stack, innermost frame first. sample->stack is ignored. */
int sp_h5_writer_add_sample(struct sp_h5_writer *writer, const struct sp_sample_row *sample,
			    const uint64_t *frames, size_t n_frames, struct sp_error *error);

/* Facts: scope-profiler's own go to /metadata (keys in FORMAT.md: hostname, label, mpi_size …),
 * ours to /sp_trace/meta. A key given again replaces. Texts are repaired to UTF-8, and cut after
 * 60,000 bytes in /metadata, as scope-profiler does. start_time_ns is set by open. */
int sp_h5_writer_set_metadata(struct sp_h5_writer *writer, const char *key, const char *text,
			      struct sp_error *error);
int sp_h5_writer_set_metadata_number(struct sp_h5_writer *writer, const char *key, int64_t number,
				     struct sp_error *error);
int sp_h5_writer_set_meta(struct sp_h5_writer *writer, const char *key, const char *text,
			  struct sp_error *error);
int sp_h5_writer_set_meta_number(struct sp_h5_writer *writer, const char *key, int64_t number,
				 struct sp_error *error);

/* The same for a fact of any kind, as a reader gave it. */
int sp_h5_writer_set_metadata_fact(struct sp_h5_writer *writer, const struct sp_fact *fact,
				   struct sp_error *error);
int sp_h5_writer_set_meta_fact(struct sp_h5_writer *writer, const struct sp_fact *fact,
			       struct sp_error *error);

/* Writes what is left, syncs and publishes. */
int sp_h5_writer_commit(struct sp_h5_writer *writer, struct sp_error *error);
/* Frees; a file not committed vanishes. NULL is fine. */
void sp_h5_writer_free(struct sp_h5_writer *writer);

SP_API_END

#endif
