/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export.c - sp-report export: a profile, of whatever format or of many files, in another format.
 *
 * A format is a line of the table below. Formats that hold one rank make a file for each, below a
 * directory if there are several.
 */
#include <stdlib.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/export.h"

const struct sp_export_kind sp_export_kinds[SP_EXPORT_KINDS] = {
	{"h5", SP_TO_H5, sp_write_h5, NULL, SP_EXPORT_H5},
	{"spt", SP_TO_SPT, NULL, sp_write_spt, SP_EXPORT_SPT},
	{"sps", SP_TO_SPS, NULL, sp_write_sps, SP_EXPORT_SPS},
	{"json", SP_TO_JSON, sp_write_json, NULL, SP_EXPORT_JSON},
	{"folded", SP_TO_FOLDED, NULL, NULL, SP_EXPORT_SPS},
	{"flamegraph", SP_TO_FLAMEGRAPH, NULL, NULL, SP_EXPORT_SPS},
};

static int write_parts(struct sp_export *export)
{
	struct sp_write_options *write = &export->convert.write;

	for (size_t i = 0; i < export->parts.n; i++) {
		const struct sp_export_part *part = &export->parts.items[i];
		struct sp_error error = {0};
		int r;

		write->first_sample = part->first_sample;
		write->end_sample = part->end_sample;
		r = export->kind->write_rank(export->convert.profile, part->rank, part->path, write,
					     &error);
		if (r < 0) {
			sp_convert_say_failure(part->path, r, &error);
			if (i)
				sp_log_hint("%zu of %zu files were made.", i, export->parts.n);
			return -1;
		}
	}
	return 0;
}

static int write_whole(struct sp_export *export)
{
	struct sp_error error = {0};
	int r = export->kind->write(export->convert.profile, export->convert.output,
				    &export->convert.write, &error);

	if (r < 0)
		sp_convert_say_failure(export->convert.output, r, &error);
	return r;
}

static void say_left(const struct sp_export *export, const char *text)
{
	if (text && *text)
		sp_log_info("left out, since %s has no place for it: %s",
			    export->convert.write.aggregate ? "an aggregate" : export->kind->name,
			    text);
	if (export->kind->write_rank == sp_write_sps && export->parts.outside)
		sp_log_info("%s sample%s in no region: only counted",
			    sp_show_count(export->parts.outside).text,
			    sp_plural(export->parts.outside));
}

static void say_result(struct sp_export *export)
{
	const struct sp_profile_info *info = sp_profile_info(export->convert.profile);
	enum sp_export_format left = export->kind->left;
	sp_cleanup(sp_freep) char *text = NULL;

	if (export->convert.write.aggregate)
		left = SP_EXPORT_H5_AGGREGATE;
	else if (export->convert.write.version == 1)
		left = SP_EXPORT_SPT_1;
	text = sp_export_left(export->convert.profile, left);
	say_left(export, text);
	if (!export->kind->write_rank) {
		uint32_t ranks = sp_convert_count_ranks(export->convert.profile,
							export->kind->to == SP_TO_H5);

		sp_log_info("%s: %s rank%s, %s call%s", export->convert.output,
			    sp_show_count(ranks).text, sp_plural(ranks),
			    sp_show_count(info->n_calls).text, sp_plural(info->n_calls));
		return;
	}
	for (size_t i = 0; i < export->parts.n; i++) {
		if (export->parts.n > 12 && i == 10) {
			sp_log_info("… and %zu more files in %s", export->parts.n - i,
				    export->convert.output);
			return;
		}
		sp_log_info("%s", export->parts.items[i].path);
	}
}

static int run(struct sp_export *export)
{
	struct sp_convert *convert = &export->convert;
	bool parts = export->kind->write_rank != NULL;
	int r;

	if (sp_convert_open(convert) < 0)
		return 1;
	r = parts ? sp_export_parts_prepare(&export->parts, convert, export->convert.output,
					    export->prefix, export->kind->name,
					    export->kind->write_rank == sp_write_sps)
		  : sp_convert_check_output(convert, export->convert.output);
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

static int run_stacks(struct sp_export *export)
{
	export->stacks.flamegraph = export->kind->to == SP_TO_FLAMEGRAPH;
	export->stacks.output_flags = export->convert.write.output_flags;
	return sp_export_stacks(&export->stacks, export->convert.inputs, export->convert.n_inputs,
				export->convert.output);
}

int sp_cmd_export(int argc, char **argv)
{
	struct sp_export export = {0};
	int status = sp_export_parse(&export, argc, argv);

	if (status < 0)
		status = export.kind->to & SP_TO_STACKS ? run_stacks(&export) : run(&export);
	sp_convert_free(&export.convert);
	sp_export_parts_free(&export.parts);
	sp_export_stacks_free(&export.stacks);
	return status;
}
