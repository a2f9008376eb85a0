/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_abbrevs.c - see debug_abbrevs.h. Forms that are not known end the unit where they stand.
 */
#include "userspace/analysis/debug_abbrevs.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "userspace/base/array.h"

#define MAX_ABBREVS (1u << 20)
#define MAX_STEPS (16u << 20)
#define MAX_BYTES (1u << 30) /* of an entry, so that no sum overflows */
#define MAX_FIXED (UINT16_MAX - 64)

/* ---- forms ---- */

int sp_skim_form_size(const struct sp_skim_unit *unit, unsigned int form)
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

bool sp_skim_form(struct sp_bytes *bytes, unsigned int form)
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

/* ---- abbreviations ---- */

static enum sp_skim_take what_to_take(unsigned int tag, unsigned int attribute)
{
	if (attribute == DW_AT_sibling)
		return SP_TAKE_SIBLING;
	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return SP_TAKE_NOTHING;
	switch (attribute) {
	case DW_AT_low_pc:
		return SP_TAKE_LOW;
	case DW_AT_high_pc:
		return SP_TAKE_HIGH;
	case DW_AT_ranges:
		return SP_TAKE_RANGES;
	case DW_AT_abstract_origin:
	case DW_AT_specification:
		return SP_TAKE_ORIGIN;
	case DW_AT_call_file:
		return SP_TAKE_CALL_FILE;
	case DW_AT_call_line:
		return SP_TAKE_CALL_LINE;
	case DW_AT_name:
		return SP_TAKE_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return SP_TAKE_LINKAGE;
	default:
		return SP_TAKE_NOTHING;
	}
}

static bool tells_where(enum sp_skim_take take)
{
	return take == SP_TAKE_SIBLING || take <= SP_TAKE_RANGES;
}

/* Adds an attribute: a step, or to the bytes to skip. */
static int add_attribute(struct sp_skim_abbrevs *abbrevs, struct sp_skim_steps *steps,
			 struct sp_skim_step step)
{
	struct sp_skim_step *added;

	if (step.take == SP_TAKE_NOTHING && step.size >= 0) {
		steps->rest += (uint32_t)step.size;
		return 0;
	}
	added = sp_array_add(&abbrevs->steps, &abbrevs->n_steps, &abbrevs->steps_room);
	if (!added)
		return -ENOMEM;
	*added = step;
	added->before = steps->rest;
	steps->rest = 0;
	steps->n++;
	return 0;
}

/* Notes at which byte of a fixed entry an attribute stands. Of two of a kind the last one counts.
 */
static void set_field(struct sp_skim_abbrevs *abbrevs, struct sp_skim_abbrev *abbrev,
		      enum sp_skim_take take, const struct sp_skim_step *step, unsigned int at,
		      unsigned int size)
{
	const struct sp_skim_field field = {
		.mask = size && size <= 8 ? UINT64_MAX >> (64 - 8 * size) : 0,
		.constant = (uint64_t)step->constant,
		.at = (uint16_t)at,
		.form = step->form,
	};

	if (take == SP_TAKE_SIBLING)
		abbrev->sibling = field;
	else if (take != SP_TAKE_NOTHING)
		abbrevs->fields[abbrev->fields].values[take] = field;
}

/* Makes steps of the attributes, of all or (@where) of those that tell where something is. */
static int read_steps(const struct sp_skim_unit *unit, struct sp_bytes *bytes, bool where,
		      struct sp_skim_abbrevs *abbrevs, struct sp_skim_abbrev *abbrev)
{
	struct sp_skim_steps *steps = where ? &abbrev->where : &abbrev->all;
	uint64_t fixed = 0;

	steps->first = (uint32_t)abbrevs->n_steps;
	abbrev->fixed = true;
	while (abbrevs->n_steps < MAX_STEPS && fixed < MAX_BYTES) {
		uint64_t attribute = sp_bytes_uleb(bytes), form = sp_bytes_uleb(bytes);
		struct sp_skim_step step = {.form = (uint16_t)form};
		enum sp_skim_take take;
		int size, r;

		if (form == DW_FORM_implicit_const)
			step.constant = sp_bytes_sleb(bytes);
		if (bytes->bad || form > UINT16_MAX)
			return -EBADMSG;
		if (!attribute && !form) {
			abbrev->fixed_bytes = (uint32_t)fixed;
			return 0;
		}
		size = sp_skim_form_size(unit, step.form);
		take = attribute > UINT16_MAX ? SP_TAKE_NOTHING
					      : what_to_take(abbrev->tag, (unsigned int)attribute);
		if (size < 0 || (take != SP_TAKE_NOTHING && size > 8) || fixed > MAX_FIXED)
			abbrev->fixed = false;
		else
			set_field(abbrevs, abbrev, take, &step, (unsigned int)fixed,
				  (unsigned int)size);
		fixed += size > 0 ? (unsigned int)size : 0;
		step.size = (int8_t)size;
		step.take = where && !tells_where(take) ? SP_TAKE_NOTHING : (uint8_t)take;
		r = add_attribute(abbrevs, steps, step);
		if (r < 0)
			return r;
	}
	return -EBADMSG;
}

static int read_abbrev(const struct sp_skim_unit *unit, struct sp_bytes *bytes,
		       struct sp_skim_abbrevs *abbrevs, struct sp_skim_abbrev *abbrev)
{
	struct sp_bytes again;
	uint64_t tag = sp_bytes_uleb(bytes);
	int r;

	abbrev->tag = tag > UINT16_MAX ? UINT16_MAX : (uint16_t)tag;
	abbrev->function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
	abbrev->children = sp_bytes_number(bytes, 1) != 0;
	if (abbrev->function) {
		if (!sp_array_add(&abbrevs->fields, &abbrevs->n_fields, &abbrevs->fields_room))
			return -ENOMEM;
		abbrev->fields = (uint32_t)(abbrevs->n_fields - 1);
	}
	again = *bytes;
	r = bytes->bad ? -EBADMSG : read_steps(unit, bytes, false, abbrevs, abbrev);
	if (r == 0)
		r = read_steps(unit, &again, true, abbrevs, abbrev);
	return r;
}

/* The table of plain entries. */
static int list_plain(struct sp_skim_abbrevs *abbrevs)
{
	for (size_t i = 0; i < abbrevs->n; i++)
		if (abbrevs->all[i].code < SP_SKIM_SHORT &&
		    abbrevs->all[i].code >= abbrevs->n_plain)
			abbrevs->n_plain = (size_t)abbrevs->all[i].code + 1;
	if (!abbrevs->n_plain)
		abbrevs->n_plain = 1;
	abbrevs->plain = calloc(abbrevs->n_plain, sizeof(*abbrevs->plain));
	if (!abbrevs->plain)
		return -ENOMEM;
	abbrevs->plain[0] = 1;
	for (size_t i = 0; i < abbrevs->n; i++) {
		const struct sp_skim_abbrev *abbrev = &abbrevs->all[i];

		if (abbrev->code < SP_SKIM_SHORT && abbrev->fixed && !abbrev->children &&
		    !abbrev->function)
			abbrevs->plain[abbrev->code] = (uint16_t)(1 + abbrev->fixed_bytes);
	}
	return 0;
}

static int compare_abbrevs(const void *a, const void *b)
{
	const struct sp_skim_abbrev *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

int sp_skim_abbrevs_read(const struct sp_skim_unit *unit, struct sp_skim_abbrevs *abbrevs)
{
	struct sp_bytes bytes = sp_bytes_from(unit->sections->abbrev, unit->abbrevs);
	uint64_t code;
	int r = 0;

	abbrevs->dense = true;
	while ((code = sp_bytes_uleb(&bytes)) && abbrevs->n < MAX_ABBREVS && r == 0) {
		struct sp_skim_abbrev *abbrev =
			sp_array_add(&abbrevs->all, &abbrevs->n, &abbrevs->room);

		if (!abbrev)
			return -ENOMEM;
		abbrev->code = code;
		abbrevs->dense &= code == abbrevs->n;
		r = read_abbrev(unit, &bytes, abbrevs, abbrev);
	}
	if (r == 0 && bytes.bad)
		r = -EBADMSG;
	if (r == 0 && !abbrevs->dense)
		qsort(abbrevs->all, abbrevs->n, sizeof(*abbrevs->all), compare_abbrevs);
	return r == 0 ? list_plain(abbrevs) : r;
}

void sp_skim_abbrevs_done(struct sp_skim_abbrevs *abbrevs)
{
	free(abbrevs->all);
	free(abbrevs->steps);
	free(abbrevs->fields);
	free(abbrevs->plain);
}

const struct sp_skim_abbrev *sp_skim_abbrevs_search(const struct sp_skim_abbrevs *abbrevs,
						    uint64_t code)
{
	struct sp_skim_abbrev key = {.code = code};

	return abbrevs->n ? bsearch(&key, abbrevs->all, abbrevs->n, sizeof(key), compare_abbrevs)
			  : NULL;
}
