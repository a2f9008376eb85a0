/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check.h - the one assertion of these tests: says what failed and goes on; main returns
 * check_done().
 */
#ifndef SP_TESTS_LOADER_CHECK_H
#define SP_TESTS_LOADER_CHECK_H

#include <stdio.h>

static int check_failures, check_count;

#define CHECK(condition, ...) \
	do { \
		check_count++; \
		if (!(condition)) { \
			check_failures++; \
			fprintf(stderr, "%s:%d: not true: %s: ", __FILE__, __LINE__, #condition); \
			fprintf(stderr, __VA_ARGS__); \
			fputc('\n', stderr); \
		} \
	} while (0)

static inline int check_done(void)
{
	printf("%d checks, %d failures\n", check_count, check_failures);
	return check_failures || !check_count;
}

#endif
