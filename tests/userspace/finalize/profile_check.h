/* SPDX-License-Identifier: BSD-2-Clause
 *
 * profile_check.h - converts a journal of a test and reads the files back.
 */
#ifndef SP_TESTS_PROFILE_CHECK_H
#define SP_TESTS_PROFILE_CHECK_H

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/profile_read.h"
#include "tests/lib/check.h"
#include "tests/lib/journal_maker.h"
#include "userspace/export/finalize.h"

#define ALL_COLUMNS \
	(SP_CALLS_id | SP_CALLS_parent | SP_CALLS_thread | SP_CALLS_flags | SP_CALLS_depth | \
	 SP_CALLS_child_ns | SP_CALLS_skipped | SP_CALLS_site)

/* A fresh directory for each conversion. */
static char work[3072], journal_path[4096], out_dir[4096];

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void start_work(int argc, char **argv)
{
	snprintf(work, sizeof(work), "%s", argc > 1 ? argv[1] : "./work");
	remove_tree(work);
	mkdir(work, 0777);
	snprintf(journal_path, sizeof(journal_path), "%s/journal.spj", work);
	snprintf(out_dir, sizeof(out_dir), "%s/out", work);
}

static int convert(const char *formats, struct sp_finalize_result *result,
		   struct sp_finalize_failure *failure)
{
	struct sp_finalize_options options = {
		.journal = journal_path,
		.directory = out_dir,
		.formats = formats,
		.no_sync = true,
		.keep_journal = true,
	};

	remove_tree(out_dir);
	*failure = (struct sp_finalize_failure){0};
	return sp_finalize(&options, result, failure);
}

static struct sp_profile *open_output(const char *file)
{
	struct sp_profile *profile = NULL;
	struct sp_error error = {0};
	char path[8192];

	snprintf(path, sizeof(path), "%s/%s", out_dir, file);
	check_count++;
	if (sp_profile_open(path, &profile, &error) < 0) {
		check_failed++;
		fprintf(stderr, "%s: %s\n", path, error.text);
		exit(1);
	}
	return profile;
}

/* Row of a region; UINT32_MAX if there is none. */
static uint32_t find_row(struct sp_profile *profile, const char *region)
{
	for (uint32_t i = 0; i < sp_profile_info(profile)->n_rows; i++)
		if (!strcmp(sp_profile_region(profile, sp_profile_row(profile, i)->region), region))
			return i;
	return UINT32_MAX;
}

/* All calls of a region; sp_calls_free() them. */
static inline uint64_t read_calls(struct sp_profile *profile, const char *region,
				  struct sp_calls *calls)
{
	uint32_t row = find_row(profile, region);
	uint64_t n = row == UINT32_MAX ? 0 : sp_profile_row(profile, row)->stats.calls;

	*calls = (struct sp_calls){0};
	CHECK(row != UINT32_MAX);
	CHECK_NUMBER(sp_calls_alloc(calls, (size_t)n + 1, ALL_COLUMNS), 0);
	if (n)
		CHECK_NUMBER(sp_profile_read_calls(profile, row, 0, (size_t)n, calls, NULL), 0);
	return n;
}

#endif
