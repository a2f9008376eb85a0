/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_files_private.h - for sample_files.c and sample_read.c only.
 */
#ifndef SP_ANALYSIS_SAMPLE_FILES_PRIVATE_H
#define SP_ANALYSIS_SAMPLE_FILES_PRIVATE_H

#include "userspace/analysis/sample_files.h"

static inline int sp_sample_files_no_memory(struct sp_error *error)
{
	return sp_error_set(error, -ENOMEM, 0, "out of memory");
}

/* An error's text is about a file that it does not name: this one. Returns @code. */
int sp_sample_files_failed(struct sp_sample_files *files, int code, const char *path);
/* What to point to where there are no samples. */
int sp_sample_files_note_line_profiles(struct sp_sample_files *files, struct sp_profile *profile,
				       struct sp_error *error);
/* Whether a file without samples is a recording of ours, and what it wanted. */
int sp_sample_files_note_unsampled(struct sp_sample_files *files, struct sp_profile *profile,
				   struct sp_error *error);

#endif
