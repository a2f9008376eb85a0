// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json.c - scope-profiler's JSON profile as a profile.
 *
 * Invariant: open has read the document to its last byte; nothing of a document that is not all
 * right is ever given out.
 */
#include "formats/profile_json.h"

#include <inttypes.h>
#include <string.h>

#include "formats/util.h"

/* ---- reading what open has put aside ---- */

static int read_calls(struct sp_profile *profile, uint32_t row, uint64_t first, size_t n,
		      const struct sp_calls *calls, struct sp_error *error)
{
	const struct sp_json_profile *json = profile->implementation;
	const struct sp_json_row *from = &json->rows[row];
	int64_t *columns[SP_JSON_N_COLUMNS] = {calls->start,	calls->end,    calls->id,
					       calls->parent,	calls->thread, calls->task,
					       calls->await_ns, calls->gpu_ns};
	int r = 0;

	_Static_assert(SP_CALLS_BIT_id == 0 && SP_CALLS_BIT_parent == 1 &&
			       SP_CALLS_BIT_thread == 2 && SP_CALLS_BIT_task == 3 &&
			       SP_CALLS_BIT_await_ns == 4 && SP_CALLS_BIT_gpu_ns == 5,
		       "the order of the columns");
	sp_calls_fill_defaults(calls, n);
	for (unsigned int i = 0; !r && i < SP_JSON_N_COLUMNS; i++)
		if (columns[i] && from->columns >> i & 1)
			r = sp_json_spill_read(&json->spill, from->offsets[i] + 8 * first,
					       columns[i], n * sizeof(*columns[i]), error);
	return r;
}

static int read_event_metadata(struct sp_profile *profile, uint32_t row, char **ret_json,
			       struct sp_error *error)
{
	const struct sp_json_profile *json = profile->implementation;
	const struct sp_json_row *from = &json->rows[row];
	char *text;
	int r;

	if (!from->metadata_size) {
		*ret_json = NULL;
		return 0;
	}
	text = malloc(from->metadata_size + 1);
	if (!text)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	r = sp_json_spill_read(&json->spill, from->metadata_offset, text, from->metadata_size,
			       error);
	if (r) {
		free(text);
		return r;
	}
	text[from->metadata_size] = '\0';
	*ret_json = text;
	return 0;
}

static void close_json(void *implementation)
{
	struct sp_json_profile *json = implementation;

	if (!json)
		return;
	sp_json_pull_close(json->json);
	sp_json_input_close(&json->input);
	sp_json_spill_free(&json->spill);
	sp_intern_free(&json->names);
	sp_extras_free(&json->extras);
	free(json->rows);
	free(json);
}

static const struct sp_profile_ops json_ops = {
	.read_calls = read_calls,
	.read_event_metadata = read_event_metadata,
	.close = close_json,
};

/* ---- the document ---- */

static int read_format(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	(void)target;
	json->format_seen =
		token->kind == SP_JSON_TEXT && strcmp(token->text, "scope-profiler-profile") == 0;
	if (json->format_seen)
		return 0;
	return sp_error_set(error, -SP_E_FORMAT, token->offset,
			    "is JSON of another kind than scope-profiler's profiles: its "
			    "\"format\" is %s%.60s%s",
			    token->kind == SP_JSON_TEXT ? "\"" : "no text",
			    token->kind == SP_JSON_TEXT ? token->text : "",
			    token->kind == SP_JSON_TEXT ? "\"" : "");
}

static int read_version(struct sp_json_profile *json, const struct sp_json_token *token,
			void *target, struct sp_error *error)
{
	int64_t version = 0;
	int r = sp_json_read_integer(json, token, &version, error);

	(void)target;
	if (!r && version != 1)
		return sp_error_set(error, -SP_E_VERSION, token->offset,
				    "has format_version %" PRId64 "; version 1 is known%s", version,
				    version > 1 ? ", a newer sp-report is needed" : "");
	return r;
}

static int read_number_of_ranks(struct sp_json_profile *json, const struct sp_json_token *token,
				void *target, struct sp_error *error)
{
	int64_t n = 0;
	int r = sp_json_read_integer(json, token, &n, error);

	(void)target;
	if (!r && n < 0)
		r = sp_json_refuse(json, -SP_E_COUNT, token->offset, error, "must not be negative");
	return r;
}

static int read_metadata(struct sp_json_profile *json, const struct sp_json_token *token,
			 void *target, struct sp_error *error)
{
	struct sp_profile *profile = json->profile;
	const struct sp_fact *start;
	int r = sp_json_read_facts(json, token, target, error);

	if (r)
		return r;
	start = sp_fact_find(profile->metadata.facts, profile->metadata.n, "start_time_ns");
	if (start && start->is_number) {
		profile->info.start_time_ns = start->number;
		profile->origin_known = true;
	}
	return 0;
}

/* All of a known layout, whatever the order of its keys. */
static int read_document(struct sp_json_profile *json, struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		{"format", read_format, 0, false},
		{"format_version", read_version, 0, false},
		{"num_ranks", read_number_of_ranks, 0, false},
		{"metadata", read_metadata, offsetof(struct sp_profile, metadata), false},
		{"regions", sp_json_read_rows, 0, false},
		{"threads", sp_json_read_threads, 0, false},
		{"tasks", sp_json_read_tasks, 0, false},
		{"likwid", sp_json_read_likwid, 0, false},
		{"line_profile", sp_json_read_line_profiles, 0, false},
		{"sp_trace", sp_json_read_own, 0, false},
	};
	struct sp_json_token token;
	int r = sp_json_pull_next(json->json, &token, error);

	if (!r)
		r = sp_json_read_object(json, &token, fields, sizeof(fields) / sizeof(fields[0]),
					json->profile, NULL, error);
	if (!r)
		r = sp_json_pull_next(json->json, &token, error);
	if (!json->format_seen && (!r || r == -SP_E_DAMAGED || r == -SP_E_MISSING) &&
	    !sp_json_pull_failed(json->json))
		r = sp_error_set(error, -SP_E_FORMAT, 0,
				 "is JSON, but no profile: it has no \"format\" that says "
				 "\"scope-profiler-profile\"");
	return r;
}

static int read_all(struct sp_json_profile *json, struct sp_error *error)
{
	struct sp_profile *profile = json->profile;
	int r = sp_json_input_open(&json->input, profile->path, error);

	if (!r)
		r = sp_json_pull_open(sp_json_input_refill, &json->input, 0, &json->json, error);
	if (!r)
		r = read_document(json, error);
	if (!r)
		r = sp_json_finish_rows(json, error);
	if (!r)
		r = sp_json_finish_extras(json, error);
	if (r)
		return r;
	profile->info.version = 1;
	profile->info.aggregate = json->some_statistics;
	profile->info.compressed = json->input.gzip;
	for (size_t i = 0; i < SP_H5_N_TABLES; i++)
		profile->tables[i].loaded = true;
	profile->metadata.loaded = profile->meta.loaded = true;
	sp_json_shift_tables(json);
	sp_json_pull_close(json->json);
	json->json = NULL;
	sp_json_input_close(&json->input);
	return 0;
}

int sp_profile_open_json(struct sp_profile *profile, struct sp_error *error)
{
	struct sp_json_profile *json = calloc(1, sizeof(*json));

	if (!json)
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	json->profile = profile;
	json->input.fd = json->spill.fd = -1;
	json->index = SP_JSON_NO_INDEX;
	profile->ops = &json_ops;
	profile->implementation = json;
	return read_all(json, error);
}
