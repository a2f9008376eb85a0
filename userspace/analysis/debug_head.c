/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_head.c - see debug_head.h.
 */
#include "userspace/analysis/debug_head.h"

#include <dwarf.h>
#include <errno.h>

#include "userspace/analysis/debug_abbrevs.h"

bool sp_debug_header_read(struct sp_skim_unit *unit, int *ret_kind)
{
	struct sp_bytes bytes = sp_bytes_from(unit->sections->info, unit->start);
	uint64_t length = sp_bytes_number(&bytes, 4);

	unit->offset_size = 4;
	if (length == UINT32_MAX) {
		length = sp_bytes_number(&bytes, 8);
		unit->offset_size = 8;
	}
	if (bytes.bad || length > (size_t)(bytes.end - bytes.at))
		return false;
	unit->end = (uint64_t)(bytes.at - unit->sections->info.data) + length;
	unit->version = (uint8_t)sp_bytes_number(&bytes, 2);
	*ret_kind = DW_UT_compile;
	if (unit->version >= 5) {
		*ret_kind = (int)sp_bytes_number(&bytes, 1);
		unit->address_size = (uint8_t)sp_bytes_number(&bytes, 1);
		unit->abbrevs = sp_bytes_number(&bytes, unit->offset_size);
		if (*ret_kind == DW_UT_skeleton || *ret_kind == DW_UT_split_compile)
			sp_bytes_skip(&bytes, 8);
	} else {
		unit->abbrevs = sp_bytes_number(&bytes, unit->offset_size);
		unit->address_size = (uint8_t)sp_bytes_number(&bytes, 1);
	}
	unit->entries = (uint64_t)(bytes.at - unit->sections->info.data);
	return !bytes.bad && unit->version >= 2 && unit->version <= 5;
}

/* Goes to the abbreviation's list of attributes; *ret_tag is the entry's. */
static bool find_abbrev(const struct sp_skim_unit *unit, uint64_t code, struct sp_bytes *bytes,
			uint64_t *ret_tag)
{
	uint64_t found, attribute, form;

	*bytes = sp_bytes_from(unit->sections->abbrev, unit->abbrevs);
	while ((found = sp_bytes_uleb(bytes))) {
		*ret_tag = sp_bytes_uleb(bytes);
		sp_bytes_skip(bytes, 1);
		if (found == code)
			return !bytes->bad;
		do {
			attribute = sp_bytes_uleb(bytes);
			form = sp_bytes_uleb(bytes);
			if (form == DW_FORM_implicit_const)
				sp_bytes_sleb(bytes);
		} while (attribute || form);
	}
	return false;
}

/* One attribute of the unit's entry. */
static bool take_attribute(struct sp_debug_head *head, struct sp_bytes *bytes, uint64_t attribute,
			   struct sp_skim_value *value)
{
	struct sp_skim_unit *unit = &head->unit;
	int size = sp_skim_form_size(unit, value->form);

	if (size > 8)
		sp_bytes_skip(bytes, (uint64_t)size);
	else if (size >= 0 && value->form != DW_FORM_implicit_const)
		value->value = sp_bytes_number(bytes, (unsigned int)size);
	else if (value->form == DW_FORM_udata || value->form == DW_FORM_addrx ||
		 value->form == DW_FORM_rnglistx)
		value->value = sp_bytes_uleb(bytes);
	else if (value->form != DW_FORM_implicit_const && !sp_skim_form(bytes, value->form))
		return false;
	switch (attribute) {
	case DW_AT_low_pc:
		head->entry.low = *value;
		return true;
	case DW_AT_high_pc:
		head->entry.high = *value;
		return true;
	case DW_AT_ranges:
		head->entry.ranges = *value;
		return true;
	case DW_AT_stmt_list:
		head->lines = value->value;
		return size == 4 || size == 8;
	case DW_AT_addr_base:
		unit->addr_base = value->value;
		return true;
	case DW_AT_rnglists_base:
		unit->rnglists_base = value->value;
		return true;
	case DW_AT_entry_pc:
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
	case DW_AT_GNU_dwo_id:
	case DW_AT_GNU_ranges_base:
	case DW_AT_GNU_addr_base:
		return false;
	default:
		return true;
	}
}

/* Whether the unit may have code. False: that is for libdw to say. */
static bool judge_kind(struct sp_debug_head *head, int kind, uint64_t tag)
{
	if (head->unit.version < 5)
		kind = tag == DW_TAG_compile_unit   ? DW_UT_compile
		       : tag == DW_TAG_partial_unit ? DW_UT_partial
						    : DW_UT_lo_user;
	head->compiled = kind == DW_UT_compile;
	return head->compiled || kind == DW_UT_partial || kind == DW_UT_type;
}

int sp_debug_head_read(struct sp_debug_head *head)
{
	struct sp_skim_unit *unit = &head->unit;
	struct sp_bytes abbrev, bytes;
	uint64_t tag, attribute, form;
	int kind;

	head->entry = (struct sp_skim_entry){0};
	head->lines = unit->addr_base = unit->str_offsets_base = unit->rnglists_base = UINT64_MAX;
	unit->ranges_base = unit->low_pc = 0;
	if (!sp_debug_header_read(unit, &kind) ||
	    (unit->address_size != 4 && unit->address_size != 8))
		return -ENOTSUP;
	bytes = (struct sp_bytes){unit->sections->info.data + unit->entries,
				  unit->sections->info.data + unit->end, false};
	if (!find_abbrev(unit, sp_bytes_uleb(&bytes), &abbrev, &tag) ||
	    !judge_kind(head, kind, tag))
		return -ENOTSUP;
	do {
		struct sp_skim_value value = {0};

		attribute = sp_bytes_uleb(&abbrev);
		form = sp_bytes_uleb(&abbrev);
		value.form = (uint16_t)form;
		if (form == DW_FORM_implicit_const)
			value.value = (uint64_t)sp_bytes_sleb(&abbrev);
		if (abbrev.bad || form > UINT16_MAX ||
		    (form && !take_attribute(head, &bytes, attribute, &value)))
			return -ENOTSUP;
	} while (attribute || form);
	if (bytes.bad || (head->entry.ranges.form && head->entry.high.form) ||
	    (head->entry.low.form && !sp_skim_address(unit, &head->entry.low, &unit->low_pc)))
		return -ENOTSUP;
	return 0;
}
