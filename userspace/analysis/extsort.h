/* SPDX-License-Identifier: BSD-2-Clause
 *
 * extsort.h - sorts any number of records in a fixed amount of memory.
 *
 * Records are eight 64-bit words. Their order is that of the first four, but of the third only the
 * upper half counts: group, time, lane, number. They are collected, sorted and written as runs to a
 * scratch file, about 10 bytes a record; sp_extsort_next() then merges the runs. Where there are
 * more runs than can be merged at once, some are merged into longer ones before.
 *
 * Memory: SP_EXTSORT_RECORDS × 96 bytes while adding (12 MiB), up to SP_EXTSORT_FAN_IN × 32 KiB
 * (8 MiB) while merging. Life cycle: new, add all, next until 0, free.
 */
#ifndef SP_ANALYSIS_EXTSORT_H
#define SP_ANALYSIS_EXTSORT_H

#include <stddef.h>
#include <stdint.h>

#define SP_EXTSORT_RECORDS 131072
#define SP_EXTSORT_FAN_IN 256

struct sp_record {
	uint64_t word[8];
};

struct sp_extsort;

/* @fan_in and @records: 0 for the defaults above; smaller ones are for tests. */
int sp_extsort_new(const char *directory, size_t records, size_t fan_in,
		   struct sp_extsort **ret_sort);
void sp_extsort_free(struct sp_extsort *sort); /* NULL is fine */

int sp_extsort_add(struct sp_extsort *sort, const struct sp_record *record);

/* Ends the adding and gives the memory for it back. */
int sp_extsort_finish(struct sp_extsort *sort);
/* The next record in order: 1, 0 after the last, -errno. Equal records come in any order. The
 * record is valid until the next call. */
int sp_extsort_next(struct sp_extsort *sort, const struct sp_record **ret_record);

/* The order of records: < 0, 0, > 0. */
static inline int sp_record_compare(const struct sp_record *a, const struct sp_record *b)
{
	if (a->word[0] != b->word[0])
		return a->word[0] < b->word[0] ? -1 : 1;
	if (a->word[1] != b->word[1])
		return a->word[1] < b->word[1] ? -1 : 1;
	if (a->word[2] >> 32 != b->word[2] >> 32)
		return a->word[2] >> 32 < b->word[2] >> 32 ? -1 : 1;
	return (a->word[3] > b->word[3]) - (a->word[3] < b->word[3]);
}

#endif
