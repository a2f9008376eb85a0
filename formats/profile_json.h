/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_json.h - scope-profiler's JSON profile as a profile: what its parts share. Not installed.
 *
 * The document is read once, from its first byte to its last, in whatever order its keys come.
 * Columns of calls and metadata of calls go to a spill (a temporary file, if they are many); the
 * rest is held in memory.
 */
#ifndef SP_FORMATS_PROFILE_JSON_H
#define SP_FORMATS_PROFILE_JSON_H

#include <zlib.h>

#include "formats/json_pull.h"
#include "formats/profile_internal.h"

/* ---- profile_json_input.c: the bytes of a file, unpacked if they are gzip ---- */

struct sp_json_input {
	int fd;
	uint64_t size, at, unpacked;
	bool gzip;
	bool stream_open;
	bool between; /* a gzip member is complete, and another may come */
	z_stream stream;
	unsigned char *packed;
};

int sp_json_input_open(struct sp_json_input *input, const char *path, struct sp_error *error);
void sp_json_input_close(struct sp_json_input *input);
/* An sp_json_refill. The end is told only after the last check sum was right. */
int sp_json_input_refill(void *input, char *buffer, size_t size, size_t *ret_got,
			 struct sp_error *error);

/* ---- profile_json_spill.c: bytes put aside, in the order they come ---- */

/* Empty: all zero, but an fd of -1. */
struct sp_json_spill {
	int fd; /* -1: all are still in memory */
	uint64_t flushed;
	char *buffer;
	size_t used, capacity;
};

void sp_json_spill_free(struct sp_json_spill *spill);
static inline uint64_t sp_json_spill_size(const struct sp_json_spill *spill)
{
	return spill->flushed + spill->used;
}
/* An sp_json_sink. */
int sp_json_spill_append(void *spill, const char *bytes, size_t size, struct sp_error *error);
/* Reads what was appended. */
int sp_json_spill_read(const struct sp_json_spill *spill, uint64_t offset, void *ret_bytes,
		       size_t size, struct sp_error *error);

/* ---- what stands behind the profile ---- */

/* Columns of calls as they stand in a row: starts, ends, and the optional ones of scope-profiler's,
 * which are the first of SP_CALLS_*. */
enum { SP_JSON_START, SP_JSON_END_TIME, SP_JSON_OPTIONAL, SP_JSON_N_COLUMNS = 8 };

struct sp_json_row {
	unsigned int columns;			 /* bit i: column i is there */
	uint64_t offsets[SP_JSON_N_COLUMNS];	 /* in the spill */
	uint64_t metadata_offset, metadata_size; /* of the calls' metadata; size 0: none */
};

struct sp_json_profile {
	struct sp_profile *profile;
	struct sp_json_input input;
	struct sp_json_pull *json; /* until all is read */
	struct sp_json_spill spill;
	struct sp_json_row *rows;
	size_t rows_capacity;
	struct sp_intern names;		  /* of the regions */
	bool some_calls, some_statistics; /* kinds of rows that were met */
	bool format_seen;
	/* Where in the document it is being read, for sentences: element @index of @part. */
	const char *part;
	uint64_t index; /* SP_JSON_NO_INDEX: in no list */
	const char *key;
	size_t threads_capacity, tasks_capacity, rank_facts_capacity;
	struct sp_extras extras;
	size_t perf_events_capacity, line_profiles_capacity, likwid_capacity, environments_capacity;
};
#define SP_JSON_NO_INDEX UINT64_MAX

/* ---- profile_json_object.c: objects whose keys are known ---- */

/* Reads the value that @token begins into @target. */
typedef int (*sp_json_value)(struct sp_json_profile *json, const struct sp_json_token *token,
			     void *target, struct sp_error *error);

struct sp_json_field {
	const char *key;
	sp_json_value read;
	size_t offset; /* of the target in the struct */
	bool required;
};

/* Reads the object that @token begins into @target. Keys that are not known are skipped, a null is
 * the same as no key, a key that comes twice is refused. *ret_seen (may be NULL): bit i is set if
 * field i was there. */
int sp_json_read_object(struct sp_json_profile *json, const struct sp_json_token *token,
			const struct sp_json_field *fields, size_t n, void *target,
			uint64_t *ret_seen, struct sp_error *error);

/* Values: char * (allocated; the old one is freed), int64_t, bool, double. */
int sp_json_read_text(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error);
int sp_json_read_integer(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error);
int sp_json_read_bool(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error);
int sp_json_read_real(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error);

/* Lists of values; what they had is freed by the caller. A null among reals is NaN, and lists
 * within a list of reals are the same as their elements. */
struct sp_json_integers {
	int64_t *values;
	size_t n, capacity;
};
struct sp_json_reals {
	double *values;
	size_t n, capacity;
};
struct sp_json_texts {
	char **values;
	size_t n, capacity;
};
int sp_json_read_integers(struct sp_json_profile *json, const struct sp_json_token *token,
			  void *target, struct sp_error *error);
int sp_json_read_reals(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error);
int sp_json_read_texts(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error);
void sp_json_free_texts(struct sp_json_texts *texts);

/* A value as it stands in the document, blanks left out. */
struct sp_json_raw {
	char *text; /* ended with a NUL that does not count */
	size_t size, capacity;
};
/* An sp_json_sink. */
int sp_json_raw_append(void *raw, const char *bytes, size_t size, struct sp_error *error);

/* Reads each element of the list that @token begins. json->index counts them. */
int sp_json_read_list(struct sp_json_profile *json, const struct sp_json_token *token,
		      sp_json_value element, void *target, struct sp_error *error);
/* Reads an object whose keys are ranks, in ascending order or not, each once. */
typedef int (*sp_json_rank_value)(struct sp_json_profile *json, const struct sp_json_token *token,
				  uint32_t rank, struct sp_error *error);
int sp_json_read_ranks(struct sp_json_profile *json, const struct sp_json_token *token,
		       sp_json_rank_value value, struct sp_error *error);

/* A failure of what stands in the document at @token: "…: @words", with its place. */
int sp_json_refuse(const struct sp_json_profile *json, int code, uint64_t offset,
		   struct sp_error *error, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* ---- profile_json_rows.c, _aggregate.c, _tables.c, _facts.c, _extras.c, _own.c: the parts ---- */

int sp_json_read_rows(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error);
/* After the last: refuses a row that comes twice, and leaves out ids that not all calls have. */
int sp_json_finish_rows(struct sp_json_profile *json, struct sp_error *error);

/* Statistics of a row. */
struct sp_json_aggregate {
	bool there;
	struct sp_stats stats;
};
int sp_json_read_aggregate(struct sp_json_profile *json, const struct sp_json_token *token,
			   void *target, struct sp_error *error);

int sp_json_read_threads(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error);
int sp_json_read_tasks(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error);
/* Room for one more row of a table, all zero; it counts already. */
int sp_json_add_table_row(struct sp_json_profile *json, enum sp_h5_table which, size_t *capacity,
			  size_t size, void **ret_row, struct sp_error *error);
/* Times of tables count from the origin, which may come after them. */
void sp_json_shift_tables(struct sp_json_profile *json);

/* Facts, sorted by key: into a struct sp_profile_facts. */
int sp_json_read_facts(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error);

int sp_json_read_likwid(struct sp_json_profile *json, const struct sp_json_token *token,
			void *target, struct sp_error *error);
int sp_json_read_line_profiles(struct sp_json_profile *json, const struct sp_json_token *token,
			       void *target, struct sp_error *error);
int sp_json_read_own(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error);
/* Sorts what these have read, and gives it to the profile. */
int sp_json_finish_extras(struct sp_json_profile *json, struct sp_error *error);

#endif
