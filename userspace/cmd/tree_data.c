/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tree_data.c - call trees for programs.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/stack_end.h"
#include "userspace/base/json.h"
#include "userspace/cmd/report.h"
#include "userspace/cmd/sample_losses.h"
#include "userspace/cmd/tree_view.h"

static void write_ends(struct sp_json *json, const struct sp_stacks *stacks)
{
	sp_json_open_object(json, "stacks");
	for (unsigned end = 0; end < SP_STACK_END_MAX; end++)
		if (sp_stacks_ends(stacks, end))
			sp_json_unsigned(json, sp_stack_end_name(end), sp_stacks_ends(stacks, end));
	if (sp_stacks_ends(stacks, SP_STACKS_LEFT_OUT))
		sp_json_unsigned(json, "left out", sp_stacks_ends(stacks, SP_STACKS_LEFT_OUT));
	sp_json_close_object(json);
}

static void write_facts(struct sp_json *json, const struct sp_tree_view *view)
{
	const struct sp_sample_files *files = &view->load->files;

	sp_sample_json_losses(json, files);
	sp_json_unsigned(json, "samples", files->samples);
	sp_json_unsigned(json, "samples_in_kernel", files->in_kernel);
	sp_json_unsigned(json, "samples_not_stored", files->outside);
	if (files->hz > 0)
		sp_json_signed(json, "hz", files->hz);
	write_ends(json, view->load->stacks);
	if (sp_stacks_regions_cut(view->load->stacks))
		sp_json_unsigned(json, "samples_regions_lost",
				 sp_stacks_regions_cut(view->load->stacks));
	sp_json_text(json, "direction", view->bottom_up ? "bottom-up" : "top-down");
}

static void write_node(struct sp_json *json, const struct sp_tree_view *view, const char *key,
		       uint32_t number, uint32_t depth)
{
	const struct sp_calltree_node *node = sp_calltree_node(view->tree, number);
	bool any = false;

	sp_json_open_object(json, key);
	sp_json_text(json, "name", sp_calltree_name(view->tree, number));
	sp_json_text(json, "kind", sp_calltree_kind_name(view->tree, number));
	if (*sp_calltree_module(view->tree, number))
		sp_json_text(json, "module", sp_calltree_module(view->tree, number));
	if (node->line) {
		sp_json_text(json, "file", node->file);
		sp_json_unsigned(json, "line", node->line);
		sp_json_bool(json, "other_lines", node->several);
	}
	sp_json_unsigned(json, "samples", node->samples);
	sp_json_unsigned(json, "self", node->self);
	if (node->kind == SP_CALLTREE_REGION)
		sp_sample_json_missing(json, &view->load->files,
				       sp_calltree_name(view->tree, number));
	if (node->folded)
		sp_json_unsigned(json, "calls_itself", node->folded);
	for (uint32_t i = node->first_child; i != SP_CALLTREE_NONE;) {
		const struct sp_calltree_node *child = sp_calltree_node(view->tree, i);
		uint32_t level = sp_tree_child_depth(child, depth);

		if (sp_tree_is_shown(view, child, level)) {
			if (!any)
				sp_json_open_array(json, "children");
			any = true;
			write_node(json, view, NULL, i, level);
		}
		i = child->next;
	}
	if (any)
		sp_json_close_array(json);
	sp_json_close_object(json);
}

void sp_tree_write_json(const struct sp_tree_view *view)
{
	/* Indented, a deep tree would be blanks for the most part. */
	struct sp_json json = {.out = stdout, .compact = true};

	sp_json_open_object(&json, NULL);
	write_facts(&json, view);
	write_node(&json, view, "tree", 0, 0);
	sp_json_close_object(&json);
	sp_json_end(&json);
}

/* ---- CSV ---- */

static void write_line(const struct sp_tree_view *view, uint32_t number, uint32_t level)
{
	const struct sp_calltree_node *node = sp_calltree_node(view->tree, number);
	int64_t hz = view->load->files.hz;
	struct sp_missing missing = {0};

	printf("%" PRIu32 ",", number);
	if (node->parent != SP_CALLTREE_NONE)
		printf("%" PRIu32, node->parent);
	printf(",%" PRIu32 ",%s,", level, sp_calltree_kind_name(view->tree, number));
	sp_report_csv_text(stdout, sp_calltree_name(view->tree, number));
	printf(",%" PRIu64 ",%" PRIu64 ",", node->samples, node->self);
	if (hz > 0)
		printf("%.9g", (double)node->samples / (double)hz);
	putchar(',');
	sp_report_csv_text(stdout, sp_calltree_module(view->tree, number));
	putchar(',');
	sp_report_csv_text(stdout, node->file);
	putchar(',');
	if (node->line)
		printf("%" PRIu32, node->line);
	if (node->kind == SP_CALLTREE_REGION)
		missing = sp_sample_gaps_of(&view->load->files.gaps,
					    sp_calltree_name(view->tree, number));
	printf(",%d\n", sp_missing_any(&missing));
}

static void write_lines(const struct sp_tree_view *view, uint32_t number, uint32_t level,
			uint32_t depth)
{
	write_line(view, number, level);
	for (uint32_t i = sp_calltree_node(view->tree, number)->first_child;
	     i != SP_CALLTREE_NONE;) {
		const struct sp_calltree_node *child = sp_calltree_node(view->tree, i);
		uint32_t below = sp_tree_child_depth(child, depth);

		if (sp_tree_is_shown(view, child, below))
			write_lines(view, i, level + 1, below);
		i = child->next;
	}
}

void sp_tree_write_csv(const struct sp_tree_view *view)
{
	puts("node,parent,level,kind,name,samples,self,seconds,module,file,line,in_gap");
	write_lines(view, 0, 0, 0);
}
