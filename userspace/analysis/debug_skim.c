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

/* Where an entry keeps what is taken. */
static const uint16_t places[] = {
	[SP_TAKE_LOW] = offsetof(struct sp_skim_entry, low),
	[SP_TAKE_HIGH] = offsetof(struct sp_skim_entry, high),
	[SP_TAKE_RANGES] = offsetof(struct sp_skim_entry, ranges),
	[SP_TAKE_ORIGIN] = offsetof(struct sp_skim_entry, origin),
	[SP_TAKE_CALL_FILE] = offsetof(struct sp_skim_entry, call_file),
	[SP_TAKE_CALL_LINE] = offsetof(struct sp_skim_entry, call_line),
	[SP_TAKE_NAME] = offsetof(struct sp_skim_entry, name),
	[SP_TAKE_LINKAGE] = offsetof(struct sp_skim_entry, linkage),
};

/* Forgets what the entry before had. */
static void clear_values(struct sp_skim_entry *entry)
{
	entry->low.form = entry->high.form = entry->ranges.form = entry->origin.form = 0;
	entry->call_file.form = entry->call_line.form = 0;
	entry->call_file.value = entry->call_line.value = 0;
	entry->name.form = entry->linkage.form = 0;
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

/* Takes what an entry has whose attributes have always as many bytes, which are there. */
static inline void take_fixed(const struct sp_skim *skim, const struct sp_skim_steps *steps,
			      const unsigned char *at, struct sp_skim_entry *entry)
{
	const struct sp_skim_step *step = skim->abbrevs.steps + steps->first;

	for (const struct sp_skim_step *end = step + steps->n; step < end; step++) {
		unsigned int size = (unsigned int)step->size;
		struct sp_skim_value value, *place = &value;

		at += step->before;
		if (step->take != SP_TAKE_SIBLING)
			place = (void *)((char *)entry + places[step->take]);
		place->form = step->form;
		place->value = step->form == DW_FORM_implicit_const ? (uint64_t)step->constant
								    : sp_bytes_fixed(at, size);
		if (step->take == SP_TAKE_SIBLING)
			entry->sibling = sp_skim_reference(skim->unit, &value);
		at += size;
	}
}

static bool take_any(const struct sp_skim *skim, const struct sp_skim_steps *steps,
		     struct sp_bytes *at, struct sp_skim_entry *entry)
{
	const struct sp_skim_step *step = skim->abbrevs.steps + steps->first;

	for (const struct sp_skim_step *end = step + steps->n; step < end; step++) {
		struct sp_skim_value value, *place = &value;
		bool good = sp_bytes_skip(at, step->before);

		if (good && !step->take) {
			good = sp_skim_form(at, step->form);
		} else if (good) {
			if (step->take != SP_TAKE_SIBLING)
				place = (void *)((char *)entry + places[step->take]);
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
	struct sp_bytes at = {skim->at, skim->end, false};
	const struct sp_skim_abbrev *abbrev;
	const struct sp_skim_steps *steps;
	uint64_t code;

	if (at.at == at.end)
		return false;
	entry->offset = (uint64_t)(at.at - skim->unit->sections->info.data);
	entry->tag = 0;
	code = sp_bytes_uleb(&at);
	if (!code) {
		skim->at = at.at;
		return !at.bad;
	}
	abbrev = sp_skim_abbrevs_find(&skim->abbrevs, code);
	if (!abbrev)
		return false;
	entry->tag = abbrev->tag;
	entry->children = abbrev->children;
	entry->sibling = 0;
	if (abbrev->function)
		clear_values(entry);
	steps = where ? &abbrev->where : &abbrev->all;
	if (abbrev->fixed) {
		const unsigned char *start = at.at;

		if (!sp_bytes_skip(&at, abbrev->fixed_bytes))
			return false;
		take_fixed(skim, steps, start, entry);
	} else if (!take_any(skim, steps, &at, entry)) {
		return false;
	}
	skim->at = at.at;
	return true;
}

bool sp_skim_next(struct sp_skim *skim, struct sp_skim_entry *entry)
{
	return read_entry(skim, entry, false);
}

bool sp_skim_next_notable(struct sp_skim *skim, struct sp_skim_entry *entry)
{
	const unsigned char *at = skim->at;
	size_t bytes;

	while (at < skim->end && *at < SP_SKIM_SHORT && (bytes = skim->abbrevs.plain[*at]) &&
	       bytes <= (size_t)(skim->end - at))
		at += bytes;
	skim->at = at;
	return read_entry(skim, entry, true);
}
