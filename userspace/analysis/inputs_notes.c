/* SPDX-License-Identifier: BSD-2-Clause
 *
 * inputs_notes.c - what is missing in the inputs, and what else a reader must know of them.
 *
 * Facts, and losses of no known thread, stand in every file of a recording and are taken from the
 * first; losses of a thread and calls without an end of their own are each file's, and are added
 * up.
 */
#include "userspace/analysis/inputs_notes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/codec.h"
#include "formats/util.h"
#include "userspace/analysis/cuts.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/units.h"

static int blame(struct sp_inputs *inputs, size_t index, int code)
{
	snprintf(inputs->failed, sizeof(inputs->failed), "%s", inputs->items[index].path);
	return code;
}

static int out_of_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

int sp_inputs_note(struct sp_inputs *inputs, size_t input, bool loss, const char *format, ...)
{
	struct sp_given_note *note =
		sp_array_add(&inputs->notes, &inputs->n_notes, &inputs->notes_room);
	va_list args;
	int n;

	if (!note)
		return -ENOMEM;
	va_start(args, format);
	n = vasprintf(&note->text, format, args);
	va_end(args);
	note->input = input;
	note->loss = loss;
	if (n < 0) {
		inputs->n_notes--;
		return -ENOMEM;
	}
	return 0;
}

static struct sp_given_loss *find_loss(struct sp_inputs *inputs, size_t input, const char *cause)
{
	struct sp_given_loss *loss;

	for (size_t i = 0; i < inputs->n_losses; i++)
		if (!strcmp(inputs->losses[i].cause, cause) &&
		    (!inputs->apart || inputs->losses[i].input == input))
			return &inputs->losses[i];
	loss = sp_array_add(&inputs->losses, &inputs->n_losses, &inputs->losses_room);
	if (!loss)
		return NULL;
	loss->input = input;
	loss->cause = cause;
	loss->help = sp_loss_help(sp_loss_find(cause));
	return loss;
}

/* Gaps of a known thread stand in the file of its rank alone, the others in every file. */
static int gather_losses(struct sp_inputs *inputs, size_t index, struct sp_error *error)
{
	size_t before = inputs->gaps.n, of = inputs->items[index].group;
	int r = sp_gaps_add(&inputs->gaps, inputs->items[index].profile, of, index, of == index,
			    error);

	for (size_t i = before; r == 0 && i < inputs->gaps.n; i++) {
		const struct sp_gap *gap = &inputs->gaps.items[i];
		struct sp_given_loss *loss = find_loss(inputs, of, gap->name);

		if (!loss)
			return out_of_memory(error);
		sp_add_capped(&loss->count, gap->count);
		if (gap->first && (!loss->first || gap->first < loss->first))
			loss->first = gap->first;
		if (gap->last > loss->last)
			loss->last = gap->last;
	}
	return r;
}

/* Every file has its own; files without the table say nothing, and older ones nothing of places. */
static int gather_cuts(struct sp_inputs *inputs, size_t index, struct sp_error *error)
{
	struct sp_profile *profile = inputs->items[index].profile;
	const struct sp_cut_row *rows;
	size_t n;
	int r = sp_profile_cuts(profile, &rows, &n, error);

	for (size_t i = 0; r == 0 && i < n; i++) {
		int kind = sp_cut_kind(rows[i].flag);
		struct sp_given_cut *cut;

		if (kind < 0 || rows[i].region >= sp_profile_info(profile)->n_regions ||
		    !rows[i].count)
			continue;
		cut = sp_array_add(&inputs->cuts, &inputs->n_cuts, &inputs->cuts_room);
		if (!cut)
			return out_of_memory(error);
		*cut = (struct sp_given_cut){
			.input = inputs->items[index].group,
			.region = sp_profile_region(profile, rows[i].region),
			.rank = rows[i].rank,
			.kind = (unsigned)kind,
			.count = rows[i].count,
			.file = rows[i].file,
			.line = rows[i].line,
		};
	}
	return r;
}

static int gather_notes(struct sp_inputs *inputs, size_t index)
{
	const struct sp_given *input = &inputs->items[index];
	const char *damage = sp_given_text(input, "journal_damage");
	int64_t unknown = sp_given_number(input, "unknown_site_calls", 0);
	int64_t threads = sp_given_number(input, "unannounced_threads", 0);
	int r = 0;

	if (sp_given_number(input, "recorder_died", 0))
		r = sp_inputs_note(inputs, index, true,
				   "the recorder died: what it had not written yet is missing");
	if (r == 0 && damage)
		r = sp_inputs_note(
			inputs, index, true, "the journal was damaged: %s; %s of %s could be read",
			damage,
			sp_show_size((double)sp_given_number(input, "journal_good_bytes", 0)).text,
			sp_show_size((double)sp_given_number(input, "journal_bytes", 0)).text);
	if (r == 0 && unknown)
		r = sp_inputs_note(inputs, index, true,
				   "%s call%s of regions whose name is not known",
				   sp_show_count((uint64_t)unknown).text, sp_plural(unknown));
	if (r == 0 && threads)
		r = sp_inputs_note(inputs, index, true, "%s thread%s without a record of %s own",
				   sp_show_count((uint64_t)threads).text, sp_plural(threads),
				   threads == 1 ? "its" : "their");
	return r;
}

static int by_count(const void *a, const void *b)
{
	const struct sp_given_loss *x = a, *y = b;

	return (x->count < y->count) - (x->count > y->count);
}

int sp_inputs_note_cuts(struct sp_inputs *inputs, size_t input)
{
	struct sp_cuts cuts = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < inputs->n_cuts; i++) {
		const struct sp_given_cut *cut = &inputs->cuts[i];

		if (!inputs->apart || cut->input == input)
			r = sp_cuts_add(&cuts, cut->region, cut->file, cut->line, cut->kind,
					cut->count);
	}
	for (unsigned kind = 0; r == 0 && kind < SP_CUT_KINDS; kind++) {
		sp_cleanup(sp_freep) char *text = sp_cuts_tell(&cuts, kind, &r);

		if (text)
			r = sp_inputs_note(inputs, input, false, "%s", text);
	}
	sp_cuts_free(&cuts);
	return r < 0 ? -ENOMEM : 0;
}

int sp_inputs_gather(struct sp_inputs *inputs, struct sp_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < inputs->n; i++) {
		r = gather_losses(inputs, i, error);
		if (r == 0)
			r = gather_cuts(inputs, i, error);
		if (r < 0)
			return blame(inputs, i, r);
		if (inputs->items[i].group != i)
			continue;
		if (gather_notes(inputs, i) < 0)
			return out_of_memory(error);
	}
	for (size_t i = 0; r == 0 && i < inputs->n; i++)
		if ((inputs->apart ? inputs->items[i].group == i : i == 0) &&
		    sp_inputs_note_cuts(inputs, i) < 0)
			return out_of_memory(error);
	if (inputs->n_losses)
		qsort(inputs->losses, inputs->n_losses, sizeof(*inputs->losses), by_count);
	return r;
}
