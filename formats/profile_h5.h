/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_h5.h - what the HDF5 schemas share behind struct sp_profile. Not installed.
 */
#ifndef SP_FORMATS_PROFILE_H5_H
#define SP_FORMATS_PROFILE_H5_H

#include "formats/h5_read.h"
#include "formats/h5_window.h"
#include "formats/profile_internal.h"

enum { SP_H5_READ_BLOCK = 1 << 15 }; /* values of a column read at once */

/* The event columns: of the file in schemas 2 and 3, of one row's group in schema 1. */
struct sp_h5_events {
	struct sp_h5_window starts; /* start_deltas or start_times */
	struct sp_h5_window ends;   /* durations or end_times */
	bool deltas;
	struct sp_h5_window columns[SP_CALLS_N_COLUMNS];
};

struct sp_h5_profile {
	hid_t file;
	int schema;
	struct sp_h5_events events;

	uint64_t *offsets; /* schemas 2 and 3: first call of each row */
	/* Where the reading of starts stands in each row, for deltas: the start of call next − 1;
	 * and where its last two reads began, since a guard reads ahead of somebody who may turn to
	 * another row and come back. Allocated when it is first needed. */
	struct sp_h5_cursors {
		struct sp_h5_cursor {
			uint64_t next;
			int64_t start;
		} now, earlier[2];
	} * cursors;
	int64_t *block; /* SP_H5_READ_BLOCK values */

	hid_t event_metadata; /* schemas 2 and 3; -1 not there */
	/* Region of the profile for each id of the file; NULL if they are the same. */
	uint32_t *region_of_id;
	uint32_t n_ids;

	char **groups; /* schema 1: group of each row, in the order of the rows */
	size_t n_groups, groups_capacity;
	uint32_t opened; /* row whose events are open, UINT32_MAX none */

	hid_t samples[16]; /* columns of the samples, in their order in the table; -1 not there */
	hid_t frames;
	uint64_t n_frames;
};

/* ---- profile_h5_calls.c ---- */

void sp_h5_events_init(struct sp_h5_events *events);
void sp_h5_events_close(struct sp_h5_events *events);
bool sp_h5_events_filtered(const struct sp_h5_events *events);
/* Reads columns other than start and end; elements @at … @at + @n − 1 of the data sets. */
int sp_h5_events_read_columns(struct sp_h5_events *events, uint64_t at, size_t n,
			      const struct sp_calls *calls, struct sp_error *error);
/* Opens the columns of schemas 2 and 3; *@ret_n: the calls in them. */
int sp_h5_profile_open_calls(struct sp_profile *profile, struct sp_h5_profile *h5, uint64_t *ret_n,
			     struct sp_error *error);
int sp_h5_profile_read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			     const struct sp_calls *calls, struct sp_error *error);

/* Callbacks that all schemas share, for their tables of callbacks. */
int sp_h5_profile_read_facts(struct sp_profile *profile, const char *group,
			     struct sp_fact **ret_facts, size_t *ret_n, struct sp_error *error);
int sp_h5_profile_read_extras(struct sp_profile *profile, struct sp_extras *ret_extras,
			      struct sp_error *error);
void sp_h5_profile_close(void *implementation);

/* h5_check.c: one step of sp_profile_check(); the profile's state is not touched. */
int sp_h5_profile_check(struct sp_profile *profile, struct sp_profile_check *check,
			struct sp_error *error);

/* profile_h5_samples.c */
int sp_h5_profile_open_samples(struct sp_profile *profile, struct sp_h5_profile *h5,
			       struct sp_error *error);
int sp_h5_profile_read_samples(struct sp_profile *profile, uint64_t first, size_t n,
			       struct sp_sample_row *ret_samples, struct sp_error *error);
int sp_h5_profile_read_stack_offsets(struct sp_profile *profile, uint64_t first, size_t n,
				     uint64_t *ret_offsets, struct sp_error *error);
int sp_h5_profile_read_frames(struct sp_profile *profile, uint64_t first, size_t n,
			      uint64_t *ret_frames, struct sp_error *error);

#define sp_h5_event_metadata_path "/rank_region_index/event_metadata"

/* profile_h5_summary.c: the statistics of @n_rows rows, NULL where the file has none. */
int sp_h5_read_summary(hid_t file, uint64_t n_rows, struct sp_h5_summary **ret_summary,
		       struct sp_error *error);

/* profile_h5_index.c: regions, rows and statistics of schemas 2 and 3. */
int sp_h5_profile_read_index(struct sp_profile *profile, struct sp_h5_profile *h5, uint64_t n_calls,
			     struct sp_error *error);
int sp_h5_profile_read_aggregate(struct sp_profile *profile, struct sp_h5_profile *h5,
				 struct sp_error *error);
/* Region of the profile for an id of the file, which must be below n_ids. */
static inline uint32_t sp_h5_profile_region(const struct sp_h5_profile *h5, uint32_t id)
{
	return h5->region_of_id ? h5->region_of_id[id] : id;
}

#endif
