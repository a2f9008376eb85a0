/* SPDX-License-Identifier: BSD-2-Clause
 *
 * finalize.h - the one conversion of a journal into final files.
 *
 * Reads the journal twice. First its tables (analysis/recording.h); then its calls and samples,
 * which are sorted outside of memory (analysis/extsort.h) and streamed into the sinks of one unit
 * after the other. Memory: under 64 MiB, whatever the number of calls and samples. Disk: besides
 * the files, about 10 bytes a call and 8 a stack frame in the output directory while it runs.
 *
 * Rows: calls of a region on a rank stand in order of entry: by start, then thread, then number.
 * Regions stand in order of their lowest site number, static ones first; that site gives file, line
 * and tags. Of two records of one call (an open call may be sent again when it ends), the one that
 * was not open is kept. A call's id is its thread's index << 40 | its number in the thread.
 */
#ifndef SP_EXPORT_FINALIZE_H
#define SP_EXPORT_FINALIZE_H

#include "userspace/analysis/cuts.h"
#include "userspace/export/sink.h"

struct sp_finalize_options {
	const char *journal;
	const char *directory; /* made if it is not there */
	const char *program;   /* NULL: what the journal says */
	const char *formats;   /* "h5,sps,spt", checked by the caller with sp_finalize_known() */
	unsigned gzip;	       /* 0 … 9 or SP_H5_GZIP_AUTO */
	bool force;	       /* replace files of the same name */
	bool no_sync;	       /* for tests */
	bool keep_journal;     /* even if it is whole */
	bool no_line_profile;  /* leave it out */
	/* Called a few times a second with what is being done and how far it is, 0 to 1. May be
	 * NULL. */
	void (*progress)(const char *what, double done);
	/* Asked often; once it is true the conversion fails with -EINTR. May be NULL. */
	bool (*cancelled)(void);
};

/* Of a recording with copies of stacks. */
struct sp_finalize_stacks {
	bool for_all;	 /* they were asked for, not only taken where tables came too late */
	uint64_t copies;
	uint64_t by_libdw;     /* its stack is in the files */
	uint64_t short_copies; /* the tables' stack is: the copy ended before the stack did */
	uint64_t failed;       /* the tables' stack is: libdw's ended early otherwise */
	bool gave_up;	       /* libdw died too often */
	struct sp_finalize_unusable {
		const char *path, *reason; /* the end of a sentence */
	} * unusable;			   /* files that libdw could not use */
	size_t n_unusable;
};

struct sp_finalize_result {
	struct sp_recording *recording;
	struct sp_journal_facts facts;
	uint64_t calls, samples;  /* in the files */
	uint64_t samples_outside; /* of them outside every region */
	uint64_t duplicates;	  /* records that said the same call twice */
	uint64_t reversed;	  /* calls whose end lay before their start: kept with length 0 */
	struct sp_finalize_stacks stacks;
	struct sp_stack_counts ends; /* of the samples in the files */
	const char *no_lines; /* a sentence on what the line profile lacks, "" or NULL nothing */
	struct sp_cuts cuts; /* calls in the files without an end of their own */
	char **files;	     /* relative to the directory */
	size_t n_files, files_room;
	bool incomplete; /* the journal is damaged, or has no end: it is kept in any case */
	bool journal_removed;
};

/* True if @formats is a list of known names. */
bool sp_finalize_known(const char *formats);

struct sp_finalize_failure {
	char path[512]; /* what the reason is about */
	struct sp_error error;
};

/* On failure no file of this run is left, and the journal is as it was. A journal that is cut or
 * damaged is no failure: what is whole is converted. */
int sp_finalize(const struct sp_finalize_options *options, struct sp_finalize_result *ret_result,
		struct sp_finalize_failure *ret_failure);
void sp_finalize_result_free(struct sp_finalize_result *result);

#endif
