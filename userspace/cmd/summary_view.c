/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary_view.c - see summary_view.h.
 */
#include "userspace/cmd/summary_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/analysis/missing.h"
#include "userspace/analysis/names.h"
#include "userspace/analysis/tags.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/json.h"
#include "userspace/base/table.h"
#include "userspace/base/units.h"
#include "userspace/cmd/report.h"

SP_DEFINE_CLEANUP(struct sp_table *, sp_table_free);

#define NO_REGION "(no region)"
#define TRACER_WORTH_A_COLUMN 0.02

/* Which columns have anything to say. */
struct columns {
	bool calls, rank, imbalance, samples, tracer, self, tags, cut, missing;
};

static bool has_tags(const struct sp_summary_region *region)
{
	return region->tags[0] && strcmp(region->tags, "[]") != 0;
}

static struct columns choose_columns(const struct sp_summary_view *view)
{
	struct columns columns = {
		.calls = view->summary->ranks > 0, /* .sps files have none */
		.rank = view->by_rank,
		.imbalance = !view->by_rank && view->summary->ranks > 1,
		.samples = view->summary->samples > 0,
		.missing = view->summary->gaps,
	};

	for (size_t i = 0; i < view->rows; i++) {
		columns.tracer |= view->summary->regions[i].tracer_share > TRACER_WORTH_A_COLUMN;
		columns.cut |= view->summary->regions[i].cut_calls > 0;
		columns.tags |= has_tags(&view->summary->regions[i]);
		columns.self |= columns.calls && view->summary->regions[i].stats.self >= 0;
	}
	return columns;
}

static bool has_format(const struct sp_inputs *inputs, enum sp_format format)
{
	for (size_t i = 0; i < inputs->n; i++)
		if (sp_profile_info(inputs->items[i].profile)->format == format)
			return true;
	return false;
}

static void print_heading(const struct sp_summary_view *view)
{
	const struct sp_summary *s = view->summary;

	if (!s->ranks) {
		/* .sps files have regions and samples, and nothing of calls. */
		if (has_format(view->inputs, SP_FORMAT_SPS))
			printf("samples alone (calls are in the .h5 files): %s",
			       sp_show_count(s->samples).text);
		else
			printf("no calls, %s sample%s", sp_show_count(s->samples).text,
			       s->samples == 1 ? "" : "s");
		if (s->hz > 0)
			printf(" at %" PRId64 " Hz", s->hz);
		printf("\n\n");
		return;
	}
	if (s->end > s->start)
		printf("%s run", sp_show_duration((double)s->end - (double)s->start).text);
	else
		printf("run of unknown length");
	printf(", %" PRIu32 " rank%s", s->ranks, s->ranks == 1 ? "" : "s");
	if (s->threads)
		printf(", %" PRIu64 " thread%s with regions", s->threads,
		       s->threads == 1 ? "" : "s");
	printf(", %s call%s", sp_show_count(s->calls).text, s->calls == 1 ? "" : "s");
	if (s->samples)
		printf(", %s sample%s", sp_show_count(s->samples).text, s->samples == 1 ? "" : "s");
	if (s->samples && s->hz > 0)
		printf(" at %" PRId64 " Hz", s->hz);
	printf("\n");
	if (s->probe_ns > 0) {
		double share = s->probe_ns * (double)s->calls / s->thread_ns;

		/* The cost was measured before the run, so a program of nothing but probes may pass
		 * it. */
		printf("a call costs %s to trace: %s of the threads' time\n",
		       sp_show_duration(s->probe_ns).text,
		       sp_show_share(share > 1 ? 1 : share).text);
	}
	printf("\n");
}

static void add_columns(struct sp_table *table, const struct columns *c)
{
	sp_table_column(table, "region", SP_TABLE_LEFT);
	if (c->rank)
		sp_table_column(table, "rank", SP_TABLE_RIGHT);
	if (c->calls) {
		sp_table_column(table, "calls", SP_TABLE_RIGHT);
		sp_table_column(table, "total", SP_TABLE_RIGHT);
	}
	if (c->self) {
		sp_table_column(table, "self", SP_TABLE_RIGHT);
		sp_table_column(table, "share", SP_TABLE_RIGHT);
	}
	if (c->calls) {
		sp_table_column(table, "mean", SP_TABLE_RIGHT);
		sp_table_column(table, "min", SP_TABLE_RIGHT);
		sp_table_column(table, "max", SP_TABLE_RIGHT);
		sp_table_column(table, "std", SP_TABLE_RIGHT);
	}
	if (c->imbalance)
		sp_table_column(table, "imbalance", SP_TABLE_RIGHT);
	if (c->tracer)
		sp_table_column(table, "tracer", SP_TABLE_RIGHT);
	if (c->samples) {
		sp_table_column(table, "samples", SP_TABLE_RIGHT);
		sp_table_column(table, "sampled", SP_TABLE_RIGHT);
	}
	if (c->cut)
		sp_table_column(table, "cut", SP_TABLE_RIGHT);
	if (c->missing)
		sp_table_column(table, "missing", SP_TABLE_RIGHT);
	if (c->tags)
		sp_table_column(table, "tags", SP_TABLE_LEFT);
}

static void add_duration(struct sp_table *table, double ns, bool known)
{
	sp_table_cell(table, "%s", known ? sp_show_duration(ns).text : "-");
}

static struct sp_missing missing_of(const struct sp_summary_region *r)
{
	return (struct sp_missing){r->lost_calls, r->lost_samples, r->calls_in_gap,
				   r->samples_in_gap};
}

/* Nothing of it was lost, and all of its calls have a begin and an end of their own. */
static bool is_whole(const struct sp_summary_region *r)
{
	struct sp_missing missing = missing_of(r);

	return !r->cut_calls && !sp_missing_any(&missing);
}

static void add_missing(struct sp_table *table, const struct sp_summary_region *r)
{
	struct sp_missing missing = missing_of(r);

	sp_table_cell(table, "%s", sp_missing_tell(&missing).text);
}

static void add_row(struct sp_table *table, const struct columns *c,
		    const struct sp_summary_region *r)
{
	const struct sp_stats *s = &r->stats;
	bool any = s->calls > 0;

	sp_table_cell(table, "%s", sp_region_shown(r->name));
	if (c->rank)
		sp_table_cell(table, "%" PRId64, r->rank);
	if (c->calls) {
		sp_table_cell(table, "%s", sp_show_count(s->calls).text);
		add_duration(table, (double)s->total, any);
	}
	if (c->self) {
		add_duration(table, (double)s->self, any && s->self >= 0);
		sp_table_cell(table, "%s", sp_show_share(any ? r->share : NAN).text);
	}
	if (c->calls) {
		add_duration(table, s->mean, any);
		add_duration(table, (double)s->minimum, any);
		add_duration(table, (double)s->maximum, any);
		add_duration(table, sp_stats_deviation(s), any);
	}
	if (c->imbalance)
		sp_table_cell(table, "%s", r->ranks > 1 ? sp_show_share(r->imbalance).text : "-");
	if (c->tracer)
		sp_table_cell(table, "%s", sp_show_share(r->tracer_share).text);
	if (c->samples) {
		sp_table_cell(table, "%s", sp_show_count(r->samples).text);
		sp_table_cell(table, "%s", sp_show_share(r->sampled_share).text);
	}
	if (c->cut)
		sp_table_cell(table, "%s", r->cut_calls ? sp_show_count(r->cut_calls).text : "");
	if (c->missing)
		add_missing(table, r);
	if (c->tags) {
		sp_cleanup(sp_freep) char *tags = sp_tags_join(r->tags);

		sp_table_cell(table, "%s", tags ? tags : r->tags);
	}
}

static void add_outside(struct sp_table *table, const struct columns *c, const struct sp_summary *s)
{
	size_t blanks = 6 * c->calls + c->rank + 2 * c->self + c->imbalance + c->tracer;

	sp_table_cell(table, "%s", NO_REGION);
	for (size_t i = 0; i < blanks; i++)
		sp_table_cell(table, "%s", "");
	sp_table_cell(table, "%s", sp_show_count(s->samples_outside).text);
	sp_table_cell(table, "%s",
		      sp_show_share((double)s->samples_outside / (double)s->samples).text);
	if (c->cut)
		sp_table_cell(table, "%s", "");
	if (c->missing)
		sp_table_cell(table, "%s", "");
	if (c->tags)
		sp_table_cell(table, "%s", "");
}

void sp_summary_show(const struct sp_summary_view *view)
{
	sp_cleanup(sp_table_freep) struct sp_table *table = sp_table_new();
	struct columns columns = choose_columns(view);

	sp_report_print_notes(view->inputs, SP_REPORT_ALL, stdout);
	print_heading(view);
	if (!view->summary->n && !view->summary->samples) {
		printf("No region was called, and no sample was taken.\n");
		return;
	}
	if (table) {
		add_columns(table, &columns);
		for (size_t i = 0; i < view->rows; i++)
			add_row(table, &columns, &view->summary->regions[i]);
		if (columns.samples)
			add_outside(table, &columns, view->summary);
	}
	if (!table || sp_table_print(table, stdout) < 0)
		sp_log_error("out of memory");
	if (columns.cut)
		printf("cut: calls without a begin or an end of their own, as told above; they "
		       "count in "
		       "total, mean, min, max and std with the time that was seen\n");
	if (columns.missing)
		printf("missing: lost when it was recorded, and not in this row; +: more may be, "
		       "of "
		       "gaps whose region is not known\n");
	if (view->rows < view->summary->n)
		printf("… and %zu more row%s\n", view->summary->n - view->rows,
		       view->summary->n - view->rows == 1 ? "" : "s");
}

/* ---- for programs ---- */

static void known(struct sp_json *json, const char *key, int64_t value, bool is_known)
{
	if (is_known)
		sp_json_signed(json, key, value);
	else
		sp_json_null(json, key);
}

static void write_tags(struct sp_json *json, const char *text)
{
	sp_cleanup(sp_tags_free) struct sp_tags tags = {0};

	sp_json_open_array(json, "tags");
	if (sp_tags_read(text, &tags) < 0)
		sp_log_error("out of memory");
	for (size_t i = 0; i < tags.n; i++)
		sp_json_text(json, NULL, tags.items[i] ? tags.items[i] : "");
	sp_json_close_array(json);
}

static void write_region(struct sp_json *json, const struct sp_summary_view *view,
			 const struct sp_summary_region *r)
{
	const struct sp_stats *s = &r->stats;
	struct sp_missing missing = missing_of(r);
	bool any = s->calls > 0;

	sp_json_open_object(json, NULL);
	sp_json_text(json, "name", r->name);
	if (view->by_rank)
		sp_json_signed(json, "rank", r->rank);
	sp_json_unsigned(json, "ranks", r->ranks);
	sp_json_bool(json, "whole", is_whole(r));
	sp_json_unsigned(json, "calls", s->calls);
	sp_json_unsigned(json, "cut_calls", r->cut_calls);
	sp_json_signed(json, "total_ns", s->total);
	known(json, "self_ns", s->self, s->self >= 0);
	sp_json_real(json, "share", r->share);
	known(json, "min_ns", s->minimum, any);
	known(json, "max_ns", s->maximum, any);
	known(json, "first_ns", s->first, any && s->first >= 0);
	known(json, "last_ns", s->last, any && s->last >= 0);
	known(json, "start_ns", s->start_minimum, any && s->start_minimum >= 0);
	known(json, "end_ns", s->end_maximum, any && s->end_maximum >= 0);
	sp_json_real(json, "mean_ns", any ? s->mean : NAN);
	sp_json_real(json, "std_ns", sp_stats_deviation(s));
	sp_json_real(json, "imbalance", r->imbalance);
	sp_json_real(json, "tracer_share", r->tracer_share);
	sp_json_unsigned(json, "samples", r->samples);
	sp_report_json_missing(json, &missing);
	sp_json_real(json, "sampled_share", r->sampled_share);
	sp_json_text(json, "file", r->file[0] ? r->file : NULL);
	known(json, "line", r->line, r->line >= 0);
	write_tags(json, r->tags);
	sp_json_close_object(json);
}

void sp_summary_write_json(const struct sp_summary_view *view)
{
	struct sp_json json = {.out = stdout};
	const struct sp_summary *s = view->summary;

	sp_json_open_object(&json, NULL);
	sp_json_open_array(&json, "files");
	for (size_t i = 0; i < view->inputs->n; i++)
		sp_json_text(&json, NULL, view->inputs->items[i].path);
	sp_json_close_array(&json);
	sp_report_json_notes(view->inputs, SP_REPORT_ALL, &json);
	known(&json, "start_ns", s->start, s->end >= s->start);
	known(&json, "end_ns", s->end, s->end >= s->start);
	sp_json_real(&json, "thread_time_ns", s->thread_ns > 0 ? s->thread_ns : NAN);
	sp_json_unsigned(&json, "ranks", s->ranks);
	sp_json_unsigned(&json, "threads", s->threads);
	sp_json_unsigned(&json, "calls", s->calls);
	sp_json_unsigned(&json, "samples", s->samples);
	sp_json_unsigned(&json, "samples_outside", s->samples_outside);
	known(&json, "sample_hz", s->hz, s->hz >= 0);
	sp_json_real(&json, "probe_ns", s->probe_ns);
	sp_json_open_array(&json, "regions");
	for (size_t i = 0; i < view->rows; i++)
		write_region(&json, view, &s->regions[i]);
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	sp_json_end(&json);
}

static void csv_real(double value)
{
	if (isfinite(value))
		printf(",%.17g", value);
	else
		putchar(',');
}

static void csv_known(int64_t value, bool is_known)
{
	if (is_known)
		printf(",%" PRId64, value);
	else
		putchar(',');
}

static void csv_tags(const char *json)
{
	sp_cleanup(sp_freep) char *tags = sp_tags_join(json);

	putchar(',');
	sp_report_csv_text(stdout, tags ? tags : json);
}

void sp_summary_write_csv(const struct sp_summary_view *view)
{
	printf("region,%scalls,total_ns,self_ns,share,mean_ns,min_ns,max_ns,std_ns,first_ns,last_"
	       "ns,"
	       "imbalance,tracer_share,samples,sampled_share,file,line,tags,cut_calls,"
	       "lost_calls,lost_samples,in_gap,whole\n",
	       view->by_rank ? "rank," : "");
	for (size_t i = 0; i < view->rows; i++) {
		const struct sp_summary_region *r = &view->summary->regions[i];
		const struct sp_stats *s = &r->stats;
		bool any = s->calls > 0;

		sp_report_csv_text(stdout, r->name);
		if (view->by_rank)
			printf(",%" PRId64, r->rank);
		printf(",%" PRIu64 ",%" PRId64, s->calls, s->total);
		csv_known(s->self, s->self >= 0);
		csv_real(r->share);
		csv_real(any ? s->mean : NAN);
		csv_known(s->minimum, any);
		csv_known(s->maximum, any);
		csv_real(sp_stats_deviation(s));
		csv_known(s->first, any && s->first >= 0);
		csv_known(s->last, any && s->last >= 0);
		csv_real(r->imbalance);
		csv_real(r->tracer_share);
		printf(",%" PRIu64, r->samples);
		csv_real(r->sampled_share);
		putchar(',');
		sp_report_csv_text(stdout, r->file);
		csv_known(r->line, r->line >= 0);
		csv_tags(r->tags);
		printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d\n", r->cut_calls, r->lost_calls,
		       r->lost_samples, r->calls_in_gap || r->samples_in_gap, is_whole(r));
	}
	if (view->summary->samples) {
		printf("%s,%s,,,,,,,,,,,,%" PRIu64, NO_REGION, view->by_rank ? "," : "",
		       view->summary->samples_outside);
		csv_real((double)view->summary->samples_outside / (double)view->summary->samples);
		printf(",,,,,,,,\n");
	}
}
