/* SPDX-License-Identifier: BSD-2-Clause
 *
 * flamegraph.c - see flamegraph.h.
 *
 * Each frame is a group with its place in samples and levels, from which the script lays it out
 * anew; what is drawn without it is the same picture at a fixed width.
 *
 * Invariant: every byte that comes from a profile goes through put_text(), which lets nothing pass
 * that XML would act upon or not allow.
 */
#include "userspace/export/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"
#include "userspace/base/units.h"
#include "flamegraph_parts.h"

#define WIDTH 1200.0
#define ROW 18
#define TOP 66	      /* above the frames: title, search, legend */
#define BOTTOM 30     /* below: what the pointer is on */
#define LETTER 7.22   /* width of a letter of DejaVu Sans Mono, 12 px; the script measures it */
#define MAX_TEXT 1000 /* bytes of a name */

/* What the style says, for programs that draw without it. */
#define PLAIN_FONT "font-family=\"monospace\" font-size=\"12\" "
#define PLAIN_PAPER "fill=\"#ffffff\" "

struct drawing {
	const struct sp_calltree *tree;
	const struct sp_flamegraph_options *options;
	FILE *out;
	uint64_t all, left_out;
	uint32_t levels;
};

/* ---- text ---- */

/* Characters that XML 1.0 cannot hold at all, though they are UTF-8. */
static bool is_forbidden(uint32_t c)
{
	return (c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef);
}

/* At most @most bytes of a text, "…" if there were more. */
static int put_text(FILE *out, const char *text, size_t most)
{
	/* What is cut may lie in the middle of a character: the escape would show it. */
	size_t length = strnlen(text, most + 4), left;
	bool cut = length > most;
	sp_cleanup(sp_freep) char *kept = NULL, *safe = NULL;

	if (cut)
		for (length = most; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	kept = strndup(text, length);
	safe = kept ? sp_text_escape(kept) : NULL;
	if (!safe)
		return -ENOMEM;
	left = strlen(safe);
	for (const char *at = safe; left;) {
		uint32_t c = 0;
		size_t n = sp_text_decode(at, left, &c);

		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c == '\'')
			fputs("&#39;", out);
		else if (!n || is_forbidden(c))
			fputs("\xef\xbf\xbd", out);
		else
			fwrite(at, 1, n, out);
		at += n ? n : 1;
		left -= n ? n : 1;
	}
	if (cut)
		fputs("\xe2\x80\xa6", out);
	return 0;
}

/* Each line of a text by itself: an escape would hide their ends. */
static int put_lines(FILE *out, const char *text)
{
	int r = 0;

	while (r == 0 && *text) {
		size_t length = strcspn(text, "\n");
		sp_cleanup(sp_freep) char *line = strndup(text, length);

		r = line ? put_text(out, line, MAX_TEXT) : -ENOMEM;
		text += length + (text[length] != 0);
		if (*text)
			putc('\n', out);
	}
	return r;
}

/* ---- colours ---- */

/* One hue for each kind, of a shade that a name always has. All are light: the text is dark. */
static const struct kind {
	const char *name, *legend;
	unsigned char least[3], most[3];
} kinds[] = {
	{"region", "region", {0x7f, 0xb4, 0xe6}, {0xa3, 0xcf, 0xf2}},
	{"function", "function", {0xf2, 0xa2, 0x54}, {0xfb, 0xcd, 0x80}},
	{"inlined", "inlined", {0xee, 0xdc, 0x7c}, {0xf7, 0xec, 0xa8}},
	{"kernel", "kernel", {0xd6, 0xa2, 0xdc}, {0xe8, 0xc4, 0xec}},
	{"other", "no name", {0xc4, 0xc8, 0xc8}, {0xd8, 0xdc, 0xdc}},
	{"all", "all", {0xa5, 0xd6, 0xa0}, {0xa5, 0xd6, 0xa0}},
};

static const struct kind *kind_of(const struct sp_calltree *tree, uint32_t number)
{
	const struct sp_calltree_node *node = sp_calltree_node(tree, number);

	switch (node->kind) {
	case SP_CALLTREE_REGION:
	case SP_CALLTREE_NO_REGION_KIND:
		return &kinds[0];
	case SP_CALLTREE_FUNCTION:
		return &kinds[node->inlined ? 2 : 1];
	case SP_CALLTREE_KERNEL:
		return &kinds[3];
	case SP_CALLTREE_ROOT:
		return &kinds[5];
	default:
		return &kinds[4];
	}
}

static void put_colour(FILE *out, const struct kind *kind, const char *name)
{
	uint32_t hash = 2166136261u;
	unsigned shade[3];

	for (size_t i = 0; name[i] && i < MAX_TEXT; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	hash = (hash ^ hash >> 15) & 0xff;
	for (int i = 0; i < 3; i++)
		shade[i] = kind->least[i] + (unsigned)(kind->most[i] - kind->least[i]) * hash / 255;
	fprintf(out, "#%02x%02x%02x", shade[0], shade[1], shade[2]);
}

/* ---- frames ---- */

static bool is_drawn(const struct drawing *drawing, const struct sp_calltree_node *node)
{
	return (double)node->samples >= drawing->options->least * (double)drawing->all;
}

/* The tooltip. */
static int put_title(const struct drawing *drawing, uint32_t number)
{
	const struct sp_calltree_node *node = sp_calltree_node(drawing->tree, number);
	const char *module = sp_calltree_module(drawing->tree, number);
	FILE *out = drawing->out;
	int r;

	fputs("<title>", out);
	r = put_text(out, sp_calltree_name(drawing->tree, number), MAX_TEXT);
	if (number)
		fprintf(out, " (%s)", sp_calltree_kind_name(drawing->tree, number));
	fprintf(out, "\n%s sample%s, %s of all", sp_show_count(node->samples).text,
		sp_plural(node->samples),
		sp_show_share((double)node->samples / (double)drawing->all).text);
	if (node->self && node->self != node->samples)
		fprintf(out, ", %s in itself",
			sp_show_share((double)node->self / (double)drawing->all).text);
	if (drawing->options->hz > 0)
		fprintf(out, ", %s",
			sp_show_duration((double)node->samples * 1e9 / (double)drawing->options->hz)
				.text);
	if (!number && drawing->options->missing && *drawing->options->missing) {
		putc('\n', out);
		r = put_lines(out, drawing->options->missing);
	}
	if (node->kind == SP_CALLTREE_REGION && drawing->options->gaps) {
		struct sp_missing missing = sp_sample_gaps_of(
			drawing->options->gaps, sp_calltree_name(drawing->tree, number));

		if (sp_missing_any(&missing))
			fprintf(out, "; missing: %s", sp_missing_tell(&missing).text);
	}
	if (r == 0 && node->line) {
		putc('\n', out);
		r = put_text(out, node->file, MAX_TEXT);
		fprintf(out, ":%" PRIu32 "%s", node->line,
			node->several ? " (and other lines)" : "");
	}
	if (r == 0 && *module) {
		putc('\n', out);
		r = put_text(out, module, MAX_TEXT);
	}
	fputs("</title>", out);
	return r;
}

/* What is written on a frame: names of C++ in short. To free(). */
static char *label_of(const struct sp_calltree *tree, uint32_t number)
{
	const char *name = sp_calltree_name(tree, number);

	return sp_calltree_node(tree, number)->kind == SP_CALLTREE_FUNCTION ? sp_name_shorten(name)
									    : strdup(name);
}

static int put_frame(const struct drawing *drawing, uint32_t number, uint64_t start, uint32_t level)
{
	const struct sp_calltree_node *node = sp_calltree_node(drawing->tree, number);
	const char *name = sp_calltree_name(drawing->tree, number);
	sp_cleanup(sp_freep) char *label = label_of(drawing->tree, number);
	const struct kind *kind = kind_of(drawing->tree, number);
	double x = (double)start / (double)drawing->all * WIDTH;
	double width = (double)node->samples / (double)drawing->all * WIDTH;
	uint32_t y = TOP + ROW * (drawing->options->inverted ? level : drawing->levels - 1 - level);
	size_t letters = width > 6 ? (size_t)((width - 6) / LETTER) : 0;
	FILE *out = drawing->out;
	int r = label ? 0 : -ENOMEM;

	fprintf(out,
		"<g class=\"f %s\" data-s=\"%" PRIu64 "\" data-n=\"%" PRIu64 "\" data-l=\"%" PRIu32
		"\"",
		kind->name, start, node->samples, level);
	if (r == 0 && strcmp(label, name) != 0) {
		fputs(" data-t=\"", out);
		r = put_text(out, label, MAX_TEXT);
		fputs("\"", out);
	}
	fputs(">", out);
	if (r == 0)
		r = put_title(drawing, number);
	fprintf(out, "<rect x=\"%.2f\" y=\"%" PRIu32 "\" width=\"%.2f\" height=\"%d\" fill=\"", x,
		y, width, ROW - 1);
	put_colour(out, kind, name);
	fprintf(out, "\"/><text x=\"%.2f\" y=\"%" PRIu32 "\">", x + 3, y + ROW - 5);
	if (r == 0 && letters >= 3)
		r = put_text(out, label,
			     strlen(label) <= letters
				     ? MAX_TEXT
				     : (letters - 1 < MAX_TEXT ? letters - 1 : MAX_TEXT));
	fputs("</text></g>\n", out);
	return r;
}

static void measure(struct drawing *drawing, uint32_t number, uint32_t level)
{
	const struct sp_calltree_node *node = sp_calltree_node(drawing->tree, number);

	if (level >= drawing->levels)
		drawing->levels = level + 1;
	for (uint32_t i = node->first_child; i != SP_CALLTREE_NONE;) {
		const struct sp_calltree_node *child = sp_calltree_node(drawing->tree, i);

		if (is_drawn(drawing, child))
			measure(drawing, i, level + 1);
		else
			drawing->left_out++;
		i = child->next;
	}
}

/* A frame, then those above it, from left to right. */
static int draw(const struct drawing *drawing, uint32_t number, uint64_t start, uint32_t level)
{
	const struct sp_calltree_node *node = sp_calltree_node(drawing->tree, number);
	int r = put_frame(drawing, number, start, level);

	for (uint32_t i = node->first_child; r == 0 && i != SP_CALLTREE_NONE;) {
		const struct sp_calltree_node *child = sp_calltree_node(drawing->tree, i);

		if (is_drawn(drawing, child))
			r = draw(drawing, i, start, level + 1);
		start += child->samples;
		i = child->next;
	}
	return r;
}

/* ---- around them ---- */

static bool has_kind(const struct drawing *drawing, const struct kind *kind)
{
	for (size_t i = 1; i < sp_calltree_n(drawing->tree); i++)
		if (kind_of(drawing->tree, (uint32_t)i) == kind &&
		    is_drawn(drawing, sp_calltree_node(drawing->tree, (uint32_t)i)))
			return true;
	return false;
}

static void put_legend(const struct drawing *drawing)
{
	int x = 10;

	fputs("<g id=\"legend\">", drawing->out);
	for (size_t i = 0; i < sp_array_size(kinds); i++) {
		if (!has_kind(drawing, &kinds[i]))
			continue;
		fprintf(drawing->out,
			"<rect x=\"%d\" y=\"44\" width=\"12\" height=\"12\" "
			"fill=\"#%02x%02x%02x\"/>"
			"<text x=\"%d\" y=\"54\">%s</text>",
			x, kinds[i].least[0], kinds[i].least[1], kinds[i].least[2], x + 17,
			kinds[i].legend);
		x += 36 + (int)(LETTER * (double)strlen(kinds[i].legend));
	}
	fputs("</g>\n", drawing->out);
}

static int put_head(const struct drawing *drawing, uint32_t height)
{
	const struct sp_flamegraph_options *options = drawing->options;
	FILE *out = drawing->out;
	int r = 0;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" " PLAIN_FONT
		"width=\"%d\" "
		"height=\"%" PRIu32 "\" viewBox=\"0 0 %d %" PRIu32 "\" data-all=\"%" PRIu64
		"\" data-levels=\"%" PRIu32
		"\" data-row=\"%d\" data-top=\"%d\" data-inverted=\"%d\">\n",
		(int)WIDTH, height, (int)WIDTH, height, drawing->all, drawing->levels, ROW, TOP,
		options->inverted);
	fputs("<title>", out);
	r = put_text(out, options->title ? options->title : "Flame graph", MAX_TEXT);
	fprintf(out, "</title>\n<style>%s</style>\n", sp_flamegraph_css);
	fprintf(out,
		"<rect class=\"paper\" " PLAIN_PAPER "width=\"100%%\" height=\"%" PRIu32 "\"/>\n",
		height);
	return r;
}

/* What stays in sight while the frames are scrolled: drawn after them. */
static int put_edges(const struct drawing *drawing, uint32_t height)
{
	const struct sp_flamegraph_options *options = drawing->options;
	FILE *out = drawing->out;
	int r = 0;

	fprintf(out,
		"<g id=\"head\"><rect class=\"paper\" " PLAIN_PAPER
		"width=\"100%%\" height=\"%d\"/>\n"
		"<text id=\"heading\" x=\"10\" y=\"22\">",
		TOP - 2);
	r = put_text(out, options->title ? options->title : "Flame graph", 200);
	fputs("</text>\n<text id=\"about\" x=\"10\" y=\"37\">", out);
	if (r == 0 && options->subtitle)
		r = put_text(out, options->subtitle, 300);
	fputs("</text>\n", out);
	put_legend(drawing);
	fprintf(out,
		"</g>\n<g id=\"foot\"><rect class=\"paper\" " PLAIN_PAPER "y=\"%" PRIu32
		"\" width=\"100%%\" height=\"%d\"/>"
		"<text id=\"details\" x=\"10\" y=\"%" PRIu32 "\"></text></g>\n",
		height - BOTTOM + 4, BOTTOM - 4, height - 10);
	return r;
}

int sp_write_flamegraph(const struct sp_calltree *tree, const struct sp_flamegraph_options *options,
			FILE *out, uint64_t *ret_left_out)
{
	struct drawing drawing = {.tree = tree, .options = options, .out = out};
	uint32_t height;
	int r;

	drawing.all = sp_calltree_node(tree, 0)->samples;
	if (!drawing.all)
		drawing.all = 1;
	measure(&drawing, 0, 0);
	height = TOP + ROW * drawing.levels + BOTTOM;
	r = put_head(&drawing, height);
	fputs("<g id=\"frames\">\n", out);
	if (r == 0)
		r = draw(&drawing, 0, 0, 0);
	fputs("</g>\n", out);
	if (r == 0)
		r = put_edges(&drawing, height);
	fprintf(out, "<script><![CDATA[\n%s]]></script>\n</svg>\n", sp_flamegraph_js);
	if (r == 0 && ferror(out))
		r = errno ? -errno : -EIO;
	if (r == 0 && ret_left_out)
		*ret_left_out = drawing.left_out;
	return r;
}
