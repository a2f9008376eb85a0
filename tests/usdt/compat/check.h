/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check.h - what the programs of this folder test with. They are built as strangers would build
 * them, with the files of usdt/ alone, so they use none of the project's own test library.
 */
#ifndef TESTS_USDT_COMPAT_CHECK_H
#define TESTS_USDT_COMPAT_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/* Ends the test with the line and both values, if they differ. */
#define CHECK(got, wanted) check_((long long)(got), (long long)(wanted), #got, __FILE__, __LINE__)

static inline void check_(long long got, long long wanted, const char *what, const char *file,
			  int line)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", file, line, what, got, wanted);
	exit(1);
}

#endif /* TESTS_USDT_COMPAT_CHECK_H */
