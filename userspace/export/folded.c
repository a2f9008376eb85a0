/* SPDX-License-Identifier: BSD-2-Clause
 *
 * folded.c - see folded.h.
 */
#include "userspace/export/folded.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/pool.h"
#include "userspace/base/text.h"

#define HASH "\\x23"

struct line {
	char *text;
	size_t bytes, room;
};

/* Names in short, each made once: equal ones are equal pointers. */
struct names {
	const struct sp_calltree *tree;
	struct sp_pool *texts; /* NULL: names are whole */
	const char **of;       /* by number of the function, NULL: not made yet */
};

static int names_init(struct names *names)
{
	uint32_t most = 0;

	for (size_t i = 0; i < sp_calltree_n(names->tree); i++) {
		const struct sp_calltree_node *node = sp_calltree_node(names->tree, (uint32_t)i);

		if (node->kind == SP_CALLTREE_FUNCTION && node->function > most)
			most = node->function;
	}
	names->texts = sp_pool_new();
	names->of = calloc(most + 1ul, sizeof(*names->of));
	return names->texts && names->of ? 0 : -ENOMEM;
}

static void names_done(struct names *names)
{
	sp_pool_free(names->texts);
	free(names->of);
}

/* NULL without memory. */
static const char *short_name(const struct names *names, uint32_t number)
{
	const char **kept = &names->of[sp_calltree_node(names->tree, number)->function];
	sp_cleanup(sp_freep) char *made = NULL;

	if (!*kept) {
		made = sp_name_shorten(sp_calltree_name(names->tree, number));
		*kept = made ? sp_pool_add(names->texts, made) : NULL;
	}
	return *kept;
}

/* The name to write: in short, if no other function that the same one called is the same in short.
 * NULL without memory. */
static const char *name_of(const struct names *names, uint32_t number)
{
	const struct sp_calltree_node *node = sp_calltree_node(names->tree, number), *peer;
	const char *whole = sp_calltree_name(names->tree, number), *name, *other;

	if (!names->texts || node->kind != SP_CALLTREE_FUNCTION)
		return whole;
	name = short_name(names, number);
	for (uint32_t i = sp_calltree_node(names->tree, node->parent)->first_child;
	     name && i != SP_CALLTREE_NONE; i = peer->next) {
		peer = sp_calltree_node(names->tree, i);
		if (i == number || peer->kind != SP_CALLTREE_FUNCTION)
			continue;
		other = short_name(names, i);
		if (!other)
			return NULL;
		if (other == name)
			return whole;
	}
	return name;
}

/* Puts a node's name behind those of its callers. */
static int push(struct line *line, const struct names *names, uint32_t number)
{
	const struct sp_calltree_node *node = sp_calltree_node(names->tree, number);
	const char *suffix = node->kind == SP_CALLTREE_KERNEL ? "_[k]" : "";
	const char *plain = name_of(names, number);
	sp_cleanup(sp_freep) char *name = plain ? sp_text_escape(plain) : NULL;
	size_t bytes;
	bool comment;

	if (!name)
		return -ENOMEM;
	/* A line that begins with # is a comment to those who read it. */
	comment = !line->bytes && *name == '#';
	bytes = strlen(name) + strlen(suffix) + 2 + sizeof(HASH) + sizeof(SP_NO_NAME);
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
				comment ? HASH : "", *name ? name + comment : SP_NO_NAME, suffix);
	return 0;
}

int sp_write_folded(const struct sp_calltree *tree, bool wide, FILE *out)
{
	sp_cleanup(names_done) struct names names = {.tree = tree};
	sp_cleanup(sp_freep) size_t *ends = NULL; /* of the names, by level */
	sp_cleanup(sp_freep) char *text = NULL;
	struct line line = {0};
	size_t level = 0, room = 0;
	uint32_t at = sp_calltree_node(tree, 0)->first_child;
	int r = wide ? 0 : names_init(&names);

	while (r == 0 && at != SP_CALLTREE_NONE && at) {
		const struct sp_calltree_node *node = sp_calltree_node(tree, at);
		size_t *grown = sp_array_grow(ends, level, &room, sizeof(*ends));

		if (!grown) {
			r = -ENOMEM;
			break;
		}
		ends = grown;
		ends[level++] = line.bytes;
		r = push(&line, &names, at);
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
