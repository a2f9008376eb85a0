/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines.c - sp-report lines: where in the source the time of each region went.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/lines.h"
#include "userspace/analysis/lines_input.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/lines_annotate.h"
#include "userspace/cmd/lines_view.h"
#include "userspace/cmd/sample_options.h"
#include "userspace/cmd/symbol_options.h"
#include "userspace/cmd/sample_notes.h"

#define DEFAULT_TOP 10

SP_DEFINE_CLEANUP(struct sp_symbols *, sp_symbols_free);
SP_DEFINE_CLEANUP(struct sp_lines *, sp_lines_free);
SP_DEFINE_CLEANUP(struct sp_sources *, sp_sources_free);

enum key {
	KEY_TOP = 256,
	KEY_RANK,
	KEY_OWN,
	KEY_NOT_OWN,
	KEY_INNERMOST,
	KEY_OUTERMOST,
	KEY_ANNOTATE,
	KEY_CONTEXT,
	KEY_KEEP_CLONES,
	KEY_NO_SOURCE,
};

static const struct sp_option options[] = {
	{"region", 'r', "NAME",
	 "show this region alone; may be given several times\n"
	 "(\"(no region)\" for the samples outside of every region)"},
	{"top", KEY_TOP, "N",
	 "show the N hottest lines of each region, 0 for all\n(default 10; JSON and CSV: all)"},
	{"rank", KEY_RANK, "LIST", "only samples of these MPI ranks: 0,4-7"},
	{"annotate", KEY_ANNOTATE, "FILE",
	 "print the source files whose paths end with FILE, with the\nsamples of each line; may "
	 "be given several times"},
	{"context", KEY_CONTEXT, "N",
	 "with --annotate: only N lines around those with samples\n(default: the whole file)"},
	{"innermost", KEY_INNERMOST, NULL,
	 "count inlined code for the line where it was written, as\naddr2line does (default: for "
	 "the line in your own code that\ncalled it)"},
	{"outermost", KEY_OUTERMOST, NULL,
	 "count inlined code for the line of the function that it\nended up in"},
	{"own", KEY_OWN, "DIR", "code in DIR is your own, though it is in a place of the system's"},
	{"not-own", KEY_NOT_OWN, "DIR",
	 "code in DIR is not your own: a library that you keep a\ncopy of"},
	{"keep-clones", KEY_KEEP_CLONES, NULL,
	 "tell copies of functions (solve.constprop.0, solve.cold)\nfrom each other"},
	SP_SYMBOL_OPTIONS,
	{"no-source", KEY_NO_SOURCE, NULL, "do not show the text of the lines"},
	SP_PRINT_OPTIONS,
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report lines",
	.usage = "[OPTION]… FILE|DIR…",
	.about = "Show the hottest source lines of each region, from the samples of a recording.\n"
		 "Takes directories of sp-trace, .h5 and .sps files, and .sps files of\n"
		 "scope-profiler. Several ranks and files are summed.",
	.more = "Lines come from the programs' debug information (build with -g); they must still "
		"be\n"
		"the builds that were recorded. Code without it is shown as ??:0.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

struct request {
	char **paths, **regions;
	size_t n_paths, paths_room, n_regions, regions_room;
	uint32_t *ranks;
	size_t n_ranks;
	char **files; /* to annotate */
	size_t n_files, files_room;
	struct sp_own *own;
	uint64_t top, context;
	bool top_given, context_given, innermost, outermost, no_source, keep_clones, own_given;
	struct sp_print_choice print;
	enum sp_lines_attribution attribution;
	struct sp_symbol_choice symbols;
};

static void request_done(struct request *request)
{
	free(request->paths);
	free(request->regions);
	free(request->ranks);
	free(request->files);
	sp_own_free(request->own);
	sp_symbol_choice_done(&request->symbols);
}

/* ---- the command line ---- */

/* Takes one option. 0, or the exit status. */
static int take_option(struct request *request, int key, const char *arg)
{
	bool fits = true;

	if (sp_symbol_choice_has(key))
		return sp_symbol_choice_take(&request->symbols, &cli, key, arg);
	switch (key) {
	case SP_CLI_OPERAND:
		fits = sp_array_add_text(&request->paths, &request->n_paths, &request->paths_room,
					 arg);
		break;
	case 'r':
		fits = sp_array_add_text(&request->regions, &request->n_regions,
					 &request->regions_room, arg);
		break;
	case KEY_TOP:
		request->top_given = true;
		if (sp_parse_count(arg, 0, INT32_MAX, &request->top) < 0)
			return sp_cli_usage_error(&cli, "--top takes a number, not \"%s\"", arg);
		break;
	case KEY_RANK:
		return sp_take_ranks(&cli, arg, &request->ranks, &request->n_ranks);
	case KEY_OWN:
	case KEY_NOT_OWN:
		request->own_given = true;
		fits = sp_own_add(request->own, arg, key == KEY_OWN) == 0;
		break;
	case KEY_ANNOTATE:
		fits = sp_array_add_text(&request->files, &request->n_files, &request->files_room,
					 arg);
		break;
	case KEY_CONTEXT:
		request->context_given = true;
		if (sp_parse_count(arg, 0, INT32_MAX, &request->context) < 0)
			return sp_cli_usage_error(&cli, "--context takes a number, not \"%s\"",
						  arg);
		break;
	case KEY_KEEP_CLONES:
		request->keep_clones = true;
		break;
	case KEY_INNERMOST:
		request->innermost = true;
		request->attribution = SP_LINES_INNERMOST;
		break;
	case KEY_OUTERMOST:
		request->outermost = true;
		request->attribution = SP_LINES_OUTERMOST;
		break;
	case KEY_NO_SOURCE:
		request->no_source = true;
		break;
	}
	sp_print_choice_take(&request->print, key);
	if (!fits) {
		sp_log_error("out of memory");
		return EXIT_FAILURE;
	}
	return 0;
}

/* 0, an exit status, or -1: answered. */
static int parse(struct request *request, int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key, status;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		status = take_option(request, key, arg);
		if (status)
			return status;
	}
	if (key < 0)
		return key == SP_CLI_ANSWERED ? -1 : sp_cli_status(key);
	if (!request->n_paths)
		return sp_cli_usage_error(&cli, "name the recording: a directory or files");
	status = sp_print_choice_check(&request->print, &cli);
	if (status)
		return status;
	if (request->innermost && request->outermost)
		return sp_cli_usage_error(&cli, "--innermost and --outermost exclude each other");
	if (request->context_given && !request->n_files)
		return sp_cli_usage_error(&cli, "--context is for --annotate FILE");
	if (request->top_given && request->n_files)
		return sp_cli_usage_error(&cli, "--annotate prints files, which --top is not for");
	if (!request->top_given)
		request->top = request->print.json || request->print.csv ? 0 : DEFAULT_TOP;
	if (!request->top)
		request->top = SIZE_MAX;
	return 0;
}

/* ---- the work ---- */

static void show_progress(void *context, size_t done, size_t total)
{
	(void)context;
	if (done < total)
		sp_log_status("reading debug information: %zu of %zu addresses", done, total);
}

static int read_input(struct sp_lines_input *input, const struct request *request)
{
	struct sp_error error = {0};
	int r = 0;

	input->files.ranks = request->ranks;
	input->files.n_ranks = request->n_ranks;
	for (size_t i = 0; i < request->n_paths && r == 0; i++)
		r = sp_sample_files_add(&input->files, request->paths[i], &error);
	if (r == 0)
		r = sp_lines_input_read(input, &error);
	if (r < 0) {
		sp_sample_say_failure(&input->files, request->paths[0], &error);
		return r;
	}
	return sp_sample_check_any(&input->files, request->paths[0]);
}

static int annotate(const struct request *request, const struct sp_lines_view *view)
{
	struct sp_annotate annotate = {
		.view = view,
		.files = request->files,
		.n_files = request->n_files,
		.context = request->context_given ? (size_t)request->context : SP_ANNOTATE_ALL,
		.each_region = request->n_regions > 0,
		.json = request->print.json,
		.csv = request->print.csv,
		.other = request->attribution == SP_LINES_OWN ? "--innermost" : NULL,
	};

	return sp_annotate_show(&annotate);
}

static int show(const struct request *request, const struct sp_lines_input *input)
{
	sp_cleanup(sp_sources_freep) struct sp_sources *sources = NULL;
	sp_cleanup(sp_freep) const struct sp_lines_region **chosen =
		calloc(sp_lines_n_regions(input->lines) + 1, sizeof(*chosen));
	struct sp_lines_view view = {.input = input,
				     .regions = chosen,
				     .top = request->top,
				     .wide = request->print.wide};
	int r = chosen ? 0 : -ENOMEM;

	if (r == 0 && !request->no_source)
		r = sp_sources_new(sp_symbols_reach(input->symbols), &sources);
	if (r < 0) {
		sp_log_error("out of memory");
		return r;
	}
	view.sources = sources;
	r = sp_lines_choose_regions(input, request->regions, request->n_regions, chosen,
				    &view.n_regions);
	if (r < 0)
		return r;
	if (request->n_files)
		return annotate(request, &view);
	if (request->print.csv) /* which has no place for them */
		sp_lines_note(&view, stderr);
	if (request->print.json)
		sp_lines_write_json(&view);
	else if (request->print.csv)
		sp_lines_write_csv(&view);
	else
		sp_lines_show(&view);
	return 0;
}

static int run(const struct request *request)
{
	sp_cleanup(sp_symbols_freep) struct sp_symbols *symbols = NULL;
	sp_cleanup(sp_lines_freep) struct sp_lines *lines = NULL;
	sp_cleanup(sp_lines_input_done) struct sp_lines_input input = {0};
	struct sp_error error = {0};
	struct sp_symbols_options symbol_options = {
		.progress = show_progress,
		.keep_clones = request->keep_clones,
	};
	int r;

	sp_symbol_choice_apply(&request->symbols, &symbol_options);
	r = sp_symbols_new(&symbol_options, &symbols);
	if (r == 0)
		r = sp_lines_new(symbols, &lines);
	if (r == 0) {
		sp_lines_input_init(&input, lines, symbols);
		r = read_input(&input, request);
		if (r < 0)
			return r;
		r = sp_symbols_resolve(symbols);
		sp_log_status_clear();
	}
	if (r == 0)
		r = sp_lines_count(lines, request->attribution, request->own);
	if (r < 0) {
		sp_log_error("cannot look up the lines: %s", strerrordesc_np(-r));
		return r;
	}
	/* What is stored was counted in the usual way. */
	if (request->attribution == SP_LINES_OWN && !request->keep_clones && !request->own_given)
		r = sp_lines_input_use_stored(&input, &error);
	if (r < 0) {
		sp_sample_say_failure(&input.files, request->paths[0], &error);
		return r;
	}
	return show(request, &input);
}

int sp_cmd_lines(int argc, char **argv)
{
	sp_cleanup(request_done) struct request request = {0};
	int status;

	if (sp_own_new(&request.own) < 0) {
		sp_log_error("out of memory");
		return EXIT_FAILURE;
	}
	status = parse(&request, argc, argv);
	if (status)
		return status < 0 ? EXIT_SUCCESS : status;
	return run(&request) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
