// SPDX-License-Identifier: BSD-2-Clause
/*
 * fuzz_json.c - any bytes as a JSON profile, plain or packed: refused with a sentence, or read to
 * the last call, and then the same numbers come however they are asked for.
 */
#include <string.h>

#include "formats/json_pull.h"
#include "formats/profile_read.h"
#include "tests/fuzz/fuzz_file.h"

static void read_row(struct sp_profile *profile, uint32_t index)
{
	enum { BLOCK = 64 };
	const struct sp_profile_info *info = sp_profile_info(profile);
	const struct sp_row *row = sp_profile_row(profile, index);
	struct sp_error error = {0};
	struct sp_calls calls;
	char *json = NULL;

	if (row->region >= info->n_regions)
		abort();
	if (sp_calls_alloc(&calls, BLOCK, info->columns))
		return;
	for (uint64_t at = 0; at < row->stats.calls; at += BLOCK) {
		uint64_t left = row->stats.calls - at;
		size_t some = left < BLOCK ? (size_t)left : BLOCK;
		int64_t start;

		if (sp_profile_read_calls(profile, index, at, some, &calls, &error) ||
		    sp_profile_read_calls(profile, index, at + some - 1, 1,
					  &(struct sp_calls){.start = &start}, &error) ||
		    start != calls.start[some - 1])
			abort(); /* open promised that they are there */
	}
	sp_calls_free(&calls);
	if (sp_profile_event_metadata(profile, index, &json, &error))
		abort();
	free(json);
}

static void read_all(struct sp_profile *profile)
{
	const struct sp_profile_info *info = sp_profile_info(profile);
	const struct sp_thread_row *threads;
	const struct sp_extras *extras;
	const struct sp_fact *facts;
	struct sp_error error = {0};
	size_t n;

	for (uint32_t i = 0; !info->aggregate && i < info->n_rows; i++)
		read_row(profile, i);
	if (sp_profile_metadata(profile, &facts, &n, &error) ||
	    sp_profile_threads(profile, &threads, &n, &error) ||
	    sp_profile_extras(profile, &extras, &error) ||
	    sp_profile_complete(profile, UINT64_MAX, &error))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file(data, size);
	struct sp_error error = {0};
	struct sp_profile *profile;
	enum sp_format format;
	int r = sp_format_detect(path, &format, NULL);

	if (r || format != SP_FORMAT_JSON)
		return 0;
	r = sp_profile_open(path, &profile, &error);
	if (r) {
		if (r != error.code || !error.text[0])
			abort();
		return 0;
	}
	read_all(profile);
	sp_profile_free(profile);
	return 0;
}
