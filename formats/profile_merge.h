/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_merge.h - several profiles seen as one, without copying them.
 *
 * The merged profile is a struct sp_profile like any other: rows are those of the inputs, by rank,
 * then in each input's order; a region is one wherever its name occurs; tables stand one after the
 * other, with every reference between them (threads, modules, sites, processes, regions) moved
 * along. Reading streams from the inputs, so memory is that of their rows and tables.
 *
 * Facts: those of the input with the lowest rank that has any; what differs in other inputs goes to
 * rank_facts, under the lowest rank of each. start_time_ns is the smallest of the inputs': what the
 * metadata say, else the start of the first call; finalize_time_ns is the greatest, and so is
 * mpi_size, which is at least the highest rank and one. A .sps file's rate and ticks become the facts
 * sample_hz and sample_ticks of meta. Losses and clocks that several files of one recording
 * (recording_id) repeat are taken once; where the inputs come from several recordings, those
 * without a rank are given the lowest rank of the input that told them. A reference that leads
 * nowhere becomes "unknown".
 *
 * The optional columns of calls are those that any input has. The call ids, parents, depths and
 * times of children that an input lacks while another has them are computed from the nesting of its
 * calls (profile_nest.h), since a column of unknown ids would break call graphs: for a rank at
 * once when it is first read, some 150 ns and 32 bytes of a temporary file ($TMPDIR) a call. Read
 * such profiles rank by rank. Where calls overlap in a rank, those times of children stay unknown.
 *
 * A sentence about an input starts with its path, if there are several.
 */
#ifndef SP_FORMATS_PROFILE_MERGE_H
#define SP_FORMATS_PROFILE_MERGE_H

#include "formats/api.h"
#include "formats/profile_read.h"

SP_API_BEGIN

struct sp_merge_input {
	struct sp_profile *profile; /* the caller's; must outlive the merged one */
	/* New number of each of its ranks, as sp_profile_rank() counts them; NULL: they keep
	 * theirs. Copied. */
	const uint32_t *ranks;
};

/* Reads all tables, facts and extras of the inputs, which keep them; then costs little for each
 * row.
 *
 * -EEXIST: two inputs claim one rank: they have rows of it, or one has no rows but threads,
 * processes or a trace of that rank; the sentence names the rank and both files. A profile that has
 * samples and nothing else (.sps) joins the input that has its rank: its samples are added, unless
 * that input has samples of the rank itself, which are then the same ones. -EINVAL: aggregate and
 * columnar inputs are mixed, which no file can hold, or @ranks give one number twice. -SP_E_COUNT:
 * together they have too many regions or rows. */
int sp_profile_merge(const struct sp_merge_input *inputs, size_t n, struct sp_profile **ret_profile,
		     struct sp_error *error);

SP_API_END

#endif
