// SPDX-License-Identifier: BSD-2-Clause
/*
 * json_convert.c - writes any profile as JSON.
 *
 *	json_convert [-a] INPUT OUTPUT		-a: statistics only
 */
#include <stdio.h>
#include <string.h>

#include "formats/output.h"
#include "userspace/export/write.h"

int main(int argc, char **argv)
{
	bool aggregate = argc > 1 && strcmp(argv[1], "-a") == 0;
	struct sp_write_options options = {
		.output_flags = SP_OUTPUT_REPLACE | SP_OUTPUT_NO_SYNC,
		.aggregate = aggregate,
	};
	struct sp_error error = {0};
	struct sp_profile *profile;
	int r;

	argv += aggregate;
	if (argc - aggregate != 3) {
		fprintf(stderr, "usage: json_convert [-a] INPUT OUTPUT\n");
		return 2;
	}
	r = sp_profile_open(argv[1], &profile, &error);
	if (!r) {
		r = sp_write_json(profile, argv[2], &options, &error);
		sp_profile_free(profile);
	}
	if (r)
		fprintf(stderr, "%s: %s\n", argv[1], error.text);
	return r != 0;
}
