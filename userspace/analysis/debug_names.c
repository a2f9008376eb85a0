/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_names.c - see debug_names.h.
 */
#include "userspace/analysis/debug_names.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"
#include "userspace/base/idmap.h"

#define MAX_STEPS 16 /* from an entry to the one that has the name; four are usual */

struct sp_debug_names {
	struct sp_skim *skim;
	const struct sp_skim_unit *unit;
	Dwarf_CU *cu;
	struct sp_idmap known; /* offset of what entries refer to: index in names */
	const char **names;    /* NULL: it has none */
	size_t n_names, names_room;
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
	free(names->names);
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

/* Most entries are inlined calls of a few functions: what was found is kept for these, not for the
 * calls. */
const char *sp_debug_names_find(struct sp_debug_names *names, uint64_t offset)
{
	struct sp_skim_entry entry = {0};
	uint64_t key = offset;
	const char *name = NULL, **kept;
	uint32_t index;

	if (sp_skim_seek(names->skim, offset) < 0 || !sp_skim_next(names->skim, &entry))
		return NULL;
	if (entry.tag == DW_TAG_inlined_subroutine && !entry.linkage.form && !entry.name.form &&
	    sp_skim_reference(names->unit, &entry.origin))
		key = sp_skim_reference(names->unit, &entry.origin);
	index = sp_idmap_get(&names->known, key);
	if (index != SP_IDMAP_NONE)
		return names->names[index];
	if (!follow(names, key, &name))
		name = name_by_libdw(names, offset);
	kept = key == offset ? NULL
			     : sp_array_add(&names->names, &names->n_names, &names->names_room);
	if (kept) {
		*kept = name;
		/* Without memory it is looked for again. */
		sp_idmap_set(&names->known, key, (uint32_t)(names->n_names - 1));
	}
	return name;
}
