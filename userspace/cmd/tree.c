/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tree.c - sp-report tree: which calls the time went into.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/sample_options.h"
#include "userspace/cmd/tree_view.h"

#define DEFAULT_LEAST 0.005

SP_DEFINE_CLEANUP(struct sp_calltree *, sp_calltree_free);

enum key {
	KEY_BOTTOM_UP = 256,
	KEY_BY_REGION,
	KEY_MIN,
	KEY_DEPTH,
	KEY_RANK,
	KEY_NO_INLINE,
	KEY_NO_KERNEL,
	KEY_KEEP_CLONES,
};

static const struct sp_option options[] = {
	{"bottom-up", KEY_BOTTOM_UP, NULL,
	 "show the functions that used the time, and below each\nwho called it"},
	{"by-region", KEY_BY_REGION, NULL, "show a tree for each region, with those within it"},
	{"region", 'r', "NAME",
	 "only samples in this region, or in one within it; may be\ngiven several times (\"(no "
	 "region)\": outside of all)"},
	{"min", KEY_MIN, "PERCENT",
	 "hide branches with a smaller share of the samples\n(default 0.5; JSON and CSV: 0)"},
	{"depth", KEY_DEPTH, "N", "show N levels of calls (default: all)"},
	{"rank", KEY_RANK, "LIST", "only samples of these MPI ranks: 0,4-7"},
	{"no-inline", KEY_NO_INLINE, NULL, "count inlined calls for the function they are in"},
	{"no-kernel", KEY_NO_KERNEL, NULL,
	 "count the kernel's functions for the one that called it"},
	SP_SYMBOL_OPTIONS,
	{"keep-clones", KEY_KEEP_CLONES, NULL,
	 "tell the compiler's clones of a function apart from it:\nsolve.constprop.0"},
	SP_PRINT_OPTIONS,
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report tree",
	.usage = "[OPTION]… FILE|DIR…",
	.about = "Show the calls that the samples of a recording were in, as a tree: how much of\n"
		 "the time passed in each function and what it called (total), and in itself\n"
		 "(self). Takes directories and files of sp-trace, and .sps files. Several ranks\n"
		 "and files are summed.",
	.more = "Names come from the programs' debug information or symbol tables; the files must\n"
		"still be the builds that were recorded. [unknown] stands for callers that could\n"
		"not be found, [k] for functions of the kernel.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

struct request {
	char **paths;
	size_t n_paths, paths_room;
	struct sp_stacks_load load;
	struct sp_calltree_options tree;
	struct sp_tree_view view;
	struct sp_print_choice print;
	bool min_given;
};

static void request_done(struct request *request)
{
	sp_stacks_load_free(&request->load);
	free(request->paths);
}

/* ---- the command line ---- */

/* Takes one option. 0, the exit status, or -ENOMEM. */
static int take_option(struct request *request, int key, const char *arg)
{
	uint64_t depth;

	if (sp_symbol_choice_has(key))
		return sp_symbol_choice_take(&request->load.symbol_choice, &cli, key, arg);
	switch (key) {
	case SP_CLI_OPERAND:
		return sp_array_add_text(&request->paths, &request->n_paths, &request->paths_room,
					 arg)
			       ? 0
			       : -ENOMEM;
	case KEY_BOTTOM_UP:
		request->view.bottom_up = true;
		break;
	case KEY_BY_REGION:
		request->tree.regions = true;
		break;
	case 'r':
		return sp_stacks_load_want(&request->load, arg);
	case KEY_MIN:
		request->min_given = true;
		return sp_take_least(&cli, arg, &request->view.least);
	case KEY_DEPTH:
		if (sp_parse_count(arg, 1, UINT32_MAX - 1, &depth) < 0)
			return sp_cli_usage_error(&cli, "--depth takes a number from 1, not \"%s\"",
						  arg);
		request->view.depth = (uint32_t)depth;
		break;
	case KEY_RANK:
		return sp_take_ranks(&cli, arg, &request->load.ranks, &request->load.n_ranks);
	case KEY_NO_INLINE:
		request->tree.no_inlined = true;
		break;
	case KEY_NO_KERNEL:
		request->tree.no_kernel = true;
		break;
	case KEY_KEEP_CLONES:
		request->load.symbol_options.keep_clones = true;
		break;
	}
	sp_print_choice_take(&request->print, key);
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
		if (status < 0) {
			sp_log_error("out of memory");
			return EXIT_FAILURE;
		}
		if (status)
			return status;
	}
	if (key < 0)
		return key == SP_CLI_ANSWERED ? -1 : sp_cli_status(key);
	if (!request->n_paths)
		return sp_cli_usage_error(&cli, "name the recording: a directory or files");
	if (!request->min_given && !request->print.json && !request->print.csv)
		request->view.least = DEFAULT_LEAST;
	request->view.wide = request->print.wide;
	return sp_print_choice_check(&request->print, &cli);
}

/* ---- the work ---- */

static int run(struct request *request)
{
	sp_cleanup(sp_calltree_freep) struct sp_calltree *turned = NULL;
	struct sp_tree_view *view = &request->view;
	int r;

	request->tree.fold = true;
	request->load.command = "tree";
	if (sp_stacks_load_read(&request->load, request->paths, request->n_paths) < 0 ||
	    sp_stacks_load_tree(&request->load, &request->tree) < 0)
		return EXIT_FAILURE;
	view->load = &request->load;
	view->tree = request->load.tree;
	if (view->bottom_up) {
		r = sp_calltree_turn(request->load.tree, &turned);
		if (r < 0) {
			sp_log_error("cannot turn the tree: %s", strerrordesc_np(-r));
			return EXIT_FAILURE;
		}
		view->tree = turned;
	}
	if (request->print.csv) /* which has no place for them */
		sp_stacks_load_notes(&request->load, stderr);
	if (request->print.json)
		sp_tree_write_json(view);
	else if (request->print.csv)
		sp_tree_write_csv(view);
	else
		sp_tree_show(view);
	return EXIT_SUCCESS;
}

int sp_cmd_tree(int argc, char **argv)
{
	sp_cleanup(request_done) struct request request = {.view = {.depth = UINT32_MAX - 1}};
	int status = parse(&request, argc, argv);

	if (status)
		return status < 0 ? EXIT_SUCCESS : status;
	return run(&request);
}
