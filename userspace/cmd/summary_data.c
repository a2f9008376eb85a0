/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary_data.c - the summary for programs: JSON and CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "userspace/analysis/tags.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/json.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/summary_view.h"

/* Nothing of it was lost, and all of its calls have a begin and an end of their own. */
static bool is_whole(const struct sp_summary_region *r)
{
	return !r->cut_calls && !sp_missing_any(&r->missing);
}

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
	sp_report_json_missing(json, &r->missing);
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
		printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%d\n", r->cut_calls,
		       r->missing.calls, r->missing.samples,
		       r->missing.calls_in_gap || r->missing.samples_in_gap, is_whole(r));
	}
	if (view->summary->samples) {
		printf("%s,%s,,,,,,,,,,,,%" PRIu64, SP_SUMMARY_NO_REGION, view->by_rank ? "," : "",
		       view->summary->samples_outside);
		csv_real((double)view->summary->samples_outside / (double)view->summary->samples);
		printf(",,,,,,,,\n");
	}
}
