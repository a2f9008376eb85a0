/* SPDX-License-Identifier: BSD-2-Clause
 *
 * record_sort.h - sorts one buffer of records, for extsort.c.
 *
 * Sorts keys, not records: a radix sort by time, then by group, both stable, and then the few
 * records of equal time. It takes about the same time whatever order the records come in.
 */
#ifndef SP_ANALYSIS_RECORD_SORT_H
#define SP_ANALYSIS_RECORD_SORT_H

#include "userspace/analysis/extsort.h"

struct sp_record_key {
	uint64_t value;
	uint32_t index; /* of the record */
	uint32_t group; /* dense number of word 0 */
};

/* Puts the indices of the @n records in order into @keys; @spare is of the same size, and may be
 * swapped with it. -ENOMEM. */
int sp_records_sort(const struct sp_record *records, size_t n, struct sp_record_key **keys,
		    struct sp_record_key **spare);

#endif
