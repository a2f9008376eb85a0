/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_profile.c - dumps a profile of any format: regions, rows, calls.
 *
 * Calls, and in dump_samples.c samples, are streamed in blocks: memory depends on neither.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/json_pull.h"
#include "userspace/base/cleanup.h"
#include "userspace/cmd/dump.h"

#define CALLS (1u << 15) /* read at once */

static int no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

static void dump_file(struct sp_dump *dump, struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);

	if (!sp_dump_section(dump, "file", "file"))
		return;
	if (sp_dump_record(dump)) {
		sp_dump_text(dump, "path", sp_profile_path(profile));
		sp_dump_text(dump, "format", sp_format_name(info->format));
		sp_dump_signed(dump, "version", info->version);
		sp_dump_signed(dump, "trace_version", info->trace_version);
		sp_dump_bool(dump, "big_endian", info->big_endian);
		sp_dump_bool(dump, "aggregate", info->aggregate);
		sp_dump_bool(dump, "compressed", info->compressed);
		sp_dump_unsigned(dump, "regions", info->n_regions);
		sp_dump_unsigned(dump, "rows", info->n_rows);
		sp_dump_unsigned(dump, "calls", info->n_calls);
		sp_dump_unsigned(dump, "samples", info->n_samples);
		sp_dump_signed(dump, "ticks", info->ticks);
		sp_dump_signed(dump, "hz", info->hz);
		sp_dump_list(dump, "ranks");
		for (uint32_t i = 0; i < info->n_ranks; i++)
			sp_dump_unsigned(dump, NULL, sp_profile_rank(profile, i));
		sp_dump_list_end(dump);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void dump_regions(struct sp_dump *dump, struct sp_profile *profile)
{
	uint32_t n = sp_profile_info(profile)->n_regions;

	if (!sp_dump_section(dump, "regions", "region"))
		return;
	for (uint32_t i = 0; i < n && !ferror(dump->out); i++) {
		if (!sp_dump_record(dump))
			continue;
		sp_dump_unsigned(dump, "region", i);
		sp_dump_text(dump, "name", sp_profile_region(profile, i));
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void begin_row(struct sp_dump *dump, const struct sp_profile *profile, uint32_t index)
{
	const struct sp_row *row = sp_profile_row(profile, index);

	sp_dump_unsigned(dump, "row", index);
	sp_dump_unsigned(dump, "rank", row->rank);
	sp_dump_text(dump, "region", sp_profile_region(profile, row->region));
}

static void dump_rows(struct sp_dump *dump, struct sp_profile *profile)
{
	uint32_t n = sp_profile_info(profile)->n_rows;

	if (!sp_dump_section(dump, "rows", "row"))
		return;
	for (uint32_t i = 0; i < n && !ferror(dump->out); i++) {
		const struct sp_row *row = sp_profile_row(profile, i);
		const struct sp_stats *stats = &row->stats;

		if (!sp_dump_record(dump))
			continue;
		begin_row(dump, profile, i);
		sp_dump_unsigned(dump, "calls", stats->calls);
		sp_dump_signed(dump, "total", stats->total);
		sp_dump_signed(dump, "self", stats->self);
		sp_dump_signed(dump, "minimum", stats->minimum);
		sp_dump_signed(dump, "maximum", stats->maximum);
		sp_dump_signed(dump, "first", stats->first);
		sp_dump_signed(dump, "last", stats->last);
		sp_dump_signed(dump, "start_minimum", stats->start_minimum);
		sp_dump_signed(dump, "end_maximum", stats->end_maximum);
		sp_dump_real(dump, "mean", stats->mean);
		sp_dump_real(dump, "m2", stats->m2);
		sp_dump_unsigned(dump, "gpu_calls", stats->gpu_calls);
		sp_dump_signed(dump, "gpu_total", stats->gpu_total);
		sp_dump_text(dump, "file", row->source_file);
		sp_dump_signed(dump, "line", row->source_line);
		sp_dump_json(dump, "tags", row->tags);
		sp_dump_text(dump, "source", row->source_text);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

/* ---- calls ---- */

#define put_u8 sp_dump_unsigned
#define put_u16 sp_dump_unsigned
#define put_u64 sp_dump_unsigned
#define put_s8 sp_dump_signed
#define put_s64 sp_dump_signed

static void put_u32(struct sp_dump *dump, const char *key, uint32_t value)
{
	if (value == UINT32_MAX)
		sp_dump_none(dump, key);
	else
		sp_dump_unsigned(dump, key, value);
}

static void dump_call(struct sp_dump *dump, const struct sp_calls *calls, size_t i)
{
	sp_dump_signed(dump, "start_ns", calls->start[i]);
	sp_dump_signed(dump, "end_ns", calls->end[i]);
#define SP_CALL_COLUMN(type, field, path, default, doc) \
	if (calls->field) \
		put_##type(dump, #field, calls->field[i]);
#include "formats/profile_tables.def"
#undef SP_CALL_COLUMN
}

static int dump_row_calls(struct sp_dump *dump, struct sp_profile *profile, uint32_t index,
			  const struct sp_calls *calls, struct sp_error *error)
{
	const struct sp_row *row = sp_profile_row(profile, index);
	const char *name = sp_profile_region(profile, row->region);
	sp_cleanup(sp_freep) char *quoted = sp_dump_quote(dump, name);
	uint64_t n = sp_dump_room(dump, row->stats.calls), at = 0;

	if (!quoted)
		return no_memory(error);
	while (at < n && !ferror(dump->out)) {
		size_t some = n - at < CALLS ? (size_t)(n - at) : CALLS;
		int r = sp_profile_read_calls(profile, index, at, some, calls, error);

		if (r < 0)
			return r;
		for (size_t i = 0; i < some; i++) {
			sp_dump_record(dump);
			sp_dump_unsigned(dump, "row", index);
			sp_dump_unsigned(dump, "rank", row->rank);
			sp_dump_quoted(dump, "region", quoted);
			sp_dump_unsigned(dump, "index", at + i);
			dump_call(dump, calls, i);
			sp_dump_record_end(dump);
		}
		at += some;
	}
	sp_dump_skip(dump, row->stats.calls - n);
	return 0;
}

static int dump_calls(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	struct sp_calls calls;
	int r = 0;

	if (info->aggregate || !sp_dump_section(dump, "calls", "call"))
		return 0;
	if (sp_calls_alloc(&calls, CALLS, info->columns) < 0)
		return no_memory(error);
	for (uint32_t i = 0; r == 0 && i < info->n_rows && !ferror(dump->out); i++)
		r = dump_row_calls(dump, profile, i, &calls, error);
	sp_calls_free(&calls);
	if (r == 0)
		sp_dump_section_end(dump);
	return r;
}

/* ---- event metadata ---- */

/* Whether a text is JSON as the standard has it: Python also writes NaN. */
static bool is_strict(const char *json)
{
	struct sp_json_pull *pull = NULL;
	struct sp_json_token token = {.kind = SP_JSON_NULL};
	int r = sp_json_pull_open_text(json, strlen(json), 0, &pull, NULL);

	while (r == 0 && token.kind != SP_JSON_END)
		r = sp_json_pull_next(pull, &token, NULL);
	sp_json_pull_close(pull);
	return r == 0;
}

/* The next element of a list that is known to be JSON; ended with a NUL in place. NULL after the
 * last. */
static char *next_element(char **at)
{
	char *start = *at + strspn(*at, "[, \t\r\n"), *end = start;
	unsigned depth = 0;
	bool quoted = false;

	if (**at == '[') /* only the list's own: an element may be a list */
		start = *at + 1 + strspn(*at + 1, " \t\r\n");
	else
		start = *at + strspn(*at, ", \t\r\n");
	if (!*start || *start == ']')
		return NULL;
	for (end = start; *end; end++) {
		if (quoted) {
			if (*end == '\\' && end[1])
				end++;
			else if (*end == '"')
				quoted = false;
			continue;
		}
		if (*end == '"')
			quoted = true;
		else if (*end == '[' || *end == '{')
			depth++;
		else if ((*end == ']' || *end == '}') && depth)
			depth--;
		else if (!depth && (*end == ',' || *end == ']'))
			break;
	}
	*at = *end ? end + 1 : end;
	*end = 0;
	return start;
}

static int dump_row_metadata(struct sp_dump *dump, struct sp_profile *profile, uint32_t row,
			     struct sp_error *error)
{
	sp_cleanup(sp_freep) char *json = NULL;
	char *at, *element;
	uint64_t index = 0;
	bool strict;
	int r = sp_profile_event_metadata(profile, row, &json, error);

	if (r < 0 || !json)
		return r;
	strict = is_strict(json);
	at = json + strspn(json, " \t\r\n");
	for (; (element = next_element(&at)) && !ferror(dump->out); index++) {
		if (!sp_dump_record(dump))
			continue;
		begin_row(dump, profile, row);
		sp_dump_unsigned(dump, "index", index);
		(strict ? sp_dump_json : sp_dump_text)(dump, "metadata", element);
		sp_dump_record_end(dump);
	}
	return 0;
}

static int dump_event_metadata(struct sp_dump *dump, struct sp_profile *profile,
			       struct sp_error *error)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	int r = 0;

	if (!info->has_event_metadata || !sp_dump_section(dump, "event_metadata", "event_metadata"))
		return 0;
	for (uint32_t i = 0; r == 0 && i < info->n_rows && !ferror(dump->out); i++)
		r = dump_row_metadata(dump, profile, i, error);
	if (r == 0)
		sp_dump_section_end(dump);
	return r;
}

int sp_dump_profile(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	int r;

	sp_dump_begin(dump);
	dump_file(dump, profile);
	r = sp_dump_facts(dump, profile, error);
	if (r < 0)
		return r;
	dump_regions(dump, profile);
	dump_rows(dump, profile);
	r = sp_dump_tables(dump, profile, error);
	if (r == 0)
		r = sp_dump_extras(dump, profile, error);
	if (r == 0)
		r = dump_calls(dump, profile, error);
	if (r == 0)
		r = dump_event_metadata(dump, profile, error);
	if (r == 0)
		r = sp_dump_samples(dump, profile, error);
	if (r == 0)
		sp_dump_end(dump);
	return r;
}
