/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_nest.h - walks all calls of a rank in order of entry, and finds who encloses whom.
 *
 * Calls of a row stand in order of entry, so the rows of a rank are merged as sorted streams:
 * memory depends on the number of rows and on the depth, never on the number of calls. A row that
 * is not sorted is sorted first (external, in a temporary file). A lane is a task, else a thread,
 * else the rank, as scope-profiler has it; of two calls with one start the longer encloses the
 * other, of two that coincide the one of the earlier region the other one, and in a row the first
 * the later one. A call without length is inside those that begin at its time. Call ids are not
 * looked at. Some 50 ns a call, more where there are thousands of rows.
 */
#ifndef SP_FORMATS_PROFILE_NEST_H
#define SP_FORMATS_PROFILE_NEST_H

#include "formats/api.h"
#include "formats/profile_read.h"

SP_API_BEGIN

struct sp_nest_call {
	uint32_t row;
	uint64_t index; /* of the call in its row */
	int64_t start, end;
	int64_t lane;	  /* task if ≥ 0, else −2 − thread, -1 without either */
	uint64_t number;  /* of the call in the rank, from 0, in order of entry */
	int64_t parent;	  /* number of the enclosing call, -1 none */
	uint32_t depth;	  /* open calls around it */
	int64_t child_ns; /* at its exit: ns of its direct children */
	bool overlaps;	  /* crosses a call of its lane instead of nesting: a root then */
};

struct sp_nest_visitor {
	/* Either may be NULL; what is not 0 ends the walk and is returned. Calls are entered in
	 * order; each is left once, after those inside it and before the next call of its lane that
	 * is not inside it. */
	int (*enter)(void *data, const struct sp_nest_call *call);
	int (*leave)(void *data, const struct sp_nest_call *call); /* has child_ns */
	void *data;
};

/* -ENOTSUP for an aggregate profile. *@ret_overlaps (may be NULL): calls that cross another. */
int sp_profile_nest(struct sp_profile *profile, uint32_t rank,
		    const struct sp_nest_visitor *visitor, uint64_t *ret_overlaps,
		    struct sp_error *error);

SP_API_END

#endif
