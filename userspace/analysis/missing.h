/* SPDX-License-Identifier: BSD-2-Clause
 *
 * missing.h - what a region lacks: what was lost in it, and whether more may have been.
 */
#ifndef SP_ANALYSIS_MISSING_H
#define SP_ANALYSIS_MISSING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sp_missing {
	uint64_t calls, samples;
	bool calls_in_gap, samples_in_gap; /* it was open in a gap whose region is not known */
};

bool sp_missing_any(const struct sp_missing *missing);
/* "3 calls, 2+ samples": a plus where more may be; "" for nothing. */
struct sp_missing_text {
	char text[80];
};
struct sp_missing_text sp_missing_tell(const struct sp_missing *missing);

#endif
