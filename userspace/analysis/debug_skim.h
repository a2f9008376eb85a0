/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_skim.h - skims the entries of a unit: decodes the few attributes that say where functions
 * and inlined calls have code, and steps over everything else.
 *
 * Life cycle: open with a unit; next, as often as there are entries; close. An abbreviation is
 * turned into steps once, with all neighbouring attributes of fixed size in one; an entry then
 * costs some ten nanoseconds. Bounded by the unit's bytes, whatever they are.
 */
#ifndef SP_ANALYSIS_DEBUG_SKIM_H
#define SP_ANALYSIS_DEBUG_SKIM_H

#include "userspace/analysis/debug_sections.h"

/* How to read a unit's numbers. */
struct sp_skim_unit {
	const struct sp_debug_sections *sections;
	uint64_t start, entries, end; /* of the unit, its first entry, its end, in .debug_info */
	uint64_t abbrevs;	      /* in .debug_abbrev */
	uint8_t version, address_size, offset_size;
	/* Where the unit's part of a table starts; UINT64_MAX: the unit has none. */
	uint64_t addr_base, str_offsets_base, rnglists_base;
	uint64_t ranges_base; /* of split DWARF 4, else 0 */
	uint64_t low_pc;      /* that range lists are relative to */
};

/* An attribute's form and where its value stands; form 0: the entry does not have it. */
struct sp_skim_value {
	uint16_t form;
	uint64_t value; /* of numbers; of texts, references and indices what stands in the file */
	const char *inline_text; /* DW_FORM_string */
};

#define SP_SKIM_VALUES 8

struct sp_skim_entry {
	uint64_t offset; /* in .debug_info */
	int tag;	 /* 0: ends a list of children */
	bool children;
	uint64_t sibling; /* offset in .debug_info, 0 unknown */
	/* Only of functions and inlined calls, and where asked for. */
	union {
		struct {
			struct sp_skim_value low, high, ranges; /* where its code is */
			struct sp_skim_value origin, call_file, call_line, name, linkage;
		};
		struct sp_skim_value values[SP_SKIM_VALUES];
	};
};

struct sp_skim;

/* -ENOMEM, -EBADMSG: the abbreviations are damaged. @unit must outlive the skim. */
int sp_skim_open(const struct sp_skim_unit *unit, struct sp_skim **ret_skim);
void sp_skim_close(struct sp_skim *skim); /* NULL is fine */

/* Goes to an entry, whose offset must be within the unit; else -EBADMSG. */
int sp_skim_seek(struct sp_skim *skim, uint64_t offset);
/* Goes on at an entry further down; false, and nothing done, if it is not further down. */
bool sp_skim_skip_to(struct sp_skim *skim, uint64_t offset);
/* The next entry in the file's order. False at the unit's end, and where it is damaged. @entry's
 * values are set only for subprograms and inlined calls. */
bool sp_skim_next(struct sp_skim *skim, struct sp_skim_entry *entry);

/* The same, but most entries that are neither functions nor have children are passed over, and of
 * the others only the ranges and the sibling are told. *ret_ended: so many lists of children ended
 * among what was passed over. */
bool sp_skim_next_notable(struct sp_skim *skim, struct sp_skim_entry *entry, size_t *ret_ended);

/* Called for each range. Nonzero stops, and is returned. */
typedef int (*sp_skim_range)(void *context, uint64_t low, uint64_t high);

/* The ranges of an entry's code. Returns 0 also if there are none, -ENOTSUP for forms that only
 * libdw knows, or what @range returned. */
int sp_skim_ranges(const struct sp_skim_unit *unit, const struct sp_skim_entry *entry,
		   sp_skim_range range, void *context);
/* False if the form is none of addresses, or its table does not have it. */
bool sp_skim_address(const struct sp_skim_unit *unit, const struct sp_skim_value *value,
		     uint64_t *ret_address);
/* NULL if the form is not known here. */
const char *sp_skim_text(const struct sp_skim_unit *unit, const struct sp_skim_value *value);
/* Offset in .debug_info of the entry referred to, 0 if it is in no unit of this file's. */
uint64_t sp_skim_reference(const struct sp_skim_unit *unit, const struct sp_skim_value *value);

#endif
