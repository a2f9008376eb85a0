/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_skim.c - abbreviations turned into steps, and the entries that follow them.
 *
 * A step skips a number of bytes, or one attribute of variable size, or takes an attribute. Forms
 * that are not known end the unit there.
 */
#include "userspace/analysis/debug_skim.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"

#define MAX_ABBREVS (1u << 20)
#define MAX_STEPS (16u << 20)

enum take {
	TAKE_NOTHING = 0,
	TAKE_SIBLING,
	TAKE_LOW,
	TAKE_HIGH,
	TAKE_RANGES,
	TAKE_ORIGIN,
	TAKE_CALL_FILE,
	TAKE_CALL_LINE,
	TAKE_NAME,
	TAKE_LINKAGE,
};

struct step {
	uint16_t form; /* 0: skip bytes */
	uint8_t take;
	int8_t size;	  /* of the form, in bytes; -1: it depends on the value */
	uint32_t bytes;	  /* to skip */
	int64_t constant; /* of DW_FORM_implicit_const */
};

struct abbrev {
	uint64_t code;
	uint16_t tag;
	bool children, function;
	bool plain; /* has nothing to take, and always as many bytes */
	uint32_t plain_bytes;
	uint32_t first, n; /* steps */
};

struct sp_skim {
	const struct sp_skim_unit *unit;
	const unsigned char *at, *end;
	struct abbrev *abbrevs;
	size_t n_abbrevs, abbrevs_room;
	struct step *steps;
	size_t n_steps, steps_room;
	bool dense; /* codes are 1, 2, 3, … as all compilers number them */
};

/* ---- forms ---- */

/* Bytes of a form that always has as many, or -1. */
static int fixed_size(const struct sp_skim_unit *unit, unsigned int form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
	case DW_FORM_ref_sup4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sig8:
	case DW_FORM_ref_sup8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return unit->address_size;
	case DW_FORM_ref_addr:
		return unit->version < 3 ? unit->address_size : unit->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return unit->offset_size;
	default:
		return -1;
	}
}

/* Of a form without a fixed size. False for unknown ones. */
static bool skip_form(struct sp_bytes *bytes, unsigned int form)
{
	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
	case DW_FORM_sdata: /* as long as the unsigned one */
		sp_bytes_uleb(bytes);
		return !bytes->bad;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return sp_bytes_skip(bytes, sp_bytes_uleb(bytes));
	case DW_FORM_block1:
		return sp_bytes_skip(bytes, sp_bytes_number(bytes, 1));
	case DW_FORM_block2:
		return sp_bytes_skip(bytes, sp_bytes_number(bytes, 2));
	case DW_FORM_block4:
		return sp_bytes_skip(bytes, sp_bytes_number(bytes, 4));
	case DW_FORM_string:
		return sp_bytes_text(bytes) != NULL;
	default:
		return false;
	}
}

static bool take_form(struct sp_bytes *bytes, const struct step *step, struct sp_skim_value *value)
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
		return skip_form(bytes, step->form);
	else if (step->form == DW_FORM_indirect)
		return false;
	else
		value->value = sp_bytes_uleb(bytes);
	return !bytes->bad;
}

/* ---- abbreviations ---- */

static enum take what_to_take(unsigned int tag, unsigned int attribute)
{
	if (attribute == DW_AT_sibling)
		return TAKE_SIBLING;
	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return TAKE_NOTHING;
	switch (attribute) {
	case DW_AT_low_pc:
		return TAKE_LOW;
	case DW_AT_high_pc:
		return TAKE_HIGH;
	case DW_AT_ranges:
		return TAKE_RANGES;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return TAKE_ORIGIN;
	case DW_AT_call_file:
		return TAKE_CALL_FILE;
	case DW_AT_call_line:
		return TAKE_CALL_LINE;
	case DW_AT_name:
		return TAKE_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return TAKE_LINKAGE;
	default:
		return TAKE_NOTHING;
	}
}

static int read_steps(struct sp_skim *skim, struct sp_bytes *bytes, struct abbrev *abbrev)
{
	struct step *last = NULL;

	abbrev->first = (uint32_t)skim->n_steps;
	while (skim->n_steps < MAX_STEPS) {
		uint64_t attribute = sp_bytes_uleb(bytes), form = sp_bytes_uleb(bytes);
		int64_t constant = form == DW_FORM_implicit_const ? sp_bytes_sleb(bytes) : 0;
		struct step step = {.form = (uint16_t)form, .constant = constant};
		int size;

		if (bytes->bad || form > UINT16_MAX)
			return -EBADMSG;
		if (!attribute && !form) {
			abbrev->plain = !abbrev->function &&
					(!abbrev->n || (abbrev->n == 1 && !last->form));
			abbrev->plain_bytes = abbrev->plain && abbrev->n ? last->bytes : 0;
			return 0;
		}
		size = fixed_size(skim->unit, step.form);
		step.size = (int8_t)size;
		step.take = attribute > UINT16_MAX
				    ? TAKE_NOTHING
				    : (uint8_t)what_to_take(abbrev->tag, (unsigned int)attribute);
		if (!step.take && size >= 0) {
			if (last && !last->form) {
				last->bytes += (uint32_t)size;
				continue;
			}
			step = (struct step){.bytes = (uint32_t)size};
		}
		last = sp_array_add(&skim->steps, &skim->n_steps, &skim->steps_room);
		if (!last)
			return -ENOMEM;
		*last = step;
		abbrev->n++;
	}
	return -EBADMSG;
}

static int compare_abbrevs(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

static int read_abbrevs(struct sp_skim *skim)
{
	struct sp_bytes bytes = sp_bytes_from(skim->unit->sections->abbrev, skim->unit->abbrevs);
	uint64_t code;
	int r = 0;

	skim->dense = true;
	while ((code = sp_bytes_uleb(&bytes)) && skim->n_abbrevs < MAX_ABBREVS && r == 0) {
		struct abbrev *abbrev =
			sp_array_add(&skim->abbrevs, &skim->n_abbrevs, &skim->abbrevs_room);
		uint64_t tag = sp_bytes_uleb(&bytes);

		if (!abbrev)
			return -ENOMEM;
		abbrev->code = code;
		abbrev->tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
		abbrev->function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
		abbrev->children = sp_bytes_number(&bytes, 1) != 0;
		skim->dense &= code == skim->n_abbrevs;
		r = bytes.bad ? -EBADMSG : read_steps(skim, &bytes, abbrev);
	}
	if (r == 0 && bytes.bad)
		r = -EBADMSG;
	if (r == 0 && !skim->dense)
		qsort(skim->abbrevs, skim->n_abbrevs, sizeof(*skim->abbrevs), compare_abbrevs);
	return r;
}

static const struct abbrev *find_abbrev(const struct sp_skim *skim, uint64_t code)
{
	struct abbrev key = {.code = code};

	if (skim->dense)
		return code <= skim->n_abbrevs ? &skim->abbrevs[code - 1] : NULL;
	return bsearch(&key, skim->abbrevs, skim->n_abbrevs, sizeof(key), compare_abbrevs);
}

/* ---- entries ---- */

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
	r = read_abbrevs(skim);
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
	free(skim->abbrevs);
	free(skim->steps);
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

/* Where an entry keeps what is taken. */
static const uint16_t places[] = {
	[TAKE_LOW] = offsetof(struct sp_skim_entry, low),
	[TAKE_HIGH] = offsetof(struct sp_skim_entry, high),
	[TAKE_RANGES] = offsetof(struct sp_skim_entry, ranges),
	[TAKE_ORIGIN] = offsetof(struct sp_skim_entry, origin),
	[TAKE_CALL_FILE] = offsetof(struct sp_skim_entry, call_file),
	[TAKE_CALL_LINE] = offsetof(struct sp_skim_entry, call_line),
	[TAKE_NAME] = offsetof(struct sp_skim_entry, name),
	[TAKE_LINKAGE] = offsetof(struct sp_skim_entry, linkage),
};

/* Forgets what the entry before had. */
static void clear_values(struct sp_skim_entry *entry)
{
	entry->low.form = entry->high.form = entry->ranges.form = entry->origin.form = 0;
	entry->call_file.form = entry->call_line.form = 0;
	entry->call_file.value = entry->call_line.value = 0;
	entry->name.form = entry->linkage.form = 0;
}

bool sp_skim_next(struct sp_skim *skim, struct sp_skim_entry *entry)
{
	struct sp_bytes at = {skim->at, skim->end, false};
	const struct abbrev *abbrev;
	const struct step *step, *end;
	uint64_t code;

	if (at.at == at.end)
		return false;
	entry->offset = (uint64_t)(at.at - skim->unit->sections->info.data);
	entry->tag = 0;
	code = sp_bytes_uleb(&at);
	skim->at = at.at;
	if (!code)
		return !at.bad;
	abbrev = find_abbrev(skim, code);
	if (!abbrev)
		return false;
	entry->tag = abbrev->tag;
	entry->children = abbrev->children;
	entry->sibling = 0;
	if (abbrev->plain) {
		bool good = sp_bytes_skip(&at, abbrev->plain_bytes);

		skim->at = at.at;
		return good;
	}
	if (abbrev->function)
		clear_values(entry);
	step = skim->steps + abbrev->first;
	for (end = step + abbrev->n; step < end; step++) {
		struct sp_skim_value value, *place = &value;
		bool good;

		if (!step->form) {
			good = sp_bytes_skip(&at, step->bytes);
		} else if (!step->take) {
			good = skip_form(&at, step->form);
		} else {
			if (step->take != TAKE_SIBLING)
				place = (void *)((char *)entry + places[step->take]);
			good = take_form(&at, step, place);
			if (step->take == TAKE_SIBLING)
				entry->sibling = sp_skim_reference(skim->unit, &value);
		}
		if (!good)
			return false;
	}
	skim->at = at.at;
	return true;
}
