/* SPDX-License-Identifier: BSD-2-Clause
 *
 * folded.c - see folded.h.
 */
#include "userspace/export/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/text.h"

#define HASH "\\x23"
#define NO_NAME "(no name)"

struct line {
	char *text;
	size_t bytes, room;
};

/* Puts a node's name behind those of its callers. */
static int push(struct line *line, const struct sp_calltree *tree, uint32_t node)
{
	const char *suffix = sp_calltree_node(tree, node)->kind == SP_CALLTREE_KERNEL ? "_[k]" : "";
	sp_cleanup(sp_freep) char *name = sp_text_escape(sp_calltree_name(tree, node));
	size_t bytes;
	bool comment;

	if (!name)
		return -ENOMEM;
	/* A line that begins with # is a comment to those who read it. */
	comment = !line->bytes && *name == '#';
	bytes = strlen(name) + strlen(suffix) + 2 + sizeof(HASH) + sizeof(NO_NAME);
	if (line->room - line->bytes < bytes) {
		size_t room = line->room * 2 + bytes;
		char *larger = realloc(line->text, room);

		if (!larger)
			return -ENOMEM;
		line->text = larger;
		line->room = room;
	}
	for (char *c = name; *c; c++)
		if (*c == ';')
			*c = ':';
	line->bytes +=
		(size_t)sprintf(line->text + line->bytes, "%s%s%s%s", line->bytes ? ";" : "",
				comment ? HASH : "", *name ? name + comment : NO_NAME, suffix);
	return 0;
}

int sp_write_folded(const struct sp_calltree *tree, FILE *out)
{
	sp_cleanup(sp_freep) size_t *ends = NULL; /* of the names, by level */
	sp_cleanup(sp_freep) char *text = NULL;
	struct line line = {0};
	size_t level = 0, room = 0;
	uint32_t at = sp_calltree_node(tree, 0)->first_child;
	int r = 0;

	while (r == 0 && at != SP_CALLTREE_NONE && at) {
		const struct sp_calltree_node *node = sp_calltree_node(tree, at);
		size_t *grown = sp_array_grow(ends, level, &room, sizeof(*ends));

		if (!grown) {
			r = -ENOMEM;
			break;
		}
		ends = grown;
		ends[level++] = line.bytes;
		r = push(&line, tree, at);
		text = line.text;
		if (r == 0 && node->self)
			fprintf(out, "%s %" PRIu64 "\n", line.text, node->self);
		if (node->first_child != SP_CALLTREE_NONE) {
			at = node->first_child;
			continue;
		}
		/* Back to where there is a next one. */
		for (;;) {
			line.bytes = ends[--level];
			node = sp_calltree_node(tree, at);
			at = node->next != SP_CALLTREE_NONE ? node->next : node->parent;
			if (node->next != SP_CALLTREE_NONE || !at)
				break;
		}
	}
	if (r == 0 && ferror(out))
		r = errno ? -errno : -EIO;
	return r;
}
