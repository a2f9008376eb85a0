/* SPDX-License-Identifier: BSD-2-Clause
 *
 * export_stacks.c - see export_stacks.h.
 */
#include "userspace/cmd/export_stacks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"
#include "userspace/cmd/convert.h"
#include "userspace/cmd/sample_losses.h"
#include "userspace/export/flamegraph.h"
#include "userspace/export/folded.h"
#include "userspace/export/json_file.h"

SP_DEFINE_CLEANUP(struct sp_json_file *, sp_json_file_free);

void sp_export_stacks_free(struct sp_export_stacks *export)
{
	sp_stacks_load_free(&export->load);
}

/* "heat.sp" of "out/heat.sp/". To free(). */
static char *name_input(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start && path[start - 1] != '/'; start--)
		;
	return strndup(path + start, end - start);
}

/* "12,345 samples at 999 Hz, regions solve, exchange". To free(). */
static char *describe(const struct sp_export_stacks *export)
{
	uint64_t samples = sp_calltree_node(export->load.tree, 0)->samples;
	const struct sp_sample_files *files = &export->load.files;
	unsigned any = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fprintf(out, "%s sample%s", sp_show_count(samples).text, sp_plural(samples));
	if (export->load.files.hz > 0)
		fprintf(out, " at %" PRId64 " Hz", export->load.files.hz);
	for (size_t i = 0; i < export->load.n_regions; i++)
		fprintf(out, "%s%s", i ? ", " : " in ", export->load.regions[i]);
	for (size_t i = 0; i < files->n_losses; i++)
		if (sp_loss_is_gap(sp_loss_find(files->losses[i].cause)))
			fprintf(out, "%s%s \xc3\x97 %s", any++ ? ", " : "; MISSING: ",
				sp_show_count(files->losses[i].count).text, files->losses[i].cause);
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

/* Where it is missing, a line for each cause; "" for nothing. To free(). */
static char *tell_gaps(const struct sp_sample_files *files)
{
	sp_cleanup(sp_freep) char *silent = sp_sample_tell_silent(files);
	sp_cleanup(sp_freep) char *regions = sp_sample_tell_silent_regions(files);
	char *text = NULL;
	size_t size;
	unsigned any = 0;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < files->n_losses; i++) {
		const struct sp_sample_loss *loss = &files->losses[i];
		sp_cleanup(sp_freep) char *where = NULL;

		if (!sp_loss_is_gap(sp_loss_find(loss->cause)))
			continue;
		where = sp_gaps_tell(&files->gaps.gaps, loss->cause, SIZE_MAX, files->gaps.start);
		fprintf(out, "%sMISSING: %s \xc3\x97 %s%s%s", any++ ? "\n" : "",
			sp_show_count(loss->count).text, loss->cause, where && *where ? ", " : "",
			where ? where : "");
	}
	if (out && silent)
		fprintf(out, "%s%s", any++ ? "\n" : "", silent);
	if (out && regions)
		fprintf(out, "%s%s", any ? "\n" : "", regions);
	if (!out || fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int write_to(const struct sp_export_stacks *export, const char *input, FILE *out,
		    uint64_t *ret_left_out)
{
	sp_cleanup(sp_freep) char *title = NULL, *subtitle = NULL, *missing = NULL;
	struct sp_flamegraph_options options = {
		.least = export->least,
		.inverted = export->inverted,
		.hz = export->load.files.hz,
		.gaps = &export->load.files.gaps,
	};

	if (!export->flamegraph)
		return sp_write_folded(export->load.tree, export->wide, out);
	title = export->title ? strdup(export->title) : name_input(input);
	subtitle = describe(export);
	missing = tell_gaps(&export->load.files);
	if (!title || !subtitle || !missing)
		return -ENOMEM;
	options.title = title;
	options.subtitle = subtitle;
	options.missing = missing;
	return sp_write_flamegraph(export->load.tree, &options, out, ret_left_out);
}

static int write_file(const struct sp_export_stacks *export, const char *input, const char *path,
		      uint64_t *ret_left_out)
{
	sp_cleanup(sp_json_file_freep) struct sp_json_file *file = NULL;
	size_t length = strlen(path);
	bool gzip = length > 3 && !strcmp(path + length - 3, ".gz");
	struct sp_error error = {0};
	int r = sp_json_file_open(path, export->output_flags, gzip ? 6 : 0, &file, &error);

	if (r == 0) {
		r = write_to(export, input, sp_json_file_stream(file), ret_left_out);
		if (r == -ENOMEM)
			sp_error_set(&error, r, 0, "out of memory");
		else
			r = sp_json_file_commit(file, &error);
	}
	if (r == -EEXIST)
		sp_log_error("%s is there already; --force replaces it", path);
	else if (r < 0)
		sp_log_error("%s: %s", path, error.text);
	return r;
}

static int check_output(const struct sp_export_stacks *export, const char *path)
{
	size_t length = strlen(path);
	struct stat out, in;

	if (length && path[length - 1] == '/') {
		sp_log_error("%s is the name of a directory: name a file in it with -o", path);
		return -1;
	}
	if (stat(path, &out) < 0)
		return sp_convert_check_directory(path);
	if (S_ISDIR(out.st_mode)) {
		sp_log_error("%s is a directory: name a file in it with -o", path);
		return -1;
	}
	for (size_t i = 0; i < export->load.files.n; i++)
		if (stat(export->load.files.paths[i], &in) == 0 && in.st_dev == out.st_dev &&
		    in.st_ino == out.st_ino) {
			sp_log_error("%s is one of the inputs: choose another name with -o", path);
			return -1;
		}
	return 0;
}

int sp_export_stacks(struct sp_export_stacks *export, char *const *inputs, size_t n,
		     const char *output)
{
	uint64_t left_out = 0, samples;
	int r;

	if (output && !strcmp(output, "-"))
		output = NULL;
	if (!output && export->flamegraph && isatty(STDOUT_FILENO)) {
		sp_log_error("a flame graph is a picture: name its file with -o");
		return 2;
	}
	export->tree.regions = true;
	export->load.command = export->flamegraph ? "export flamegraph" : "export folded";
	if (sp_stacks_load_read(&export->load, inputs, n) < 0 ||
	    (output && check_output(export, output) < 0) ||
	    sp_stacks_load_tree(&export->load, &export->tree) < 0)
		return 1;
	r = output ? write_file(export, inputs[0], output, &left_out)
		   : write_to(export, inputs[0], stdout, &left_out);
	if (r < 0) {
		if (!output)
			sp_log_error("cannot write: %s", strerrordesc_np(-r));
		return 1;
	}
	sp_stacks_load_warn(&export->load);
	samples = sp_calltree_node(export->load.tree, 0)->samples;
	if (output)
		sp_log_info("%s: %s sample%s", output, sp_show_count(samples).text,
			    sp_plural(samples));
	if (left_out)
		sp_log_verbose("%s %s under %.4g %% not drawn (--min)",
			       sp_show_count(left_out).text, left_out == 1 ? "branch" : "branches",
			       export->least * 100);
	return 0;
}
