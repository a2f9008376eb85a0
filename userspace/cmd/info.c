/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info.c - sp-report info: what was recorded, by what, and what is missing.
 *
 * Inputs of one recording are shown together, with what is missing in it first; several recordings,
 * journals, and foreign files, which do not say what belongs together, one after the other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/util.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/info.h"
#include "userspace/cmd/report.h"

#define JOURNAL "journal.spj" /* as sp-trace names it */

enum key {
	KEY_JSON = 256,
};

static const struct sp_option options[] = {
	{"json", KEY_JSON, NULL, "print JSON"},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report info",
	.usage = "[OPTION]… FILE|DIR…",
	.about = "Shows what was recorded and by what, and first of all what is missing. Takes "
		 ".h5,\n"
		 ".spt, .sps and JSON profiles, journals, and directories of them.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

struct request {
	struct sp_inputs inputs;
	struct sp_info *recordings;
	size_t n_recordings;
	struct sp_info_journal **journals;
	size_t n_journals, journals_room;
	char **paths; /* those that are no journals */
	size_t n_paths;
	bool as_json;
};

/* ---- which files ---- */

static bool is_journal(const char *path)
{
	enum sp_format format;

	return sp_format_detect(path, &format, NULL) == 0 && format == SP_FORMAT_JOURNAL;
}

/* The journal that an operand is, or that stands for a directory which has nothing else; to
 * free(), NULL if there is none. */
static char *find_journal(const char *path)
{
	struct sp_inputs inputs = {0};
	char *journal = NULL;
	struct stat st;
	int r;

	if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
		return is_journal(path) ? strdup(path) : NULL;
	if (asprintf(&journal, "%s%s" JOURNAL, path,
		     path[0] && path[strlen(path) - 1] == '/' ? "" : "/") < 0)
		return NULL;
	if (is_journal(journal)) {
		r = sp_inputs_add(&inputs, path, NULL);
		sp_inputs_free(&inputs);
		if (r == -ENOENT)
			return journal;
	}
	free(journal);
	return NULL;
}

static int add_journal(struct request *request, const char *path)
{
	struct sp_info_journal **slot;
	struct sp_error error = {0};
	int r;

	slot = sp_array_add(&request->journals, &request->n_journals, &request->journals_room);
	r = slot ? sp_info_journal_open(path, slot, &error)
		 : sp_error_set(&error, -ENOMEM, 0, "out of memory");
	if (r < 0) {
		request->n_journals -= slot != NULL;
		sp_log_error("%s: %s", path, error.text);
	}
	return r;
}

static int add_operand(struct request *request, const char *given)
{
	sp_cleanup(sp_freep) char *journal = find_journal(given);

	if (journal)
		return add_journal(request, journal);
	request->paths[request->n_paths++] = (char *)given;
	return 0;
}

/* ---- what belongs together ---- */

/* Losses stand in every file of a recording, and were counted once for its first. */
static void count_losses(struct request *request)
{
	for (size_t i = 0; i < request->inputs.n_losses; i++) {
		const struct sp_given_loss *loss = &request->inputs.losses[i];

		if (!sp_report_is_missing(loss))
			continue;
		for (size_t k = 0; k < request->n_recordings; k++)
			if (request->inputs.items[loss->input].group ==
			    request->recordings[k].first->group)
				sp_add_capped(&request->recordings[k].lost, loss->count);
	}
}

static int group(struct request *request)
{
	struct sp_inputs *inputs = &request->inputs;
	struct sp_error error = {0};

	request->recordings = calloc(inputs->n + 1, sizeof(*request->recordings));
	if (!request->recordings) {
		sp_log_error("out of memory");
		return -1;
	}
	for (size_t i = 0; i < inputs->n; i++) {
		struct sp_given *input = &inputs->items[i];
		size_t at = 0;

		while (at < request->n_recordings &&
		       request->recordings[at].first->group != input->group)
			at++;
		if (at == request->n_recordings)
			request->recordings[request->n_recordings++].first = input;
		if (sp_info_add(&request->recordings[at], input, &error) < 0) {
			sp_log_error("%s: %s", input->path, error.text);
			return -1;
		}
	}
	count_losses(request);
	return 0;
}

/* ---- showing ---- */

/* All losses and notes, of journals, too; only the arrays are its own. -1 without memory. */
static int gather_notes(const struct request *request, struct sp_inputs *ret_all)
{
	struct sp_inputs all = {.n = request->inputs.n, .items = request->inputs.items};

	for (size_t i = 0; i <= request->n_journals; i++) {
		const struct sp_inputs *from =
			i ? sp_info_journal_notes(request->journals[i - 1]) : &request->inputs;

		for (size_t k = 0; k < from->n_losses; k++) {
			struct sp_given_loss *loss =
				sp_array_add(&all.losses, &all.n_losses, &all.losses_room);

			if (!loss)
				return -1;
			*loss = from->losses[k];
		}
		for (size_t k = 0; k < from->gaps.n; k++) {
			struct sp_gap *gap =
				sp_array_add(&all.gaps.items, &all.gaps.n, &all.gaps.room);

			if (!gap)
				return -1;
			*gap = from->gaps.items[k];
		}
		for (size_t k = 0; k < from->n_cuts; k++) {
			struct sp_given_cut *cut =
				sp_array_add(&all.cuts, &all.n_cuts, &all.cuts_room);

			if (!cut)
				return -1;
			*cut = from->cuts[k];
		}
		for (size_t k = 0; k < from->n_notes; k++) {
			struct sp_given_note *note =
				sp_array_add(&all.notes, &all.n_notes, &all.notes_room);

			if (!note)
				return -1;
			*note = from->notes[k];
		}
	}
	*ret_all = all;
	return 0;
}

static int write_json(const struct request *request)
{
	struct sp_json json = {.out = stdout};
	struct sp_inputs all = {0};

	if (gather_notes(request, &all) < 0) {
		sp_log_error("out of memory");
		return 1;
	}
	sp_json_open_object(&json, NULL);
	sp_report_json_notes(&all, SP_REPORT_ALL, &json);
	sp_json_open_array(&json, "recordings");
	for (size_t i = 0; i < request->n_recordings; i++)
		sp_info_write_json(&request->recordings[i], &request->inputs, &json);
	for (size_t i = 0; i < request->n_journals; i++)
		sp_info_journal_write_json(request->journals[i], &json);
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	sp_json_end(&json);
	free(all.losses);
	free(all.cuts);
	free(all.notes);
	sp_gaps_free(&all.gaps);
	return 0;
}

static int show(const struct request *request)
{
	if (request->as_json)
		return write_json(request);
	for (size_t i = 0; i < request->n_recordings; i++) {
		if (i)
			printf("\n");
		sp_report_print_notes(&request->inputs, request->recordings[i].first->group,
				      stdout);
		sp_info_print(&request->recordings[i], &request->inputs);
	}
	for (size_t i = 0; i < request->n_journals; i++) {
		if (i || request->n_recordings)
			printf("\n");
		sp_report_print_notes(sp_info_journal_notes(request->journals[i]), SP_REPORT_ALL,
				      stdout);
		sp_info_journal_print(request->journals[i]);
	}
	return 0;
}

static int parse(int argc, char **argv, struct request *request)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		if (key == KEY_JSON)
			request->as_json = true;
		else if (add_operand(request, arg) < 0)
			return 1;
	}
	if (key < 0)
		return sp_cli_status(key);
	if (!request->n_paths && !request->n_journals)
		return sp_cli_usage_error(&cli, "no file or directory is given");
	return -1;
}

int sp_cmd_info(int argc, char **argv)
{
	struct request request = {.inputs = {.apart = true, .no_self = true}};
	int r;

	request.paths = calloc((size_t)argc + 1, sizeof(*request.paths));
	if (!request.paths) {
		sp_log_error("out of memory");
		return 1;
	}
	r = parse(argc, argv, &request);
	if (r < 0)
		r = sp_report_open(&request.inputs, request.paths, request.n_paths) < 0 ||
				    group(&request) < 0
			    ? 1
			    : show(&request);
	for (size_t i = 0; i < request.n_journals; i++)
		sp_info_journal_free(request.journals[i]);
	free(request.journals);
	free(request.recordings);
	free(request.paths);
	sp_inputs_free(&request.inputs);
	return r;
}
