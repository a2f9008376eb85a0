/* SPDX-License-Identifier: BSD-2-Clause
 *
 * read_back.h - what a made-up journal comes to.
 */
#ifndef TESTS_USERSPACE_READ_BACK_H
#define TESTS_USERSPACE_READ_BACK_H

#include "tests/lib/check.h"
#include "tests/lib/journal_maker.h"
#include "userspace/analysis/recording.h"

/* Closes the maker's journal, at @path, and reads it. @ended: the recording was. */
static inline struct sp_recording *read_back(struct maker *maker, const char *path, bool ended)
{
	struct sp_recording *rec = sp_recording_new();
	struct sp_journal *journal = NULL;
	const struct sp_event *event;

	maker_close(maker, ended);
	CHECK_NUMBER(sp_journal_open(path, &journal, NULL), 0);
	while (sp_journal_next(journal, &event) == 1)
		CHECK_NUMBER(sp_recording_add(rec, event), 0);
	sp_journal_free(journal);
	CHECK_NUMBER(sp_recording_resolve(rec), 0);
	return rec;
}

#endif
