/* SPDX-License-Identifier: BSD-2-Clause
 *
 * info_journal.h - what the parts of info on journals share; for cmd/info_journal*.c only.
 */
#ifndef SP_CMD_INFO_JOURNAL_H
#define SP_CMD_INFO_JOURNAL_H

#include "formats/journal.h"
#include "userspace/analysis/recording.h"
#include "userspace/cmd/info.h"

struct sp_info_journal {
	char *path;
	struct sp_journal *journal;
	struct sp_recording *recording;
	struct sp_inputs notes;
	struct sp_journal_state state;
	/* Calls without a begin or an end of their own. */
	struct sp_info_cut {
		uint32_t site; /* number */
		unsigned kind;
		uint64_t count;
	} * cuts;
	size_t n_cuts, cuts_room;
	struct sp_idmap cut_by_key;
	/* Calls that were open at the end. One may end after all, before or after that was recorded. */
	struct sp_info_open {
		uint32_t site;
		bool ended;
	} * opens;
	size_t n_opens, opens_room;
	struct sp_idmap open_by_key; /* lane << 40 | number */
	uint64_t duplicates;	     /* records that said the same call again */
	uint64_t by_kind[SP_EV_MAX], events;
	uint64_t good_bytes, bytes;
	bool intact;
	const char *reason;
};

/* Looks at an event of the journal; then, if there are calls that were open at the end, at all of
 * them once more. -ENOMEM. */
int sp_info_journal_see(struct sp_info_journal *info, const struct sp_event *event);
void sp_info_journal_see_again(struct sp_info_journal *info, const struct sp_event *event);
/* After the last one: what is missing, and what else must be known. -ENOMEM. */
int sp_info_journal_gather(struct sp_info_journal *info);

#endif
