/* SPDX-License-Identifier: BSD-2-Clause
 *
 * import.c - sp-report import: the files of all ranks become one HDF5 profile.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_write.h"
#include "userspace/analysis/sample_files.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/convert.h"

static const struct sp_option options[] = {
	{"output", 'o', "FILE", "the HDF5 profile to write"},
	{"label", SP_KEY_LABEL, "TEXT",
	 "name of the run; default: the inputs', or the output's name"},
	{"renumber", SP_KEY_RENUMBER, NULL, "give inputs whose rank is taken new ranks"},
	{"compress", SP_KEY_COMPRESS, "LEVEL",
	 "none, auto, or 1 (fast) to 9 (small); default: auto"},
	{"schema", SP_KEY_SCHEMA, "NUMBER", "schema of the file, 2 or 3; default: 3"},
	{"force", SP_KEY_FORCE, NULL, "replace the output if it exists"},
	{"quiet", 'q', NULL, "only errors and warnings"},
	{"verbose", 'v', NULL, "tell all that was left out"},
	{"no-sync", SP_KEY_NO_SYNC, NULL, NULL},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report import",
	.usage = "[OPTION]… FILE|DIR… -o FILE",
	.about = "Merges the files of a run's ranks into one HDF5 profile, and loses nothing of\n"
		 "them. FILE may be any .h5, .spt, .sps or .json profile. DIR stands for its "
		 "*.spt,\n"
		 "*_rank<N>.h5 and *.sps; a recording of sp-trace for all that is in it.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* What the name of the output says must be what import makes. */
static int check_name(const char *output)
{
	static const struct {
		const char *suffix, *format;
	} others[] = {{".spt", "spt"}, {".sps", "sps"}, {".json", "json"}, {".json.gz", "json"}};
	size_t length = strlen(output);

	if (!strcmp(output, "-"))
		return sp_cli_usage_error(&cli, "a profile must be written to a file, not to the "
						"standard output: name it with -o FILE");
	for (size_t i = 0; i < sp_array_size(others); i++) {
		size_t end = strlen(others[i].suffix);

		if (length > end && !strcmp(output + length - end, others[i].suffix))
			return sp_cli_usage_error(
				&cli,
				"import makes HDF5 profiles, and %s would be none; for that: "
				"sp-report export %s … -o %s",
				output, others[i].format, output);
	}
	return -1;
}

/* -1 to go on, else the exit status. */
static int parse(int argc, char **argv, struct sp_convert *convert)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key, status = 0;

	convert->write.gzip = SP_H5_GZIP_AUTO;
	while (status == 0 && (key = sp_cli_next(&parser, &arg)) != SP_CLI_END) {
		if (key < 0)
			return sp_cli_status(key);
		status = sp_convert_take(convert, &cli, key, arg);
	}
	if (status)
		return status;
	if (!convert->n_inputs)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	if (!convert->output || !*convert->output)
		return sp_cli_usage_error(&cli, "no output is given; name it with -o FILE");
	return check_name(convert->output);
}

/* As scope-profiler has it: "dir/heat.h5" is "heat". To free(). */
static char *stem(const char *path)
{
	const char *name = sp_base_name(path);
	const char *dot = strrchr(name, '.');

	return dot && dot > name && dot[1] ? strndup(name, (size_t)(dot - name)) : strdup(name);
}

/* The first label that an input has; NULL if none. */
static const char *find_label(const struct sp_found *found)
{
	for (size_t i = 0; i < found->n_files; i++) {
		const struct sp_fact *facts, *label;
		size_t n;

		if (found->files[i].left_out ||
		    sp_profile_metadata(found->files[i].profile, &facts, &n, NULL) < 0)
			continue;
		label = sp_fact_find(facts, n, "label");
		if (label && label->text[0])
			return label->text;
	}
	return NULL;
}

static void say_result(struct sp_convert *convert)
{
	const struct sp_profile_info *info = sp_profile_info(convert->profile);
	uint32_t ranks = sp_convert_count_ranks(convert->profile, true);
	struct stat st = {0};

	sp_convert_say_losses(convert);
	stat(convert->output, &st);
	sp_log_info("%s: %s rank%s, %s region%s, %s call%s, %s sample%s, %s", convert->output,
		    sp_show_count(ranks).text, sp_plural(ranks),
		    sp_show_count(info->n_regions).text, sp_plural(info->n_regions),
		    sp_show_count(info->n_calls).text, sp_plural(info->n_calls),
		    sp_show_count(info->n_samples).text, sp_plural(info->n_samples),
		    sp_show_size((double)st.st_size).text);
}

/* The directory with the copies of a profile's programs, where they are there and not to be found
 * from @output; to free(), else NULL. */
static char *find_archive(struct sp_profile *profile, const char *output)
{
	const struct sp_module_row *modules;
	size_t n;

	if (sp_profile_modules(profile, &modules, &n, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		sp_cleanup(sp_freep) char *copy = NULL, *near = NULL;
		const char *archived = modules[i].archived;

		if (!archived || !*archived ||
		    sp_sample_archived(sp_profile_path(profile), archived, &copy) < 0 ||
		    sp_sample_archived(output, archived, &near) < 0 || !copy || near)
			continue;
		return realpath(dirname(copy), NULL);
	}
	return NULL;
}

/* sp-report looks for the copies beside the file, which they do not follow. */
static void say_archives(struct sp_convert *convert)
{
	sp_cleanup(sp_freep) char *said = NULL, *output = strdup(convert->output);
	const char *directory = output ? dirname(output) : ".";

	for (size_t i = 0; i < convert->found.n_files; i++) {
		const struct sp_found_file *file = &convert->found.files[i];
		sp_cleanup(sp_freep) char *archive =
			file->left_out ? NULL : find_archive(file->profile, convert->output);

		if (!archive || (said && !strcmp(archive, said)))
			continue;
		sp_log_info("note: the copies of the programs that ran stay in %s; names come from "
			    "them if %s lies beside that directory, or a link to it does: ln -s %s "
			    "%s/",
			    archive, sp_base_name(convert->output), archive, directory);
		free(said);
		said = sp_take(archive);
	}
}

static int run(struct sp_convert *convert)
{
	sp_cleanup(sp_freep) char *name = NULL;
	struct sp_error error = {0};
	const char *label;
	int r;

	if (sp_convert_check_output(convert, convert->output) < 0 || sp_convert_open(convert) < 0 ||
	    sp_convert_check_output(convert, convert->output) < 0)
		return 1;
	name = stem(convert->output);
	label = find_label(&convert->found);
	if (!name) {
		sp_log_error("out of memory");
		return 1;
	}
	convert->write.defaults = (const struct sp_fact[]){
		{.key = "label", .text = label ? label : name},
		{.key = "source", .text = "native"},
		{.key = "trace_format_version",
		 .text = "2",
		 .number = 2,
		 .is_number = true,
		 .kind = SP_FACT_NUMBER},
	};
	convert->write.n_defaults = 3;
	convert->write.written_by = "sp-report import " SP_VERSION;
	sp_convert_begin(convert, "importing");
	r = sp_write_h5(convert->profile, convert->output, &convert->write, &error);
	if (r < 0) {
		sp_convert_say_failure(convert->output, r, &error);
		return 1;
	}
	sp_log_status_clear();
	say_result(convert);
	say_archives(convert);
	return 0;
}

int sp_cmd_import(int argc, char **argv)
{
	struct sp_convert convert = {0};
	int status = parse(argc, argv, &convert);

	if (status < 0)
		status = run(&convert);
	sp_convert_free(&convert);
	return status;
}
