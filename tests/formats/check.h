/* SPDX-License-Identifier: BSD-2-Clause
 *
 * check.h - assertions of the tests of formats/: each says what failed and goes on; main ends with
 * return check_end().
 */
#ifndef SP_TESTS_FORMATS_CHECK_H
#define SP_TESTS_FORMATS_CHECK_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static unsigned int check_done, check_failed;

__attribute__((format(printf, 4, 5))) static inline void
check_that(const char *file, int line, int good, const char *format, ...)
{
	va_list args;

	check_done++;
	if (good)
		return;
	check_failed++;
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

#define CHECK(condition) check_that(__FILE__, __LINE__, !!(condition), "not true: %s", #condition)
#define CHECK_INT(value, expected) \
	do { \
		long long is_ = (long long)(value), should_ = (long long)(expected); \
		check_that(__FILE__, __LINE__, is_ == should_, "%s is %lld, not %lld", #value, \
			   is_, should_); \
	} while (0)
#define CHECK_TEXT(value, expected) \
	do { \
		const char *is_ = (value), *should_ = (expected); \
		check_that(__FILE__, __LINE__, is_ &&strcmp(is_, should_) == 0, \
			   "%s is \"%s\", not \"%s\"", #value, is_ ? is_ : "(null)", should_); \
	} while (0)
/* A call that must succeed: the rest of the function makes no sense without. */
#define MUST(call) \
	do { \
		int r_ = (call); \
		if (r_) { \
			fprintf(stderr, "%s:%d: %s failed: %s (%s)\n", __FILE__, __LINE__, #call, \
				strerror(-r_), error.text); \
			exit(1); \
		} \
	} while (0)

static inline int check_end(void)
{
	printf("%u checks, %u failed\n", check_done, check_failed);
	return check_failed || !check_done;
}

/* A directory for the test's files, removed by nobody but the next run of the same test. */
static inline const char *check_path(const char *directory, const char *name)
{
	static char path[4][4096];
	static unsigned int next;
	char *made = path[next++ % 4];

	mkdir(directory, 0777);
	snprintf(made, sizeof(path[0]), "%s/%s", directory, name);
	return made;
}

static inline void check_write_file(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(data, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(1);
	}
}

static inline size_t check_read_file(const char *path, void *data, size_t size)
{
	FILE *file = fopen(path, "rb");
	size_t got;

	if (!file) {
		perror(path);
		exit(1);
	}
	got = fread(data, 1, size, file);
	fclose(file);
	return got;
}

#endif
