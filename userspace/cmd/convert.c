/* SPDX-License-Identifier: BSD-2-Clause
 *
 * convert.c - see convert.h.
 */
#include "userspace/cmd/convert.h"

#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "formats/codec.h"
#include "formats/util.h"
#include "formats/wire.h"
#include "userspace/analysis/rank_count.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"
#include "userspace/export/write_rows.h"

#define SHOW_NS 100000000 /* between two states of the progress */

/* A run of thousands of ranks has as many files. */
static void allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void say_notes(const struct sp_found *found)
{
	for (size_t i = 0; i < found->n_notes; i++) {
		if (found->notes[i].minor)
			sp_log_verbose("%s", found->notes[i].text);
		else if (!found->notes[i].sum || sp_log_level() < SP_LOG_VERBOSE)
			sp_log_info("note: %s", found->notes[i].text);
	}
}

int sp_convert_open(struct sp_convert *convert)
{
	struct sp_found *found = &convert->found;
	int r = 0;

	allow_many_files();
	for (size_t i = 0; r == 0 && i < convert->n_inputs; i++)
		r = sp_found_add(found, convert->inputs[i]);
	if (r == 0)
		r = sp_found_open(found);
	if (r == 0) {
		say_notes(found);
		r = sp_found_merge(found, &convert->profile);
	}
	if (r == 0)
		return 0;
	sp_log_error("%s", found->reason ? found->reason : "out of memory");
	if (r == -EEXIST && !found->renumber)
		sp_log_hint("Give one of them, or have new numbers given: --renumber");
	return -1;
}

void sp_convert_free(struct sp_convert *convert)
{
	sp_profile_free(convert->profile);
	convert->profile = NULL;
	sp_found_free(&convert->found);
	free(convert->inputs);
	convert->inputs = NULL;
}

/* ---- outputs ---- */

int sp_convert_check_directory(const char *path)
{
	sp_cleanup(sp_freep) char *copy = strdup(path);
	const char *directory = copy ? dirname(copy) : ".";
	struct stat st;

	if (stat(directory, &st) < 0 && errno == ENOENT) {
		sp_log_error("%s cannot be made: there is no directory %s", path, directory);
		sp_log_hint("Make it first: mkdir -p %s", directory);
		return -1;
	}
	return 0;
}

int sp_convert_check_output(const struct sp_convert *convert, const char *path)
{
	struct stat out, in;
	size_t length = strlen(path);

	if (length && path[length - 1] == '/') {
		sp_log_error("%s is the name of a directory: name a file in it with -o", path);
		return -1;
	}
	if (lstat(path, &out) < 0)
		return sp_convert_check_directory(path);
	if (stat(path, &out) == 0) {
		for (size_t i = 0; i < convert->found.n_files; i++) {
			const char *input = convert->found.files[i].path;

			if (stat(input, &in) < 0 || in.st_dev != out.st_dev ||
			    in.st_ino != out.st_ino)
				continue;
			sp_log_error("%s is one of the inputs: choose another name with -o", path);
			return -1;
		}
		if (S_ISDIR(out.st_mode)) {
			sp_log_error("%s is a directory: name a file in it with -o", path);
			return -1;
		}
	}
	if (convert->force)
		return 0;
	sp_log_error("%s is there already: choose another name with -o, or replace it with --force",
		     path);
	return -1;
}

/* ---- progress ---- */

static volatile sig_atomic_t was_cancelled;

static void cancel(int signal)
{
	(void)signal;
	was_cancelled = 1;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int show_progress(void *data, uint64_t done, uint64_t total)
{
	struct sp_convert *convert = data;
	uint64_t time;

	if (was_cancelled)
		return -ECANCELED;
	if (!sp_log_has_status() || !total)
		return 0;
	time = now();
	if (time - convert->shown_ns < SHOW_NS)
		return 0;
	convert->shown_ns = time;
	sp_log_status("%s … %.0f %%", convert->doing, 100 * (double)done / (double)total);
	return 0;
}

void sp_convert_begin(struct sp_convert *convert, const char *doing)
{
	/* A second one kills. */
	struct sigaction action = {.sa_handler = cancel, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	convert->doing = doing;
	convert->write.progress = show_progress;
	convert->write.progress_data = convert;
	convert->shown_ns = now(); /* what is quick shows nothing */
}

void sp_convert_say_failure(const char *path, int code, const struct sp_error *error)
{
	sp_log_status_clear();
	if (was_cancelled) { /* also where a reader died of the same signal */
		sp_log_error("interrupted; %s was not made", path);
		return;
	}
	sp_log_error("%s was not made: %s", path, error->text);
	if (code == -ENOSPC || code == -EDQUOT || code == -EROFS || code == -EFBIG)
		sp_log_hint("Write it where there is room, with -o.");
}

/* ---- the result ---- */

static int count_ranks(struct sp_profile *profile, bool samples, uint32_t *ret_count)
{
	sp_cleanup(sp_freep) struct sp_write_row *rows = NULL;
	sp_cleanup(sp_freep) uint32_t *ranks = NULL;
	size_t n = 0;
	int r = samples ? sp_write_list_rows(profile, &rows, &n, NULL) : 0;

	if (r < 0)
		return r;
	ranks = calloc(n + 1, sizeof(*ranks));
	if (!ranks)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		ranks[i] = rows[i].rank;
	return sp_rank_count(profile, ranks, n, ret_count);
}

uint32_t sp_convert_count_ranks(struct sp_profile *profile, bool samples)
{
	uint32_t count = sp_profile_info(profile)->n_ranks;

	count_ranks(profile, samples, &count); /* the writer had all of it, so this cannot fail */
	return count;
}

/* ---- losses ---- */

void sp_convert_say_losses(struct sp_convert *convert)
{
	const struct sp_loss_row *rows;
	struct sp_error error;
	size_t n;

	if (sp_profile_losses(convert->profile, &rows, &n, &error) < 0)
		return; /* they were written, so this cannot fail */
	for (unsigned cause = 1; cause < SP_LOSS_MAX; cause++) {
		uint64_t count = 0;

		for (size_t i = 0; i < n; i++)
			if (!strcmp(rows[i].cause, sp_loss_name(cause)))
				sp_add_capped(&count, rows[i].count);
		if (count && !sp_loss_is_gap(cause)) /* all else is there */
			sp_log_info("note: when it was recorded: %s × %s (%s)",
				    sp_show_count(count).text, sp_loss_name(cause),
				    sp_loss_help(cause));
		else if (count)
			sp_log_warning("lost when it was recorded: %s × %s (%s)",
				       sp_show_count(count).text, sp_loss_name(cause),
				       sp_loss_help(cause));
	}
}
