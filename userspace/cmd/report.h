/* SPDX-License-Identifier: BSD-2-Clause
 *
 * report.h - what the reporting commands share: opening what was given, and what comes first in
 * every report: the data that is missing.
 */
#ifndef SP_CMD_REPORT_H
#define SP_CMD_REPORT_H

#include "userspace/analysis/inputs.h"
#include "userspace/analysis/missing.h"
#include "userspace/base/json.h"

/* Opens all operands. On failure says why and returns -1. */
int sp_report_open(struct sp_inputs *inputs, char *const *paths, size_t n);

#define SP_REPORT_ALL SIZE_MAX

/* Losses, with a second line that says where, and notes; nothing where there are none. @group: only
 * those of that recording. */
void sp_report_print_notes(const struct sp_inputs *inputs, size_t group, FILE *out);
/* The same as "losses", "gaps", "cut_calls" and "notes" of the object that is open. */
void sp_report_json_notes(const struct sp_inputs *inputs, size_t group, struct sp_json *json);

/* One gap, an object of the array that is open. */
void sp_report_json_gap(struct sp_json *json, const struct sp_gap *gap);
/* What a region lacks, as members of the object that is open. */
void sp_report_json_missing(struct sp_json *json, const struct sp_missing *missing);

/* Whether calls or samples are missing. Without its stack a sample still counts where it belongs.
 */
bool sp_report_is_missing(const struct sp_given_loss *loss);

/* A field of a CSV line, quoted where it must be: UTF-8 without anything that a terminal acts upon
 * but newlines and tabs. A text that a spreadsheet would take for a formula stays text. */
void sp_report_csv_text(FILE *out, const char *text);
/* The same of source text, which may well begin like a formula. */
void sp_report_csv_source(FILE *out, const char *text);

#endif
