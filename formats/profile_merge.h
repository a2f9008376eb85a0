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
 * rank_facts. start_time_ns is the smallest of the inputs'. Losses that several files of one
 * recording repeat are taken once. The optional columns of calls are those that any input has; the
 * call ids, parents, depths and times of children that an input lacks while another has them are
 * computed from the nesting of its calls (profile_nest.h), since a column of unknown ids would
 * break call graphs.
 */
#ifndef SP_FORMATS_PROFILE_MERGE_H
#define SP_FORMATS_PROFILE_MERGE_H

#include "formats/api.h"
#include "formats/profile_read.h"

SP_API_BEGIN

struct sp_merge_input {
	struct sp_profile *profile; /* the caller's; must outlive the merged one */
	const uint32_t *ranks; /* new number of each of its ranks, as sp_profile_rank() counts them;
				  NULL: they keep theirs */
};

/* -EEXIST: two inputs with rows claim one rank; the sentence names rank and both files. A profile
 * without rows (.sps) joins the input that has its rank: its samples are added, unless that input
 * has samples itself, which are then the same ones. -EINVAL: aggregate and columnar inputs are
 * mixed, which no file can hold. */
int sp_profile_merge(const struct sp_merge_input *inputs, size_t n, struct sp_profile **ret_profile,
		     struct sp_error *error);

SP_API_END

#endif
