/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export.c - sp-report export: a profile, of whatever format or of many files, in another format.
 *
 * A format is a line of the table below. Formats that hold one rank make a file for each, below a
 * directory if there are several.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_write.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/convert.h"
#include "userspace/cmd/export_left.h"
#include "userspace/cmd/export_parts.h"
#include "userspace/cmd/export_stacks.h"
#include "userspace/cmd/sample_notes.h"

#define DEFAULT_LEAST 0.0002 /* of a flame graph's frames: a quarter of a pixel */

enum key {
	KEY_RENUMBER = 256,
	KEY_PREFIX,
	KEY_LABEL,
	KEY_COMPRESS,
	KEY_SCHEMA,
	KEY_AGGREGATE,
	KEY_TRACE_VERSION,
	KEY_FORCE,
	KEY_NO_SYNC,
	KEY_RANK,
	KEY_TITLE,
	KEY_MIN,
	KEY_INVERTED,
	KEY_NO_INLINE,
	KEY_NO_KERNEL,
	KEY_KEEP_CLONES,
	KEY_WIDE,
};

/* Options that only some formats have. */
enum fits {
	H5 = 1 << 0,
	SPT = 1 << 1,
	SPS = 1 << 2,
	JSON = 1 << 3,
	FOLDED = 1 << 4,
	FLAMEGRAPH = 1 << 5,
	STACKS = FOLDED | FLAMEGRAPH,
};

static const struct sp_option options[] = {
	{"output", 'o', "PATH",
	 "the file, or the directory for files of several ranks;\n"
	 "folded, flamegraph: by default the standard output"},
	{"renumber", KEY_RENUMBER, NULL, "give inputs whose rank is taken new ranks"},
	{"prefix", KEY_PREFIX, "NAME",
	 "files of several ranks are NAME_rank00000.spt …;\n"
	 "default: the name of the first input"},
	{"label", KEY_LABEL, "TEXT", "h5, json: name of the run"},
	{"compress", KEY_COMPRESS, "LEVEL",
	 "h5: none, auto, or 1 (fast) to 9 (small);\n"
	 "default: auto"},
	{"schema", KEY_SCHEMA, "NUMBER", "h5: schema of the file, 2 or 3; default: 3"},
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
	{"force", KEY_FORCE, NULL, "replace files that exist"},
	{"quiet", 'q', NULL, "only errors and warnings"},
	{"verbose", 'v', NULL, "tell also which inputs were left out as doubles"},
	{"no-sync", KEY_NO_SYNC, NULL, NULL},
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

typedef int (*write_rank)(struct sp_profile *profile, uint32_t rank, const char *path,
			  const struct sp_write_options *options, struct sp_error *error);

static const struct format {
	const char *name;
	unsigned int fits;
	int (*write)(struct sp_profile *profile, const char *path,
		     const struct sp_write_options *options, struct sp_error *error);
	write_rank write_rank;
	enum sp_export_format left; /* of those two */
} formats[] = {
	{"h5", H5, sp_write_h5, NULL, SP_EXPORT_H5},
	{"spt", SPT, NULL, sp_write_spt, SP_EXPORT_SPT},
	{"sps", SPS, NULL, sp_write_sps, SP_EXPORT_SPS},
	{"json", JSON, sp_write_json, NULL, SP_EXPORT_JSON},
	{"folded", FOLDED, NULL, NULL, SP_EXPORT_SPS},
	{"flamegraph", FLAMEGRAPH, NULL, NULL, SP_EXPORT_SPS},
};

struct export
{
	struct sp_convert convert;
	const struct format *format;
	const char *output, *prefix;
	char **inputs;
	size_t n_inputs, inputs_room;
	struct sp_export_parts parts;
	struct sp_export_stacks stacks;
};

/* ---- command line ---- */

static const struct {
	int key;
	unsigned int fits;
	const char *name;
} special[] = {
	{KEY_PREFIX, SPT | SPS, "--prefix"},
	{KEY_LABEL, H5 | JSON, "--label"},
	{KEY_COMPRESS, H5, "--compress"},
	{KEY_SCHEMA, H5, "--schema"},
	{KEY_AGGREGATE, H5, "--aggregate"},
	{KEY_TRACE_VERSION, SPT, "--trace-version"},
	{KEY_RENUMBER, H5 | SPT | SPS | JSON, "--renumber"},
	{'r', STACKS, "--region"},
	{KEY_RANK, STACKS, "--rank"},
	{KEY_NO_INLINE, STACKS, "--no-inline"},
	{KEY_NO_KERNEL, STACKS, "--no-kernel"},
	{SP_KEY_DEBUG_DIR, STACKS, "--debug-dir"},
	{SP_KEY_NO_DEBUGINFOD, STACKS, "--no-debuginfod"},
	{SP_KEY_DEBUGINFOD_TIMEOUT, STACKS, "--debuginfod-timeout"},
	{KEY_KEEP_CLONES, STACKS, "--keep-clones"},
	{KEY_WIDE, FOLDED, "--wide"},
	{KEY_TITLE, FLAMEGRAPH, "--title"},
	{KEY_MIN, FLAMEGRAPH, "--min"},
	{KEY_INVERTED, FLAMEGRAPH, "--inverted"},
};

static int parse_number(const char *arg, uint64_t least, uint64_t most, const char *what, int *ret)
{
	uint64_t number;

	if (sp_parse_count(arg, least, most, &number) < 0)
		return sp_cli_usage_error(&cli, "'%s' is no %s: %d or %d", arg, what, (int)least,
					  (int)most);
	*ret = (int)number;
	return -1;
}

/* Options of folded stacks and flame graphs. */
static int parse_stacks_option(struct sp_export_stacks *stacks, int key, const char *arg)
{
	int r = 0;

	if (sp_symbol_choice_has(key)) {
		r = sp_symbol_choice_take(&stacks->load.symbol_choice, &cli, key, arg);
		return r ? r : -1;
	}
	switch (key) {
	case 'r':
		r = sp_stacks_load_want(&stacks->load, arg);
		break;
	case KEY_RANK:
		r = sp_parse_ranks(arg, &stacks->load.ranks, &stacks->load.n_ranks);
		if (r == -EINVAL)
			return sp_cli_usage_error(
				&cli, "--rank takes ranks such as 0,4-7, not \"%s\"", arg);
		break;
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
		if (sp_parse_percent(arg, &stacks->least) < 0)
			return sp_cli_usage_error(
				&cli, "--min takes a share in percent, not \"%s\"", arg);
		break;
	case KEY_INVERTED:
		stacks->inverted = true;
		break;
	}
	if (r < 0) {
		sp_log_error("out of memory");
		return 1;
	}
	return -1;
}

static int parse_option(struct export *export, int key, const char *arg)
{
	struct sp_write_options *write = &export->convert.write;

	switch (key) {
	case 'o':
		export->output = arg;
		break;
	case KEY_RENUMBER:
		export->convert.found.renumber = true;
		break;
	case KEY_PREFIX:
		if (!*arg || strchr(arg, '/'))
			return sp_cli_usage_error(&cli, "'%s' is no name of a file", arg);
		export->prefix = arg;
		break;
	case KEY_LABEL:
		write->label = arg;
		break;
	case KEY_COMPRESS:
		if (sp_convert_parse_compress(arg, &write->gzip) < 0)
			return sp_cli_usage_error(
				&cli, "'%s' is neither none, auto nor a level from 1 to 9", arg);
		break;
	case KEY_SCHEMA:
		return parse_number(arg, 2, 3, "schema", &write->schema);
	case KEY_AGGREGATE:
		write->aggregate = true;
		break;
	case KEY_TRACE_VERSION:
		return parse_number(arg, 1, 2, "version of a trace", &write->version);
	case KEY_FORCE:
		export->convert.force = true;
		write->output_flags |= SP_OUTPUT_REPLACE;
		break;
	case KEY_NO_SYNC:
		write->output_flags |= SP_OUTPUT_NO_SYNC;
		break;
	case 'q':
		sp_log_init("sp-report", SP_LOG_QUIET);
		break;
	case 'v':
		sp_log_init("sp-report", SP_LOG_VERBOSE);
		break;
	default:
		return parse_stacks_option(&export->stacks, key, arg);
	}
	return -1;
}

static int parse_format(struct export *export, const char *name)
{
	const char *names[sp_array_size(formats) + 1] = {NULL};
	struct stat st;

	for (size_t i = 0; i < sp_array_size(formats); i++) {
		names[i] = formats[i].name;
		if (!strcmp(name, formats[i].name))
			export->format = &formats[i];
	}
	if (export->format)
		return -1;
	if (stat(name, &st) == 0)
		return sp_cli_usage_error(
			&cli, "the format must come first: sp-report export h5 %s", name);
	if (sp_cli_nearest(name, names))
		return sp_cli_usage_error(&cli, "unknown format '%s'; did you mean '%s'?", name,
					  sp_cli_nearest(name, names));
	return sp_cli_usage_error(
		&cli, "unknown format '%s': h5, spt, sps, json, folded or flamegraph", name);
}

static int add_operand(struct export *export, const char *arg)
{
	char **input;

	if (!export->format)
		return parse_format(export, arg);
	input = sp_array_add(&export->inputs, &export->n_inputs, &export->inputs_room);
	if (!input) {
		sp_log_error("out of memory");
		return 1;
	}
	*input = (char *)arg;
	return -1;
}

static int check_special(const struct export *export, const int *given, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (given[i] && !(special[i].fits & export->format->fits))
			return sp_cli_usage_error(&cli, "%s does not go with %s", special[i].name,
						  export->format->name);
	return -1;
}

/* -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct export *export)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	int given[sp_array_size(special)] = {0};
	const char *arg;
	int key, status = -1;

	export->convert.write.gzip = SP_H5_GZIP_AUTO;
	export->stacks.least = DEFAULT_LEAST;
	while (status < 0 && (key = sp_cli_next(&parser, &arg)) != SP_CLI_END) {
		if (key < 0)
			return sp_cli_status(key);
		for (size_t i = 0; i < sp_array_size(special); i++)
			given[i] |= special[i].key == key;
		status = key == SP_CLI_OPERAND ? add_operand(export, arg)
					       : parse_option(export, key, arg);
	}
	if (status >= 0)
		return status;
	if (!export->format)
		return sp_cli_usage_error(&cli, "no format is given: h5, spt, sps, json, folded or "
						"flamegraph");
	if (!export->n_inputs)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	if (export->format->fits & STACKS)
		return check_special(export, given, sp_array_size(special));
	if (!export->output || !*export->output)
		return sp_cli_usage_error(&cli, "no output is given; name it with -o PATH");
	if (!strcmp(export->output, "-"))
		return sp_cli_usage_error(&cli,
					  "what is exported must be written to a file, not to "
					  "the standard output: name it with -o PATH");
	return check_special(export, given, sp_array_size(special));
}

/* ---- writing ---- */

static int write_parts(struct export *export)
{
	struct sp_write_options *write = &export->convert.write;

	for (size_t i = 0; i < export->parts.n; i++) {
		const struct sp_export_part *part = &export->parts.items[i];
		struct sp_error error = {0};
		int r;

		write->first_sample = part->first_sample;
		write->end_sample = part->end_sample;
		r = export->format->write_rank(export->convert.profile, part->rank, part->path,
					       write, &error);
		if (r < 0) {
			sp_convert_say_failure(part->path, r, &error);
			if (i)
				sp_log_hint("%zu of %zu files were made.", i, export->parts.n);
			return -1;
		}
	}
	return 0;
}

static int write_whole(struct export *export)
{
	struct sp_error error = {0};
	int r = export->format->write(export->convert.profile, export->output,
				      &export->convert.write, &error);

	if (r < 0)
		sp_convert_say_failure(export->output, r, &error);
	return r;
}

static void say_left(const struct export *export, const char *text)
{
	if (text && *text)
		sp_log_info("left out, since %s has no place for it: %s",
			    export->convert.write.aggregate ? "an aggregate" : export->format->name,
			    text);
	if (export->format->write_rank == sp_write_sps && export->parts.outside)
		sp_log_info("%s sample%s in no region: only counted",
			    sp_show_count(export->parts.outside).text,
			    sp_plural(export->parts.outside));
}

static void say_result(struct export *export)
{
	const struct sp_profile_info *info = sp_profile_info(export->convert.profile);
	enum sp_export_format left = export->format->left;
	sp_cleanup(sp_freep) char *text = NULL;

	if (export->convert.write.aggregate)
		left = SP_EXPORT_H5_AGGREGATE;
	else if (export->convert.write.version == 1)
		left = SP_EXPORT_SPT_1;
	text = sp_export_left(export->convert.profile, left);
	say_left(export, text);
	if (!export->format->write_rank) {
		uint32_t ranks =
			sp_convert_count_ranks(export->convert.profile, export->format->fits == H5);

		sp_log_info("%s: %s rank%s, %s call%s", export->output, sp_show_count(ranks).text,
			    sp_plural(ranks), sp_show_count(info->n_calls).text,
			    sp_plural(info->n_calls));
		return;
	}
	for (size_t i = 0; i < export->parts.n; i++) {
		if (export->parts.n > 12 && i == 10) {
			sp_log_info("… and %zu more files in %s", export->parts.n - i,
				    export->output);
			return;
		}
		sp_log_info("%s", export->parts.items[i].path);
	}
}

static int run(struct export *export)
{
	struct sp_convert *convert = &export->convert;
	bool parts = export->format->write_rank != NULL;
	int r;

	if (sp_convert_open(convert, export->inputs, export->n_inputs) < 0)
		return 1;
	r = parts ? sp_export_parts_prepare(&export->parts, convert, export->output, export->prefix,
					    export->format->name,
					    export->format->write_rank == sp_write_sps)
		  : sp_convert_check_output(convert, export->output);
	if (r < 0)
		return 1;
	convert->write.written_by = "sp-report export " SP_VERSION;
	sp_convert_begin(convert, "exporting");
	r = parts ? write_parts(export) : write_whole(export);
	if (r < 0)
		return 1;
	sp_log_status_clear();
	say_result(export);
	return 0;
}

static int run_stacks(struct export *export)
{
	export->stacks.flamegraph = export->format->fits == FLAMEGRAPH;
	export->stacks.output_flags = export->convert.write.output_flags;
	return sp_export_stacks(&export->stacks, export->inputs, export->n_inputs, export->output);
}

int sp_cmd_export(int argc, char **argv)
{
	struct export export = {0};
	int status = parse(argc, argv, &export);

	if (status < 0)
		status = export.format->fits & STACKS ? run_stacks(&export) : run(&export);
	sp_convert_free(&export.convert);
	sp_export_parts_free(&export.parts);
	sp_export_stacks_free(&export.stacks);
	free(export.inputs);
	return status;
}
