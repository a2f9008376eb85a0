/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_json.h - the parts of write_json.c: each puts a key and its value into the document, if the
 * profile has anything of the kind.
 */
#ifndef SP_EXPORT_WRITE_JSON_H
#define SP_EXPORT_WRITE_JSON_H

#include "userspace/base/json.h"
#include "userspace/export/write.h"

/* The shortest number that reads as the same double, and as no integer; null if it is not finite.
 */
void sp_write_json_real(struct sp_json *json, const char *key, double number);
/* @text is JSON already: tags, and metadata of calls. Blanks become those that stand everywhere
 * here; NaN and the infinities, which Python writes into HDF5 and which are no JSON, become null.
 */
void sp_write_json_raw(struct sp_json *json, const char *key, const char *text);
void sp_write_json_fact(struct sp_json *json, const struct sp_fact *fact);
void sp_write_json_texts(struct sp_json *json, const char *key, const char *const *values,
			 size_t n);

/* Where we are among elements that come by rank: each rank is a key, its value a list or an object.
 */
struct sp_write_json_ranks {
	struct sp_json *json;
	bool lists;
	bool open; /* in a rank */
	uint32_t rank;
};
/* Before each element, and after the last. */
void sp_write_json_enter_rank(struct sp_write_json_ranks *ranks, uint32_t rank);
void sp_write_json_leave_rank(struct sp_write_json_ranks *ranks);

/* Times of threads and tasks count from @origin. */
int sp_write_json_threads(struct sp_profile *profile, int64_t origin, struct sp_json *json,
			  struct sp_error *error);
int sp_write_json_tasks(struct sp_profile *profile, int64_t origin, struct sp_json *json,
			struct sp_error *error);
int sp_write_json_likwid(struct sp_profile *profile, struct sp_json *json, struct sp_error *error);
int sp_write_json_line_profiles(struct sp_profile *profile, struct sp_json *json,
				struct sp_error *error);
/* "sp_trace": what scope-profiler's JSON has no place for. */
int sp_write_json_own(struct sp_profile *profile, struct sp_json *json, struct sp_error *error);

#endif
