/* SPDX-License-Identifier: BSD-2-Clause
 *
 * record_sort.c - see record_sort.h.
 */
#include "userspace/analysis/record_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/search.h"
#include "userspace/base/cleanup.h"

#define RADIX_BITS 11

/* Stable radix sort of the keys by value. */
static void sort_keys(struct sp_record_key **keys, struct sp_record_key **spare, size_t n,
		      uint64_t highest)
{
	for (unsigned shift = 0; shift < 64 && highest >> shift; shift += RADIX_BITS) {
		size_t counts[1 << RADIX_BITS] = {0}, at = 0;
		struct sp_record_key *swap = *keys;

		for (size_t i = 0; i < n; i++)
			counts[(*keys)[i].value >> shift & ((1 << RADIX_BITS) - 1)]++;
		for (size_t i = 0; i < sp_array_size(counts); i++) {
			size_t count = counts[i];

			counts[i] = at;
			at += count;
		}
		for (size_t i = 0; i < n; i++)
			(*spare)[counts[(*keys)[i].value >> shift & ((1 << RADIX_BITS) - 1)]++] =
				(*keys)[i];
		*keys = *spare;
		*spare = swap;
	}
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The distinct values of word 0 in order, to free(). Neighbours are often equal, so few are sorted.
 */
static uint64_t *list_groups(const struct sp_record *records, size_t used, size_t *ret_n)
{
	uint64_t *groups = malloc((used + 1) * sizeof(*groups));
	struct {
		uint64_t group;
		bool seen;
	} recent[64] = {{0}};
	size_t n = 0, unique = 0;

	if (!groups)
		return NULL;
	for (size_t i = 0; i < used; i++) {
		uint64_t group = records[i].word[0];

		if (recent[group & 63].seen && recent[group & 63].group == group)
			continue;
		recent[group & 63].group = group;
		recent[group & 63].seen = true;
		groups[n++] = group;
	}
	qsort(groups, n, sizeof(*groups), compare_words);
	for (size_t i = 0; i < n; i++)
		if (!unique || groups[unique - 1] != groups[i])
			groups[unique++] = groups[i];
	*ret_n = unique;
	return groups;
}

static uint32_t group_number(const uint64_t *groups, size_t n, uint64_t group)
{
	return (uint32_t)sp_search(n, i, groups[i] < group);
}

/* Records of equal group and time came in order of arrival; few, so insertion does. */
static void sort_ties(const struct sp_record *records, struct sp_record_key *keys, size_t used)
{
	for (size_t i = 1; i < used; i++) {
		struct sp_record_key key = keys[i];
		const struct sp_record *record = &records[key.index];
		size_t at = i;

		while (at && sp_record_compare(&records[keys[at - 1].index], record) > 0) {
			keys[at] = keys[at - 1];
			at--;
		}
		keys[at] = key;
	}
}

static int compare_keys(const void *a, const void *b, void *records)
{
	return sp_record_compare(
		(struct sp_record *)records + ((const struct sp_record_key *)a)->index,
		(struct sp_record *)records + ((const struct sp_record_key *)b)->index);
}

/* True if long stretches have equal group and time, which insertion would take too long for. */
static bool many_ties(const struct sp_record *records, const struct sp_record_key *keys,
		      size_t used)
{
	size_t run = 0;

	for (size_t i = 1; i < used; i++) {
		const struct sp_record *a = &records[keys[i - 1].index];
		const struct sp_record *b = &records[keys[i].index];

		run = a->word[0] == b->word[0] && a->word[1] == b->word[1] ? run + 1 : 0;
		if (run > 64)
			return true;
	}
	return false;
}

int sp_records_sort(const struct sp_record *records, size_t used, struct sp_record_key **keys,
		    struct sp_record_key **spare)
{
	size_t n_groups = 0;
	sp_cleanup(sp_freep) uint64_t *groups = list_groups(records, used, &n_groups);
	uint64_t least = UINT64_MAX, most = 0, last_group = 0;
	uint32_t number = 0;

	if (!groups)
		return -ENOMEM;
	for (size_t i = 0; i < used; i++) {
		uint64_t time = records[i].word[1];

		least = time < least ? time : least;
		most = time > most ? time : most;
	}
	for (size_t i = 0; i < used; i++) {
		const struct sp_record *record = &records[i];

		if (!i || record->word[0] != last_group)
			number = group_number(groups, n_groups, record->word[0]);
		last_group = record->word[0];
		(*keys)[i] = (struct sp_record_key){record->word[1] - least, (uint32_t)i, number};
	}
	sort_keys(keys, spare, used, most - least);
	if (n_groups > 1) {
		for (size_t i = 0; i < used; i++)
			(*keys)[i].value = (*keys)[i].group;
		sort_keys(keys, spare, used, n_groups - 1);
	}
	if (many_ties(records, *keys, used))
		qsort_r(*keys, used, sizeof(**keys), compare_keys, (void *)records);
	else
		sort_ties(records, *keys, used);
	return 0;
}
