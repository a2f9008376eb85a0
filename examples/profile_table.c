// SPDX-License-Identifier: BSD-2-Clause
/* profile_table FILE - reads a profile of any format with the library sp_formats, and
 * prints a table.
 *
 *	cc profile_table.c $(pkg-config --cflags --libs sp_formats) -o profile_table
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include <formats/profile_guard.h>

int main(int argc, char **argv)
{
	const struct sp_profile_info *info;
	struct sp_profile *profile;
	struct sp_error error;

	if (argc != 2)
		return fprintf(stderr, "usage: %s FILE\n", argv[0]), 2;
	/* Guarded: a damaged HDF5 file cannot take this program with it. */
	if (sp_profile_open_guarded(argv[1], NULL, &profile, &error) ||
	    sp_profile_complete(profile, UINT64_MAX, &error)) {
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
		return 1;
	}
	info = sp_profile_info(profile);
	printf("%s, version %d: %" PRIu32 " ranks, %" PRIu64 " calls\n",
	       sp_format_name(info->format), info->version, info->n_ranks, info->n_calls);
	printf("%6s %12s %14s %14s  %s\n", "rank", "calls", "total [s]", "self [s]", "region");
	for (uint32_t i = 0; i < info->n_rows; i++) {
		const struct sp_row *row = sp_profile_row(profile, i);

		printf("%6" PRIu32 " %12" PRIu64 " %14.9f %14.9f  %s\n", row->rank,
		       row->stats.calls, (double)row->stats.total / 1e9,
		       row->stats.self < 0 ? NAN : (double)row->stats.self / 1e9,
		       sp_profile_region(profile, row->region));
	}
	sp_profile_free(profile);
	return 0;
}
