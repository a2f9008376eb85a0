/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_notes.c - see sample_notes.h.
 */
#include "userspace/cmd/sample_notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/cli.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

#define MAX_LISTED 8 /* regions, or ranges of ranks, in one message */

void sp_sample_say_failure(const struct sp_sample_files *files, const char *path,
			   const struct sp_error *error)
{
	sp_log_error("%s: %s", files->failed ? files->failed : path, error->text);
}

/* "0-3, 7"; of many only the first. To free(). */
char *sp_list_ranks(const uint32_t *ranks, size_t n)
{
	char *text = NULL;
	size_t size, shown = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0, to; i < n && shown < MAX_LISTED; i = to, shown++) {
		for (to = i + 1; to < n && ranks[to] == ranks[to - 1] + 1; to++)
			;
		fprintf(out, "%s%u", i ? ", " : "", ranks[i]);
		if (to - i > 1)
			fprintf(out, "-%u", ranks[to - 1]);
		if (to < n && shown + 1 == MAX_LISTED)
			fputs(", …", out);
	}
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void say_no_rank(const struct sp_sample_files *files, const char *path)
{
	const struct sp_sample_ranks *ranks = &files->by_rank;
	sp_cleanup(sp_freep) char *wanted = sp_list_ranks(files->ranks, files->n_ranks);
	sp_cleanup(sp_freep) uint32_t *with = calloc(ranks->n + 1, sizeof(*with));
	sp_cleanup(sp_freep) char *seen = NULL;
	size_t n = 0;

	for (size_t i = 0; with && i < ranks->n; i++)
		if (ranks->items[i].samples)
			with[n++] = ranks->items[i].rank;
	seen = with ? sp_list_ranks(with, n) : NULL;
	sp_log_error("%s: no samples of rank %s", path, wanted ? wanted : "?");
	if (n)
		sp_log_hint("ranks with samples: %s", seen ? seen : "?");
}

void sp_sample_say_no_region(const char *name, const char *const *names, size_t n)
{
	sp_cleanup(sp_freep) const char **all = calloc(n + 1, sizeof(*all));
	sp_cleanup(sp_freep) char *list = NULL;
	const char *near;
	size_t size;
	FILE *out;

	for (size_t i = 0; all && i < n; i++)
		all[i] = names[i];
	near = all ? sp_cli_nearest(name, all) : NULL;
	sp_log_error("there is no region \"%s\"", name);
	if (near) {
		sp_log_hint("did you mean \"%s\"?", near);
		return;
	}
	out = open_memstream(&list, &size);
	if (!out)
		return;
	for (size_t i = 0; i < n && i < MAX_LISTED; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", names[i]);
	if (n > MAX_LISTED)
		fprintf(out, " and %zu more (sp-report summary lists all)", n - MAX_LISTED);
	if (fclose(out) == 0 && n)
		sp_log_hint("the recording has %s", list);
	else
		sp_log_hint("the recording has no regions");
}

/* The cause by which most samples were lost, NULL if none were. */
static const struct sp_sample_loss *worst_loss(const struct sp_sample_files *files)
{
	const struct sp_sample_loss *worst = NULL;

	for (size_t i = 0; i < files->n_losses; i++)
		if (sp_loss_of(sp_loss_find(files->losses[i].cause)) == SP_LOSS_OF_SAMPLES &&
		    (!worst || files->losses[i].count > worst->count))
			worst = &files->losses[i];
	return worst;
}

int sp_sample_check_any(const struct sp_sample_files *files, const char *path)
{
	const struct sp_sample_loss *lost = worst_loss(files);

	if (files->samples)
		return 0;
	if (lost)
		sp_log_error("%s: no sample is left: %s lost: %s (%s)", path,
			     sp_show_count(lost->count).text, lost->cause,
			     sp_loss_help(sp_loss_find(lost->cause)));
	else if (files->n_ranks)
		say_no_rank(files, path);
	else if (files->outside)
		sp_log_error("%s: none of the %s samples is in a region; .sps files keep no others",
			     path, sp_show_count(files->outside).text);
	else if (files->unsampled && !files->unsampled_hz)
		sp_log_error("%s: recorded without samples (sp-trace -F 0): record again with "
			     "-F 99, or leave -F out",
			     path);
	else if (files->unsampled)
		sp_log_error("%s: no samples: the program used less CPU time than is between two "
			     "of them; let it run longer, or record with a higher rate (sp-trace "
			     "-F 999)",
			     path);
	else if (files->line_profiles)
		sp_log_error("%s: no samples, but %s line profile%s: sp-report dump --section "
			     "lines %s",
			     path, sp_show_count(files->line_profiles).text,
			     sp_plural(files->line_profiles), files->with_line_profiles);
	else if (files->foreign)
		sp_log_error("%s: no samples: they are in the .sps files of native programs, and "
			     "in recordings of sp-trace, unless its -F was 0",
			     path);
	else
		sp_log_error("%s: no samples", path);
	return -ENODATA;
}

/* ---- notes ---- */

void sp_sample_note(FILE *out, const char *format, ...)
{
	sp_cleanup(sp_freep) char *text = NULL, *safe = NULL;
	bool colours = sp_has_colours(out);
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		text = NULL;
	safe = text ? sp_text_escape(text) : NULL;
	fprintf(out, "%snote: %s%s\n", colours ? "\033[33m" : "", safe ? safe : "(out of memory)",
		colours ? "\033[0m" : "");
}

void sp_sample_note_outside(FILE *out, const struct sp_sample_files *files)
{
	if (files->outside)
		sp_sample_note(out,
			       "%s more sample%s fell outside of every region; .sps files only "
			       "count them",
			       sp_show_count(files->outside).text, sp_plural(files->outside));
}

void sp_sample_note_other(FILE *out, const struct sp_sample_files *files, const char *command)
{
	size_t length = files->other ? strlen(files->other) : 0;

	if (!files->other || files->n_ranks)
		return;
	for (size_t i = 0; i < files->n; i++)
		if (!strncmp(files->paths[i], files->other, length) &&
		    files->paths[i][length] == '/')
			return;
	sp_sample_note(out, "processes without a rank are apart: sp-report %s %s", command,
		       files->other);
}
