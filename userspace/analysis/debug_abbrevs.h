/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_abbrevs.h - abbreviations turned into what to skip and what to take of an entry.
 *
 * Where all attributes have always as many bytes, as in nearly all functions and inlined calls, it
 * is known at which byte each stands: fields. Otherwise there are steps: all that need not be taken
 * before an attribute, if it has always as many bytes, is one number of the attribute's step;
 * behind the last step stands the rest. Only for debug_skim.c.
 */
#ifndef SP_ANALYSIS_DEBUG_ABBREVS_H
#define SP_ANALYSIS_DEBUG_ABBREVS_H

#include "userspace/analysis/debug_skim.h"

/* Numbers of an entry's values, in their order, and two more. */
enum sp_skim_take {
	SP_TAKE_LOW,
	SP_TAKE_HIGH,
	SP_TAKE_RANGES,
	SP_TAKE_ORIGIN,
	SP_TAKE_CALL_FILE,
	SP_TAKE_CALL_LINE,
	SP_TAKE_NAME,
	SP_TAKE_LINKAGE,
	SP_TAKE_SIBLING,
	SP_TAKE_NOTHING, /* a form whose size depends on the value */
};

/* An attribute that always stands at the same place: (8 bytes from there & mask) + constant. */
struct sp_skim_field {
	uint64_t mask;	   /* 0: the abbreviation has the value, or there is none */
	uint64_t constant; /* DW_FORM_implicit_const */
	uint16_t at, form;
};

/* Of a function. */
struct sp_skim_fields {
	struct sp_skim_field values[SP_SKIM_VALUES];
};

struct sp_skim_step {
	uint32_t before; /* bytes to skip first */
	uint16_t form;
	uint8_t take;
	int8_t size;	  /* of the form, in bytes; -1: it depends on the value */
	int64_t constant; /* of DW_FORM_implicit_const */
};

struct sp_skim_steps {
	uint32_t first, n;
	uint32_t rest; /* bytes behind the last one */
};

struct sp_skim_abbrev {
	uint64_t code;
	struct sp_skim_steps all;
	struct sp_skim_steps where; /* take only what tells where code and the next entry are */
	uint32_t fixed_bytes;	    /* of all attributes, if these are always as many */
	uint32_t fields;	    /* of a function, if fixed */
	struct sp_skim_field sibling;
	uint16_t tag;
	bool fixed; /* so are all attributes; what is taken has at most 8 bytes */
	bool children, function;
};

#define SP_SKIM_SHORT (1u << 14) /* codes of one or two bytes */

struct sp_skim_abbrevs {
	struct sp_skim_abbrev *all;
	size_t n, room;
	struct sp_skim_step *steps;
	size_t n_steps, steps_room;
	struct sp_skim_fields *fields;
	size_t n_fields, fields_room;
	/* By short code: 1 + the bytes of attributes that are always as many, of entries with
	 * neither code nor children, and for the end of a list of children; 0 of others. */
	uint16_t *plain;
	size_t n_plain;
	bool dense; /* codes are 1, 2, 3, … as all compilers number them */
};

/* Reads those of a unit; zeroed before, and to be freed also after a failure: -ENOMEM, -EBADMSG. */
int sp_skim_abbrevs_read(const struct sp_skim_unit *unit, struct sp_skim_abbrevs *abbrevs);
void sp_skim_abbrevs_done(struct sp_skim_abbrevs *abbrevs);
/* NULL if there is none of this code. */
const struct sp_skim_abbrev *sp_skim_abbrevs_search(const struct sp_skim_abbrevs *abbrevs,
						    uint64_t code);

static inline const struct sp_skim_abbrev *
sp_skim_abbrevs_find(const struct sp_skim_abbrevs *abbrevs, uint64_t code)
{
	if (__builtin_expect(!abbrevs->dense, 0))
		return sp_skim_abbrevs_search(abbrevs, code);
	return code - 1 < abbrevs->n ? &abbrevs->all[code - 1] : NULL;
}

/* Bytes of a form that always has as many, or -1. */
int sp_skim_form_size(const struct sp_skim_unit *unit, unsigned int form);
/* Skips a form without a fixed size. False for unknown ones, and at the bytes' end. */
bool sp_skim_form(struct sp_bytes *bytes, unsigned int form);

#endif
