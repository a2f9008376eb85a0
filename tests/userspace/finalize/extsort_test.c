/* SPDX-License-Identifier: BSD-2-Clause
 *
 * extsort_test.c - the external sort gives the records that it got, in order, however they come.
 *
 * Small buffers and fan-ins make many runs and several rounds of merging; the C library's sort of
 * the same records is the judge.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tests/lib/check.h"
#include "userspace/analysis/extsort.h"

static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* All words, so that equal keys have one order, too. */
static int compare_all(const void *a, const void *b)
{
	const struct sp_record *x = a, *y = b;
	int r = sp_record_compare(x, y);

	for (int i = 0; r == 0 && i < 8; i++)
		r = (x->word[i] > y->word[i]) - (x->word[i] < y->word[i]);
	return r;
}

enum kind { RANDOM, SORTED, EQUAL_TIMES, EXTREME, KINDS };

static struct sp_record make(enum kind kind, uint64_t i)
{
	struct sp_record r;

	for (int k = 0; k < 8; k++)
		r.word[k] = next_random() >> (next_random() & 63);
	r.word[0] &= 7;
	if (kind == SORTED)
		r.word[1] = i * 10;
	if (kind == EQUAL_TIMES)
		r.word[1] = i / 1000;
	if (kind == EXTREME) {
		r.word[0] = next_random() & 1 ? UINT64_MAX : next_random() & 3;
		r.word[1] =
			next_random() & 1 ? UINT64_MAX - (next_random() & 3) : next_random() & 3;
	}
	return r;
}

static void check_sort(const char *directory, enum kind kind, size_t n, size_t records,
		       size_t fan_in)
{
	struct sp_record *wanted = malloc((n + 1) * sizeof(*wanted));
	struct sp_record *seen = malloc((n + 1) * sizeof(*seen));
	struct sp_extsort *sort = NULL;
	const struct sp_record *record;
	size_t got = 0, wrong = 0;
	int r;

	CHECK_NUMBER(sp_extsort_new(directory, records, fan_in, &sort), 0);
	for (size_t i = 0; i < n; i++) {
		wanted[i] = make(kind, i);
		if (sp_extsort_add(sort, &wanted[i]) < 0)
			wrong++;
	}
	CHECK_NUMBER(sp_extsort_finish(sort), 0);
	while ((r = sp_extsort_next(sort, &record)) == 1 && got < n) {
		seen[got] = *record;
		wrong += got && sp_record_compare(&seen[got - 1], record) > 0;
		got++;
	}
	CHECK_NUMBER(r, 0);
	CHECK_NUMBER(got, n);
	CHECK_NUMBER(wrong, 0);
	/* In order; now that nothing was lost or changed. */
	qsort(wanted, n, sizeof(*wanted), compare_all);
	qsort(seen, got, sizeof(*seen), compare_all);
	CHECK(memcmp(wanted, seen, n * sizeof(*seen)) == 0);
	sp_extsort_free(sort);
	free(wanted);
	free(seen);
}

int main(int argc, char **argv)
{
	const char *directory = argc > 1 ? argv[1] : ".";
	struct sp_extsort *sort;

	mkdir(directory, 0777);
	for (int kind = 0; kind < KINDS; kind++) {
		check_sort(directory, kind, 0, 100, 4);
		check_sort(directory, kind, 1, 100, 4);
		check_sort(directory, kind, 100, 100, 4);
		check_sort(directory, kind, 101, 100, 4);
		check_sort(directory, kind, 50000, 1000,
			   4); /* 50 runs, three at a time: rounds of merging */
		check_sort(directory, kind, 50000, 100, 3);   /* 500 runs */
		check_sort(directory, kind, 50000, 1000, 64); /* one round */
		check_sort(directory, kind, 300000, 0, 0);
	}
	CHECK_NUMBER(sp_extsort_new("/nonexistent", 0, 0, &sort), -ENOENT);
	return check_result();
}
