/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_skim_values.c - what the values mean that skimming took: texts, references, addresses, and
 * the ranges of an entry's code.
 */
#include <dwarf.h>
#include <errno.h>

#include "userspace/analysis/debug_skim.h"

uint64_t sp_skim_reference(const struct sp_skim_unit *unit, const struct sp_skim_value *value)
{
	switch (value->form) {
	case DW_FORM_ref1:
	case DW_FORM_ref2:
	case DW_FORM_ref4:
	case DW_FORM_ref8:
	case DW_FORM_ref_udata:
		return value->value < unit->end - unit->start ? unit->start + value->value : 0;
	case DW_FORM_ref_addr:
		return value->value < unit->sections->info.size ? value->value : 0;
	default:
		return 0;
	}
}

/* The number at an index of a table of numbers. False if there is none. */
static bool table_number(struct sp_debug_section section, uint64_t base, uint64_t index,
			 unsigned int size, uint64_t *ret_number)
{
	struct sp_bytes bytes;
	uint64_t offset;

	if (base == UINT64_MAX || __builtin_mul_overflow(index, size, &offset) ||
	    __builtin_add_overflow(offset, base, &offset))
		return false;
	bytes = sp_bytes_from(section, offset);
	*ret_number = sp_bytes_number(&bytes, size);
	return !bytes.bad;
}

const char *sp_skim_text(const struct sp_skim_unit *unit, const struct sp_skim_value *value)
{
	uint64_t offset;

	switch (value->form) {
	case DW_FORM_string:
		return value->inline_text;
	case DW_FORM_strp:
		return sp_section_text(unit->sections->str, value->value);
	case DW_FORM_line_strp:
		return sp_section_text(unit->sections->line_str, value->value);
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		return table_number(unit->sections->str_offsets, unit->str_offsets_base,
				    value->value, unit->offset_size, &offset)
			       ? sp_section_text(unit->sections->str, offset)
			       : NULL;
	default:
		return NULL;
	}
}

static bool address_at(const struct sp_skim_unit *unit, uint64_t index, uint64_t *ret_address)
{
	return table_number(unit->sections->addr, unit->addr_base, index, unit->address_size,
			    ret_address);
}

bool sp_skim_address(const struct sp_skim_unit *unit, const struct sp_skim_value *value,
		     uint64_t *ret_address)
{
	switch (value->form) {
	case DW_FORM_addr:
		*ret_address = value->value;
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return address_at(unit, value->value, ret_address);
	default:
		return false;
	}
}

static bool is_length(unsigned int form)
{
	switch (form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
		return true;
	default:
		return false;
	}
}

/* DWARF 4 and older: pairs relative to a base, which a pair with the highest address changes. */
static int old_ranges(const struct sp_skim_unit *unit, uint64_t offset, sp_skim_range range,
		      void *context)
{
	struct sp_bytes bytes = sp_bytes_from(unit->sections->ranges, offset);
	uint64_t base = unit->low_pc;
	uint64_t highest = unit->address_size == 8 ? UINT64_MAX : UINT32_MAX;

	while (!bytes.bad) {
		uint64_t low = sp_bytes_number(&bytes, unit->address_size);
		uint64_t high = sp_bytes_number(&bytes, unit->address_size);
		int r = 0;

		if (bytes.bad || (!low && !high))
			return 0;
		if (low == highest)
			base = high;
		else if (low < high)
			r = range(context, low + base, high + base);
		if (r)
			return r;
	}
	return 0;
}

static int new_ranges(const struct sp_skim_unit *unit, uint64_t offset, sp_skim_range range,
		      void *context)
{
	struct sp_bytes bytes = sp_bytes_from(unit->sections->rnglists, offset);
	uint64_t base = unit->low_pc, low = 0, high = 0;

	while (!bytes.bad) {
		unsigned int kind = (unsigned int)sp_bytes_number(&bytes, 1);
		bool pair = true, known = true;
		int r;

		switch (kind) {
		case DW_RLE_end_of_list:
			return 0;
		case DW_RLE_base_addressx:
			known = address_at(unit, sp_bytes_uleb(&bytes), &base);
			pair = false;
			break;
		case DW_RLE_base_address:
			base = sp_bytes_number(&bytes, unit->address_size);
			pair = false;
			break;
		case DW_RLE_offset_pair:
			low = base + sp_bytes_uleb(&bytes);
			high = base + sp_bytes_uleb(&bytes);
			break;
		case DW_RLE_startx_endx:
			known = address_at(unit, sp_bytes_uleb(&bytes), &low);
			known &= address_at(unit, sp_bytes_uleb(&bytes), &high);
			break;
		case DW_RLE_startx_length:
			known = address_at(unit, sp_bytes_uleb(&bytes), &low);
			high = low + sp_bytes_uleb(&bytes);
			break;
		case DW_RLE_start_end:
			low = sp_bytes_number(&bytes, unit->address_size);
			high = sp_bytes_number(&bytes, unit->address_size);
			break;
		case DW_RLE_start_length:
			low = sp_bytes_number(&bytes, unit->address_size);
			high = low + sp_bytes_uleb(&bytes);
			break;
		default:
			return 0;
		}
		if (bytes.bad || !known)
			return 0;
		r = pair && low < high ? range(context, low, high) : 0;
		if (r)
			return r;
	}
	return 0;
}

int sp_skim_ranges(const struct sp_skim_unit *unit, const struct sp_skim_entry *entry,
		   sp_skim_range range, void *context)
{
	uint64_t low, high, offset;

	if (entry->ranges.form == DW_FORM_rnglistx) {
		if (!table_number(unit->sections->rnglists, unit->rnglists_base,
				  entry->ranges.value, unit->offset_size, &offset))
			return -ENOTSUP;
		return new_ranges(unit, unit->rnglists_base + offset, range, context);
	}
	if (entry->ranges.form && unit->version >= 5)
		return new_ranges(unit, entry->ranges.value, range, context);
	if (entry->ranges.form)
		return old_ranges(unit, unit->ranges_base + entry->ranges.value, range, context);
	if (!entry->low.form || !entry->high.form)
		return 0;
	if (!sp_skim_address(unit, &entry->low, &low))
		return -ENOTSUP;
	/* The end is an address, or a length. */
	if (is_length(entry->high.form))
		high = low + entry->high.value;
	else if (!sp_skim_address(unit, &entry->high, &high))
		return -ENOTSUP;
	return low < high ? range(context, low, high) : 0;
}
