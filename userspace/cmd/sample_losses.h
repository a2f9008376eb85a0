/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sample_losses.h - what is missing, in the reports on samples.
 */
#ifndef SP_CMD_SAMPLE_LOSSES_H
#define SP_CMD_SAMPLE_LOSSES_H

#include <stdbool.h>
#include <stdio.h>

#include "userspace/analysis/sample_files.h"
#include "userspace/base/json.h"

/* A note for each cause, with a second line that says where; then the ranks and regions that have
 * no sample left, and the regions that may lack more. */
void sp_sample_note_losses(FILE *out, const struct sp_sample_files *files);
/* One sentence on the ranks that have lost all of their samples, to free(); NULL if there are none.
 * The same on regions. */
char *sp_sample_tell_silent(const struct sp_sample_files *files);
char *sp_sample_tell_silent_regions(const struct sp_sample_files *files);
/* The error for a region that was asked for, and that no sample is in, if all of its own were lost.
 */
bool sp_sample_say_region_lost(const struct sp_sample_files *files, const char *region);
/* "losses", "gaps", "ranks_without_samples" and "regions_without_samples" of the object that is
 * open. */
void sp_sample_json_losses(struct sp_json *json, const struct sp_sample_files *files);
/* What a region lacks, as members of the object that is open; NULL: outside of all. */
void sp_sample_json_missing(struct sp_json *json, const struct sp_sample_files *files,
			    const char *region);

#endif
