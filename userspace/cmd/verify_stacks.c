/* SPDX-License-Identifier: BSD-2-Clause
 *
 * verify_stacks.c - sp-report verify --stacks: whether the stacks that were found while recording
 * are those that libdw finds in the copies of the same moments.
 */
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/verify.h"

SP_DEFINE_CLEANUP(struct sp_table *, sp_table_free);

static int show_progress(void *context, uint64_t done, uint64_t all)
{
	struct sp_verdict *verdict = context;

	verdict->all = all;
	verdict->done = done;
	sp_verdict_progress(verdict, 0);
	return 0;
}

int sp_verify_stacks(struct sp_verdict *verdict, const char *path, double least)
{
	sp_cleanup(sp_freep) char *copy = strdup(path);
	double share;
	int r;

	verdict->stacks = copy ? calloc(1, sizeof(*verdict->stacks)) : NULL;
	if (!verdict->stacks)
		return sp_error_set(&verdict->error, -ENOMEM, 0, "out of memory");
	r = sp_stack_compare(verdict->stacks, path, dirname(copy), show_progress, verdict,
			     &verdict->error);
	if (r < 0)
		return r;
	share = sp_stack_compare_share(verdict->stacks);
	verdict->too_different = share < least;
	if (verdict->too_different)
		return sp_error_set(&verdict->error, -SP_E_DAMAGED, 0,
				    "only %.2f %% of its stacks are those that libdw finds; "
				    "%.2f %% are wanted",
				    100 * share, 100 * least);
	return 0;
}

static const char *path_of(const struct sp_stack_compare *compare, const struct sp_stack_diff *diff)
{
	return diff->map == SP_NONE ? NULL : compare->recording->maps[diff->map].path;
}

/* Those where libdw ended early are listed apart: they are no differences. */
static void show_differences(const struct sp_stack_compare *compare, bool reference, size_t most)
{
	sp_cleanup(sp_table_freep) struct sp_table *table = sp_table_new();
	size_t n = 0;

	if (!table)
		return;
	sp_table_column(table, "stacks", SP_TABLE_RIGHT);
	sp_table_column(table, "from", SP_TABLE_LEFT);
	sp_table_column(table, "frame", SP_TABLE_RIGHT);
	sp_table_column(table, reference ? "reference ended" : "difference", SP_TABLE_LEFT);
	for (size_t i = 0; i < compare->n_diffs; i++) {
		const struct sp_stack_diff *diff = &compare->diffs[i];
		const char *path = path_of(compare, diff),
			   *slash = path ? strrchr(path, '/') : NULL;
		char what[128];

		if ((diff->kind == SP_DIFF_REFERENCE) != reference || n++ >= most)
			continue;
		sp_stack_diff_text(diff, what, sizeof(what));
		sp_table_cell(table, "%s", sp_show_count(diff->count).text);
		sp_table_cell(table, "%s+0x%" PRIx64, path ? slash ? slash + 1 : path : "?",
			      diff->address);
		sp_table_cell(table, "%" PRIu32, diff->frame);
		sp_table_cell(table, "%s (0x%" PRIx64 ", libdw 0x%" PRIx64 ")", what, diff->tables,
			      diff->dwarf);
	}
	if (n)
		sp_table_print(table, stdout);
	if (n > most)
		printf("(%s more places; --json has all)\n", sp_show_count(n - most).text);
}

void sp_verify_show_stacks(const struct sp_stack_compare *compare)
{
	uint64_t to_end = compare->identical + compare->different;
	struct sp_dwarf_stats stats;

	printf("  stacks: %s with a copy; %s compared to the end: %s identical (%.2f %%), %s "
	       "different\n",
	       sp_show_count(compare->samples).text, sp_show_count(to_end).text,
	       sp_show_count(compare->identical).text, 100 * sp_stack_compare_share(compare),
	       sp_show_count(compare->different).text);
	if (compare->as_far)
		printf("  %s identical as far as their copy goes: record with larger ones "
		       "(--stacks dwarf,BYTES)\n",
		       sp_show_count(compare->as_far).text);
	if (compare->reference_ended)
		printf("  %s identical until libdw, the reference, ended early: listed apart, and "
		       "not "
		       "counted\n",
		       sp_show_count(compare->reference_ended).text);
	printf("  whole, to the start of the thread: %s by tables, %s by libdw; without a copy: "
	       "%s\n",
	       sp_show_count(compare->tables_whole).text, sp_show_count(compare->dwarf_whole).text,
	       sp_show_count(compare->without_copy).text);
	if (compare->not_tried)
		printf("  not tried: %s\n", sp_show_count(compare->not_tried).text);
	fflush(stdout);
	sp_unwind_dwarf_stats(compare->unwind, &stats);
	for (size_t i = 0; i < stats.n_files; i++)
		sp_log_warning("%s %s; libdw went through it by frame pointers",
			       stats.files[i].path, sp_dwarf_refusal_text(stats.files[i].refusal));
	if (stats.gave_up)
		sp_log_warning("libdw died %u time%s; the stacks that were left were not compared",
			       stats.deaths, sp_plural(stats.deaths));
	show_differences(compare, false, 20);
	show_differences(compare, true, 5);
}

void sp_verify_stacks_json(struct sp_json *json, const struct sp_stack_compare *compare)
{
	static const char *const kinds[SP_DIFFS] = {
		[SP_DIFF_SHORTER] = "shorter", [SP_DIFF_LONGER] = "longer",
		[SP_DIFF_CALLER] = "caller",   [SP_DIFF_INNERMOST] = "innermost",
		[SP_DIFF_SIGNAL] = "signal",   [SP_DIFF_REFERENCE] = "reference ended",
	};
	struct sp_dwarf_stats stats;

	sp_unwind_dwarf_stats(compare->unwind, &stats);
	sp_json_open_object(json, "stacks");
	sp_json_unsigned(json, "samples", compare->samples);
	sp_json_unsigned(json, "without_copy", compare->without_copy);
	sp_json_unsigned(json, "identical", compare->identical);
	sp_json_unsigned(json, "different", compare->different);
	sp_json_unsigned(json, "as_far_as_copied", compare->as_far);
	sp_json_unsigned(json, "reference_ended", compare->reference_ended);
	sp_json_unsigned(json, "not_tried", compare->not_tried);
	sp_json_unsigned(json, "identical_frames", compare->frames);
	sp_json_unsigned(json, "whole_by_tables", compare->tables_whole);
	sp_json_unsigned(json, "whole_by_libdw", compare->dwarf_whole);
	sp_json_open_array(json, "unusable_files");
	for (size_t i = 0; i < stats.n_files; i++) {
		sp_json_open_object(json, NULL);
		sp_json_text(json, "path", stats.files[i].path);
		sp_json_text(json, "reason", sp_dwarf_refusal_text(stats.files[i].refusal));
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	sp_json_open_array(json, "differences");
	for (size_t i = 0; i < compare->n_diffs; i++) {
		const struct sp_stack_diff *diff = &compare->diffs[i];

		sp_json_open_object(json, NULL);
		sp_json_text(json, "kind", kinds[diff->kind]);
		sp_json_unsigned(json, "count", diff->count);
		sp_json_text(json, "module", path_of(compare, diff));
		sp_json_unsigned(json, "address", diff->address);
		sp_json_text(json, "end", sp_stack_end_name(diff->end));
		sp_json_unsigned(json, "frame", diff->frame);
		sp_json_unsigned(json, "tables", diff->tables);
		sp_json_unsigned(json, "libdw", diff->dwarf);
		sp_json_unsigned(json, "time_ns", diff->time);
		sp_json_unsigned(json, "pid", diff->pid);
		sp_json_unsigned(json, "tid", diff->tid);
		sp_json_close_object(json);
	}
	sp_json_close_array(json);
	sp_json_close_object(json);
}
