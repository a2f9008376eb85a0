/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_data.c - line profiles for programs: JSON and CSV.
 *
 * Nothing is shortened; what is escaped is the formats' and report.h's. Counts agree with
 * scope-profiler's line_profile for every (file, line).
 */
#include <stdio.h>
#include <string.h>

#include "userspace/base/json.h"
#include "userspace/cmd/lines_view.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/sample_losses.h"

static const char *const status_names[] = {
	[SP_SYMBOLS_PENDING] = "unread",  [SP_SYMBOLS_LINES] = "lines",
	[SP_SYMBOLS_NAMES] = "names",	  [SP_SYMBOLS_CHANGED] = "changed",
	[SP_SYMBOLS_MISSING] = "missing", [SP_SYMBOLS_DAMAGED] = "damaged",
};

const char *sp_lines_source(const struct sp_lines_view *view, const struct sp_lines_row *row,
			    enum sp_source_state *ret_state)
{
	const char *text = "";

	*ret_state = SP_SOURCE_MISSING;
	if (view->sources && row->text) {
		*ret_state = SP_SOURCE_FOUND;
		return row->text;
	}
	if (view->sources)
		*ret_state =
			sp_sources_line(view->sources, row->file, row->line, row->built, &text);
	return text;
}

static size_t rows_shown(const struct sp_lines_view *view, const struct sp_lines_region *region)
{
	return region->n_rows < view->top ? region->n_rows : view->top;
}

static double share(const struct sp_lines_row *row, const struct sp_lines_region *region)
{
	return (double)row->samples / (double)region->samples;
}

/* ---- JSON ---- */

static void write_row(struct sp_json *json, const struct sp_lines_view *view,
		      const struct sp_lines_region *region, const struct sp_lines_row *row)
{
	enum sp_source_state state;
	const char *text = sp_lines_source(view, row, &state);

	sp_json_open_object(json, NULL);
	sp_json_text(json, "file", row->file);
	sp_json_unsigned(json, "line", row->line);
	sp_json_text(json, "function", row->function);
	if (row->raw != row->function)
		sp_json_text(json, "symbol", row->raw);
	if (row->module)
		sp_json_text(json, "module", row->module);
	sp_json_unsigned(json, "samples", row->samples);
	sp_json_real(json, "share", share(row, region));
	if (state == SP_SOURCE_FOUND)
		sp_json_text(json, "source", text);
	sp_json_close_object(json);
}

static void write_modules(struct sp_json *json, const struct sp_lines_input *input)
{
	sp_json_open_array(json, "modules");
	for (size_t i = 0; i < sp_symbols_n_modules(input->symbols); i++) {
		const struct sp_symbols_module *module =
			sp_symbols_module(input->symbols, (uint32_t)i);
		uint64_t samples = sp_lines_module_samples(input->lines, (uint32_t)i);

		if (!samples)
			continue;
		sp_json_open_object(json, NULL);
		sp_json_text(json, "path", module->path);
		sp_json_text(json, "build_id", module->build_id);
		sp_json_unsigned(json, "samples", samples);
		sp_json_text(json, "symbols", status_names[module->status]);
		if (*module->reason)
			sp_json_text(json, "reason", module->reason);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
}

void sp_lines_write_json(const struct sp_lines_view *view)
{
	const struct sp_lines_input *input = view->input;
	struct sp_json json = {.out = stdout};

	sp_json_open_object(&json, NULL);
	sp_sample_json_losses(&json, &input->files);
	sp_json_unsigned(&json, "samples", input->files.samples);
	sp_json_unsigned(&json, "samples_in_kernel", input->files.in_kernel);
	sp_json_unsigned(&json, "samples_not_stored", input->files.outside);
	if (input->files.hz > 0)
		sp_json_signed(&json, "hz", input->files.hz);
	else
		sp_json_null(&json, "hz");
	sp_json_bool(&json, "stored_lines", input->stored);
	write_modules(&json, input);
	sp_json_open_array(&json, "regions");
	for (size_t i = 0; i < view->n_regions; i++) {
		const struct sp_lines_region *region = view->regions[i];

		sp_json_open_object(&json, NULL);
		sp_json_text(&json, "region", region->name);
		sp_json_unsigned(&json, "samples", region->samples);
		sp_sample_json_missing(&json, &input->files, region->name);
		sp_json_open_array(&json, "lines");
		for (size_t k = 0; k < rows_shown(view, region); k++)
			write_row(&json, view, region, &region->rows[k]);
		sp_json_close_array(&json);
		sp_json_close_object(&json);
	}
	sp_json_close_array(&json);
	sp_json_close_object(&json);
	sp_json_end(&json);
}

/* ---- CSV (RFC 4180, but with plain newlines) ---- */

void sp_lines_write_csv(const struct sp_lines_view *view)
{
	enum sp_source_state state;

	puts("region,samples,share,file,line,function,module,source,in_gap");
	for (size_t i = 0; i < view->n_regions; i++) {
		const struct sp_lines_region *region = view->regions[i];
		struct sp_missing missing =
			sp_sample_gaps_of(&view->input->files.gaps, region->name);

		for (size_t k = 0; k < rows_shown(view, region); k++) {
			const struct sp_lines_row *row = &region->rows[k];

			sp_report_csv_text(stdout,
					   region->name ? region->name : SP_LINES_NO_REGION_NAME);
			printf(",%llu,%.6f,", (unsigned long long)row->samples, share(row, region));
			sp_report_csv_text(stdout, row->file);
			printf(",%u,", row->line);
			sp_report_csv_text(stdout, row->function);
			putchar(',');
			sp_report_csv_text(stdout, row->module ? row->module : "");
			putchar(',');
			sp_report_csv_source(stdout, sp_lines_source(view, row, &state));
			printf(",%d\n", sp_missing_any(&missing));
		}
	}
}
