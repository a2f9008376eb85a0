/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_options.c - the command line of sp-report export.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_write.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"
#include "userspace/cmd/export.h"
#include "userspace/cmd/sample_options.h"

#define DEFAULT_LEAST 0.0002 /* of a flame graph's frames: a quarter of a pixel */

enum key {
	KEY_PREFIX = 256,
	KEY_AGGREGATE,
	KEY_TRACE_VERSION,
	KEY_RANK,
	KEY_TITLE,
	KEY_MIN,
	KEY_INVERTED,
	KEY_NO_INLINE,
	KEY_NO_KERNEL,
	KEY_KEEP_CLONES,
	KEY_WIDE,
};

static const struct sp_option options[] = {
	{"output", 'o', "PATH",
	 "the file, or the directory for files of several ranks;\n"
	 "folded, flamegraph: by default the standard output"},
	{"renumber", SP_KEY_RENUMBER, NULL, "give inputs whose rank is taken new ranks"},
	{"prefix", KEY_PREFIX, "NAME",
	 "files of several ranks are NAME_rank00000.spt …;\n"
	 "default: the name of the first input"},
	{"label", SP_KEY_LABEL, "TEXT", "h5, json: name of the run"},
	{"compress", SP_KEY_COMPRESS, "LEVEL",
	 "h5: none, auto, or 1 (fast) to 9 (small);\n"
	 "default: auto"},
	{"schema", SP_KEY_SCHEMA, "NUMBER", "h5: schema of the file, 2 or 3; default: 3"},
	{"aggregate", KEY_AGGREGATE, NULL, "h5: statistics instead of calls"},
	{"trace-version", KEY_TRACE_VERSION, "NUMBER",
	 "spt: version of the file, 1 or 2;\n"
	 "default: 2"},
	{"region", 'r', "NAME",
	 "folded, flamegraph: only samples in this region, or in\n"
	 "one within it; may be given several times"},
	{"rank", KEY_RANK, "LIST", "folded, flamegraph: only these MPI ranks: 0,4-7"},
	{"no-inline", KEY_NO_INLINE, NULL,
	 "folded, flamegraph: count inlined calls for the\n"
	 "function they are in"},
	{"no-kernel", KEY_NO_KERNEL, NULL,
	 "folded, flamegraph: count the kernel's functions for\n"
	 "the one that called it"},
	SP_SYMBOL_OPTIONS,
	{"keep-clones", KEY_KEEP_CLONES, NULL,
	 "folded, flamegraph: tell the compiler's clones of a\n"
	 "function apart from it: solve.constprop.0"},
	{"wide", KEY_WIDE, NULL,
	 "folded: names of C++ whole, with all arguments and\n"
	 "parameters"},
	{"title", KEY_TITLE, "TEXT", "flamegraph: heading; default: the name of the input"},
	{"min", KEY_MIN, "PERCENT",
	 "flamegraph: leave out frames with a smaller share of\n"
	 "the samples; default: 0.02"},
	{"inverted", KEY_INVERTED, NULL, "flamegraph: callers on top"},
	{"force", SP_KEY_FORCE, NULL, "replace files that exist"},
	{"quiet", 'q', NULL, "only errors and warnings"},
	{"verbose", 'v', NULL, "tell also which inputs were left out as doubles"},
	{"no-sync", SP_KEY_NO_SYNC, NULL, NULL},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report export",
	.usage = "FORMAT [OPTION]… FILE|DIR… -o PATH",
	.about =
		"Writes profiles in another format, and says what that has no place for. FILE and\n"
		"DIR are what sp-report import takes. FORMAT is one of\n"
		"\n"
		"  h5    HDF5 profile\n"
		"  spt   native trace: starts and ends of calls, one file a rank\n"
		"  sps   native samples, one file a rank\n"
		"  json  scope-profiler's JSON profile, compressed if PATH ends with .gz\n"
		"  folded      stacks of the samples, one a line, regions outermost: for\n"
		"              flamegraph.pl, speedscope …; to the standard output without -o\n"
		"  flamegraph  a picture of them: an SVG file for any browser",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* Options that only some formats have. */
static const struct {
	int key;
	unsigned int to;
	const char *name;
} special[] = {
	{KEY_PREFIX, SP_TO_SPT | SP_TO_SPS, "--prefix"},
	{SP_KEY_LABEL, SP_TO_H5 | SP_TO_JSON, "--label"},
	{SP_KEY_COMPRESS, SP_TO_H5, "--compress"},
	{SP_KEY_SCHEMA, SP_TO_H5, "--schema"},
	{KEY_AGGREGATE, SP_TO_H5, "--aggregate"},
	{KEY_TRACE_VERSION, SP_TO_SPT, "--trace-version"},
	{SP_KEY_RENUMBER, SP_TO_H5 | SP_TO_SPT | SP_TO_SPS | SP_TO_JSON, "--renumber"},
	{'r', SP_TO_STACKS, "--region"},
	{KEY_RANK, SP_TO_STACKS, "--rank"},
	{KEY_NO_INLINE, SP_TO_STACKS, "--no-inline"},
	{KEY_NO_KERNEL, SP_TO_STACKS, "--no-kernel"},
	{SP_KEY_DEBUG_DIR, SP_TO_STACKS, "--debug-dir"},
	{SP_KEY_NO_DEBUGINFOD, SP_TO_STACKS, "--no-debuginfod"},
	{SP_KEY_DEBUGINFOD_TIMEOUT, SP_TO_STACKS, "--debuginfod-timeout"},
	{KEY_KEEP_CLONES, SP_TO_STACKS, "--keep-clones"},
	{KEY_WIDE, SP_TO_FOLDED, "--wide"},
	{KEY_TITLE, SP_TO_FLAMEGRAPH, "--title"},
	{KEY_MIN, SP_TO_FLAMEGRAPH, "--min"},
	{KEY_INVERTED, SP_TO_FLAMEGRAPH, "--inverted"},
};

/* Options of folded stacks and flame graphs. 0, or the exit status; so the others below. */
static int parse_stacks_option(struct sp_export_stacks *stacks, int key, const char *arg)
{
	int r = 0;

	if (sp_symbol_choice_has(key))
		return sp_symbol_choice_take(&stacks->load.symbol_choice, &cli, key, arg);
	switch (key) {
	case 'r':
		r = sp_stacks_load_want(&stacks->load, arg);
		break;
	case KEY_RANK:
		return sp_take_ranks(&cli, arg, &stacks->load.ranks, &stacks->load.n_ranks);
	case KEY_NO_INLINE:
		stacks->tree.no_inlined = true;
		break;
	case KEY_NO_KERNEL:
		stacks->tree.no_kernel = true;
		break;
	case KEY_KEEP_CLONES:
		stacks->load.symbol_options.keep_clones = true;
		break;
	case KEY_WIDE:
		stacks->wide = true;
		break;
	case KEY_TITLE:
		stacks->title = arg;
		break;
	case KEY_MIN:
		return sp_take_least(&cli, arg, &stacks->least);
	case KEY_INVERTED:
		stacks->inverted = true;
		break;
	}
	if (r < 0) {
		sp_log_error("out of memory");
		return EXIT_FAILURE;
	}
	return 0;
}

static int parse_option(struct sp_export *export, int key, const char *arg)
{
	struct sp_write_options *write = &export->convert.write;
	uint64_t number;
	int status;

	switch (key) {
	case KEY_PREFIX:
		if (!*arg || strchr(arg, '/'))
			return sp_cli_usage_error(&cli, "'%s' is no name of a file", arg);
		export->prefix = arg;
		return 0;
	case KEY_AGGREGATE:
		write->aggregate = true;
		return 0;
	case KEY_TRACE_VERSION:
		if (sp_parse_count(arg, 1, 2, &number) < 0)
			return sp_cli_usage_error(&cli, "'%s' is no version of a trace: 1 or 2",
						  arg);
		write->version = (int)number;
		return 0;
	}
	status = parse_stacks_option(&export->stacks, key, arg);
	return status ? status : sp_convert_take(&export->convert, &cli, key, arg);
}

static int parse_format(struct sp_export *export, const char *name)
{
	const char *names[SP_EXPORT_KINDS + 1] = {NULL};
	struct stat st;

	for (size_t i = 0; i < SP_EXPORT_KINDS; i++) {
		names[i] = sp_export_kinds[i].name;
		if (!strcmp(name, names[i]))
			export->kind = &sp_export_kinds[i];
	}
	if (export->kind)
		return 0;
	if (stat(name, &st) == 0)
		return sp_cli_usage_error(
			&cli, "the format must come first: sp-report export h5 %s", name);
	if (sp_cli_nearest(name, names))
		return sp_cli_usage_error(&cli, "unknown format '%s'; did you mean '%s'?", name,
					  sp_cli_nearest(name, names));
	return sp_cli_usage_error(
		&cli, "unknown format '%s': h5, spt, sps, json, folded or flamegraph", name);
}

static int check_special(const struct sp_export *export, const int *given, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (given[i] && !(special[i].to & export->kind->to))
			return sp_cli_usage_error(&cli, "%s does not go with %s", special[i].name,
						  export->kind->name);
	return -1;
}

int sp_export_parse(struct sp_export *export, int argc, char **argv)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	int given[sp_array_size(special)] = {0};
	const char *arg;
	int key, status = 0;

	export->convert.write.gzip = SP_H5_GZIP_AUTO;
	export->stacks.least = DEFAULT_LEAST;
	while (status == 0 && (key = sp_cli_next(&parser, &arg)) != SP_CLI_END) {
		if (key < 0)
			return sp_cli_status(key);
		for (size_t i = 0; i < sp_array_size(special); i++)
			given[i] |= special[i].key == key;
		status = key == SP_CLI_OPERAND && !export->kind ? parse_format(export, arg)
								: parse_option(export, key, arg);
	}
	if (status)
		return status;
	if (!export->kind)
		return sp_cli_usage_error(&cli, "no format is given: h5, spt, sps, json, folded or "
						"flamegraph");
	if (!export->convert.n_inputs)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	if (export->kind->to & SP_TO_STACKS)
		return check_special(export, given, sp_array_size(special));
	if (!export->convert.output || !*export->convert.output)
		return sp_cli_usage_error(&cli, "no output is given; name it with -o PATH");
	if (!strcmp(export->convert.output, "-"))
		return sp_cli_usage_error(&cli,
					  "what is exported must be written to a file, not to "
					  "the standard output: name it with -o PATH");
	return check_special(export, given, sp_array_size(special));
}
