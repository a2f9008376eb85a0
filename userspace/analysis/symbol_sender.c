/* SPDX-License-Identifier: BSD-2-Clause
 *
 * symbol_sender.c - see symbol_sender.h.
 *
 * Every text is sent before the first message that names its number, every link before those that
 * lead to it and the places that it is at.
 */
#include "userspace/analysis/symbol_sender.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/analysis/names.h"
#include "userspace/base/array.h"
#include "userspace/base/cleanup.h"
#include "userspace/base/idmap.h"
#include "userspace/base/pool.h"

#define LINKS 2048 /* in a message */
#define PLACES 4096

_Static_assert(SP_WORKER_MAX_FRAMES >= SP_DEBUG_MAX_INLINED, "every chain fits a symbol");
_Static_assert(LINKS * sizeof(struct sp_worker_link) <= SP_WORKER_MAX_TEXT, "fits a message");
_Static_assert(PLACES * sizeof(struct sp_worker_place) <= SP_WORKER_MAX_TEXT, "fits a message");

struct readable {
	struct sp_name_hints hints;
	uint32_t number; /* of the text + 1; 0 none */
};

struct sp_symbol_sender {
	struct sp_pool *made;	    /* texts that were put together here */
	struct sp_idmap by_pointer; /* numbers of texts, all of which stay where they are */
	struct sp_idmap files;	    /* of theirs: they are few, and asked for most often */
	const char **texts;	    /* by number */
	size_t n_texts, texts_capacity;
	struct readable *readable; /* by number of a linker name: the last one that was made */
	size_t readable_capacity;
	bool keep_clones, raw_names;
	const char *file, *directory; /* those sent last: addresses of a file come together */
	uint32_t file_number;
	uint32_t n_sent_links;		    /* and those that wait */
	struct sp_worker_link links[LINKS]; /* that wait to be sent, as do these places */
	size_t n_links;
	struct sp_worker_place places[PLACES];
	size_t n_places;
	unsigned char buffer[64 << 10];
	size_t used;
	sp_sender_write write;
	void *context;
};

/* ---- life cycle ---- */

int sp_sender_new(sp_sender_write write, void *context, bool raw_names, bool keep_clones,
		  struct sp_symbol_sender **ret_sender)
{
	struct sp_symbol_sender *sender = calloc(1, sizeof(*sender));

	if (!sender)
		return -ENOMEM;
	sender->write = write;
	sender->context = context;
	sender->raw_names = raw_names;
	sender->keep_clones = keep_clones;
	sender->file_number = SP_WORKER_NONE;
	sender->made = sp_pool_new();
	if (!sender->made) {
		free(sender);
		return -ENOMEM;
	}
	*ret_sender = sender;
	return 0;
}

void sp_sender_free(struct sp_symbol_sender *sender)
{
	if (!sender)
		return;
	sp_pool_free(sender->made);
	sp_idmap_free(&sender->by_pointer);
	sp_idmap_free(&sender->files);
	free(sender->texts);
	free(sender->readable);
	free(sender);
}

/* ---- bytes ---- */

static int flush_bytes(struct sp_symbol_sender *sender)
{
	int r = sender->used ? sender->write(sender->context, sender->buffer, sender->used) : 0;

	sender->used = 0;
	return r;
}

static int put(struct sp_symbol_sender *sender, const void *bytes, size_t size)
{
	const unsigned char *from = bytes;

	while (size) {
		size_t room = sizeof(sender->buffer) - sender->used;
		size_t part = size < room ? size : room;

		memcpy(sender->buffer + sender->used, from, part);
		sender->used += part;
		from += part;
		size -= part;
		if (sender->used == sizeof(sender->buffer)) {
			int r = flush_bytes(sender);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int sp_sender_message(struct sp_symbol_sender *sender, enum sp_worker_kind kind, const void *first,
		      size_t first_size, const void *second, size_t second_size)
{
	struct sp_worker_header header = {kind, (uint32_t)(first_size + second_size)};
	int r = put(sender, &header, sizeof(header));

	if (r == 0)
		r = put(sender, first, first_size);
	return r == 0 ? put(sender, second, second_size) : r;
}

/* ---- texts ---- */

/* Sends a text that lives as long as the sender, if it is new. Found by its address: it is looked
 * at once, not at each of the many addresses in a function. The same text at two addresses has two
 * numbers; the reader joins them. */
static int send_text(struct sp_symbol_sender *sender, const char *text, uint32_t *ret_id)
{
	const char **kept;
	int r;

	*ret_id = SP_WORKER_NONE;
	if (!text || !*text)
		return 0;
	*ret_id = sp_idmap_get(&sender->by_pointer, (uintptr_t)text);
	if (*ret_id != SP_IDMAP_NONE)
		return 0;
	kept = sp_array_add(&sender->texts, &sender->n_texts, &sender->texts_capacity);
	if (!kept)
		return -ENOMEM;
	*kept = text;
	*ret_id = (uint32_t)(sender->n_texts - 1);
	r = sp_idmap_set(&sender->by_pointer, (uintptr_t)text, *ret_id);
	return r < 0 ? r
		     : sp_sender_message(sender, SP_WORKER_TEXT, text,
					 strnlen(text, SP_WORKER_MAX_TEXT), NULL, 0);
}

/* The same of a text that is about to be freed. */
static int send_made_text(struct sp_symbol_sender *sender, const char *text, uint32_t *ret_id)
{
	const char *kept = sp_pool_add(sender->made, text);

	return kept ? send_text(sender, kept, ret_id) : -ENOMEM;
}

/* The same of one that is made once only, and that nobody asks for again. */
static int send_passing_text(struct sp_symbol_sender *sender, const char *text, uint32_t *ret_id)
{
	const char **kept = sp_array_add(&sender->texts, &sender->n_texts, &sender->texts_capacity);

	if (!kept)
		return -ENOMEM;
	*kept = NULL;
	*ret_id = (uint32_t)(sender->n_texts - 1);
	return sp_sender_message(sender, SP_WORKER_TEXT, text, strnlen(text, SP_WORKER_MAX_TEXT),
				 NULL, 0);
}

static bool same_hints(const struct sp_name_hints *a, const struct sp_name_hints *b)
{
	return a->fortran == b->fortran && a->name == b->name && a->module == b->module &&
	       a->parent == b->parent && a->parent_is_one_of == b->parent_is_one_of &&
	       a->construct == b->construct && a->task == b->task && a->whole == b->whole;
}

/* The readable form of a linker name that was sent as number @raw. @found: NULL none. */
static int send_readable(struct sp_symbol_sender *sender, uint32_t raw,
			 const struct sp_name_hints *found, uint32_t *ret_id)
{
	static const struct sp_name_hints none;
	struct sp_name_hints kept = {0}, *hints = &kept;
	struct readable *known;
	sp_cleanup(sp_freep) char *name = NULL;
	int r;

	*ret_id = raw;
	if (raw == SP_WORKER_NONE || sender->raw_names)
		return 0;
	if (found)
		kept = *found;
	/* It goes away with its unit; what is made of it is known by it. */
	if (hints->whole)
		hints->whole = sp_pool_add(sender->made, hints->whole);
	if (raw >= sender->readable_capacity) {
		size_t capacity = (size_t)raw * 2 + 64;
		struct readable *grown = reallocarray(sender->readable, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + sender->readable_capacity, 0,
		       (capacity - sender->readable_capacity) * sizeof(*grown));
		sender->readable = grown;
		sender->readable_capacity = capacity;
	}
	known = &sender->readable[raw];
	if (!known->number || !same_hints(&known->hints, hints)) {
		known->hints = *hints;
		known->hints.keep_clones = sender->keep_clones;
		name = sp_name_readable(sender->texts[raw], &known->hints);
		if (name) {
			/* Hints may change, and come back: a name with any may be made again. */
			r = same_hints(hints, &none) ? send_passing_text(sender, name, ret_id)
						     : send_made_text(sender, name, ret_id);
			if (r < 0)
				return r;
		}
		known->number = *ret_id + 1;
	}
	*ret_id = known->number - 1;
	return 0;
}

/* ---- links and places ---- */

/* Sends a file, made absolute as addr2line does. libdw (split DWARF) joins the compiler's directory
 * only to some of the names; with one that is itself relative (reproducible builds) that shows in
 * the name. */
static int send_file(struct sp_symbol_sender *sender, const char *file, const char *directory,
		     uint32_t *ret_id)
{
	sp_cleanup(sp_freep) char *joined = NULL;
	size_t length = directory && file && file[0] != '/' ? strlen(directory) : 0;

	if (!file || file[0] == '/' || !length ||
	    (!strncmp(file, directory, length) && file[length] == '/')) {
		int r;

		*ret_id = sp_idmap_get(&sender->files, (uintptr_t)file);
		if (*ret_id != SP_IDMAP_NONE)
			return 0;
		r = send_text(sender, file, ret_id);
		return r < 0 || *ret_id == SP_WORKER_NONE
			       ? r
			       : sp_idmap_set(&sender->files, (uintptr_t)file, *ret_id);
	}
	if (asprintf(&joined, "%s/%s", directory, file) < 0) {
		joined = NULL;
		return -ENOMEM;
	}
	return send_made_text(sender, joined, ret_id);
}

static int send_links(struct sp_symbol_sender *sender)
{
	size_t bytes = sender->n_links * sizeof(*sender->links);

	if (!bytes)
		return 0;
	sender->n_links = 0;
	return sp_sender_message(sender, SP_WORKER_LINKS, sender->links, bytes, NULL, 0);
}

static int send_places(struct sp_symbol_sender *sender)
{
	size_t bytes = sender->n_places * sizeof(*sender->places);
	int r = send_links(sender);

	if (r < 0 || !bytes)
		return r;
	sender->n_places = 0;
	return sp_sender_message(sender, SP_WORKER_PLACES, sender->places, bytes, NULL, 0);
}

static int add_link(struct sp_symbol_sender *sender, struct sp_debug_link *link)
{
	struct sp_worker_link *sent = &sender->links[sender->n_links];
	int r = 0;

	if (link->function_number && *link->function_number) {
		sent->raw = *link->function_number - 1;
	} else {
		r = send_text(sender, link->function, &sent->raw);
		if (link->function_number)
			*link->function_number = sent->raw + 1; /* 0 again for none */
	}
	if (r == 0)
		r = send_readable(sender, sent->raw, link->names, &sent->function);
	if (r == 0)
		r = send_file(sender, link->call_file, link->directory, &sent->call_file);
	if (r < 0)
		return r;
	sent->call_line = link->call_line;
	sent->around = link->around ? link->around->number - 1 : SP_WORKER_NONE;
	link->number = ++sender->n_sent_links;
	return ++sender->n_links == LINKS ? send_links(sender) : 0;
}

/* A link and those that it leads to, the outermost first. */
static int add_links(struct sp_symbol_sender *sender, struct sp_debug_link *link)
{
	struct sp_debug_link *chain[SP_DEBUG_MAX_INLINED];
	size_t n = 0;
	int r = 0;

	for (; link && !link->number && n < SP_DEBUG_MAX_INLINED; link = link->around)
		chain[n++] = link;
	while (n && r == 0)
		r = add_link(sender, chain[--n]);
	return r;
}

int sp_sender_place(void *context, size_t index, const struct sp_debug_place *place)
{
	struct sp_symbol_sender *sender = context;
	int r = 0;

	if (place->link && !place->link->number)
		r = add_links(sender, place->link);
	if (r == 0 && (place->file != sender->file || place->directory != sender->directory)) {
		sender->file = place->file;
		sender->directory = place->directory;
		r = send_file(sender, place->file, place->directory, &sender->file_number);
	}
	if (r < 0)
		return r;
	sender->places[sender->n_places++] = (struct sp_worker_place){
		.index = (uint32_t)index,
		.link = place->link ? place->link->number - 1 : SP_WORKER_NONE,
		.file = sender->file_number,
		.line = place->line,
	};
	return sender->n_places == PLACES ? send_places(sender) : 0;
}

int sp_sender_flush(struct sp_symbol_sender *sender)
{
	int r = send_places(sender);

	return r < 0 ? r : flush_bytes(sender);
}
