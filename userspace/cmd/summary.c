/* SPDX-License-Identifier: BSD-2-Clause
 *
 * summary.c - sp-report summary: the table of regions.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/summary.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/summary_view.h"

#define LEAST_COMPLETE 0.99 /* of stacks, without a note */
#define MOST_CAUSES 3	    /* in that note */

enum key {
	KEY_BY_RANK = 256,
	KEY_SORT,
	KEY_TOP,
	KEY_JSON,
	KEY_CSV,
};

static const struct sp_option options[] = {
	{"by-rank", KEY_BY_RANK, NULL, "a row for each region and rank"},
	{"sort", KEY_SORT, "COLUMN",
	 "name, rank, calls, total, self (default), share, mean, min, max,\n"
	 "std, first, last, samples or imbalance; largest first, names A to Z"},
	{"top", KEY_TOP, "N", "only the first N rows"},
	{"json", KEY_JSON, NULL, "print JSON; times in nanoseconds"},
	{"csv", KEY_CSV, NULL, "print comma-separated values; times in nanoseconds"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report summary",
	.usage = "[OPTION]… FILE|DIR…",
	.about =
		"Shows how often each region was called and how long it took: in total, by itself\n"
		"(without the regions called in it), and per call.",
	.more = "share is the self time in the time of all threads that called a region: shares "
		"add up\n"
		"to what was spent inside regions. sampled is the part of all samples that fell "
		"into\n"
		"the region itself. tracer is the part of a region's total that its own probes "
		"took.\n"
		"Over ranks, totals are sums; imbalance is how far the slowest rank lies above the "
		"mean.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* ---- order ---- */

static double value_calls(const struct sp_summary_region *r)
{
	return (double)r->stats.calls;
}
static double value_total(const struct sp_summary_region *r)
{
	return (double)r->stats.total;
}
static double value_self(const struct sp_summary_region *r)
{
	return (double)r->stats.self;
}
static double value_mean(const struct sp_summary_region *r)
{
	return r->stats.mean;
}
static double value_min(const struct sp_summary_region *r)
{
	return (double)r->stats.minimum;
}
static double value_max(const struct sp_summary_region *r)
{
	return (double)r->stats.maximum;
}
static double value_std(const struct sp_summary_region *r)
{
	double deviation = sp_stats_deviation(&r->stats);

	return isnan(deviation) ? -1 : deviation;
}
static double value_first(const struct sp_summary_region *r)
{
	return (double)r->stats.first;
}
static double value_last(const struct sp_summary_region *r)
{
	return (double)r->stats.last;
}
static double value_samples(const struct sp_summary_region *r)
{
	return (double)r->samples;
}
static double value_imbalance(const struct sp_summary_region *r)
{
	return r->imbalance;
}
static double value_none(const struct sp_summary_region *r)
{
	(void)r;
	return 0;
}

static const struct order {
	const char *name;
	double (*value)(const struct sp_summary_region *region);
	bool by_rank; /* ranks ascending before names */
} orders[] = {
	{"self", value_self, false},	   {"name", value_none, false},
	{"rank", value_none, true},	   {"calls", value_calls, false},
	{"total", value_total, false},	   {"share", value_self, false},
	{"mean", value_mean, false},	   {"min", value_min, false},
	{"max", value_max, false},	   {"std", value_std, false},
	{"first", value_first, false},	   {"last", value_last, false},
	{"samples", value_samples, false}, {"imbalance", value_imbalance, false},
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct sp_summary_region *x = a, *y = b;
	const struct order *order = arg;
	double v = order->value(x), w = order->value(y);
	int r;

	if (order->by_rank && x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (v != w)
		return v > w ? -1 : 1;
	r = strcmp(x->name, y->name);
	return r ? r : (x->rank > y->rank) - (x->rank < y->rank);
}

static const struct order *find_order(const char *name)
{
	const char *names[sp_array_size(orders) + 1] = {NULL};
	const char *near;

	for (size_t i = 0; i < sp_array_size(orders); i++) {
		if (!strcmp(orders[i].name, name))
			return &orders[i];
		names[i] = orders[i].name;
	}
	near = sp_cli_nearest(name, names);
	if (near)
		sp_cli_usage_error(&cli, "'%s' is no column to sort by; did you mean '%s'?", name,
				   near);
	else
		sp_cli_usage_error(
			&cli,
			"'%s' is no column to sort by; there are name, rank, calls, total, "
			"self, share, mean, min, max, std, first, last, samples and "
			"imbalance",
			name);
	return NULL;
}

/* ---- the command ---- */

struct request {
	const struct order *order;
	uint64_t top;
	bool by_rank, json, csv;
	char **paths;
	size_t n_paths;
};

static int parse(int argc, char **argv, struct request *request)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		switch (key) {
		case KEY_BY_RANK:
			request->by_rank = true;
			break;
		case KEY_SORT:
			request->order = find_order(arg);
			if (!request->order)
				return SP_EXIT_USAGE;
			break;
		case KEY_TOP:
			if (sp_parse_count(arg, 1, UINT32_MAX, &request->top) < 0)
				return sp_cli_usage_error(&cli, "'%s' is no number of rows", arg);
			break;
		case KEY_JSON:
			request->json = true;
			break;
		case KEY_CSV:
			request->csv = true;
			break;
		case SP_CLI_OPERAND:
			request->paths[request->n_paths++] = (char *)arg;
			break;
		}
	}
	if (key < 0)
		return sp_cli_status(key);
	if (request->json && request->csv)
		return sp_cli_usage_error(&cli, "--json and --csv exclude each other");
	if (!request->n_paths)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	return -1;
}

/* Where callers are missing in more than one stack of a hundred. */
static int note_stacks(struct sp_inputs *inputs, const struct sp_summary *summary)
{
	sp_cleanup(sp_freep) char *text = NULL;

	if (!(sp_stack_counts_share(&summary->stacks) < LEAST_COMPLETE))
		return 0;
	text = sp_stack_counts_tell(&summary->stacks, MOST_CAUSES);
	return text ? sp_inputs_note(inputs, 0, false, "stacks: %s", text) : -ENOMEM;
}

static int show(const struct request *request, struct sp_inputs *inputs)
{
	struct sp_summary summary;
	struct sp_error error = {0};
	struct sp_summary_view view;

	if (sp_summary_make(inputs, request->by_rank, &summary, &error) < 0) {
		sp_log_error("%s: %s", inputs->failed, error.text);
		return 1;
	}
	if (note_stacks(inputs, &summary) < 0)
		sp_log_warning("out of memory: how complete stacks are is not shown");
	if (summary.n)
		qsort_r(summary.regions, summary.n, sizeof(*summary.regions), compare,
			(void *)request->order);
	view = (struct sp_summary_view){
		.inputs = inputs,
		.summary = &summary,
		.rows = request->top && request->top < summary.n ? (size_t)request->top : summary.n,
		.by_rank = request->by_rank,
	};
	if (request->json)
		sp_summary_write_json(&view);
	else if (request->csv)
		sp_summary_write_csv(&view);
	else
		sp_summary_show(&view);
	sp_summary_free(&summary);
	return 0;
}

int sp_cmd_summary(int argc, char **argv)
{
	struct request request = {.order = &orders[0]};
	struct sp_inputs inputs = {0};
	sp_cleanup(sp_freep) char **paths = calloc((size_t)argc + 1, sizeof(*paths));
	int r;

	if (!paths) {
		sp_log_error("out of memory");
		return 1;
	}
	request.paths = paths;
	r = parse(argc, argv, &request);
	if (r >= 0)
		return r;
	r = sp_report_open(&inputs, request.paths, request.n_paths) < 0 ? 1
									: show(&request, &inputs);
	sp_inputs_free(&inputs);
	return r;
}
