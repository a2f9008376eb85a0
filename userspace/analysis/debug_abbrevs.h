/* SPDX-License-Identifier: BSD-2-Clause
 *
 * debug_abbrevs.h - abbreviations turned into steps: what to skip and what to take of an entry.
 *
 * All that need not be taken before an attribute, if it has always as many bytes, is one number of
 * the attribute's step; behind the last step stands the rest. Only for debug_skim.c.
 */
#ifndef SP_ANALYSIS_DEBUG_ABBREVS_H
#define SP_ANALYSIS_DEBUG_ABBREVS_H

#include "userspace/analysis/debug_skim.h"

enum sp_skim_take {
	SP_TAKE_NOTHING = 0, /* a form whose size depends on the value */
	SP_TAKE_SIBLING,
	SP_TAKE_LOW,
	SP_TAKE_HIGH,
	SP_TAKE_RANGES,
	SP_TAKE_ORIGIN,
	SP_TAKE_CALL_FILE,
	SP_TAKE_CALL_LINE,
	SP_TAKE_NAME,
	SP_TAKE_LINKAGE,
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
	uint32_t fixed_bytes; /* of all, if all steps' forms have at most 8 bytes, always as many */
	uint16_t tag;
	bool fixed, children, function;
};

#define SP_SKIM_SHORT 128 /* codes of one byte */

struct sp_skim_abbrevs {
	struct sp_skim_abbrev *all;
	size_t n, room;
	struct sp_skim_step *steps;
	size_t n_steps, steps_room;
	/* Bytes of entries, with their codes, that have always as many, and neither code nor
	 * children; 0 others. */
	uint16_t plain[SP_SKIM_SHORT];
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

/* Skips a form without a fixed size. False for unknown ones, and at the bytes' end. */
bool sp_skim_form(struct sp_bytes *bytes, unsigned int form);

#endif
