/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_merge_internal.h - what the files of the merged profile share. Not installed.
 *
 * Strings of the merged profile's rows, tables, facts and extras belong to the inputs, which
 * outlive it; arrays are its own.
 */
#ifndef SP_FORMATS_PROFILE_MERGE_INTERNAL_H
#define SP_FORMATS_PROFILE_MERGE_INTERNAL_H

#include "formats/profile_internal.h"
#include "formats/profile_merge.h"

/* One input. */
struct sp_merge_part {
	struct sp_profile *profile;
	uint32_t *ranks;   /* new numbers of its ranks, NULL: as they are */
	uint32_t *regions; /* region of the merged profile for each of its own */
	uint32_t lowest;   /* of its new ranks; UINT32_MAX: it has none */
	uint32_t
		*sample_ranks; /* own numbers of those it has samples of, once they are asked for */
	size_t n_sample_ranks, sample_ranks_capacity;
	bool joins; /* has samples and nothing else that says a rank is its own */
	/* Rows of its tables before those of this part: what references are moved by. */
	size_t first[SP_H5_N_TABLES], rows[SP_H5_N_TABLES];
	uint64_t first_sample;
	uint64_t stack_shift;		/* added to its offsets of stacks, may wrap */
	uint64_t first_frame, n_frames; /* in the merged profile */
	/* Facts of /sp_trace/meta: its own, or what a .sps file's header says. */
	const struct sp_fact *meta;
	size_t n_meta;
	struct sp_fact header[2];
	unsigned int nested; /* SP_CALLS_*: columns that are computed for it */
};

/* A rank that a part says is its own. */
struct sp_merge_claim {
	uint32_t rank; /* new */
	uint32_t part;
	uint32_t own; /* number that the part has for it */
};

struct sp_merge_nested;

struct sp_merge {
	struct sp_profile *profile;
	struct sp_merge_part *parts;
	size_t n_parts;
	struct sp_merge_claim *claims; /* ascending by rank */
	size_t n_claims, claims_capacity;
	uint32_t *row_part, *row_index; /* of each row: where it comes from */
	struct sp_merge_nested *nested; /* made when first needed */
	/* Facts that the parts differ in, and texts that had to be made. */
	struct sp_rank_fact_row *differing;
	size_t n_differing, differing_capacity;
	struct sp_intern texts;
};

void sp_merge_free_part(struct sp_merge_part *part);

/* New number of a rank of a part's; one that is not in its list keeps its own. */
uint32_t sp_merge_rank(const struct sp_merge_part *part, uint32_t rank);
/* Region of the merged profile; UINT32_MAX if the part has no such region. */
uint32_t sp_merge_region(const struct sp_merge_part *part, uint32_t region);
/* A reference to row @row of a table of the part's, moved; UINT32_MAX if there is none. */
uint32_t sp_merge_row(const struct sp_merge_part *part, enum sp_h5_table which, uint64_t row);
/* Puts the part's path before the sentence; returns @code. */
int sp_merge_blame(const struct sp_merge *merge, const struct sp_merge_part *part, int code,
		   struct sp_error *error);

/* profile_merge_ranks.c: refuses ranks claimed twice, and drops the parts whose samples are another
 * part's. */
int sp_merge_sort_ranks(struct sp_merge *merge, struct sp_error *error);
/* Fills in the rows and ranks of the profile. */
int sp_merge_list_rows(struct sp_merge *merge, struct sp_error *error);

/* profile_merge_tables.c: reads all small tables of the parts, one part after the other. */
int sp_merge_load_tables(struct sp_merge *merge, struct sp_error *error);
/* Decides where each part's rows go. */
int sp_merge_place_tables(struct sp_merge *merge, struct sp_error *error);
int sp_merge_read_table(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			size_t *ret_n, struct sp_error *error);
int sp_merge_read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
			 struct sp_error *error);

/* profile_merge_facts.c: fills in the facts of the profile, its start_time_ns and merge->differing.
 */
int sp_merge_join_facts(struct sp_merge *merge, struct sp_error *error);
/* The recordings that a part comes from: its recording_id, and those of its rank_facts. An array to
 * be freed, of texts that are not. */
int sp_merge_list_recordings(const struct sp_merge_part *part, const char ***ret_ids,
			     size_t *ret_n);

/* profile_merge_samples.c */
int sp_merge_count_samples(struct sp_merge *merge, struct sp_error *error);
int sp_merge_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			  struct sp_sample_row *ret_samples, struct sp_error *error);
int sp_merge_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				uint64_t *ret_offsets, struct sp_error *error);
int sp_merge_read_frames(struct sp_profile *profile, uint64_t first, size_t n, uint64_t *ret_frames,
			 struct sp_error *error);

/* profile_merge_nested.c: the columns in part->nested of some calls of a row, which is the part's.
 */
#define SP_MERGE_NESTED (SP_CALLS_id | SP_CALLS_parent | SP_CALLS_depth | SP_CALLS_child_ns)
int sp_merge_fill_nested(struct sp_merge *merge, const struct sp_merge_part *part, uint32_t row,
			 uint64_t first, size_t n, const struct sp_calls *calls,
			 struct sp_error *error);
void sp_merge_free_nested(struct sp_merge_nested *nested);

#endif
