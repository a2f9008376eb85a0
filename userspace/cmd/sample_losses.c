/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_losses.c - what is missing, in the reports on samples: causes, where they struck, and the
 * regions that they touch. Calls count, too: without them a sample's region may not be known, nor
 * what that was in.
 */
#include "userspace/cmd/sample_losses.h"

#include <stdlib.h>

#include "formats/util.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/base/pool.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/sample_notes.h"

#define MOST_NAMED 8

/* Regions of which more may be missing than is known; those with known losses stand with these. */
static void note_open(FILE *out, const struct sp_sample_gaps *gaps)
{
	sp_cleanup(sp_freep) char *list = NULL;
	size_t size, n = 0;
	FILE *stream = open_memstream(&list, &size);

	for (uint32_t i = 0; stream && i < gaps->n_regions; i++) {
		const struct sp_missing *missing = &gaps->regions[i];

		if (!missing->calls_in_gap && !missing->samples_in_gap)
			continue;
		if (n++ < MOST_NAMED)
			fprintf(stream, "%s%s", n > 1 ? ", " : "", sp_pool_at(gaps->names, i));
	}
	if (stream && n > MOST_NAMED)
		fprintf(stream, " and %zu more", n - MOST_NAMED);
	if (stream && fclose(stream) == 0 && n)
		sp_sample_note(out,
			       "open in gaps whose region is not known, so more may be missing in "
			       "them: %s",
			       list);
}

static bool is_silent(const struct sp_sample_files *files, size_t index)
{
	const struct sp_sample_rank *rank = &files->by_rank.items[index];

	return sp_sample_files_wants(files, rank->rank) &&
	       sp_sample_ranks_silent(&files->by_rank, rank);
}

char *sp_sample_tell_silent(const struct sp_sample_files *files)
{
	const struct sp_sample_ranks *ranks = &files->by_rank;
	sp_cleanup(sp_freep) uint32_t *silent = calloc(ranks->n + 1, sizeof(*silent));
	sp_cleanup(sp_freep) char *list = NULL;
	uint64_t lost = 0;
	size_t n = 0;
	char *text;
	int r;

	for (size_t i = 0; silent && i < ranks->n; i++) {
		if (!is_silent(files, i))
			continue;
		silent[n++] = ranks->items[i].rank;
		sp_add_capped(&lost, ranks->items[i].lost);
	}
	list = n ? sp_list_ranks(silent, n) : NULL;
	if (!list)
		return NULL;
	if (lost)
		r = asprintf(&text, "no sample is left of rank%s %s: %s %s lost", sp_plural(n),
			     list, sp_show_count(lost).text, lost == 1 ? "was" : "were");
	else
		r = asprintf(
			&text,
			"no sample is there of rank%s %s; whose the lost ones were is not known",
			sp_plural(n), list);
	return r < 0 ? NULL : text;
}

char *sp_sample_tell_silent_regions(const struct sp_sample_files *files)
{
	const struct sp_sample_gaps *gaps = &files->gaps;
	char *text = NULL;
	size_t size, n = 0;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; out && i < gaps->n_regions; i++) {
		if (!sp_sample_gaps_is_silent(gaps, i) || n++ >= MOST_NAMED)
			continue;
		fprintf(out, "%s%s (%s lost)", n > 1 ? ", " : "no sample is left directly in ",
			sp_pool_at(gaps->names, i), sp_show_count(gaps->regions[i].samples).text);
	}
	if (out && n > MOST_NAMED)
		fprintf(out, " and %zu more regions", n - MOST_NAMED);
	if (!out || fclose(out) || !n) {
		free(text);
		return NULL;
	}
	return text;
}

bool sp_sample_say_region_lost(const struct sp_sample_files *files, const char *region)
{
	uint64_t lost = sp_sample_gaps_of(&files->gaps, region).samples;

	if (lost)
		sp_log_error("no sample of region \"%s\" is left: %s %s lost", region,
			     sp_show_count(lost).text, lost == 1 ? "was" : "were");
	return lost;
}

void sp_sample_note_losses(FILE *out, const struct sp_sample_files *files)
{
	sp_cleanup(sp_freep) char *silent = sp_sample_tell_silent(files);
	sp_cleanup(sp_freep) char *regions = sp_sample_tell_silent_regions(files);

	for (size_t i = 0; i < files->n_losses; i++) {
		const struct sp_sample_loss *loss = &files->losses[i];
		unsigned cause = sp_loss_find(loss->cause);
		sp_cleanup(sp_freep) char *where = NULL;

		if (!sp_loss_is_gap(cause))
			continue;
		sp_sample_note(out, "%s lost: %s (%s)", sp_show_count(loss->count).text,
			       loss->cause, sp_loss_help(cause));
		where = sp_gaps_tell(&files->gaps.gaps, loss->cause, SIZE_MAX, files->gaps.start);
		if (!where || !where[0])
			continue;
		fputs("      ", out);
		sp_text_print(out, where);
		putc('\n', out);
	}
	if (silent)
		sp_sample_note(out, "%s", silent);
	if (regions)
		sp_sample_note(out, "%s", regions);
	note_open(out, &files->gaps);
}

void sp_sample_json_losses(struct sp_json *json, const struct sp_sample_files *files)
{
	sp_json_open_array(json, "losses");
	for (size_t i = 0; i < files->n_losses; i++) {
		sp_json_open_object(json, NULL);
		sp_json_text(json, "cause", files->losses[i].cause);
		sp_json_unsigned(json, "count", files->losses[i].count);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	sp_json_open_array(json, "gaps");
	for (size_t i = 0; i < files->gaps.gaps.n; i++)
		sp_report_json_gap(json, &files->gaps.gaps.items[i]);
	sp_json_close_array(json);
	sp_json_open_array(json, "ranks_without_samples");
	for (size_t i = 0; i < files->by_rank.n; i++) {
		const struct sp_sample_rank *rank = &files->by_rank.items[i];

		if (!is_silent(files, i))
			continue;
		sp_json_open_object(json, NULL);
		sp_json_unsigned(json, "rank", rank->rank);
		sp_json_unsigned(json, "lost_samples", rank->lost);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	sp_json_open_array(json, "regions_without_samples");
	for (uint32_t i = 0; i < files->gaps.n_regions; i++) {
		if (!sp_sample_gaps_is_silent(&files->gaps, i))
			continue;
		sp_json_open_object(json, NULL);
		sp_json_text(json, "region", sp_pool_at(files->gaps.names, i));
		sp_json_unsigned(json, "lost_samples", files->gaps.regions[i].samples);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

void sp_sample_json_missing(struct sp_json *json, const struct sp_sample_files *files,
			    const char *region)
{
	struct sp_missing missing = sp_sample_gaps_of(&files->gaps, region);

	sp_report_json_missing(json, &missing);
}
