/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_names.c - see debug_names.h.
 */
#include "userspace/analysis/debug_names.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/array.h"
#include "userspace/base/idmap.h"

#define MAX_STEPS 16 /* from an entry to the one that has the name; four are usual */

#define CHUNK 256

struct chunk {
	struct sp_debug_name names[CHUNK];
};

struct sp_debug_names {
	struct sp_skim *skim;
	const struct sp_skim_unit *unit;
	Dwarf_CU *cu;
	struct sp_idmap known; /* offset of what entries refer to: number of a name */
	struct chunk **chunks; /* of names; a text of NULL: it has none */
	size_t n_chunks, chunks_room;
	uint32_t n;
};

int sp_debug_names_new(struct sp_skim *skim, const struct sp_skim_unit *unit, Dwarf_CU *cu,
		       struct sp_debug_names **ret_names)
{
	struct sp_debug_names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->skim = skim;
	names->unit = unit;
	names->cu = cu;
	*ret_names = names;
	return 0;
}

void sp_debug_names_free(struct sp_debug_names *names)
{
	if (!names)
		return;
	sp_idmap_free(&names->known);
	for (size_t i = 0; i < names->n_chunks; i++)
		free(names->chunks[i]);
	free(names->chunks);
	free(names);
}

static const char *name_by_libdw(const struct sp_debug_names *names, uint64_t offset)
{
	static const unsigned int linkage[] = {DW_AT_linkage_name, DW_AT_MIPS_linkage_name};
	Dwarf_Die die = {.addr = (void *)(names->unit->sections->info.data + offset),
			 .cu = names->cu};
	Dwarf_Attribute attribute;

	for (size_t i = 0; i < 2 && names->cu; i++) {
		const char *name = NULL;

		if (dwarf_attr_integrate(&die, linkage[i], &attribute))
			name = dwarf_formstring(&attribute);
		if (name && *name)
			return name;
	}
	return names->cu ? dwarf_diename(&die) : NULL;
}

/* Follows an entry to where its name is. False if that leads to where only libdw can go. */
static bool follow(struct sp_debug_names *names, uint64_t offset, const char **ret_name)
{
	const char *plain = NULL, *text;

	for (int i = 0; i < MAX_STEPS; i++) {
		struct sp_skim_entry entry = {0};

		if (sp_skim_seek(names->skim, offset) < 0 || !sp_skim_next(names->skim, &entry))
			return false;
		if (entry.linkage.form) {
			text = sp_skim_text(names->unit, &entry.linkage);
			if (!text)
				return false;
			if (*text) {
				*ret_name = text;
				return true;
			}
		}
		if (entry.name.form && !plain) {
			plain = sp_skim_text(names->unit, &entry.name);
			if (!plain)
				return false;
		}
		if (!entry.origin.form) {
			*ret_name = plain;
			return true;
		}
		offset = sp_skim_reference(names->unit, &entry.origin);
	}
	return false;
}

static struct sp_debug_name *new_name(struct sp_debug_names *names, const char *text,
				      uint32_t *ret_number)
{
	struct chunk *chunk = names->n % CHUNK ? names->chunks[names->n / CHUNK] : NULL;

	if (!chunk) {
		struct chunk **added =
			sp_array_add(&names->chunks, &names->n_chunks, &names->chunks_room);

		chunk = added ? *added = malloc(sizeof(*chunk)) : NULL;
		if (!chunk) {
			names->n_chunks -= added != NULL;
			return NULL;
		}
	}
	*ret_number = names->n++;
	chunk->names[*ret_number % CHUNK] =
		(struct sp_debug_name){.text = text, .cut_out = text && strstr(text, ".omp")};
	return &chunk->names[*ret_number % CHUNK];
}

/* Most entries are inlined calls of a few functions: what was found is kept for these, not for the
 * calls. */
struct sp_debug_name *sp_debug_names_find(struct sp_debug_names *names, uint64_t offset,
					  struct sp_skim_entry *ret_entry)
{
	uint64_t key = offset, origin;
	struct sp_debug_name *kept;
	const char *text = NULL;
	uint32_t number;

	*ret_entry = (struct sp_skim_entry){0};
	if (sp_skim_seek(names->skim, offset) < 0 || !sp_skim_next(names->skim, ret_entry))
		return NULL;
	origin = sp_skim_reference(names->unit, &ret_entry->origin);
	if (ret_entry->tag == DW_TAG_inlined_subroutine && !ret_entry->linkage.form &&
	    !ret_entry->name.form && origin)
		key = origin;
	number = sp_idmap_get(&names->known, key);
	if (number != SP_IDMAP_NONE) {
		kept = &names->chunks[number / CHUNK]->names[number % CHUNK];
		return kept->text ? kept : NULL;
	}
	if (!follow(names, key, &text))
		text = name_by_libdw(names, offset);
	kept = new_name(names, text, &number);
	/* Without memory it is looked for again. */
	if (kept && key != offset)
		sp_idmap_set(&names->known, key, number);
	return text ? kept : NULL;
}
