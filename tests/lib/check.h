/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check.h - assertions of tests: a failed one says what it saw, and the test goes on to the next.
 *
 * End main() with `return check_result();`: 1 if anything failed or if nothing was checked at all.
 */
#ifndef SP_TESTS_CHECK_H
#define SP_TESTS_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static unsigned check_count, check_failed;

#define CHECK(condition) \
	do { \
		check_count++; \
		if (!(condition)) { \
			check_failed++; \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
		} \
	} while (0)

#define CHECK_NUMBER(seen, wanted) \
	do { \
		long long seen_ = (long long)(seen), wanted_ = (long long)(wanted); \
		check_count++; \
		if (seen_ != wanted_) { \
			check_failed++; \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, \
				#seen, seen_, wanted_); \
		} \
	} while (0)

#define CHECK_TEXT(seen, wanted) \
	do { \
		const char *seen_ = (seen), *wanted_ = (wanted); \
		check_count++; \
		if (!seen_ || strcmp(seen_, wanted_)) { \
			check_failed++; \
			fprintf(stderr, "%s:%d: %s is \"%s\", not \"%s\"\n", __FILE__, __LINE__, \
				#seen, seen_ ? seen_ : "(null)", wanted_); \
		} \
	} while (0)

static inline int check_result(void)
{
	fprintf(stderr, "%u checks, %u failed\n", check_count, check_failed);
	return check_failed || !check_count;
}

#endif
