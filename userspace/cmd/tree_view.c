/* SPDX-License-Identifier: BSD-2-Clause
 *
 * tree_view.c - call trees for people.
 *
 * Stacks are deep and mostly straight, so a line is indented only below a branching: a function
 * whose caller calls nothing else stands right under it. Texts of others go through sp_text_escape
 * before they are measured or printed. Nothing is cut unless the output is a terminal, but for very
 * long names. Those of C++ are shown in short, unless that makes functions look alike.
 */
#include "userspace/cmd/tree_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/table.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "userspace/cmd/sample_notes.h"

#define MAX_NAME 200  /* columns */
#define MIN_NAME 24   /* on a terminal; the indentation gives way */
#define MAX_PEERS 64u /* functions of one caller that a name is compared to */
#define HOT 0.2
#define WARM 0.05

struct glyphs {
	const char *branch, *last, *bar, *blank, *cut;
};

static const struct glyphs unicode = {"├─ ", "└─ ", "│  ", "   ", "…"};
static const struct glyphs ascii = {"|- ", "`- ", "|  ", "   ", "..."};

struct drawing {
	const struct sp_tree_view *view;
	const struct glyphs *glyphs;
	bool colours, times;
	size_t width; /* of the terminal, 0 none */
	size_t used;  /* columns before the tree */
	int samples_width;
	char *indent; /* what stands before the names now, 3 columns a level */
	size_t indent_bytes, indent_room, levels;
	uint64_t hidden_small, hidden_deep; /* branches */
	bool failed;
};

/* Locales of the C library are not set up: only this one thing depends on them. */
static bool is_unicode(void)
{
	const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sp_array_size(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

bool sp_tree_is_shown(const struct sp_tree_view *view, const struct sp_calltree_node *node,
		      uint32_t depth)
{
	uint64_t all = sp_calltree_node(view->tree, 0)->samples;

	return depth <= view->depth && (double)node->samples >= view->least * (double)all;
}

static bool is_region(const struct sp_calltree_node *node)
{
	return node->kind == SP_CALLTREE_REGION || node->kind == SP_CALLTREE_NO_REGION_KIND;
}

uint32_t sp_tree_child_depth(const struct sp_calltree_node *child, uint32_t depth)
{
	return depth + !is_region(child);
}

/* ---- one line ---- */

/* A function's name as people use it; NULL without memory. */
static char *short_name(const struct sp_tree_view *view, uint32_t number)
{
	const char *name = sp_calltree_name(view->tree, number);
	bool function = sp_calltree_node(view->tree, number)->kind == SP_CALLTREE_FUNCTION;

	return view->wide || !function ? strdup(name) : sp_name_shorten(name);
}

/* Whether another function that the same one called would look like this one: instances of a
 * template, or functions that differ in their parameters. */
static bool has_double(const struct sp_tree_view *view, uint32_t number, const char *name)
{
	uint32_t parent = sp_calltree_node(view->tree, number)->parent, n = 0;
	const struct sp_calltree_node *peer;

	if (parent == SP_CALLTREE_NONE || !strcmp(name, sp_calltree_name(view->tree, number)))
		return false;
	for (uint32_t i = sp_calltree_node(view->tree, parent)->first_child;
	     i != SP_CALLTREE_NONE && n < MAX_PEERS; i = peer->next, n++) {
		sp_cleanup(sp_freep) char *other = NULL;

		peer = sp_calltree_node(view->tree, i);
		if (i == number || peer->kind != SP_CALLTREE_FUNCTION ||
		    !sp_tree_is_shown(view, peer, 0))
			continue;
		other = sp_name_shorten(sp_calltree_name(view->tree, i));
		if (other && !strcmp(name, other))
			return true;
	}
	return false;
}

/* "solve (region)", with what a reader must know of a function. Safe, to free(). */
static char *describe(const struct sp_tree_view *view, uint32_t number, const char **ret_note)
{
	const struct sp_calltree_node *node = sp_calltree_node(view->tree, number);
	sp_cleanup(sp_freep) char *name = short_name(view, number);
	static char note[128];

	*ret_note = "";
	if (!name)
		return NULL;
	if (node->kind == SP_CALLTREE_REGION) {
		struct sp_missing missing = sp_sample_gaps_of(&view->load->files.gaps,
							      sp_calltree_name(view->tree, number));
		char nested[64] = "";

		if (node->folded)
			snprintf(nested, sizeof(nested), ", in itself up to %" PRIu32 " deep",
				 node->folded + 1);
		snprintf(note, sizeof(note), " (region%s%s%s)", nested,
			 sp_missing_any(&missing) ? "; missing: " : "",
			 sp_missing_tell(&missing).text);
		*ret_note = note;
	} else if (node->kind == SP_CALLTREE_KERNEL &&
		   sp_calltree_name(view->tree, number)[0] != '[') {
		*ret_note = " [k]";
	} else if (node->folded) {
		/* Of code without names nobody knows whether it is one function. */
		bool named = node->kind == SP_CALLTREE_FUNCTION;

		snprintf(note, sizeof(note), " (%sup to %" PRIu32 "%s deep)",
			 named ? "calls itself, " : "", node->folded + 1, named ? "" : " calls");
		*ret_note = note;
	} else if (node->kind == SP_CALLTREE_FUNCTION && node->inlined) {
		*ret_note = " (inlined)";
	}
	if (has_double(view, number, name))
		return sp_text_escape(sp_calltree_name(view->tree, number));
	return sp_text_escape(name);
}

static const char *colour_of(const struct sp_calltree_node *node)
{
	switch (node->kind) {
	case SP_CALLTREE_REGION:
	case SP_CALLTREE_NO_REGION_KIND:
		return "\033[1;36m";
	case SP_CALLTREE_KERNEL:
		return "\033[35m";
	case SP_CALLTREE_NO_NAME:
	case SP_CALLTREE_UNKNOWN:
	case SP_CALLTREE_TRUNCATED:
	case SP_CALLTREE_MORE:
		return "\033[2m";
	default:
		return "";
	}
}

static void print_share(const struct drawing *drawing, uint64_t samples, uint64_t all)
{
	double share = (double)samples / (double)all;
	const char *colour = share >= HOT ? "\033[1;31m" : share >= WARM ? "\033[33m" : "";

	if (!drawing->colours)
		colour = "";
	printf("%s%7s%s  ", colour, sp_show_share(share).text, *colour ? "\033[0m" : "");
}

static void print_numbers(const struct drawing *drawing, const struct sp_calltree_node *node)
{
	uint64_t all = sp_calltree_node(drawing->view->tree, 0)->samples;

	print_share(drawing, node->samples, all);
	if (!drawing->view->bottom_up)
		print_share(drawing, node->self, all);
	printf("%*s  ", drawing->samples_width, sp_show_count(node->samples).text);
	if (drawing->times)
		printf("%9s  ", sp_show_duration((double)node->samples * 1e9 /
						 (double)drawing->view->load->files.hz)
					.text);
}

/* The indentation, cut from the left where names would have no room. Its columns. */
static size_t print_indent(const struct drawing *drawing, const char *connector)
{
	size_t levels = drawing->levels, room = SIZE_MAX, skipped = 0;
	const char *from = drawing->indent ? drawing->indent : "";

	if (drawing->width > drawing->used + MIN_NAME)
		room = (drawing->width - drawing->used - MIN_NAME) / 3;
	else if (drawing->width)
		room = 1;
	for (; levels + (*connector != 0) > room && levels; levels--, skipped++)
		from += strncmp(from, drawing->glyphs->bar, strlen(drawing->glyphs->bar))
				? strlen(drawing->glyphs->blank)
				: strlen(drawing->glyphs->bar);
	if (skipped)
		fputs(drawing->glyphs->cut, stdout);
	fputs(from, stdout);
	fputs(connector, stdout);
	return levels * 3 + (*connector ? 3 : 0) +
	       (skipped ? sp_text_width(drawing->glyphs->cut) : 0);
}

static void print_line(struct drawing *drawing, uint32_t number, const char *connector)
{
	const struct sp_calltree_node *node = sp_calltree_node(drawing->view->tree, number);
	const char *note, *colour = drawing->colours ? colour_of(node) : "";
	sp_cleanup(sp_freep) char *name = describe(drawing->view, number, &note);
	size_t columns, room = drawing->view->wide ? SIZE_MAX : MAX_NAME, left;

	if (!name) {
		drawing->failed = true;
		return;
	}
	print_numbers(drawing, node);
	columns = drawing->used + print_indent(drawing, connector);
	left = drawing->width > columns ? drawing->width - columns : 0;
	if (drawing->width && left < room)
		room = left > strlen(note) ? left - strlen(note) : 1;
	fputs(colour, stdout);
	if (sp_text_width(name) > room) {
		size_t cut = sp_text_width(drawing->glyphs->cut);

		printf("%.*s%s", (int)sp_text_fit(name, room > cut ? room - cut : 0), name,
		       drawing->glyphs->cut);
	} else {
		fputs(name, stdout);
	}
	printf("%s%s%s%s\n", *colour ? "\033[0m" : "", drawing->colours && *note ? "\033[2m" : "",
	       note, drawing->colours && *note ? "\033[0m" : "");
}

/* ---- all lines ---- */

static bool push_indent(struct drawing *drawing, const char *text)
{
	size_t bytes = strlen(text);

	if (drawing->indent_room < drawing->indent_bytes + bytes + 1) {
		size_t room = drawing->indent_room * 2 + 64;
		char *larger = realloc(drawing->indent, room);

		if (!larger) {
			drawing->failed = true;
			return false;
		}
		drawing->indent = larger;
		drawing->indent_room = room;
	}
	memcpy(drawing->indent + drawing->indent_bytes, text, bytes + 1);
	drawing->indent_bytes += bytes;
	drawing->levels++;
	return true;
}

static void pop_indent(struct drawing *drawing, const char *text)
{
	drawing->indent_bytes -= strlen(text);
	drawing->indent[drawing->indent_bytes] = '\0';
	drawing->levels--;
}

/* Shown children; those that are hidden are counted. */
static uint32_t count_shown(struct drawing *drawing, const struct sp_calltree_node *node,
			    uint32_t depth)
{
	const struct sp_tree_view *view = drawing->view;
	uint32_t shown = 0;

	for (uint32_t i = node->first_child; i != SP_CALLTREE_NONE;) {
		const struct sp_calltree_node *child = sp_calltree_node(view->tree, i);
		uint32_t level = sp_tree_child_depth(child, depth);

		if (sp_tree_is_shown(view, child, level))
			shown++;
		else if (level > view->depth)
			drawing->hidden_deep++;
		else
			drawing->hidden_small++;
		i = child->next;
	}
	return shown;
}

/* What is below a node. */
static void draw_children(struct drawing *drawing, uint32_t number, uint32_t depth)
{
	const struct sp_tree_view *view = drawing->view;
	uint32_t shown, done = 0, child;

	for (;;) {
		const struct sp_calltree_node *node = sp_calltree_node(view->tree, number);

		shown = count_shown(drawing, node, depth);
		child = node->first_child;
		if (shown != 1)
			break;
		/* The hottest is the first. A region is set off, though it be alone. */
		print_line(drawing, child, "");
		depth = sp_tree_child_depth(sp_calltree_node(view->tree, child), depth);
		number = child;
	}
	for (; done < shown && !drawing->failed; done++) {
		const struct sp_calltree_node *node = sp_calltree_node(view->tree, child);
		bool last = done + 1 == shown;
		const char *indent = last ? drawing->glyphs->blank : drawing->glyphs->bar;

		print_line(drawing, child, last ? drawing->glyphs->last : drawing->glyphs->branch);
		if (push_indent(drawing, indent)) {
			draw_children(drawing, child, sp_tree_child_depth(node, depth));
			pop_indent(drawing, indent);
		}
		child = node->next;
	}
}

static void print_heading(const struct sp_tree_view *view)
{
	const struct sp_sample_files *files = &view->load->files;
	uint64_t shown = sp_calltree_node(view->tree, 0)->samples;

	printf("%s sample%s", sp_show_count(files->samples).text, sp_plural(files->samples));
	if (files->hz > 0)
		printf(" at %" PRId64 " Hz", files->hz);
	printf(" from %zu %s", files->n, files->n == 1 ? "file" : "files");
	if (view->load->n_regions) {
		printf("; of these %s (%s) in ", sp_show_count(shown).text,
		       sp_show_share((double)shown / (double)files->samples).text);
		for (size_t i = 0; i < view->load->n_regions; i++) {
			fputs(i ? ", " : "", stdout);
			sp_text_print(stdout, view->load->regions[i]);
		}
	}
	printf("%s\n\n", view->bottom_up ? "; below each function its callers" : "");
}

static void print_hidden(const struct drawing *drawing)
{
	if (!drawing->hidden_small && !drawing->hidden_deep)
		return;
	putchar('\n');
	if (drawing->hidden_small)
		printf("%s branch%s under %.4g %% hidden (--min)",
		       sp_show_count(drawing->hidden_small).text,
		       drawing->hidden_small == 1 ? "" : "es", drawing->view->least * 100);
	if (drawing->hidden_deep)
		printf("%s%s branch%s below level %" PRIu32 " hidden (--depth)",
		       drawing->hidden_small ? ", " : "", sp_show_count(drawing->hidden_deep).text,
		       drawing->hidden_deep == 1 ? "" : "es", drawing->view->depth);
	putchar('\n');
}

void sp_tree_show(const struct sp_tree_view *view)
{
	struct drawing drawing = {
		.view = view,
		.glyphs = is_unicode() ? &unicode : &ascii,
		.colours = sp_has_colours(stdout),
		.times = view->load->files.hz > 0,
		.width = view->wide ? 0 : sp_terminal_width(stdout),
	};
	uint64_t all = sp_calltree_node(view->tree, 0)->samples;
	const char *bold = drawing.colours ? "\033[1m" : "";

	drawing.samples_width = (int)strlen(sp_show_count(all).text);
	if (drawing.samples_width < 7)
		drawing.samples_width = 7;
	drawing.used = (size_t)(view->bottom_up ? 9 : 18) + (size_t)drawing.samples_width + 2 +
		       (drawing.times ? 11 : 0);
	sp_stacks_load_notes(view->load, stdout);
	print_heading(view);
	printf("%s%s%*s  %s%s%s\n", bold, view->bottom_up ? "  share  " : "  total     self  ",
	       drawing.samples_width, "samples", drawing.times ? "     time  " : "",
	       view->bottom_up ? "function, then who called it" : "function",
	       drawing.colours ? "\033[0m" : "");
	print_line(&drawing, 0, "");
	draw_children(&drawing, 0, 0);
	print_hidden(&drawing);
	if (drawing.failed)
		puts("(out of memory)");
	free(drawing.indent);
}
