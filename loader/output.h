/* SPDX-License-Identifier: BSD-2-Clause
 *
 * output.h - the directory of a recording and its journal, made with the invoking user's rights.
 */
#ifndef SP_LOADER_OUTPUT_H
#define SP_LOADER_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "loader/identity.h"

#define SP_OUTPUT_JOURNAL "journal.spj"

struct sp_output {
	char *directory; /* as shown; absolute or relative to where we were started */
	char *journal;	 /* path in it */
	int directory_fd;
	int journal_fd; /* for reading, whatever becomes of its name */
	bool made; /* the directory was not there before */
};

/* Makes the directory (@wanted, or `<program>.sp`, then `<program>-2.sp` … where that is taken) and
 * an empty journal in it, whose descriptor is set. A directory that was asked for may exist if it
 * is empty. Logs what is wrong. */
int sp_output_make(const char *wanted, const char *program, const struct sp_identity *identity,
		   struct sp_output *ret_output, int *ret_journal_fd);
#define SP_OUTPUT_NONE {.directory_fd = -1, .journal_fd = -1}
/* Takes away the journal, and the directory if it was made for it. */
void sp_output_discard(struct sp_output *output, const struct sp_identity *identity);
void sp_output_clear(struct sp_output *output);

/* output_rescue.c */

/* Somebody has removed the journal: what was recorded has no name any more. */
bool sp_output_is_removed(const struct sp_output *output);
/* Before the conversion, which goes by names: looks where the directory and the journal are now. A
 * journal that was removed, or that no name leads to (its file system was unmounted, or another is
 * over it), is written again, to where it was, or else to `<program>.sp`. Logs what it does. -errno
 * if the recording cannot be saved. */
int sp_output_settle(struct sp_output *output, const char *program,
		     const struct sp_identity *identity);

/* Share of the file system's space that is in use, 0 to 1, as df shows it, without the @in_hand bytes
 * that the journal has, but does not need yet. */
double sp_output_disk_use(const struct sp_output *output, uint64_t in_hand);

#endif
