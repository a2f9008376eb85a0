/* SPDX-License-Identifier: BSD-2-Clause
 *
 * write_json_own.c - "sp_trace" of a JSON profile; and ranks as keys of objects.
 *
 * Invariant: what is written here is read back as it was, and nowhere needed to make sense of the
 * rest.
 */
#include <inttypes.h>

#include "userspace/export/write_json.h"

/* ---- ranks as keys ---- */

void sp_write_json_leave_rank(struct sp_write_json_ranks *ranks)
{
	if (!ranks->open)
		return;
	if (ranks->lists)
		sp_json_close_array(ranks->json);
	else
		sp_json_close_object(ranks->json);
}

void sp_write_json_enter_rank(struct sp_write_json_ranks *ranks, uint32_t rank)
{
	char key[16];

	if (ranks->open && ranks->rank == rank)
		return;
	sp_write_json_leave_rank(ranks);
	snprintf(key, sizeof(key), "%" PRIu32, rank);
	if (ranks->lists)
		sp_json_open_array(ranks->json, key);
	else
		sp_json_open_object(ranks->json, key);
	ranks->open = true;
	ranks->rank = rank;
}

/* ---- our own ---- */

static void put_perf_events(struct sp_json *json, const struct sp_extras *extras)
{
	struct sp_write_json_ranks ranks = {.json = json, .lists = true};

	if (!extras->n_perf_events)
		return;
	sp_json_open_object(json, "perf_events");
	for (size_t i = 0; i < extras->n_perf_events; i++) {
		const struct sp_perf_events *events = &extras->perf_events[i];

		sp_write_json_enter_rank(&ranks, events->rank);
		sp_json_open_object(json, NULL);
		sp_json_text(json, "region", events->region);
		sp_json_signed(json, "calls", events->calls);
		sp_write_json_texts(json, "names", events->names, events->n);
		sp_json_open_array(json, "values");
		for (size_t k = 0; k < events->n; k++)
			sp_json_unsigned(json, NULL, events->values[k]);
		sp_json_close_array(json);
		sp_json_close_object(json);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
}

static void put_environments(struct sp_json *json, const struct sp_extras *extras)
{
	struct sp_write_json_ranks ranks = {.json = json};

	if (!extras->n_likwid_environments)
		return;
	sp_json_open_object(json, "likwid_environment");
	for (size_t i = 0; i < extras->n_likwid_environments; i++) {
		const struct sp_likwid_environment *one = &extras->likwid_environments[i];

		sp_write_json_enter_rank(&ranks, one->rank);
		for (size_t k = 0; k < one->n; k++)
			sp_write_json_fact(json, &one->facts[k]);
	}
	sp_write_json_leave_rank(&ranks);
	sp_json_close_object(json);
}

static void put_rank_facts(struct sp_json *json, const struct sp_rank_fact_row *facts, size_t n)
{
	if (!n)
		return;
	sp_json_open_array(json, "rank_facts");
	for (size_t i = 0; i < n; i++) {
		sp_json_open_object(json, NULL);
		sp_json_signed(json, "rank", facts[i].rank);
		sp_json_text(json, "part", facts[i].part);
		sp_json_text(json, "key", facts[i].key);
		sp_json_signed(json, "kind", facts[i].kind);
		sp_json_text(json, "text", facts[i].text);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

int sp_write_json_own(struct sp_profile *profile, struct sp_json *json, struct sp_error *error)
{
	const struct sp_rank_fact_row *rank_facts;
	const struct sp_extras *extras;
	const struct sp_fact *meta;
	size_t n_meta, n_rank_facts;
	int r = sp_profile_extras(profile, &extras, error);

	if (r == 0)
		r = sp_profile_meta(profile, &meta, &n_meta, error);
	if (r == 0)
		r = sp_profile_rank_facts(profile, &rank_facts, &n_rank_facts, error);
	if (r < 0 ||
	    (!n_meta && !n_rank_facts && !extras->n_perf_events && !extras->n_likwid_environments))
		return r;
	sp_json_open_object(json, "sp_trace");
	sp_json_signed(json, "version", 1);
	if (n_meta) {
		sp_json_open_object(json, "meta");
		for (size_t i = 0; i < n_meta; i++)
			sp_write_json_fact(json, &meta[i]);
		sp_json_close_object(json);
	}
	put_rank_facts(json, rank_facts, n_rank_facts);
	put_perf_events(json, extras);
	put_environments(json, extras);
	sp_json_close_object(json);
	return 0;
}
