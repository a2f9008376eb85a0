/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary_view.c - the summary for people: a table.
 */
#include "userspace/cmd/summary_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/analysis/tags.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/table.h"
#include "userspace/base/units.h"
#include "userspace/cmd/report.h"

SP_DEFINE_CLEANUP(struct sp_table *, sp_table_free);

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
			       sp_plural(s->samples));
		if (s->hz > 0)
			printf(" at %" PRId64 " Hz", s->hz);
		printf("\n\n");
		return;
	}
	if (s->end > s->start)
		printf("%s run", sp_show_duration((double)s->end - (double)s->start).text);
	else
		printf("run of unknown length");
	printf(", %" PRIu32 " rank%s", s->ranks, sp_plural(s->ranks));
	if (s->threads)
		printf(", %" PRIu64 " thread%s with regions", s->threads, sp_plural(s->threads));
	printf(", %s call%s", sp_show_count(s->calls).text, sp_plural(s->calls));
	if (s->samples)
		printf(", %s sample%s", sp_show_count(s->samples).text, sp_plural(s->samples));
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
		sp_table_cell(table, "%s", sp_missing_tell(&r->missing).text);
	if (c->tags) {
		sp_cleanup(sp_freep) char *tags = sp_tags_join(r->tags);

		sp_table_cell(table, "%s", tags ? tags : r->tags);
	}
}

static void add_outside(struct sp_table *table, const struct columns *c, const struct sp_summary *s)
{
	size_t blanks = 6 * c->calls + c->rank + 2 * c->self + c->imbalance + c->tracer;

	sp_table_cell(table, "%s", SP_SUMMARY_NO_REGION);
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
		       sp_plural(view->summary->n - view->rows));
}
