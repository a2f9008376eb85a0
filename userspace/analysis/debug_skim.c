/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_skim.c - follows abbreviations' steps from entry to entry.
 */
#include "userspace/analysis/debug_skim.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/analysis/debug_abbrevs.h"

struct sp_skim {
	const unsigned char *at;
	const struct sp_skim_unit *unit;
	const unsigned char *end;
	struct sp_skim_abbrevs abbrevs;
};

/* ---- life cycle ---- */

int sp_skim_open(const struct sp_skim_unit *unit, struct sp_skim **ret_skim)
{
	struct sp_skim *skim;
	int r;

	if (unit->end > unit->sections->info.size || unit->entries > unit->end ||
	    unit->start > unit->entries || (unit->offset_size != 4 && unit->offset_size != 8) ||
	    (unit->address_size != 4 && unit->address_size != 8))
		return -EBADMSG;
	skim = calloc(1, sizeof(*skim));
	if (!skim)
		return -ENOMEM;
	skim->unit = unit;
	r = sp_skim_abbrevs_read(unit, &skim->abbrevs);
	if (r == 0)
		r = sp_skim_seek(skim, unit->entries);
	if (r < 0) {
		sp_skim_close(skim);
		return r;
	}
	*ret_skim = skim;
	return 0;
}

void sp_skim_close(struct sp_skim *skim)
{
	if (!skim)
		return;
	sp_skim_abbrevs_done(&skim->abbrevs);
	free(skim);
}

int sp_skim_seek(struct sp_skim *skim, uint64_t offset)
{
	const struct sp_debug_section *info = &skim->unit->sections->info;

	if (offset < skim->unit->entries || offset >= skim->unit->end)
		return -EBADMSG;
	skim->at = info->data + offset;
	skim->end = info->data + skim->unit->end;
	return 0;
}

bool sp_skim_skip_to(struct sp_skim *skim, uint64_t offset)
{
	const unsigned char *to = skim->unit->sections->info.data + offset;

	if (offset > skim->unit->end || to < skim->at)
		return false;
	skim->at = to;
	return true;
}

/* ---- attributes ---- */

/* Forgets what the entry before had. */
static void clear_values(struct sp_skim_entry *entry)
{
	for (size_t i = 0; i < SP_SKIM_VALUES; i++)
		entry->values[i].form = 0;
	entry->call_file.value = entry->call_line.value = 0;
}

static bool take_form(struct sp_bytes *bytes, const struct sp_skim_step *step,
		      struct sp_skim_value *value)
{
	int size = step->size;

	value->form = step->form;
	if (__builtin_expect(size == 4, 1))
		value->value = sp_bytes_number(bytes, 4);
	else if (size == 8)
		value->value = sp_bytes_number(bytes, 8);
	else if (size == 1)
		value->value = sp_bytes_number(bytes, 1);
	else if (step->form == DW_FORM_implicit_const)
		value->value = (uint64_t)step->constant;
	else if (step->form == DW_FORM_string)
		value->inline_text = sp_bytes_text(bytes);
	else if (step->form == DW_FORM_sdata)
		value->value = (uint64_t)sp_bytes_sleb(bytes);
	else if (size >= 0 && size <= 8)
		value->value = sp_bytes_number(bytes, (unsigned int)size);
	else if (size > 8)
		return sp_bytes_skip(bytes, (uint64_t)size);
	else if (step->form == DW_FORM_block || step->form == DW_FORM_exprloc ||
		 (step->form >= DW_FORM_block2 && step->form <= DW_FORM_block4) ||
		 step->form == DW_FORM_block1)
		return sp_skim_form(bytes, step->form);
	else if (step->form == DW_FORM_indirect)
		return false;
	else
		value->value = sp_bytes_uleb(bytes);
	return !bytes->bad;
}

static inline uint64_t field_of(const struct sp_skim_field *field, const unsigned char *start)
{
	return (sp_bytes_fixed(start + field->at, 8) & field->mask) + field->constant;
}

/* Takes what an entry has whose attributes have always as many bytes; these, and 8 more, are there.
 * All without a branch: which attributes there are comes in no order that a processor could guess.
 */
static inline void take_fixed(const struct sp_skim *skim, const struct sp_skim_abbrev *abbrev,
			      const unsigned char *start, bool where, struct sp_skim_entry *entry)
{
	const struct sp_skim_field *fields;
	uint64_t sibling = field_of(&abbrev->sibling, start);

	if (__builtin_expect(abbrev->sibling.form == DW_FORM_ref4, 1))
		entry->sibling = sibling < skim->unit->end - skim->unit->start
					 ? skim->unit->start + sibling
					 : 0;
	else if (abbrev->sibling.form)
		entry->sibling = sp_skim_reference(
			skim->unit, &(struct sp_skim_value){abbrev->sibling.form, sibling, NULL});
	if (!abbrev->function)
		return;
	fields = skim->abbrevs.fields[abbrev->fields].values;
	for (size_t i = 0; i < (where ? SP_TAKE_RANGES + 1 : SP_SKIM_VALUES); i++) {
		entry->values[i].form = fields[i].form;
		entry->values[i].value = field_of(&fields[i], start);
	}
}

static __attribute__((noinline)) bool take_any(const struct sp_skim *skim,
					       const struct sp_skim_steps *steps,
					       struct sp_bytes *at, struct sp_skim_entry *entry)
{
	const struct sp_skim_step *step = skim->abbrevs.steps + steps->first;

	for (const struct sp_skim_step *end = step + steps->n; step < end; step++) {
		struct sp_skim_value value, *place = &value;
		bool good = sp_bytes_skip(at, step->before);

		if (good && step->take == SP_TAKE_NOTHING) {
			good = sp_skim_form(at, step->form);
		} else if (good) {
			if (step->take != SP_TAKE_SIBLING)
				place = &entry->values[step->take];
			good = take_form(at, step, place);
			if (step->take == SP_TAKE_SIBLING)
				entry->sibling = sp_skim_reference(skim->unit, &value);
		}
		if (!good)
			return false;
	}
	return sp_bytes_skip(at, steps->rest);
}

/* ---- entries ---- */

/* The entry whose code begins at skim->at. */
static inline bool read_entry(struct sp_skim *skim, struct sp_skim_entry *entry, bool where)
{
	const unsigned char *at = skim->at, *end = skim->end;
	const struct sp_skim_abbrev *abbrev;
	struct sp_bytes rest = {at, end, false};
	uint64_t code;

	if (at == end)
		return false;
	entry->offset = (uint64_t)(at - skim->unit->sections->info.data);
	entry->tag = 0;
	code = *at++;
	if (code >= 0x80) {
		code = sp_bytes_uleb(&rest);
		at = rest.at;
		if (rest.bad)
			return false;
	}
	if (!code) {
		skim->at = at;
		return true;
	}
	abbrev = sp_skim_abbrevs_find(&skim->abbrevs, code);
	if (!abbrev)
		return false;
	entry->tag = abbrev->tag;
	entry->children = abbrev->children;
	entry->sibling = 0;
	if (abbrev->fixed && (size_t)(end - at) >= abbrev->fixed_bytes + 8ul) {
		take_fixed(skim, abbrev, at, where, entry);
		skim->at = at + abbrev->fixed_bytes;
		return true;
	}
	if (abbrev->function)
		clear_values(entry);
	rest.at = at;
	if (!take_any(skim, where ? &abbrev->where : &abbrev->all, &rest, entry))
		return false;
	skim->at = rest.at;
	return true;
}

bool sp_skim_next(struct sp_skim *skim, struct sp_skim_entry *entry)
{
	return read_entry(skim, entry, false);
}

bool sp_skim_next_notable(struct sp_skim *skim, struct sp_skim_entry *entry, size_t *ret_ended)
{
	const struct sp_skim_abbrevs *abbrevs = &skim->abbrevs;
	const unsigned char *at = skim->at;

	*ret_ended = 0;
	while (skim->end - at >= 2) {
		size_t code = at[0], longer = code >= 0x80, bytes;

		if (longer)
			code = (code & 0x7f) | (size_t)at[1] << 7; /* short, if at[1] ends it */
		bytes = code < abbrevs->n_plain ? abbrevs->plain[code] : 0;
		if (!bytes || bytes + longer > (size_t)(skim->end - at))
			break;
		at += bytes + longer;
		*ret_ended += !code;
	}
	skim->at = at;
	return read_entry(skim, entry, true);
}
