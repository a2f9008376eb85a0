/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gaps.h - what is missing, and where: gaps have a cause, a CPU, a thread, a region and a span of
 * time, as far as each is known.
 */
#ifndef SP_ANALYSIS_GAPS_H
#define SP_ANALYSIS_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/codec.h"
#include "formats/profile_read.h"

/* Strings belong to whom the gap was taken from. */
struct sp_gap {
	size_t input;	    /* of its recording */
	size_t file;	    /* input whose table has the thread */
	unsigned cause;	    /* SP_LOSS_NONE: of a newer version */
	const char *name;   /* of the cause */
	const char *thread; /* its name, NULL unknown */
	const char *region; /* NULL unknown */
	const char *source; /* file where it begins, or the end is that was lost; NULL unknown */
	int64_t line;	    /* there */
	int64_t cpu;	    /* -1 unknown */
	int64_t tid;	    /* -1 unknown */
	int64_t index;	    /* of the thread in its rank, -1 unknown */
	uint32_t rank;	    /* UINT32_MAX: unknown, or all */
	uint64_t count;
	uint64_t first, last; /* ns; last 0: unknown */
};

struct sp_gaps {
	struct sp_gap *items;
	size_t n, room;
};

/* Appends the gaps that a profile tells of. @first: also those of no known thread, which stand in
 * each file of a recording. */
int sp_gaps_add(struct sp_gaps *gaps, struct sp_profile *profile, size_t input, size_t file,
		bool first, struct sp_error *error);
void sp_gaps_free(struct sp_gaps *gaps);

/* Where the gaps of a cause (by its name) are, in words, without a period; to free(). @input: of
 * this recording alone, SIZE_MAX of all. Times are told from @start on. NULL without memory, "" if
 * nothing is known. */
char *sp_gaps_tell(const struct sp_gaps *gaps, const char *cause, size_t input, int64_t start);

/* Spans of gaps without a known region, for asking which calls lie in them. */
struct sp_gap_spans;
/* @of: of calls or of samples. */
int sp_gap_spans_new(const struct sp_gaps *gaps, enum sp_loss_of of, size_t input, size_t file,
		     struct sp_gap_spans **ret_spans);
bool sp_gap_spans_empty(const struct sp_gap_spans *spans);
/* Whether a call could have been called, or sampled, in a gap. @thread: its index, -1 unknown. */
bool sp_gap_spans_touch(const struct sp_gap_spans *spans, uint32_t rank, int64_t thread,
			int64_t start, int64_t end);
/* Whether a call of the profile's row @number was open in a gap; it may have been if its calls are
 * not in the file. Reads until one was. */
int sp_gap_spans_touch_row(const struct sp_gap_spans *spans, struct sp_profile *profile,
			   uint32_t number, bool *ret, struct sp_error *error);
void sp_gap_spans_free(struct sp_gap_spans *spans);

#endif
