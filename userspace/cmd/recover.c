/* SPDX-License-Identifier: BSD-2-Clause
 *
 * recover.c - sp-report recover: makes the final files from a journal.
 *
 * sp-trace runs it when a recording ends; users run it on what a recorder that died left behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/h5_write.h"
#include "formats/util.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/log.h"
#include "userspace/base/units.h"
#include "userspace/cmd/command.h"
#include "userspace/cmd/convert.h"
#include "userspace/export/finalize.h"

#define JOURNAL "journal.spj" /* as sp-trace names it */

enum key {
	KEY_FORMATS = 256,
	KEY_PROGRAM,
	KEY_KEEP,
	KEY_FORCE,
	KEY_COMPRESS,
	KEY_NO_SYNC,
	KEY_NO_LINE_PROFILE,
};

static const struct sp_option options[] = {
	{"output", 'o', "DIR", "write into DIR; default: where the journal is"},
	{"formats", KEY_FORMATS, "LIST", "any of h5, sps, spt; default: h5,sps"},
	{"program", KEY_PROGRAM, "NAME", "begin file names with NAME instead of the program's"},
	{"compress", KEY_COMPRESS, "LEVEL", "none, auto, or 1 (fast) to 9 (small); default: auto"},
	{"force", KEY_FORCE, NULL, "replace files of the same name"},
	{"no-line-profile", KEY_NO_LINE_PROFILE, NULL,
	 "do not store the source lines of samples (for other\nprograms: sp-report lines finds "
	 "them "
	 "itself)"},
	{"keep-journal", KEY_KEEP, NULL, "do not remove a complete journal afterwards"},
	{"quiet", 'q', NULL, "only errors and warnings"},
	{"no-sync", KEY_NO_SYNC, NULL, NULL},
	{0},
};

static const struct sp_cli cli = {
	.program = "sp-report recover",
	.usage = "[OPTION]… JOURNAL|DIR",
	.about = "Makes the final files of a recording from its journal, for each MPI rank\n"
		 "PROGRAM_rankNNNNN.h5 and .sps. A journal whose recorder died is read up to where "
		 "it\n"
		 "is whole, and kept; one that is complete is removed once all files are. DIR "
		 "stands\n"
		 "for its journal.spj.",
	.options = options,
	.flags = SP_CLI_PERMUTE,
};

/* An interrupted conversion removes what it has made; the journal stays. */
static volatile sig_atomic_t was_cancelled;

static void cancel(int signal)
{
	(void)signal;
	was_cancelled = 1;
}

static bool is_cancelled(void)
{
	return was_cancelled;
}

static void catch_signals(void)
{
	/* A second one kills. */
	struct sigaction action = {.sa_handler = cancel, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void show_progress(const char *what, double done)
{
	sp_log_status("converting the journal: %s … %.0f %%", what, done * 100);
}

static char *directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* "dir/" and "dir" are one. */
static void strip_slashes(char *path)
{
	while (strlen(path) > 1 && path[strlen(path) - 1] == '/')
		path[strlen(path) - 1] = 0;
}

/* The journal that is meant by a directory, or @given itself; to free(). */
static char *find_journal(const char *given)
{
	sp_cleanup(sp_freep) char *directory = strdup(given);
	char *journal = NULL;

	if (!directory || !is_directory(given))
		return directory ? strdup(given) : NULL;
	strip_slashes(directory);
	return asprintf(&journal, "%s/" JOURNAL, strcmp(directory, "/") ? directory : "") < 0
		       ? NULL
		       : journal;
}

/* What can be done about it. */
static void hint(const struct sp_finalize_options *opts, const struct sp_finalize_failure *failure,
		 bool from_directory)
{
	int code = -failure->error.code;

	if (from_directory && code == ENOENT && !strcmp(failure->path, opts->journal)) {
		sp_log_hint("The directory has no journal: its recording was converted already, or "
			    "is in another one.");
		return;
	}
	sp_log_hint("The journal is as it was, and no file was made.");
	if (code == ENOSPC || code == EDQUOT || code == EROFS || code == EFBIG)
		sp_log_hint("To write the files where there is room: sp-report recover -o DIR %s",
			    opts->journal);
}

static void warn_about_journal(const struct sp_finalize_options *opts,
			       const struct sp_finalize_result *result)
{
	const struct sp_recording *rec = result->recording;

	if (result->facts.damage[0])
		sp_log_warning("%s: %s (at byte %llu)", opts->journal, result->facts.damage,
			       (unsigned long long)result->facts.good_bytes);
	if (result->incomplete)
		sp_log_warning("kept: %s of %s bytes, %s whole block%s%s",
			       sp_show_count(result->facts.good_bytes).text,
			       sp_show_count(result->facts.file_bytes).text,
			       sp_show_count(result->facts.blocks).text,
			       sp_plural(result->facts.blocks),
			       result->facts.damage[0] ? "; what follows is lost" : "");
	if (!rec->ended)
		sp_log_warning("the recorder died before the recording ended, or is still at it: "
			       "what it had not written yet is missing");
	else if (rec->calls < rec->end_calls || rec->samples < rec->end_samples)
		sp_log_warning(
			"the journal says that it had %llu call%s and %llu sample%s, but only %llu "
			"and %llu are in it",
			(unsigned long long)rec->end_calls, sp_plural(rec->end_calls),
			(unsigned long long)rec->end_samples, sp_plural(rec->end_samples),
			(unsigned long long)rec->calls, (unsigned long long)rec->samples);
	if (rec->made_up_lanes)
		sp_log_warning("%llu thread%s without a record of %s own: shown as '?'",
			       (unsigned long long)rec->made_up_lanes,
			       sp_plural(rec->made_up_lanes),
			       rec->made_up_lanes == 1 ? "its" : "their");
	if (rec->unknown_sites)
		sp_log_warning("%llu call%s of regions whose name is not known: shown as "
			       "'[unknown region …]'",
			       (unsigned long long)rec->unknown_site_calls,
			       sp_plural(rec->unknown_site_calls));
	if (result->reversed)
		sp_log_warning("%llu call%s ended before it began: kept with no length",
			       (unsigned long long)result->reversed, sp_plural(result->reversed));
}

static void warn_about_losses(const struct sp_recording *rec)
{
	for (unsigned cause = 0; cause < SP_LOSS_MAX; cause++) {
		uint64_t count = 0;

		for (size_t i = 0; i < rec->n_losses; i++)
			if (rec->losses[i].cause == cause)
				sp_add_capped(&count, rec->losses[i].count);
		if (count && !sp_loss_is_gap(cause)) /* all else is there */
			sp_log_info("note: %s × %s (%s)", sp_show_count(count).text,
				    sp_loss_name(cause), sp_loss_help(cause));
		else if (count)
			sp_log_warning("lost: %s × %s (%s)", sp_show_count(count).text,
				       sp_loss_name(cause), sp_loss_help(cause));
	}
}

/* What is in the files and yet no whole call: no loss, but to be known. */
static void say_cuts(const struct sp_cuts *cuts)
{
	for (unsigned kind = 0; kind < SP_CUT_KINDS; kind++) {
		int r;
		sp_cleanup(sp_freep) char *text = sp_cuts_tell(cuts, kind, &r);

		if (text)
			sp_log_info("note: %s", text);
	}
}

/* Which stacks of a recording with copies are libdw's, and why not all. */
static void say_stacks(const struct sp_finalize_stacks *stacks)
{
	for (size_t i = 0; i < stacks->n_unusable; i++)
		sp_log_warning("%s %s: libdw could not unwind through it", stacks->unusable[i].path,
			       stacks->unusable[i].reason);
	if (stacks->gave_up)
		sp_log_warning("libdw crashed too often; the stacks that were left are those that "
			       "were found while recording");
	if (!stacks->copies || !stacks->for_all)
		return;
	sp_log_info("%s of %s stacks were unwound by libdw from copies",
		    sp_show_count(stacks->by_libdw).text, sp_show_count(stacks->copies).text);
	if (stacks->short_copies)
		sp_log_info("note: %s longer ones are those found while recording, since their "
			    "copies end early (--stacks dwarf,BYTES takes larger ones)",
			    sp_show_count(stacks->short_copies).text);
	if (stacks->failed)
		sp_log_info("note: %s are those found while recording, since libdw's end early",
			    sp_show_count(stacks->failed).text);
}

static void say_result(const struct sp_finalize_options *opts,
		       const struct sp_finalize_result *result)
{
	sp_cleanup(sp_freep) char *stacks = sp_stack_counts_tell(&result->ends, 0);

	warn_about_journal(opts, result);
	warn_about_losses(result->recording);
	say_cuts(&result->cuts);
	say_stacks(&result->stacks);
	if (result->no_lines && *result->no_lines)
		sp_log_info("note: %s", result->no_lines);
	sp_log_info("%s call%s, %s sample%s (%s outside of regions)%s%s",
		    sp_show_count(result->calls).text, sp_plural(result->calls),
		    sp_show_count(result->samples).text, sp_plural(result->samples),
		    sp_show_count(result->samples_outside).text,
		    stacks && stacks[0] ? "; stacks " : "", stacks ? stacks : "");
	for (size_t i = 0; i < result->n_files; i++) {
		if (result->n_files > 12 && i == 10) {
			sp_log_info("… and %zu more files in %s", result->n_files - i,
				    opts->directory);
			break;
		}
		sp_log_info("%s/%s", opts->directory, result->files[i]);
	}
	if (result->incomplete)
		sp_log_info("%s is kept, since it is not complete: remove it when you need it no "
			    "longer",
			    opts->journal);
	else if (!opts->keep_journal && !result->journal_removed)
		sp_log_warning("%s could not be removed", opts->journal);
}

static int parse(int argc, char **argv, struct sp_finalize_options *opts)
{
	struct sp_cli_parser parser = sp_cli_parse(&cli, argc, argv);
	const char *arg;
	int key, status;

	while ((key = sp_cli_next(&parser, &arg)) > 0) {
		switch (key) {
		case 'o':
			opts->directory = arg;
			break;
		case KEY_FORMATS:
			if (!sp_finalize_known(arg))
				return sp_cli_usage_error(&cli,
							  "'%s' is not a list of formats: any of "
							  "h5, sps, spt, with commas",
							  arg);
			opts->formats = arg;
			break;
		case KEY_PROGRAM:
			opts->program = arg;
			break;
		case KEY_COMPRESS:
			status = sp_convert_parse_compress(&cli, arg, &opts->gzip);
			if (status)
				return status;
			break;
		case KEY_FORCE:
			opts->force = true;
			break;
		case KEY_KEEP:
			opts->keep_journal = true;
			break;
		case KEY_NO_LINE_PROFILE:
			opts->no_line_profile = true;
			break;
		case KEY_NO_SYNC:
			opts->no_sync = true;
			break;
		case 'q':
			sp_log_init("sp-report", SP_LOG_QUIET);
			break;
		case SP_CLI_OPERAND:
			if (opts->journal)
				return sp_cli_usage_error(&cli,
							  "only one journal can be converted at a "
							  "time; '%s' is one too many",
							  arg);
			opts->journal = arg;
			break;
		}
	}
	if (key < 0)
		return sp_cli_status(key);
	if (!opts->journal)
		return sp_cli_usage_error(&cli, "no journal is given");
	return -1;
}

int sp_cmd_recover(int argc, char **argv)
{
	struct sp_finalize_options opts = {.formats = "h5,sps", .gzip = SP_H5_GZIP_AUTO};
	struct sp_finalize_result result = {0};
	struct sp_finalize_failure failure = {0};
	sp_cleanup(sp_freep) char *directory = NULL, *journal = NULL;
	bool from_directory;
	int r = parse(argc, argv, &opts);

	if (r >= 0)
		return r;
	from_directory = is_directory(opts.journal);
	journal = find_journal(opts.journal);
	if (!journal) {
		sp_log_error("out of memory");
		return 1;
	}
	opts.journal = journal;
	directory = opts.directory ? strdup(opts.directory) : directory_of(opts.journal);
	if (!directory) {
		sp_log_error("out of memory");
		return 1;
	}
	strip_slashes(directory);
	opts.directory = directory;
	opts.progress = sp_log_has_status() ? show_progress : NULL;
	opts.cancelled = is_cancelled;
	catch_signals();
	r = sp_finalize(&opts, &result, &failure);
	sp_log_status_clear();
	if (r < 0) {
		sp_log_error("%s: %s", failure.path, failure.error.text);
		hint(&opts, &failure, from_directory);
		return 1;
	}
	say_result(&opts, &result);
	sp_finalize_result_free(&result);
	return 0;
}
