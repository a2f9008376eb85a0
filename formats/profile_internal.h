/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_internal.h - what stands behind struct sp_profile: one set of callbacks a format. Not
 * installed.
 *
 * A format's open fills in the info, the regions and the rows (sp_profile_add_*), its
 * implementation and its callbacks; profile_read.c does the rest. Callbacks left NULL mean that the
 * format has nothing of the kind. Arguments have been checked against the info when a callback is
 * called.
 */
#ifndef SP_FORMATS_PROFILE_INTERNAL_H
#define SP_FORMATS_PROFILE_INTERNAL_H

#include "formats/h5_util.h"
#include "formats/intern.h"
#include "formats/profile_read.h"

struct sp_profile_ops {
	int (*read_calls)(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
			  const struct sp_calls *calls, struct sp_error *error);
	int (*read_samples)(struct sp_profile *profile, uint64_t first, size_t n,
			    struct sp_sample_row *ret_samples, struct sp_error *error);
	int (*read_stack_offsets)(struct sp_profile *profile, uint64_t first, size_t n,
				  uint64_t *ret_offsets, struct sp_error *error);
	int (*read_frames)(struct sp_profile *profile, uint64_t first, size_t n,
			   uint64_t *ret_frames, struct sp_error *error);
	/* Rows are freed with sp_h5_free_table, whatever made them. */
	int (*read_table)(struct sp_profile *profile, enum sp_h5_table which, void **ret_rows,
			  size_t *ret_n, struct sp_error *error);
	int (*read_facts)(struct sp_profile *profile, const char *group, struct sp_fact **ret_facts,
			  size_t *ret_n, struct sp_error *error);
	int (*read_extras)(struct sp_profile *profile, struct sp_extras *ret_extras,
			   struct sp_error *error);
	/* Of a row, to be freed; NULL if it has none. Not yet checked. */
	int (*read_event_metadata)(struct sp_profile *profile, uint32_t row, char **ret_json,
				   struct sp_error *error);
	int (*check)(struct sp_profile *profile, struct sp_profile_check *check,
		     struct sp_error *error);
	void (*close)(void *implementation);
};

struct sp_profile_table {
	bool loaded;
	void *rows;
	size_t n;
};

struct sp_profile_facts {
	bool loaded;
	struct sp_fact *facts;
	size_t n;
};

struct sp_profile {
	char *path;
	struct sp_profile_info info;
	char **regions;
	size_t regions_capacity;
	struct sp_row *rows; /* their strings are in texts and tags */
	size_t rows_capacity;
	struct sp_intern texts, tags;
	uint32_t *ranks;
	/* Rows by rank, in order; those of ranks[i] begin at rank_first[i]. Made on demand. */
	uint32_t *rank_rows;
	uint32_t *rank_first;
	bool origin_known;
	const struct sp_profile_ops *ops;
	void *implementation;
	struct sp_profile_table tables[SP_H5_N_TABLES];
	struct sp_profile_facts metadata, meta;
	bool extras_loaded;
	struct sp_extras extras;
};

/* Adds a region; @name is copied. */
int sp_profile_add_region(struct sp_profile *profile, const char *name, struct sp_error *error);
/* Adds a row; its strings are copied, each once in a profile, NULL is "" (tags: "[]").
 * -SP_E_DAMAGED if the tags are no JSON list of strings. */
int sp_profile_add_row(struct sp_profile *profile, const struct sp_row *row,
		       struct sp_error *error);
/* After the last row: finds the ranks, and the origin if no metadata has it. */
int sp_profile_opened(struct sp_profile *profile, struct sp_error *error);
/* Sets the info's start_time_ns from the rows' statistics unless the metadata said it. */
void sp_profile_find_origin(struct sp_profile *profile);
/* profile_ranks.c: where a rank is in the list of ranks; if it is not there, where it would be. */
uint32_t sp_profile_rank_index(const struct sp_profile *profile, uint32_t rank);
/* The rows of a rank, ascending; valid until free. */
int sp_profile_rows_of_rank(struct sp_profile *profile, uint32_t rank, const uint32_t **ret_rows,
			    uint32_t *ret_n, struct sp_error *error);
/* Fills the wanted columns of @n calls with what they are in a file that does not have them. */
static inline void sp_calls_fill_defaults(const struct sp_calls *calls, size_t n)
{
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	for (size_t i = 0; calls->field && i < n; i++) \
		calls->field[i] = (default);
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
}
/* All statistics unknown, but the number of calls. */
struct sp_stats sp_profile_unknown_stats(uint64_t calls);

int sp_profile_open_spt(struct sp_profile *profile, struct sp_error *error);
int sp_profile_open_sps(struct sp_profile *profile, struct sp_error *error);
int sp_profile_open_h5(struct sp_profile *profile, struct sp_error *error);
int sp_profile_open_json(struct sp_profile *profile, struct sp_error *error);
/* Schema 1: called by the former with the file, which stays the caller's. */
struct sp_h5_profile;
int sp_profile_open_h5_v1(struct sp_profile *profile, struct sp_h5_profile *h5,
			  struct sp_error *error);

#endif
