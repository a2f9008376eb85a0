/* SPDX-License-Identifier: BSD-2-Clause
 *
 * lines_regions.c - the regions that sp-report lines was asked for, and what to say of others.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/cleanup.h"
#include "userspace/base/log.h"
#include "userspace/cmd/lines_view.h"
#include "userspace/cmd/sample_losses.h"
#include "userspace/cmd/sample_notes.h"

static const char *region_name(const struct sp_lines_region *region)
{
	return region->name ? region->name : SP_LINES_NO_REGION_NAME;
}

/* Says which regions there are instead. */
static void report_unknown_region(const struct sp_lines_input *input, const char *name)
{
	const struct sp_lines *lines = input->lines;
	size_t n = sp_lines_n_regions(lines);
	sp_cleanup(sp_freep) const char **names = calloc(n + 1, sizeof(*names));

	if (sp_sample_say_region_lost(&input->files, name))
		return;
	if (sp_lines_knows_region(lines, name)) {
		sp_log_error("no sample fell into region \"%s\" itself, though it was recorded",
			     name);
		sp_log_hint("It was too short for the rate (-F of sp-trace), or its time is in the "
			    "regions within it: sp-report summary has its calls.");
		return;
	}
	for (size_t i = 0; names && i < n; i++)
		names[i] = region_name(sp_lines_region(lines, i));
	if (names)
		sp_sample_say_no_region(name, names, n);
}

int sp_lines_choose_regions(const struct sp_lines_input *input, char *const *names, size_t n_names,
			    const struct sp_lines_region **chosen, size_t *ret_n)
{
	const struct sp_lines *lines = input->lines;
	size_t n = 0;

	for (size_t i = 0; i < sp_lines_n_regions(lines); i++) {
		const struct sp_lines_region *region = sp_lines_region(lines, i);
		bool wanted = !n_names;

		for (size_t k = 0; k < n_names && !wanted; k++)
			wanted = !strcmp(region_name(region), names[k]);
		if (wanted)
			chosen[n++] = region;
	}
	for (size_t k = 0; k < n_names; k++) {
		bool found = false;

		for (size_t i = 0; i < n && !found; i++)
			found = !strcmp(region_name(chosen[i]), names[k]);
		if (!found) {
			report_unknown_region(input, names[k]);
			return -ENOENT;
		}
	}
	*ret_n = n;
	return 0;
}
