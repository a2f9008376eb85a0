/* SPDX-License-Identifier: BSD-2-Clause
 *
 * missing.c - see missing.h.
 */
#include "userspace/analysis/missing.h"

#include <stdio.h>

#include "userspace/base/units.h"

bool sp_missing_any(const struct sp_missing *missing)
{
	return missing->calls || missing->samples || missing->calls_in_gap ||
	       missing->samples_in_gap;
}

struct sp_missing_text sp_missing_tell(const struct sp_missing *missing)
{
	bool calls = missing->calls || missing->calls_in_gap;
	bool samples = missing->samples || missing->samples_in_gap;
	struct sp_missing_text told = {""};
	int length = 0;

	if (calls)
		length = snprintf(told.text, sizeof(told.text), "%s%s call%s",
				  sp_show_count(missing->calls).text,
				  missing->calls_in_gap ? "+" : "",
				  missing->calls == 1 && !missing->calls_in_gap ? "" : "s");
	if (samples)
		snprintf(told.text + length, sizeof(told.text) - (size_t)length, "%s%s%s sample%s",
			 calls ? ", " : "", sp_show_count(missing->samples).text,
			 missing->samples_in_gap ? "+" : "",
			 missing->samples == 1 && !missing->samples_in_gap ? "" : "s");
	return told;
}
