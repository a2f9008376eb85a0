/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_profile_json.c - what info says of the profiles of one recording, to programs.
 */
#include <stdlib.h>

#include "userspace/analysis/rank_count.h"
#include "userspace/cmd/info.h"
#include "userspace/cmd/report.h"

void sp_info_json_count(struct sp_json *json, const char *key, int64_t count)
{
	if (count < 0)
		sp_json_null(json, key);
	else
		sp_json_signed(json, key, count);
}

static void json_fact(struct sp_json *json, const struct sp_fact *fact)
{
	switch (fact->kind) {
	case SP_FACT_NUMBER:
		sp_json_signed(json, fact->key, fact->number);
		break;
	case SP_FACT_REAL:
		sp_json_real(json, fact->key, fact->real);
		break;
	case SP_FACT_BOOL:
		sp_json_bool(json, fact->key, fact->number);
		break;
	case SP_FACT_TEXTS:
	case SP_FACT_NUMBERS:
	case SP_FACT_REALS:
		sp_json_open_array(json, fact->key);
		for (size_t i = 0; i < fact->n_items; i++) {
			if (fact->kind == SP_FACT_TEXTS)
				sp_json_text(json, NULL, fact->items[i]);
			else if (fact->kind == SP_FACT_NUMBERS)
				sp_json_signed(json, NULL, strtoll(fact->items[i], NULL, 10));
			else
				sp_json_real(json, NULL, strtod(fact->items[i], NULL));
		}
		sp_json_close_array(json);
		break;
	default:
		sp_json_text(json, fact->key, fact->text);
	}
}

static void json_facts(struct sp_json *json, const char *key, const struct sp_given *input,
		       int (*read)(struct sp_profile *, const struct sp_fact **, size_t *,
				   struct sp_error *))
{
	const struct sp_fact *facts;
	size_t n;

	sp_json_open_object(json, key);
	if (read(input->profile, &facts, &n, NULL) == 0)
		for (size_t i = 0; i < n; i++)
			json_fact(json, &facts[i]);
	sp_json_close_object(json);
}

static void json_parts(struct sp_json *json, struct sp_profile *profile)
{
	const char *parts[SP_PARTS];
	int n = sp_parts_of(profile, parts, NULL);

	sp_json_open_array(json, "parts");
	for (int i = 0; i < n; i++)
		sp_json_text(json, NULL, parts[i]);
	sp_json_close_array(json);
}

static void json_file(struct sp_json *json, const struct sp_given *input)
{
	const struct sp_profile_info *info = sp_profile_info(input->profile);
	bool sps = info->format == SP_FORMAT_SPS;
	uint32_t ranks = info->n_ranks;

	sp_rank_count(input->profile, NULL, 0, &ranks); /* as for all of them, which went well */
	sp_json_open_object(json, NULL);
	sp_json_text(json, "path", input->path);
	sp_json_text(json, "format", sp_format_name(info->format));
	sp_json_signed(json, "version", info->version);
	sp_info_json_count(json, "schema", info->format == SP_FORMAT_HDF5 ? info->version : -1);
	sp_json_signed(json, "trace_version", info->trace_version);
	sp_json_bool(json, "big_endian", info->big_endian);
	sp_json_bool(json, "aggregate", info->aggregate);
	sp_json_bool(json, "compressed", info->compressed);
	sp_json_unsigned(json, "ranks", ranks);
	sp_json_unsigned(json, "regions", info->n_regions);
	sp_info_json_count(json, "calls", sps ? -1 : (int64_t)info->n_calls);
	sp_info_json_count(json, "samples",
			   sp_info_knows_samples(input) ? (int64_t)info->n_samples : -1);
	if (info->ticks >= 0)
		sp_json_signed(json, "ticks", info->ticks);
	json_parts(json, input->profile);
	sp_json_close_object(json);
}

void sp_info_write_json(const struct sp_info *rec, const struct sp_inputs *inputs,
			struct sp_json *json)
{
	sp_json_open_object(json, NULL);
	sp_json_text(json, "id", rec->first->recording);
	sp_report_json_notes(inputs, rec->first->group, json);
	sp_json_bool(json, "losses_known", rec->losses_known || rec->lost);
	sp_json_open_array(json, "files");
	for (size_t i = 0; i < inputs->n; i++)
		if (inputs->items[i].group == rec->first->group)
			json_file(json, &inputs->items[i]);
	sp_json_close_array(json);
	sp_json_text(json, "host", sp_given_text(rec->first, "hostname"));
	sp_json_unsigned(json, "ranks", rec->ranks);
	sp_info_json_count(json, "processes", rec->processes);
	sp_info_json_count(json, "threads", rec->threads);
	sp_json_unsigned(json, "regions", rec->regions);
	sp_info_json_count(json, "calls", rec->calls);
	sp_info_json_count(json, "samples", rec->samples);
	sp_info_json_stacks(json, &rec->stacks);
	sp_info_json_count(json, "start_ns", rec->end > rec->start && rec->start ? rec->start : -1);
	sp_info_json_count(json, "end_ns", rec->end > rec->start && rec->start ? rec->end : -1);
	json_facts(json, "metadata", rec->first, sp_profile_metadata);
	json_facts(json, "meta", rec->first, sp_profile_meta);
	sp_json_close_object(json);
}
