/* SPDX-License-Identifier: BSD-2-Clause
 *
 * convert.h - what import and export share: options, finding and merging the inputs, looking at the
 * outputs before anything is written, progress, and what is said at the end. Each function that
 * fails has said why.
 */
#ifndef SP_CMD_CONVERT_H
#define SP_CMD_CONVERT_H

#include "userspace/analysis/find.h"
#include "userspace/base/cli.h"
#include "userspace/export/write.h"

struct sp_convert {
	struct sp_found found;
	struct sp_profile *profile; /* all of them together */
	/* From the command line. */
	char **inputs;
	size_t n_inputs, inputs_room;
	const char *output;
	bool force;
	struct sp_write_options write;

	uint64_t shown_ns; /* when the progress was shown last */
	const char *doing; /* shown with it */
};

/* "none", "auto" or a level. 0, or the exit status after saying what is wrong; so the next. */
int sp_convert_parse_compress(const struct sp_cli *cli, const char *text, unsigned int *ret_gzip);

/* The keys of the options that both have; those with a letter are 'o', 'q' and 'v'. */
enum sp_convert_key {
	SP_KEY_LABEL = 0x900,
	SP_KEY_RENUMBER,
	SP_KEY_COMPRESS,
	SP_KEY_SCHEMA,
	SP_KEY_FORCE,
	SP_KEY_NO_SYNC,
};

/* Takes one of these options, or an operand, and leaves others alone. */
int sp_convert_take(struct sp_convert *convert, const struct sp_cli *cli, int key, const char *arg);

/* Finds, opens and merges the inputs, and says what is to be known of them. */
int sp_convert_open(struct sp_convert *convert);
/* Refuses an output that is there already, that is a directory, that is one of the inputs, or whose
 * directory is not there. */
int sp_convert_check_output(const struct sp_convert *convert, const char *path);
/* Refuses an output whose directory is not there, and says how to make it. */
int sp_convert_check_directory(const char *path);
/* Makes write.progress show it; the first interrupt ends the writing, and leaves no file. */
void sp_convert_begin(struct sp_convert *convert, const char *doing);
/* What went wrong in writing @path, and what can be done. */
void sp_convert_say_failure(const char *path, int code, const struct sp_error *error);
/* The ranks that a file of the profile has for its readers. @samples: the format has samples, and a
 * row for a rank that has nothing else in a region. */
uint32_t sp_convert_count_ranks(struct sp_profile *profile, bool samples);
/* What the recordings had lost before. */
void sp_convert_say_losses(struct sp_convert *convert);
void sp_convert_free(struct sp_convert *convert);

#endif
