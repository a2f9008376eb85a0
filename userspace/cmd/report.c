/* SPDX-License-Identifier: BSD-2-Clause
 *
 * report.c - see report.h.
 */
#include "userspace/cmd/report.h"

#include <string.h>

#include "formats/codec.h"
#include "formats/wire.h"
#include "userspace/analysis/cuts.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"

int sp_report_open(struct sp_inputs *inputs, char *const *paths, size_t n)
{
	struct sp_error error = {0};
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = sp_inputs_add(inputs, paths[i], &error);
	if (r == 0)
		r = sp_inputs_finish(inputs, &error);
	if (r < 0 && inputs->failed[0])
		sp_log_error("%s: %s", inputs->failed, error.text);
	else if (r < 0)
		sp_log_error("%s", error.text);
	return r < 0 ? -1 : 0;
}

static void print_line(FILE *out, bool loss, const char *text)
{
	bool colours = sp_has_colours(out);

	fprintf(out, "%s%s: ", colours ? (loss ? "\033[1;31m" : "\033[33m") : "",
		loss ? "MISSING" : "note");
	sp_text_print(out, text);
	fprintf(out, "%s\n", colours ? "\033[0m" : "");
}

static bool is_of(const struct sp_inputs *inputs, size_t input, size_t group)
{
	return group == SP_REPORT_ALL || inputs->items[input].group == group;
}

bool sp_report_is_missing(const struct sp_given_loss *loss)
{
	return sp_loss_is_gap(sp_loss_find(loss->cause));
}

/* Where in the recording a cause struck, on a line of its own. */
static void print_places(const struct sp_inputs *inputs, const struct sp_given_loss *loss,
			 FILE *out)
{
	int64_t start = inputs->n ? sp_given_number(&inputs->items[loss->input], "start_time_ns", 0)
				  : inputs->start;
	sp_cleanup(sp_freep) char *text = sp_gaps_tell(
		&inputs->gaps, loss->cause, inputs->apart ? loss->input : SIZE_MAX, start);

	if (!text || !text[0])
		return;
	fputs("         ", out);
	sp_text_print(out, text);
	putc('\n', out);
}

static void print_loss(const struct sp_given_loss *loss, FILE *out)
{
	bool span = loss->last > loss->first && loss->first;
	sp_cleanup(sp_freep) char *text = NULL;

	if (asprintf(&text, "%s \xc3\x97 %s%s%s: %s", sp_show_count(loss->count).text, loss->cause,
		     span ? ", all within " : "",
		     span ? sp_show_duration((double)(loss->last - loss->first)).text : "",
		     loss->help) < 0)
		text = NULL;
	print_line(out, sp_report_is_missing(loss), text ? text : loss->cause);
}

void sp_report_print_notes(const struct sp_inputs *inputs, size_t group, FILE *out)
{
	bool any = false;

	for (int missing = 1; missing >= 0; missing--) {
		for (size_t i = 0; i < inputs->n_losses; i++)
			if (is_of(inputs, inputs->losses[i].input, group) &&
			    sp_report_is_missing(&inputs->losses[i]) == (bool)missing) {
				print_loss(&inputs->losses[i], out);
				print_places(inputs, &inputs->losses[i], out);
				any = true;
			}
		for (size_t i = 0; i < inputs->n_notes; i++)
			if (is_of(inputs, inputs->notes[i].input, group) &&
			    inputs->notes[i].loss == (bool)missing) {
				print_line(out, missing, inputs->notes[i].text);
				any = true;
			}
	}
	if (any)
		putc('\n', out);
}

static void json_known(struct sp_json *json, const char *key, int64_t value)
{
	if (value >= 0)
		sp_json_signed(json, key, value);
	else
		sp_json_null(json, key);
}

void sp_report_json_gap(struct sp_json *json, const struct sp_gap *gap)
{
	int64_t rank = gap->rank == UINT32_MAX ? -1 : (int64_t)gap->rank;

	sp_json_open_object(json, NULL);
	sp_json_text(json, "cause", gap->name);
	sp_json_unsigned(json, "count", gap->count);
	json_known(json, "cpu", gap->cpu);
	json_known(json, "rank", rank);
	json_known(json, "tid", gap->tid);
	sp_json_text(json, "thread", gap->thread);
	sp_json_text(json, "region", gap->region);
	sp_json_text(json, "file", gap->source);
	json_known(json, "line", gap->source ? gap->line : -1);
	json_known(json, "first_ns", gap->last ? (int64_t)gap->first : -1);
	json_known(json, "last_ns", gap->last ? (int64_t)gap->last : -1);
	sp_json_close_object(json);
}

void sp_report_json_missing(struct sp_json *json, const struct sp_missing *missing)
{
	sp_json_unsigned(json, "lost_calls", missing->calls);
	sp_json_unsigned(json, "lost_samples", missing->samples);
	sp_json_bool(json, "calls_in_gap", missing->calls_in_gap);
	sp_json_bool(json, "samples_in_gap", missing->samples_in_gap);
}

/* Each gap by itself: what a time line shows. */
static void json_gaps(const struct sp_inputs *inputs, size_t group, struct sp_json *json)
{
	sp_json_open_array(json, "gaps");
	for (size_t i = 0; i < inputs->gaps.n; i++)
		if (is_of(inputs, inputs->gaps.items[i].input, group))
			sp_report_json_gap(json, &inputs->gaps.items[i]);
	sp_json_close_array(json);
}

/* Calls without a begin or an end of their own, by region, reason and place. */
static void json_cuts(const struct sp_inputs *inputs, size_t group, struct sp_json *json)
{
	sp_json_open_array(json, "cut_calls");
	for (size_t i = 0; i < inputs->n_cuts; i++) {
		const struct sp_given_cut *cut = &inputs->cuts[i];

		if (!is_of(inputs, cut->input, group))
			continue;
		sp_json_open_object(json, NULL);
		sp_json_text(json, "region", cut->region);
		json_known(json, "rank", cut->rank == UINT32_MAX ? -1 : (int64_t)cut->rank);
		sp_json_text(json, "reason", sp_cut_name(cut->kind));
		sp_json_unsigned(json, "count", cut->count);
		sp_json_text(json, "file", cut->file[0] ? cut->file : NULL);
		json_known(json, "line", cut->file[0] ? cut->line : -1);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

void sp_report_json_notes(const struct sp_inputs *inputs, size_t group, struct sp_json *json)
{
	sp_json_open_array(json, "losses");
	for (size_t i = 0; i < inputs->n_losses; i++) {
		const struct sp_given_loss *loss = &inputs->losses[i];

		if (!is_of(inputs, loss->input, group))
			continue;
		sp_json_open_object(json, NULL);
		sp_json_text(json, "cause", loss->cause);
		sp_json_unsigned(json, "count", loss->count);
		sp_json_unsigned(json, "first_ns", loss->first);
		sp_json_unsigned(json, "last_ns", loss->last);
		sp_json_bool(json, "data_missing", sp_report_is_missing(loss));
		sp_json_text(json, "help", loss->help);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	json_gaps(inputs, group, json);
	json_cuts(inputs, group, json);
	sp_json_open_array(json, "notes");
	for (size_t i = 0; i < inputs->n_notes; i++) {
		if (!is_of(inputs, inputs->notes[i].input, group))
			continue;
		sp_json_open_object(json, NULL);
		sp_json_bool(json, "data_missing", inputs->notes[i].loss);
		sp_json_text(json, "text", inputs->notes[i].text);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

/* Newlines and tabs stay, since they mean something to who reads tables; what else a terminal would
 * act upon is escaped, and what is no UTF-8 is replaced, as in JSON. */
static void put_csv(FILE *out, const char *text)
{
	for (size_t left = strlen(text), n; left; text += n, left -= n) {
		uint32_t c = 0;

		n = sp_text_decode(text, left, &c);
		if (!n)
			fputs("\xef\xbf\xbd", out);
		else if (c == '"')
			fputs("\"\"", out);
		else if (sp_text_is_active(c) && c != '\n' && c != '\t')
			fprintf(out, c < 0x80 ? "\\x%02x" : "\\u%04x", (unsigned)c);
		else
			fwrite(text, 1, n, out);
		n += n == 0;
	}
}

static void put_field(FILE *out, const char *text, bool formula)
{
	bool quote = formula || !text[0] || strpbrk(text, ",\"\n");

	if (quote)
		putc('"', out);
	if (formula)
		putc('\'', out);
	put_csv(out, text);
	if (quote)
		putc('"', out);
}

void sp_report_csv_text(FILE *out, const char *text)
{
	put_field(out, text, text[0] && strchr("=+-@\t", text[0]));
}

void sp_report_csv_source(FILE *out, const char *text)
{
	put_field(out, text, false);
}
