/* SPDX-License-Identifier: BSD-2-Clause
 *
 * unwind_scan_test.c - unwind_scan_test FAKE: what becomes of files whose reader dies, hangs or
 * lies (fake_unwind.c), and of those beside them; and the search in a table.
 */
#include "loader/unwind_scan.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/loader/check.h"

#define MAX_FILES 400

struct expected {
	const char *word;
	int error;
};

struct seen {
	const struct expected *files;
	size_t next, stop_at;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int take(size_t index, struct sp_unwind_table *table, int error, const char *why, void *arg)
{
	struct seen *seen = arg;
	const struct expected *file = &seen->files[index];

	CHECK(index == seen->next, "file %zu after %zu", index, seen->next);
	seen->next = index + 1;
	CHECK(error == file->error, "%s: %d, not %d (%s)", file->word, error, file->error,
	      why ? why : "-");
	CHECK(!!table == !error, "%s: a table, or an error", file->word);
	CHECK(!error || (why && *why), "%s: no sentence", file->word);
	if (table) {
		CHECK(table->rows == 3 && table->pc[1] == 0x1004 &&
			      table->rules_at[table->rule[1]].offset == 16,
		      "%s: another table", file->word);
		CHECK(!strcmp(file->word, "REMARK") ? why && !strcmp(why, "half of it?[31m") : !why,
		      "%s: says %s", file->word, why ? why : "-");
	}
	return seen->next == seen->stop_at ? -ECANCELED : 0;
}

static int file_of(const char *word)
{
	char text[80];
	int fd = memfd_create(word, 0);

	snprintf(text, sizeof(text), "%s %60s", word, "");
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		abort();
	return fd;
}

/* Takes at most @seconds. */
static void test(const char *fake, const struct expected *files, size_t n, size_t stop_at,
		 double seconds)
{
	struct seen seen = {.files = files, .stop_at = stop_at};
	struct sp_error err = {0};
	double start = now();
	int fds[MAX_FILES], r;

	for (size_t i = 0; i < n; i++)
		fds[i] = files[i].error == -EBADF ? -1 : file_of(files[i].word);
	r = sp_unwind_scan(fake, fds, n, take, &seen, &err);
	CHECK(r == (stop_at ? -ECANCELED : 0), "%s: %d: %s", files[0].word, r, err.text);
	CHECK(seen.next == (stop_at ? stop_at : n), "%s: %zu of %zu files", files[0].word,
	      seen.next, n);
	CHECK(now() - start < seconds, "%s: took %.1f s", files[0].word, now() - start);
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static void test_lies(const char *fake)
{
	static const char *const words[] = {
		"MAGIC",     "POSITIVE",    "ERROR+ROWS", "SEGMENTS",	  "NO-SEGMENT", "RULES",
		"NO-RULE",   "ROWS",	    "ROWS-",	  "NO-ROW",	  "TEXT",	"BEYOND",
		"WRAPS",     "ADDRESS",	    "BEFORE",	  "BEHIND",	  "DOWN",	"NUMBER",
		"TWICE",     "NO-END",	    "FIRST",	  "KIND",	  "KIND-NONE",	"REGISTER",
		"OFFSET",    "OFFSET-",	    "FLAGS",	  "BOTH-FLAGS",	  "ADDEND",	"RA",
		"OUTERMOST", "UNSUPPORTED", "SIGNAL",	  "FIRST-OFFSET", "HALF",	"DIE",
	};
	struct expected files[2 * sizeof(words) / sizeof(words[0])];
	size_t n = 0;

	/* A good file behind each bad one. */
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		files[n++] = (struct expected){words[i], -EPROTO};
		files[n++] = (struct expected){i % 2 ? "FINE" : "REMARK", 0};
	}
	test(fake, files, n, 0, 60);
}

static void test_hangs(const char *fake)
{
	static const struct expected alone[] = {{"HANG", -ETIME}};
	static const struct expected among[] = {
		{"FINE", 0}, {"NONE", -SP_E_MISSING}, {"SPIN", -ETIME}, {"FINE", 0}};
	static const struct expected closed[] = {{"FINE", 0}, {"closed", -EBADF}, {"FINE", 0}};
	/* Not the hang's time, nor that of an idle machine. */
	test(fake, alone, 1, 0, 20);
	test(fake, among, 4, 0, 40);
	test(fake, closed, 3, 0, 20);
}

static void test_many(const char *fake)
{
	static struct expected files[MAX_FILES];

	for (size_t i = 0; i < MAX_FILES; i++)
		files[i] = (struct expected){i % 150 == 149 ? "DIE" : "FINE",
					     i % 150 == 149 ? -EPROTO : 0};
	test(fake, files, MAX_FILES, 0, 30);
	test(fake, files, MAX_FILES, 130, 30);
}

static void test_find(void)
{
	uint64_t pc[] = {10, 20, 30};
	uint16_t rule[] = {1, 2, 0};
	struct sp_unwind_table table = {.rows = 3, .pc = pc, .rule = rule};
	static const struct {
		uint64_t address;
		ptrdiff_t row;
	} wanted[] = {{0, -1}, {9, -1}, {10, 0}, {19, 0},
		      {20, 1}, {29, 1}, {30, 2}, {UINT64_MAX, 2}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		CHECK(sp_unwind_table_find(&table, wanted[i].address) == wanted[i].row, "%llu",
		      (unsigned long long)wanted[i].address);
	table.rows = 0;
	CHECK(sp_unwind_table_find(&table, 10) == -1, "an empty table");
}

int main(int argc, char **argv)
{
	struct sp_error err = {0};

	if (argc != 2)
		return 2;
	test_find();
	test_lies(argv[1]);
	test_hangs(argv[1]);
	test_many(argv[1]);
	CHECK(sp_unwind_scan("/no/such/helper", NULL, 0, take, NULL, &err) == -ENOENT, "%s",
	      err.text);
	return check_done();
}
