/* SPDX-License-Identifier: BSD-2-Clause
 *
 * dump_parts.c - dumps what a profile has in tables: facts, threads, losses, counters, lines.
 */
#include <stdlib.h>
#include <string.h>

#include "userspace/cmd/dump.h"

/* ---- facts ---- */

static void put_fact(struct sp_dump *dump, const struct sp_fact *fact)
{
	static const char *const kinds[] = {
		[SP_FACT_TEXT] = "text",   [SP_FACT_NUMBER] = "number",
		[SP_FACT_REAL] = "real",   [SP_FACT_BOOL] = "bool",
		[SP_FACT_TEXTS] = "texts", [SP_FACT_NUMBERS] = "numbers",
		[SP_FACT_REALS] = "reals",
	};

	sp_dump_text(dump, "key", fact->key);
	sp_dump_text(dump, "kind", kinds[fact->kind]);
	switch (fact->kind) {
	case SP_FACT_NUMBER:
		sp_dump_signed(dump, "value", fact->number);
		break;
	case SP_FACT_REAL:
		sp_dump_real(dump, "value", fact->real);
		break;
	case SP_FACT_BOOL:
		sp_dump_bool(dump, "value", fact->number);
		break;
	case SP_FACT_TEXTS:
	case SP_FACT_NUMBERS:
	case SP_FACT_REALS:
		sp_dump_list(dump, "value");
		for (size_t i = 0; i < fact->n_items; i++) {
			if (fact->kind == SP_FACT_TEXTS)
				sp_dump_text(dump, NULL, fact->items[i]);
			else if (fact->kind == SP_FACT_NUMBERS)
				sp_dump_signed(dump, NULL, strtoll(fact->items[i], NULL, 10));
			else
				sp_dump_real(dump, NULL, strtod(fact->items[i], NULL));
		}
		sp_dump_list_end(dump);
		break;
	default:
		sp_dump_text(dump, "value", fact->text);
	}
}

static int dump_facts(struct sp_dump *dump, struct sp_profile *profile, const char *section,
		      int (*read)(struct sp_profile *, const struct sp_fact **, size_t *,
				  struct sp_error *),
		      struct sp_error *error)
{
	const struct sp_fact *facts;
	size_t n;
	int r = sp_dump_wants(dump, section) ? read(profile, &facts, &n, error) : 1;

	if (r || !n)
		return r < 0 ? r : 0;
	sp_dump_section(dump, section, section);
	for (size_t i = 0; i < n && !ferror(dump->out); i++) {
		if (!sp_dump_record(dump))
			continue;
		put_fact(dump, &facts[i]);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
	return 0;
}

int sp_dump_facts(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	int r = dump_facts(dump, profile, "metadata", sp_profile_metadata, error);

	return r < 0 ? r : dump_facts(dump, profile, "meta", sp_profile_meta, error);
}

/* ---- tables ---- */

static void put_name(struct sp_dump *dump, const char *key, struct sp_profile *profile,
		     uint64_t region)
{
	sp_dump_text(dump, key,
		     region < sp_profile_info(profile)->n_regions
			     ? sp_profile_region(profile, (uint32_t)region)
			     : NULL);
}

static void put_u32(struct sp_dump *dump, const char *key, uint32_t value)
{
	if (value == UINT32_MAX)
		sp_dump_none(dump, key);
	else
		sp_dump_unsigned(dump, key, value);
}

/* The addresses of modules and kernel symbols; other tables have no u64 of these names. */
static void put_u64(struct sp_dump *dump, const char *key, uint64_t value)
{
	if (!strcmp(key, "bias") || !strcmp(key, "start") || !strcmp(key, "end") ||
	    !strcmp(key, "address"))
		sp_dump_address(dump, key, value);
	else
		sp_dump_unsigned(dump, key, value);
}

#define put_u8 sp_dump_unsigned
#define put_u16 sp_dump_unsigned
#define put_s8 sp_dump_signed
#define put_s64 sp_dump_signed
#define put_reltime sp_dump_signed
#define put_relend sp_dump_signed
#define put_str sp_dump_text

/* put_thread_row() and so on, from the list of columns. */
#define SP_TABLE(name, doc) \
	static void __attribute__((unused)) \
	put_##name##_row(struct sp_dump *dump, const struct sp_##name##_row *row) \
	{
#define SP_COL(table, type, field, path, need, default, doc) put_##type(dump, #field, row->field);
#define SP_TABLE_END(name) }
#include "formats/profile_tables.def"
#undef SP_TABLE
#undef SP_COL
#undef SP_TABLE_END

/* dump_threads() and so on. Rows of other tables name a row by its number: "row". */
#define TABLE(name, plural, section, extra) \
	static int dump_##plural(struct sp_dump *dump, struct sp_profile *profile, \
				 struct sp_error *error) \
	{ \
		const struct sp_##name##_row *rows; \
		size_t n; \
		int r = sp_dump_wants(dump, section) \
				? sp_profile_##plural(profile, &rows, &n, error) \
				: 1; \
\
		if (r || !n) \
			return r < 0 ? r : 0; \
		sp_dump_section(dump, section, #name); \
		for (size_t i = 0; i < n && !ferror(dump->out); i++) { \
			if (!sp_dump_record(dump)) \
				continue; \
			sp_dump_unsigned(dump, "row", i); \
			put_##name##_row(dump, &rows[i]); \
			extra; \
			sp_dump_record_end(dump); \
		} \
		sp_dump_section_end(dump); \
		return 0; \
	}

TABLE(thread, threads, "threads", (void)0)
TABLE(task, tasks, "tasks", (void)0)
TABLE(site, sites, "sites", put_name(dump, "region_name", profile, rows[i].region))
TABLE(module, modules, "modules", (void)0)
TABLE(process, processes, "processes", (void)0)
TABLE(loss, losses, "losses", (void)0)
TABLE(cut, cuts, "cut_calls", put_name(dump, "region_name", profile, rows[i].region))
TABLE(clock, clocks, "clocks", (void)0)
TABLE(rank_fact, rank_facts, "rank_facts", (void)0)
TABLE(kernel_symbol, kernel_symbols, "kernel_symbols", (void)0)

int sp_dump_tables(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	static int (*const tables[])(struct sp_dump *, struct sp_profile *, struct sp_error *) = {
		dump_processes, dump_threads, dump_tasks,      dump_modules,	    dump_sites,	dump_losses,
		dump_cuts,	dump_clocks,  dump_rank_facts, dump_kernel_symbols,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(tables) / sizeof(tables[0]); i++)
		r = tables[i](dump, profile, error);
	return r;
}

/* ---- extras ---- */

static void dump_perf_events(struct sp_dump *dump, const struct sp_extras *extras)
{
	if (!extras->n_perf_events || !sp_dump_section(dump, "perf_events", "perf_events"))
		return;
	for (size_t i = 0; i < extras->n_perf_events && !ferror(dump->out); i++) {
		const struct sp_perf_events *events = &extras->perf_events[i];

		if (!sp_dump_record(dump))
			continue;
		sp_dump_unsigned(dump, "rank", events->rank);
		sp_dump_text(dump, "region", events->region);
		sp_dump_signed(dump, "calls", events->calls);
		sp_dump_list(dump, "names");
		for (size_t k = 0; k < events->n; k++)
			sp_dump_text(dump, NULL, events->names[k]);
		sp_dump_list_end(dump);
		sp_dump_list(dump, "values");
		for (size_t k = 0; k < events->n; k++)
			sp_dump_unsigned(dump, NULL, events->values[k]);
		sp_dump_list_end(dump);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void dump_line_profiles(struct sp_dump *dump, const struct sp_extras *extras)
{
	if (!extras->n_line_profiles || !sp_dump_section(dump, "line_profiles", "line_profile"))
		return;
	for (size_t i = 0; i < extras->n_line_profiles && !ferror(dump->out); i++) {
		const struct sp_line_profile *lines = &extras->line_profiles[i];

		if (!sp_dump_record(dump))
			continue;
		sp_dump_unsigned(dump, "line_profile", i);
		sp_dump_unsigned(dump, "rank", lines->rank);
		sp_dump_text(dump, "region", lines->region);
		sp_dump_text(dump, "filename", lines->filename);
		sp_dump_text(dump, "function", lines->function);
		sp_dump_signed(dump, "first_line", lines->first_line);
		sp_dump_real(dump, "unit", lines->unit);
		sp_dump_unsigned(dump, "lines", lines->n);
		if (lines->source)
			sp_dump_signed(dump, "source_first_line", lines->source_first_line);
		else
			sp_dump_none(dump, "source_first_line");
		sp_dump_text(dump, "source", lines->source);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

static void dump_lines(struct sp_dump *dump, const struct sp_extras *extras)
{
	if (!extras->n_line_profiles || !sp_dump_section(dump, "lines", "line"))
		return;
	for (size_t i = 0; i < extras->n_line_profiles; i++) {
		const struct sp_line_profile *lines = &extras->line_profiles[i];

		for (size_t k = 0; k < lines->n && !ferror(dump->out); k++) {
			if (!sp_dump_record(dump))
				continue;
			sp_dump_unsigned(dump, "line_profile", i);
			sp_dump_signed(dump, "line", lines->lines[k]);
			sp_dump_signed(dump, "hits", lines->hits[k]);
			sp_dump_real(dump, "time", lines->times[k]);
			sp_dump_record_end(dump);
		}
	}
	sp_dump_section_end(dump);
}

static void put_signed_list(struct sp_dump *dump, const char *key, const int64_t *values, size_t n)
{
	sp_dump_list(dump, key);
	for (size_t i = 0; i < n; i++)
		sp_dump_signed(dump, NULL, values[i]);
	sp_dump_list_end(dump);
}

static void put_real_list(struct sp_dump *dump, const char *key, const double *values, size_t n)
{
	sp_dump_list(dump, key);
	for (size_t i = 0; i < n; i++)
		sp_dump_real(dump, NULL, values[i]);
	sp_dump_list_end(dump);
}

static void dump_likwid(struct sp_dump *dump, const struct sp_extras *extras)
{
	if (!extras->n_likwid || !sp_dump_section(dump, "likwid", "likwid"))
		return;
	for (size_t i = 0; i < extras->n_likwid && !ferror(dump->out); i++) {
		const struct sp_likwid *likwid = &extras->likwid[i];

		if (!sp_dump_record(dump))
			continue;
		sp_dump_unsigned(dump, "likwid", i);
		sp_dump_unsigned(dump, "rank", likwid->rank);
		sp_dump_text(dump, "tag", likwid->tag);
		sp_dump_signed(dump, "group_id", likwid->group_id);
		sp_dump_text(dump, "group_name", likwid->group_name);
		sp_dump_text(dump, "source", likwid->source);
		put_signed_list(dump, "cpus", likwid->cpus,
				likwid->cpus ? likwid->n_threads : 0);
		put_real_list(dump, "times", likwid->times, likwid->n_threads);
		put_signed_list(dump, "call_counts", likwid->call_counts, likwid->n_threads);
		sp_dump_record_end(dump);
	}
	sp_dump_section_end(dump);
}

/* Events and metrics: a value for each thread. */
static void dump_likwid_values(struct sp_dump *dump, const struct sp_extras *extras, bool metrics)
{
	const char *kind = metrics ? "likwid_metric" : "likwid_event";

	if (!extras->n_likwid ||
	    !sp_dump_section(dump, metrics ? "likwid_metrics" : "likwid_events", kind))
		return;
	for (size_t i = 0; i < extras->n_likwid; i++) {
		const struct sp_likwid *likwid = &extras->likwid[i];
		size_t n = metrics ? likwid->n_metrics : likwid->n_events;
		const double *values = metrics ? likwid->metrics : likwid->events;

		for (size_t k = 0; k < n && !ferror(dump->out); k++) {
			if (!sp_dump_record(dump))
				continue;
			sp_dump_unsigned(dump, "likwid", i);
			sp_dump_text(dump, "name",
				     metrics ? likwid->metric_names[k] : likwid->event_names[k]);
			if (!metrics)
				sp_dump_text(dump, "counter",
					     k < likwid->n_counters ? likwid->counter_names[k]
								    : NULL);
			put_real_list(dump, "values", values + k * likwid->n_threads,
				      likwid->n_threads);
			sp_dump_record_end(dump);
		}
	}
	sp_dump_section_end(dump);
}

static void dump_likwid_environment(struct sp_dump *dump, const struct sp_extras *extras)
{
	if (!extras->n_likwid_environments ||
	    !sp_dump_section(dump, "likwid_environment", "likwid_environment"))
		return;
	for (size_t i = 0; i < extras->n_likwid_environments; i++) {
		const struct sp_likwid_environment *all = &extras->likwid_environments[i];

		for (size_t k = 0; k < all->n && !ferror(dump->out); k++) {
			if (!sp_dump_record(dump))
				continue;
			sp_dump_unsigned(dump, "rank", all->rank);
			put_fact(dump, &all->facts[k]);
			sp_dump_record_end(dump);
		}
	}
	sp_dump_section_end(dump);
}

int sp_dump_extras(struct sp_dump *dump, struct sp_profile *profile, struct sp_error *error)
{
	static const char *const sections[] = {
		"perf_events",	  "line_profiles",	"lines", "likwid", "likwid_events",
		"likwid_metrics", "likwid_environment",
	};
	const struct sp_extras *extras;
	bool wanted = false;
	int r;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		wanted |= sp_dump_wants(dump, sections[i]);
	if (!wanted)
		return 0;
	r = sp_profile_extras(profile, &extras, error);
	if (r < 0)
		return r;
	dump_perf_events(dump, extras);
	dump_line_profiles(dump, extras);
	dump_lines(dump, extras);
	dump_likwid(dump, extras);
	dump_likwid_values(dump, extras, false);
	dump_likwid_values(dump, extras, true);
	dump_likwid_environment(dump, extras);
	return 0;
}
