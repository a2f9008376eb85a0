// SPDX-License-Identifier: BSD-2-Clause
/*
 * profile_json_own.c - "sp_trace" of a JSON profile: what scope-profiler's layout has no place for.
 *
 * Invariant: as in profile_json_extras.c. Unknown keys are skipped, so that later versions may add
 * some; a version that changes the meaning of the old ones is refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/profile_json.h"
#include "formats/util.h"

#define FIELD(type, key, how, member, required) \
	{ \
		key, how, offsetof(struct type, member), required \
	}

/* ---- perf events ---- */

struct values {
	uint64_t *values;
	size_t n, capacity;
};

struct perf {
	char *region;
	int64_t calls;
	struct sp_json_texts names;
	struct values values;
};

static void free_perf(struct perf *perf)
{
	free(perf->region);
	sp_json_free_texts(&perf->names);
	free(perf->values.values);
}
#define cleanup_perf __attribute__((cleanup(free_perf)))

/* A counter has 64 bits and no sign. */
static int read_value(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		      struct sp_error *error)
{
	struct values *values = target;
	uint64_t value = (uint64_t)token->number;
	char *end = NULL;

	if (sp_array_reserve((void **)&values->values, &values->capacity, values->n,
			     sizeof(*values->values)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	errno = 0;
	if (token->kind == SP_JSON_NUMBER && !token->is_integer && token->text[0] != '-')
		value = strtoull(token->text, &end, 10);
	if (token->kind != SP_JSON_NUMBER || (token->is_integer && token->number < 0) ||
	    (!token->is_integer && (!end || *end || errno)))
		return sp_json_refuse(json, -SP_E_COUNT, token->offset, error,
				      "must be whole numbers of 64 bits that are not negative");
	values->values[values->n++] = value;
	return 0;
}

static int read_values(struct sp_json_profile *json, const struct sp_json_token *token,
		       void *target, struct sp_error *error)
{
	return sp_json_read_list(json, token, read_value, target, error);
}

static int read_perf(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(perf, "region", sp_json_read_text, region, true),
		FIELD(perf, "calls", sp_json_read_integer, calls, true),
		FIELD(perf, "names", sp_json_read_texts, names, true),
		FIELD(perf, "values", read_values, values, true),
	};
	struct sp_extras *extras = &json->extras;
	cleanup_perf struct perf perf = {0};
	int r = sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), &perf,
				    NULL, error);

	if (r)
		return r;
	if (perf.names.n != perf.values.n)
		return sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				      "region \"%.40s\" has %zu events and %zu values", perf.region,
				      perf.names.n, perf.values.n);
	if (sp_array_reserve((void **)&extras->perf_events, &json->perf_events_capacity,
			     extras->n_perf_events, sizeof(*extras->perf_events)))
		return sp_error_set(error, -ENOMEM, 0, "no memory");
	extras->perf_events[extras->n_perf_events++] = (struct sp_perf_events){
		.rank = *(uint32_t *)target,
		.region = perf.region,
		.calls = perf.calls,
		.n = perf.names.n,
		.names = (const char *const *)perf.names.values,
		.values = perf.values.values,
	};
	perf = (struct perf){0};
	return 0;
}

static int read_rank_perf(struct sp_json_profile *json, const struct sp_json_token *token,
			  uint32_t rank, struct sp_error *error)
{
	struct sp_extras *extras = &json->extras;
	struct sp_intern regions = {0};
	size_t first = extras->n_perf_events;
	int r = sp_json_read_list(json, token, read_perf, &rank, error);

	for (size_t i = first; !r && i < extras->n_perf_events; i++) {
		uint32_t number;
		bool new = false;

		if (sp_intern_add(&regions, extras->perf_events[i].region, &number, &new))
			r = sp_error_set(error, -ENOMEM, 0, "no memory");
		else if (!new)
			r = sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
					   "region \"%.40s\" comes twice on rank %" PRIu32,
					   extras->perf_events[i].region, rank);
	}
	sp_intern_free(&regions);
	return r;
}

static int read_perf_events(struct sp_json_profile *json, const struct sp_json_token *token,
			    void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_perf, error);
}

/* ---- LIKWID's environment ---- */

static int read_rank_environment(struct sp_json_profile *json, const struct sp_json_token *token,
				 uint32_t rank, struct sp_error *error)
{
	struct sp_extras *extras = &json->extras;
	struct sp_profile_facts facts = {0};
	int r = sp_json_read_facts(json, token, &facts, error);

	if (!r &&
	    sp_array_reserve((void **)&extras->likwid_environments, &json->environments_capacity,
			     extras->n_likwid_environments, sizeof(*extras->likwid_environments)))
		r = sp_error_set(error, -ENOMEM, 0, "no memory");
	if (r) {
		sp_facts_free(facts.facts, facts.n);
		return r;
	}
	extras->likwid_environments[extras->n_likwid_environments++] =
		(struct sp_likwid_environment){
			.rank = rank,
			.n = facts.n,
			.facts = facts.facts,
		};
	return 0;
}

static int read_environments(struct sp_json_profile *json, const struct sp_json_token *token,
			     void *target, struct sp_error *error)
{
	(void)target;
	return sp_json_read_ranks(json, token, read_rank_environment, error);
}

/* ---- facts of ranks ---- */

static int read_kind(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	int64_t kind = 0;
	int r = sp_json_read_integer(json, token, &kind, error);

	if (!r && (kind < 0 || kind > SP_FACT_REALS))
		r = sp_json_refuse(json, -SP_E_DAMAGED, token->offset, error,
				   "is %" PRId64 ", and there is no such kind of fact", kind);
	if (!r)
		*(uint8_t *)target = (uint8_t)kind;
	return r;
}

static int read_rank(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	int64_t rank = 0;
	int r = sp_json_read_integer(json, token, &rank, error);

	if (!r && (rank < 0 || rank > UINT32_MAX))
		r = sp_json_refuse(json, -SP_E_COUNT, token->offset, error, "is no rank");
	if (!r)
		*(uint32_t *)target = (uint32_t)rank;
	return r;
}

static int read_rank_fact(struct sp_json_profile *json, const struct sp_json_token *token,
			  void *target, struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		FIELD(sp_rank_fact_row, "rank", read_rank, rank, true),
		FIELD(sp_rank_fact_row, "part", sp_json_read_text, part, true),
		FIELD(sp_rank_fact_row, "key", sp_json_read_text, key, true),
		FIELD(sp_rank_fact_row, "kind", read_kind, kind, true),
		FIELD(sp_rank_fact_row, "text", sp_json_read_text, text, true),
	};
	void *row;
	int r = sp_json_add_table_row(json, SP_H5_TABLE_rank_fact, &json->rank_facts_capacity,
				      sizeof(struct sp_rank_fact_row), &row, error);

	(void)target;
	return r ? r
		 : sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]), row,
				       NULL, error);
}

static int read_rank_facts(struct sp_json_profile *json, const struct sp_json_token *token,
			   void *target, struct sp_error *error)
{
	return sp_json_read_list(json, token, read_rank_fact, target, error);
}

/* ---- all of it ---- */

static int read_version(struct sp_json_profile *json, const struct sp_json_token *token,
			void *target, struct sp_error *error)
{
	int64_t version = 0;
	int r = sp_json_read_integer(json, token, &version, error);

	(void)target;
	if (!r && version != 1)
		r = sp_json_refuse(json, -SP_E_VERSION, token->offset, error,
				   "is %" PRId64 "; version 1 is known%s", version,
				   version > 1 ? ", a newer sp-report is needed" : "");
	return r;
}

int sp_json_read_own(struct sp_json_profile *json, const struct sp_json_token *token, void *target,
		     struct sp_error *error)
{
	static const struct sp_json_field fields[] = {
		{"version", read_version, 0, true},
		FIELD(sp_profile, "meta", sp_json_read_facts, meta, false),
		{"rank_facts", read_rank_facts, 0, false},
		{"perf_events", read_perf_events, 0, false},
		{"likwid_environment", read_environments, 0, false},
	};
	const char *key = json->key;
	int r;

	(void)target;
	json->part = key;
	json->key = NULL;
	r = sp_json_read_object(json, token, fields, sizeof(fields) / sizeof(fields[0]),
				json->profile, NULL, error);
	json->part = NULL;
	json->key = key;
	return r;
}
